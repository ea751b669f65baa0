/* Packed weights that kernels share. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/packed.h"
#include "tests/base/status_check.h"

/* Bytes of every packing here. */
#define BYTES ((size_t)192)

/* How often something was packed, and with which byte. */
typedef struct packer {
    atomic_uint calls;
    unsigned char value;
} packer;

static void pack(const void *context, const onnxd_tensor *tensor, void *out)
{
    const packer *p = context;
    (void)tensor;
    atomic_fetch_add((atomic_uint *)&p->calls, 1);
    memset(out, p->value, BYTES);
}

static onnxd_cpu_packing packing_of(const packer *p, const char *form, uint64_t first,
                                    uint64_t last)
{
    onnxd_cpu_packing packing = {.form = form, .bytes = BYTES, .pack = pack, .context = p};
    packing.parameters[0] = first;
    packing.parameters[ONNXD_CPU_PACKING_PARAMETERS - 1] = last;
    return packing;
}

static onnxd_cpu_packed *acquire(onnxd_cpu_packed_list *list, const onnxd_tensor *tensor,
                                 const onnxd_cpu_packing *packing)
{
    onnxd_cpu_packed *packed = NULL;
    onnxd_status *status = onnxd_cpu_packed_acquire(list, tensor, packing, &packed);
    cr_assert_null(status, "%s", onnxd_status_message(status));
    cr_assert_not_null(packed);
    return packed;
}

static void expect_held(onnxd_cpu_packed_list *list, size_t count)
{
    size_t found, bytes;
    onnxd_cpu_packed_query(list, &found, &bytes);
    cr_assert_eq(found, count, "%zu packings, not %zu", found, count);
    cr_assert_eq(bytes, count * BYTES, "%zu bytes for %zu packings", bytes, count);
}

Test(packed, equal_ones_are_made_once)
{
    onnxd_cpu_packed_list list;
    onnxd_tensor tensor = {0};
    packer p = {.value = 7};
    char form[] = "direct"; /* the same text at another address */
    const onnxd_cpu_packing one = packing_of(&p, "direct", 3, 4);
    const onnxd_cpu_packing same = packing_of(&p, form, 3, 4);
    check_ok(onnxd_cpu_packed_list_init(&list));
    const uint64_t live = onnxd_alloc_query().live_count;
    expect_held(&list, 0);
    onnxd_cpu_packed *first = acquire(&list, &tensor, &one);
    onnxd_cpu_packed *second = acquire(&list, &tensor, &same);
    cr_expect_eq(first, second);
    cr_expect_eq(atomic_load(&p.calls), 1);
    expect_held(&list, 1);
    const unsigned char *data = onnxd_cpu_packed_data(first);
    cr_expect_eq((uintptr_t)data % 64, 0);
    cr_expect(data[0] == 7 && data[BYTES - 1] == 7);
    onnxd_cpu_packed_release(&list, first);
    expect_held(&list, 1);
    cr_expect_eq(data[BYTES / 2], 7, "another still holds it");
    onnxd_cpu_packed_release(&list, second);
    expect_held(&list, 0);
    cr_expect_eq(onnxd_alloc_query().live_count, live, "the last release frees");
    /* What has gone is made anew. */
    onnxd_cpu_packed_release(&list, acquire(&list, &tensor, &one));
    cr_expect_eq(atomic_load(&p.calls), 2);
    onnxd_cpu_packed_list_deinit(&list);
}

