#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* O_NONBLOCK: opening a FIFO must not wait for its writer. Regular files ignore it. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
/* Resolution answers EAGAIN when a rename elsewhere races with it. */
#define MAX_RESOLVE_TRIES 16
#define MAX_NAME_LENGTH 128

ONNXD_RETURNS_NONNULL static onnxd_status *open_error(const char *path, int error)
{
    char text[128];
    switch (error) {
    case ENOENT:
    case ENOTDIR:
        return onnxd_error(ONNXD_NOT_FOUND, "file '%s' not found", path);
    case EXDEV:
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "file '%s' leaves its directory", path);
    case ELOOP:
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "file '%s' is reached through a symbolic link",
                           path);
    case ENXIO:
    case ENODEV:
    case EISDIR:
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "file '%s' is not a regular file", path);
    case ENOSYS:
        return onnxd_error(ONNXD_UNIMPLEMENTED,
                           "file '%s' cannot be opened safely: the kernel has no openat2, which "
                           "Linux 5.6 and later provide",
                           path);
    case EMFILE:
    case ENFILE:
    case ENOMEM:
        return onnxd_error(ONNXD_RESOURCE_EXHAUSTED, "cannot open file '%s': %s", path,
                           strerror_r(error, text, sizeof(text)));
    case EACCES:
    case EPERM:
    case ENAMETOOLONG:
    case EINVAL:
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "cannot open file '%s': %s", path,
                           strerror_r(error, text, sizeof(text)));
    default:
        return onnxd_error(ONNXD_INTERNAL, "cannot open file '%s': %s", path,
                           strerror_r(error, text, sizeof(text)));
    }
}

/* Returns a descriptor, or -1 with errno. */
static int open_beneath(int root, const char *path)
{
    struct open_how how = {
        .flags = OPEN_FLAGS,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long descriptor = -1;
    for (int tries = 0; tries < MAX_RESOLVE_TRIES; tries++) {
        descriptor = syscall(SYS_openat2, root, path, &how, sizeof(how));
        if (descriptor >= 0 || (errno != EAGAIN && errno != EINTR))
            break;
    }
    return (int)descriptor;
}

static onnxd_status *open_path(const char *root, const char *path, int *out_descriptor)
{
    int descriptor;
    if (root == NULL) {
        descriptor = open(path, OPEN_FLAGS);
    } else {
        int directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (directory < 0)
            return open_error(path, errno);
        descriptor = open_beneath(directory, path);
        int error = errno;
        close(directory);
        errno = error;
    }
    if (descriptor < 0)
        return open_error(path, errno);
    *out_descriptor = descriptor;
    return NULL;
}

static onnxd_status *map_descriptor(int descriptor, const char *path, uint64_t max_bytes,
                                    onnxd_file *out_file)
{
    static const uint8_t nothing;
    struct stat info;
    if (fstat(descriptor, &info) != 0)
        return open_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return open_error(path, ENODEV);
    uint64_t size = (uint64_t)info.st_size;
    if (size > max_bytes || size > SIZE_MAX)
        return onnxd_error(ONNXD_INVALID_ARGUMENT,
                           "file '%s' has %" PRIu64 " bytes, at most %" PRIu64 " are allowed", path,
                           size, max_bytes);
    if (size == 0) {
        *out_file = (onnxd_file){.data = &nothing, .link_count = info.st_nlink};
        return NULL;
    }
    void *mapping = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapping == MAP_FAILED)
        return open_error(path, errno);
    *out_file = (onnxd_file){
        .data = mapping, .size = (size_t)size, .link_count = info.st_nlink, .mapping = mapping};
    return NULL;
}

onnxd_status *onnxd_file_open(const char *root, const char *path, uint64_t max_bytes,
                              onnxd_file *out_file)
{
    int descriptor;
    ONNXD_TRY(open_path(root, path, &descriptor));
    onnxd_status *status = map_descriptor(descriptor, path, max_bytes, out_file);
    close(descriptor);
    return status;
}

void onnxd_file_close(onnxd_file *file)
{
    if (file->mapping != NULL)
        munmap(file->mapping, file->size);
    *file = (onnxd_file){0};
}

static bool is_name_start(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool onnxd_is_model_name(const char *name, size_t length)
{
    if (length == 0 || length > MAX_NAME_LENGTH || !is_name_start(name[0]))
        return false;
    for (size_t i = 1; i < length; i++)
        if (!is_name_start(name[i]) && name[i] != '.' && name[i] != '-')
            return false;
    return true;
}
