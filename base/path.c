#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"

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

onnxd_file_stamp onnxd_file_stamp_of(const struct stat *info)
{
    return (onnxd_file_stamp){
        .modified_ns = (int64_t)info->st_mtim.tv_sec * 1000000000 + info->st_mtim.tv_nsec,
        .size = (uint64_t)info->st_size,
        .inode = (uint64_t)info->st_ino,
        .device = (uint64_t)info->st_dev,
    };
}

bool onnxd_file_stamp_equal(const onnxd_file_stamp *a, const onnxd_file_stamp *b)
{
    return a->modified_ns == b->modified_ns && a->size == b->size && a->inode == b->inode &&
           a->device == b->device;
}

onnxd_status *onnxd_file_reader_open(const char *root, const char *path, uint64_t max_bytes,
                                     onnxd_file_reader *out_reader)
{
    struct stat info;
    int descriptor;
    ONNXD_TRY(open_path(root, path, &descriptor));
    onnxd_status *status = NULL;
    if (fstat(descriptor, &info) != 0)
        status = open_error(path, errno);
    else if (!S_ISREG(info.st_mode))
        status = open_error(path, ENODEV);
    else if ((uint64_t)info.st_size > max_bytes || (uint64_t)info.st_size > SIZE_MAX)
        status = onnxd_error(ONNXD_INVALID_ARGUMENT,
                             "file '%s' has %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
                             path, (uint64_t)info.st_size, max_bytes);
    if (status != NULL) {
        close(descriptor);
        return status;
    }
    *out_reader = (onnxd_file_reader){.descriptor = descriptor,
                                      .size = (size_t)info.st_size,
                                      .link_count = info.st_nlink,
                                      .stamp = onnxd_file_stamp_of(&info)};
    return NULL;
}

void onnxd_file_reader_close(onnxd_file_reader *reader)
{
    close(reader->descriptor);
    *reader = (onnxd_file_reader){.descriptor = -1};
}

/* Reads up to `bytes` bytes; less only at the end of the file. */
static onnxd_status *read_up_to(const onnxd_file_reader *reader, const char *path, size_t offset,
                                size_t bytes, uint8_t *data, size_t *out_bytes)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t count =
            pread(reader->descriptor, data + done, bytes - done, (off_t)(offset + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0) {
            char text[128];
            return onnxd_error(ONNXD_INTERNAL, "cannot read file '%s': %s", path,
                               strerror_r(errno, text, sizeof(text)));
        }
        if (count == 0)
            break;
        done += (size_t)count;
    }
    *out_bytes = done;
    return NULL;
}

ONNXD_RETURNS_NONNULL static onnxd_status *changed_error(const char *path)
{
    return onnxd_error(ONNXD_INVALID_ARGUMENT, "file '%s' changed while it was read", path);
}

onnxd_status *onnxd_file_reader_read(const onnxd_file_reader *reader, const char *path,
                                     size_t offset, size_t bytes, void *data)
{
    size_t done;
    if (offset > reader->size || bytes > reader->size - offset)
        return onnxd_error(ONNXD_INVALID_ARGUMENT, "file '%s' has %zu bytes, %zu from %zu on asked",
                           path, reader->size, bytes, offset);
    ONNXD_TRY(read_up_to(reader, path, offset, bytes, data, &done));
    return done < bytes ? changed_error(path) : NULL;
}

static onnxd_status *read_all(const onnxd_file_reader *reader, const char *path, uint8_t *data)
{
    uint8_t more;
    size_t more_bytes;
    ONNXD_TRY(onnxd_file_reader_read(reader, path, 0, reader->size, data));
    ONNXD_TRY(read_up_to(reader, path, reader->size, 1, &more, &more_bytes));
    return more_bytes > 0 ? changed_error(path) : NULL;
}

onnxd_status *onnxd_file_open(const char *root, const char *path, uint64_t max_bytes,
                              onnxd_file *out_file)
{
    static const uint8_t nothing;
    onnxd_file_reader reader;
    uint8_t *data = NULL;
    ONNXD_TRY(onnxd_file_reader_open(root, path, max_bytes, &reader));
    onnxd_status *status = NULL;
    if (reader.size > 0) {
        /* For the sake of its huge pages. */
        data = onnxd_alloc_aligned(reader.size, 64);
        if (data == NULL)
            status = onnxd_error_out_of_memory("the content of a file", reader.size, UINT64_MAX);
    }
    if (status == NULL)
        status = read_all(&reader, path, data);
    if (status == NULL)
        *out_file = (onnxd_file){.data = data == NULL ? &nothing : data,
                                 .size = reader.size,
                                 .link_count = reader.link_count,
                                 .memory = data};
    else
        onnxd_free(data);
    onnxd_file_reader_close(&reader);
    return status;
}

void onnxd_file_close(onnxd_file *file)
{
    onnxd_free(file->memory);
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
