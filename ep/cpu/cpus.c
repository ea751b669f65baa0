/* How many CPUs and how much memory the process may use. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "ep/cpu/internal.h"

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

/* One line of a file, "" when there is none. */
static void read_line(const char *directory, const char *name, char line[64])
{
    char path[2 * PATH_BYTES + 64];
    line[0] = '\0';
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(line, 64, file) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    fclose(file);
}

static int quota_of_version_2(const char *directory)
{
    char line[64];
    read_line(directory, "cpu.max", line);
    return onnxd_cpu_parse_quota(line);
}

static int quota_of_version_1(const char *directory)
{
    char quota[64], period[64], line[2 * 64 + 1];
    read_line(directory, "cpu.cfs_quota_us", quota);
    read_line(directory, "cpu.cfs_period_us", period);
    snprintf(line, sizeof(line), "%s %s", quota, period);
    return onnxd_cpu_parse_quota(line);
}

static int smaller_limit(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* Of the group and all above it, up to the mount itself: in a container that is often the only one
 * which can be seen, under whatever name the group goes outside. `group` is cut up. */
static int tightest_quota(const char *mount, char *group, int (*quota_of)(const char *directory))
{
    int tightest = 0;
    for (;;) {
        char directory[2 * PATH_BYTES];
        snprintf(directory, sizeof(directory), "%s%s", mount, group);
        tightest = smaller_limit(tightest, quota_of(directory));
        char *slash = strrchr(group, '/');
        if (slash == NULL)
            return tightest;
        *slash = '\0';
    }
}

static bool has_controller(const char *controllers, const char *name)
{
    const size_t length = strlen(name);
    for (const char *next = controllers; next != NULL; next = strchr(next, ',')) {
        next += *next == ',';
        if (strncmp(next, name, length) == 0 && (next[length] == ',' || next[length] == '\0'))
            return true;
    }
    return false;
}

/* "hierarchy:controllers:group"; version 2 has hierarchy 0 and no controllers. Version 1 mounts
 * controllers under their names. `line` is cut up. */
static int quota_of_line(const char *root, char *line)
{
    char mount[2 * PATH_BYTES];
    char *controllers = strchr(line, ':');
    char *group = controllers == NULL ? NULL : strchr(controllers + 1, ':');
    if (group == NULL)
        return 0;
    *controllers++ = *group++ = '\0';
    if (controllers[0] == '\0')
        return tightest_quota(root, group, quota_of_version_2);
    if (!has_controller(controllers, "cpu"))
        return 0;
    snprintf(mount, sizeof(mount), "%s/%s", root, controllers);
    if (access(mount, F_OK) != 0)
        snprintf(mount, sizeof(mount), "%s/cpu", root);
    return tightest_quota(mount, group, quota_of_version_1);
}

int onnxd_cpu_quota(const char *groups, const char *root)
{
    int tightest = 0;
    char line[PATH_BYTES];
    FILE *file = fopen(groups, "re");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        tightest = smaller_limit(tightest, quota_of_line(root, line));
    }
    fclose(file);
    return tightest;
}

int onnxd_cpu_count_allowed(void)
{
    return smaller_limit(count_affinity(), onnxd_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup"));
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

uint64_t onnxd_cpu_second_level_cache_bytes(void)
{
    const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (uint64_t)bytes : (uint64_t)1 << 20;
}
