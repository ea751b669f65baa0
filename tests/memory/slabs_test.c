#include "memory/slabs.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/base/status_check.h"

#define MIB ((size_t)1 << 20)

static onnxd_slabs *create(void)
{
    onnxd_slabs *slabs = NULL;
    check_ok(onnxd_slabs_create(&slabs));
    return slabs;
}

static onnxd_slab_piece take(onnxd_slabs *slabs, size_t bytes)
{
    onnxd_slab_piece piece = {0};
    check_ok(onnxd_slabs_acquire(slabs, bytes, &piece));
    cr_assert_eq((uintptr_t)piece.data % ONNXD_SLAB_ALIGNMENT, 0);
    memset(piece.data, 0xa5, bytes);
    return piece;
}

Test(slabs, little_takes_little)
{
    onnxd_slabs *slabs = create();
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 0);
    const onnxd_slab_piece a = take(slabs, 1), b = take(slabs, 0), c = take(slabs, 1000);
    cr_assert_neq(a.data, b.data);
    cr_assert_neq(b.data, c.data);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), MIB);
    onnxd_slabs_release(slabs, a);
    onnxd_slabs_release(slabs, b);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), MIB);
    onnxd_slabs_release(slabs, c);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 0);
    onnxd_slabs_destroy(slabs);
}

Test(slabs, large_pieces_have_their_own)
{
    onnxd_slabs *slabs = create();
    const onnxd_slab_piece large = take(slabs, 40 * MIB);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 40 * MIB + ONNXD_SLAB_ALIGNMENT);
    const onnxd_slab_piece middle = take(slabs, 6 * MIB), next = take(slabs, 6 * MIB);
    cr_assert_eq(middle.slab, next.slab);
    cr_assert_neq(large.slab, middle.slab);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 56 * MIB + ONNXD_SLAB_ALIGNMENT);
    onnxd_slabs_release(slabs, large);
    onnxd_slabs_release(slabs, middle);
    cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 16 * MIB);
    /* What was given back is taken again. */
    const onnxd_slab_piece again = take(slabs, 6 * MIB);
    cr_assert_eq(again.slab, next.slab);
    onnxd_slabs_release(slabs, again);
    onnxd_slabs_release(slabs, next);
    onnxd_slabs_destroy(slabs);
}

Test(slabs, refusals)
{
    onnxd_slabs *slabs = create();
    onnxd_slab_piece piece = {0};
    check_error(onnxd_slabs_acquire(slabs, SIZE_MAX, &piece), ONNXD_OUT_OF_MEMORY, "a slab");
    check_error(onnxd_slabs_acquire(slabs, SIZE_MAX / 4, &piece), ONNXD_OUT_OF_MEMORY, "a slab");
    cr_assert_null(piece.data);
    onnxd_slabs_release(slabs, piece);
    onnxd_slabs_destroy(slabs);
}

Test(slabs, every_failed_allocation_is_an_error)
{
    const onnxd_alloc_stats before = onnxd_alloc_query();
    for (uint64_t n = 1; n <= 4; n++) {
        onnxd_slabs *slabs = create();
        onnxd_slab_piece piece = {0};
        onnxd_alloc_fail_at(n, 0);
        onnxd_status *status = onnxd_slabs_acquire(slabs, 100, &piece);
        onnxd_alloc_fail_at(0, 0);
        if (status != NULL)
            check_error(status, ONNXD_OUT_OF_MEMORY, "");
        else
            onnxd_slabs_release(slabs, piece);
        cr_assert_eq(onnxd_slabs_committed_bytes(slabs), 0);
        onnxd_slabs_destroy(slabs);
    }
    cr_assert_eq(onnxd_alloc_query().live_count, before.live_count);
}
