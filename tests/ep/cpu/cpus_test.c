/* The CPUs that control groups leave a process, in hierarchies made of files. */
#include <criterion/criterion.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ep/cpu/internal.h"

static char root[] = "/tmp/onnxd-cpus-XXXXXX";

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

static void begin(void)
{
    cr_assert_not_null(mkdtemp(root));
}

static void end(void)
{
    nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

TestSuite(cpus, .init = begin, .fini = end);

/* Writes root/path and makes the folders on the way. */
static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s/%s", root, path);
    for (char *slash = strchr(full + sizeof(root), '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "we");
    cr_assert_not_null(file, "%s", full);
    fputs(text, file);
    cr_assert_eq(fclose(file), 0);
}

static int quota(void)
{
    char groups[64], mounts[64];
    snprintf(groups, sizeof(groups), "%s/self", root);
    snprintf(mounts, sizeof(mounts), "%s/fs", root);
    return onnxd_cpu_quota(groups, mounts);
}

Test(cpus, no_limit_without_control_groups)
{
    cr_expect_eq(quota(), 0);
    put("self", "");
    cr_expect_eq(quota(), 0);
    put("self", "0::/a\n");
    cr_expect_eq(quota(), 0);
    put("fs/a/cpu.max", "max 100000\n");
    cr_expect_eq(quota(), 0);
    put("self", "no line at all\n0\n:\n::\n");
    cr_expect_eq(quota(), 0);
}

Test(cpus, version_2_the_tightest_on_the_way_up)
{
    put("self", "0::/a/b/c\n");
    put("fs/a/b/c/cpu.max", "800000 100000\n");
    cr_expect_eq(quota(), 8);
    put("fs/a/b/cpu.max", "max 100000\n");
    put("fs/a/cpu.max", "250000 100000\n");
    cr_expect_eq(quota(), 3);
    put("fs/cpu.max", "400000 100000\n");
    cr_expect_eq(quota(), 3);
    put("fs/a/b/c/cpu.max", "150000 100000\n");
    cr_expect_eq(quota(), 2);
}

/* A container sees its own group as the root. */
Test(cpus, version_2_in_a_container)
{
    put("self", "0::/\n");
    put("fs/cpu.max", "200000 100000\n");
    cr_expect_eq(quota(), 2);
    put("self", "0::/docker/0123\n");
    cr_expect_eq(quota(), 2);
}

Test(cpus, version_1_under_the_names_of_its_controllers)
{
    put("self", "5:cpuset:/x\n4:cpu,cpuacct:/x/y\n3:memory:/x\n");
    put("fs/cpuset/x/cpu.cfs_quota_us", "100000\n");
    put("fs/cpuset/x/cpu.cfs_period_us", "100000\n");
    put("fs/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n");
    put("fs/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(quota(), 0);
    put("fs/cpu,cpuacct/x/cpu.cfs_quota_us", "350000\n");
    put("fs/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(quota(), 4);
    put("fs/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
    cr_expect_eq(quota(), 4, "a quota without a period is none");
    put("fs/cpu,cpuacct/cpu.cfs_period_us", "25000\n");
    cr_expect_eq(quota(), 2);
}

Test(cpus, version_1_under_another_order_of_names)
{
    put("self", "4:cpuacct,cpu:/x\n");
    put("fs/cpu/cpu.cfs_quota_us", "300000\n");
    put("fs/cpu/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(quota(), 3);
}

/* Both are mounted, the controllers in one of them. */
Test(cpus, a_mixture_of_versions)
{
    put("self", "4:cpu:/x\n1:name=systemd:/x\n0::/x\n");
    put("fs/cpu/x/cpu.cfs_quota_us", "200000\n");
    put("fs/cpu/x/cpu.cfs_period_us", "100000\n");
    cr_expect_eq(quota(), 2);
    put("fs/x/cpu.max", "100000 100000\n");
    cr_expect_eq(quota(), 1);
}

Test(cpus, no_more_than_the_affinity)
{
    const int allowed = onnxd_cpu_count_allowed();
    cr_expect_geq(allowed, 1);
    cr_expect_leq(allowed, sysconf(_SC_NPROCESSORS_ONLN));
}
