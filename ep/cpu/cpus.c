/* How many CPUs and how much memory the process may use. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "ep/cpu/internal.h"

#define CGROUP_ROOT "/sys/fs/cgroup"
#define PATH_BYTES 4096

static int count_affinity(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        return CPU_COUNT(&set);
    /* More CPUs than a cpu_set_t holds. */
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > CPU_SETSIZE ? CPU_SETSIZE : (int)online;
}

int onnxd_cpu_parse_quota(const char *line)
{
    int64_t quota, period;
    const char *space = strchr(line, ' ');
    if (space == NULL)
        return 0;
    size_t length = strcspn(space + 1, "\n");
    if (!onnxd_parse_i64(line, (size_t)(space - line), &quota) ||
        !onnxd_parse_i64(space + 1, length, &period) || quota <= 0 || period <= 0)
        return 0;
    int64_t cpus = quota / period + (quota % period != 0);
    return cpus > 65536 ? 65536 : (int)cpus;
}

/* The process's place in the version 2 hierarchy, "/a/b"; false when it has none. */
static bool read_cgroup(char *path, size_t capacity)
{
    bool is_found = false;
    char line[PATH_BYTES];
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return false;
    while (!is_found && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "0::/", 4) != 0)
            continue;
        line[strcspn(line, "\n")] = '\0';
        is_found = (size_t)snprintf(path, capacity, "%s", line + 3) < capacity;
    }
    fclose(file);
    return is_found;
}

static int read_quota(const char *cgroup)
{
    char path[PATH_BYTES + sizeof(CGROUP_ROOT) + 16], line[64];
    int quota = 0;
    snprintf(path, sizeof(path), "%s%s/cpu.max", CGROUP_ROOT, cgroup);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fgets(line, sizeof(line), file) != NULL)
        quota = onnxd_cpu_parse_quota(line);
    fclose(file);
    return quota;
}

int onnxd_cpu_count_allowed(void)
{
    char cgroup[PATH_BYTES];
    int count = count_affinity();
    if (!read_cgroup(cgroup, sizeof(cgroup)))
        return count;
    for (;;) {
        int quota = read_quota(cgroup);
        if (quota > 0 && quota < count)
            count = quota;
        char *slash = strrchr(cgroup, '/');
        if (slash == NULL)
            return count;
        *slash = '\0';
    }
}

uint64_t onnxd_cpu_memory_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    uint64_t bytes;
    if (pages <= 0 || page_bytes <= 0 ||
        __builtin_mul_overflow((uint64_t)pages, (uint64_t)page_bytes, &bytes))
        return UINT64_MAX;
    return bytes;
}