/* A tensor, a form or any parameter that differs makes another one; they go in any order. */
Test(packed, different_ones_are_told_apart)
{
    enum { KINDS = 6 };
    const uint64_t live = onnxd_alloc_query().live_count;
    onnxd_cpu_packed_list list;
    onnxd_tensor tensors[2] = {{0}, {0}};
    packer p[KINDS];
    const struct {
        size_t tensor;
        const char *form;
        uint64_t first, last;
    } kinds[KINDS] = {{0, "direct", 0, 0}, {1, "direct", 0, 0}, {0, "winograd", 0, 0},
                      {0, "direct", 1, 0}, {0, "direct", 0, 1}, {0, "direc", 0, 0}};
    static const size_t orders[][KINDS] = {
        {0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {2, 5, 0, 3, 1, 4}};
    check_ok(onnxd_cpu_packed_list_init(&list));
    for (size_t o = 0; o < sizeof(orders) / sizeof(orders[0]); o++) {
        onnxd_cpu_packed *packed[KINDS];
        for (size_t i = 0; i < KINDS; i++) {
            p[i] = (packer){.value = (unsigned char)(10 + i)};
            const onnxd_cpu_packing packing =
                packing_of(&p[i], kinds[i].form, kinds[i].first, kinds[i].last);
            packed[i] = acquire(&list, &tensors[kinds[i].tensor], &packing);
            cr_expect_eq(atomic_load(&p[i].calls), 1, "kind %zu", i);
        }
        for (size_t i = 0; i < KINDS; i++) {
            const unsigned char *data = onnxd_cpu_packed_data(packed[orders[o][i]]);
            expect_held(&list, KINDS - i);
            cr_expect_eq(data[BYTES - 1], 10 + orders[o][i]);
            onnxd_cpu_packed_release(&list, packed[orders[o][i]]);
        }
        expect_held(&list, 0);
    }
    onnxd_cpu_packed_list_deinit(&list);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300, TENSORS = 3 };

typedef struct user {
    onnxd_cpu_packed_list *list;
    const onnxd_tensor *tensors;
    packer *packers; /* by tensor */
    atomic_uint *failures;
} user;

static void *use(void *context)
{
    const user *u = context;
    for (size_t round = 0; round < ROUNDS; round++) {
        const size_t t = round % TENSORS;
        const onnxd_cpu_packing packing = packing_of(&u->packers[t], "direct", 0, 0);
        onnxd_cpu_packed *packed = NULL;
        onnxd_status *status = onnxd_cpu_packed_acquire(u->list, &u->tensors[t], &packing, &packed);
        if (status != NULL) {
            onnxd_status_free(status);
            atomic_fetch_add(u->failures, 1);
            continue;
        }
        const unsigned char *data = onnxd_cpu_packed_data(packed);
        for (size_t i = 0; i < BYTES; i++)
            if (data[i] != u->packers[t].value)
                atomic_fetch_add(u->failures, 1);
        onnxd_cpu_packed_release(u->list, packed);
    }
    return NULL;
}

Test(packed, several_threads)
{
    const uint64_t live = onnxd_alloc_query().live_count;
    onnxd_cpu_packed_list list;
    onnxd_tensor tensors[TENSORS] = {{0}, {0}, {0}};
    packer packers[TENSORS] = {{.value = 1}, {.value = 2}, {.value = 3}};
    atomic_uint failures = 0;
    user users[THREADS];
    pthread_t threads[THREADS];
    check_ok(onnxd_cpu_packed_list_init(&list));
    for (size_t i = 0; i < THREADS; i++) {
        users[i] = (user){&list, tensors, packers, &failures};
        cr_assert_eq(pthread_create(&threads[i], NULL, use, &users[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(atomic_load(&failures), 0, "an error, or the data of another");
    expect_held(&list, 0);
    onnxd_cpu_packed_list_deinit(&list);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
}

/* ---- two that pack the same at a time -------------------------------------------------------- */

/* The first to pack waits until another has acquired the same. */
typedef struct late_packer {
    onnxd_cpu_packed_list *list;
    const onnxd_tensor *tensor;
    onnxd_cpu_packed *other;
    unsigned depth;
} late_packer;

static void pack_late(const void *context, const onnxd_tensor *tensor, void *out)
{
    late_packer *late = *(late_packer *const *)context;
    const unsigned char value = (unsigned char)late->depth++;
    if (value == 0) {
        const onnxd_cpu_packing packing = {
            .form = "late", .bytes = BYTES, .pack = pack_late, .context = context};
        late->other = acquire(late->list, tensor, &packing);
    }
    memset(out, value, BYTES);
}

Test(packed, of_two_that_pack_the_same_one_is_dropped)
{
    const uint64_t live = onnxd_alloc_query().live_count;
    onnxd_cpu_packed_list list;
    onnxd_tensor tensor = {0};
    late_packer late = {.list = &list, .tensor = &tensor}, *context = &late;
    const onnxd_cpu_packing packing = {
        .form = "late", .bytes = BYTES, .pack = pack_late, .context = &context};
    check_ok(onnxd_cpu_packed_list_init(&list));
    onnxd_cpu_packed *packed = acquire(&list, &tensor, &packing);
    cr_expect_eq(packed, late.other);
    cr_expect_eq(late.depth, 2, "packed %u times", late.depth);
    cr_expect_eq(*(const unsigned char *)onnxd_cpu_packed_data(packed), 1, "the first one stays");
    expect_held(&list, 1);
    onnxd_cpu_packed_release(&list, packed);
    onnxd_cpu_packed_release(&list, late.other);
    expect_held(&list, 0);
    onnxd_cpu_packed_list_deinit(&list);
    cr_expect_eq(onnxd_alloc_query().live_count, live);
}

/* ---- failures -------------------------------------------------------------------------------- */

Test(packed, memory_fails)
{
    onnxd_cpu_packed_list list;
    onnxd_tensor tensor = {0};
    packer p = {.value = 1};
    const onnxd_cpu_packing packing = packing_of(&p, "direct", 0, 0);
    check_ok(onnxd_cpu_packed_list_init(&list));
    const uint64_t live = onnxd_alloc_query().live_count;
    for (uint64_t n = 1; n <= 4; n++) {
        onnxd_cpu_packed *packed = NULL;
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_cpu_packed_acquire(&list, &tensor, &packing, &packed);
        onnxd_alloc_fail_at(0, 0);
        cr_assert_not_null(status, "allocation %lu", n);
        cr_expect_eq(onnxd_status_code(status), ONNXD_OUT_OF_MEMORY);
        cr_expect_not_null(strstr(onnxd_status_message(status), "packed weights"), "%s",
                           onnxd_status_message(status));
        onnxd_status_free(status);
        cr_expect_null(packed, "a failure touched its result");
        expect_held(&list, 0);
        cr_expect_eq(onnxd_alloc_query().live_count, live);
    }
    cr_expect_eq(atomic_load(&p.calls), 0);
    /* A failure leaves nothing in the way of the next try; one that is there needs no memory. */
    onnxd_cpu_packed *first = acquire(&list, &tensor, &packing);
    onnxd_alloc_fail_at(1, 1);
    onnxd_cpu_packed *second = acquire(&list, &tensor, &packing);
    onnxd_alloc_fail_at(0, 0);
    cr_expect_eq(first, second);
    onnxd_cpu_packed_release(&list, first);
    onnxd_cpu_packed_release(&list, second);
    onnxd_cpu_packed_list_deinit(&list);
}
