/* Attention over operands of any strides against the formula in double. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/alloc.h"
#include "ep/cpu/compute/attention.h"
#include "tests/ep/cpu/engine.h"

typedef struct attention_case {
    size_t batch, heads, group, queries, keys, size, v_size;
    onnxd_mask_kind mask;
    bool is_causal, is_packed; /* heads side by side, or one after the other */
} attention_case;

static const attention_case cases[] = {
    {1, 1, 1, 1, 1, 1, 1, ONNXD_MASK_NONE, false, false},
    {1, 2, 1, 16, 16, 32, 32, ONNXD_MASK_ADDED, false, true},
    {2, 3, 1, 5, 9, 7, 11, ONNXD_MASK_ADDED, false, false},
    {2, 4, 2, 33, 40, 16, 17, ONNXD_MASK_BOOLEAN, false, true},
    {1, 6, 3, 50, 50, 8, 40, ONNXD_MASK_NONE, true, true},
    {1, 1, 1, 130, 130, 20, 20, ONNXD_MASK_ADDED, true, false},
    {1, 1, 1, 10, 4, 3, 5, ONNXD_MASK_BOOLEAN, true, false},
    {1, 2, 1, 100, 700, 12, 33, ONNXD_MASK_NONE, false, true},
    {3, 1, 1, 1, 900, 64, 64, ONNXD_MASK_ADDED, false, true},
};

typedef struct attention_data {
    float *q, *k, *v, *added, *y;
    unsigned char *seen;
    size_t y_count;
} attention_data;

static onnxd_head_strides strides_of(const attention_case *of, size_t heads, size_t length,
                                     size_t size)
{
    if (of->is_packed)
        return (onnxd_head_strides){heads * length * size, size, heads * size};
    return (onnxd_head_strides){heads * length * size, length * size, size};
}

static onnxd_head_attention attention_of(const onnxd_simd *simd, const attention_case *of)
{
    const size_t kv_heads = of->heads / of->group;
    onnxd_head_attention a = {.simd = simd,
                              .batch = of->batch,
                              .heads = of->heads,
                              .group = of->group,
                              .queries = of->queries,
                              .keys = of->keys,
                              .head_size = of->size,
                              .v_head_size = of->v_size,
                              .q = strides_of(of, of->heads, of->queries, of->size),
                              .k = strides_of(of, kv_heads, of->keys, of->size),
                              .v = strides_of(of, kv_heads, of->keys, of->v_size),
                              .y = strides_of(of, of->heads, of->queries, of->v_size),
                              .mask_kind = of->mask,
                              .is_causal = of->is_causal,
                              .scale = 0.7f};
    /* One for each batch entry, which its heads share. */
    a.mask = (onnxd_head_strides){of->queries * of->keys, 0, of->keys};
    return a;
}

/* Some keys are hidden from some queries, and all of them from the first. */
static void data_init(const attention_case *of, attention_data *d)
{
    uint64_t seed = of->queries * 100 + of->keys;
    const size_t kv_heads = of->heads / of->group, masks = of->batch * of->queries * of->keys;
    d->q = random_floats(&seed, of->batch * of->heads * of->queries * of->size);
    d->k = random_floats(&seed, of->batch * kv_heads * of->keys * of->size);
    d->v = random_floats(&seed, of->batch * kv_heads * of->keys * of->v_size);
    d->added = random_floats(&seed, masks);
    d->seen = onnxd_alloc_zero(masks, 1);
    cr_assert_not_null(d->seen);
    d->y_count = of->batch * of->heads * of->queries * of->v_size;
    d->y = guard_floats(d->y_count + 1);
    for (size_t i = 0; i < masks; i++) {
        const bool is_hidden = i / of->keys % of->queries == 0 || engine_random(&seed) % 4 == 0;
        d->seen[i] = is_hidden ? 0 : 3;
        if (is_hidden)
            d->added[i] = -INFINITY;
    }
}

static void data_deinit(attention_data *d)
{
    onnxd_free(d->q);
    onnxd_free(d->k);
    onnxd_free(d->v);
    onnxd_free(d->added);
    onnxd_free(d->seen);
    onnxd_free(d->y);
}

static size_t at(const onnxd_head_strides *s, size_t batch, size_t head, size_t row)
{
    return batch * s->batch + head * s->head + row * s->row;
}

static double score_of(const onnxd_head_attention *a, const attention_data *d, size_t b, size_t h,
                       size_t i, size_t j)
{
    const size_t mask = at(&a->mask, b, h, i) + j;
    double sum = 0;
    if ((a->is_causal && j > i) || (a->mask_kind == ONNXD_MASK_BOOLEAN && d->seen[mask] == 0))
        return -INFINITY;
    for (size_t e = 0; e < a->head_size; e++)
        sum +=
            (double)d->q[at(&a->q, b, h, i) + e] * (double)d->k[at(&a->k, b, h / a->group, j) + e];
    return sum * (double)a->scale + (a->mask_kind == ONNXD_MASK_ADDED ? (double)d->added[mask] : 0);
}

static void check_query(const onnxd_head_attention *a, const attention_data *d, size_t b, size_t h,
                        size_t i)
{
    double weights[1000], most = -INFINITY, sum = 0;
    for (size_t j = 0; j < a->keys; j++) {
        weights[j] = score_of(a, d, b, h, i, j);
        most = fmax(most, weights[j]);
    }
    for (size_t j = 0; j < a->keys; j++) {
        weights[j] = most == -INFINITY ? 0 : exp(weights[j] - most);
        sum += weights[j];
    }
    for (size_t e = 0; e < a->v_head_size; e++) {
        double want = 0;
        for (size_t j = 0; j < a->keys; j++)
            want += weights[j] * (double)d->v[at(&a->v, b, h / a->group, j) + e];
        want = sum == 0 ? 0 : want / sum;
        const double got = (double)d->y[at(&a->y, b, h, i) + e];
        expect_near(got, want, 3e-6, "%s, %zu queries of %zu keys: %zu %zu %zu %zu is %g, not %g",
                    onnxd_simd_level_name(a->simd->level), a->queries, a->keys, b, h, i, e, got,
                    want);
    }
}

static void check_case(const onnxd_simd *simd, onnxd_team *team, const attention_case *of)
{
    size_t elements = 0;
    attention_data d;
    onnxd_head_attention a = attention_of(simd, of);
    data_init(of, &d);
    cr_assert(onnxd_head_attention_plan(&a, onnxd_team_threads(team), &elements));
    float *workspace = guard_floats(elements + 1);
    const onnxd_head_attention_data data = {
        d.q, d.k, d.v, of->mask == ONNXD_MASK_BOOLEAN ? (const void *)d.seen : d.added, d.y};
    onnxd_head_attention_run(&a, team, &data, workspace);
    for (size_t b = 0; b < of->batch; b++)
        for (size_t h = 0; h < of->heads; h++)
            for (size_t i = 0; i < of->queries; i++)
                check_query(&a, &d, b, h, i);
    cr_assert_eq(d.y[d.y_count], GUARD, "wrote beyond its end");
    cr_assert_eq(workspace[elements], GUARD, "wrote beyond its workspace");
    onnxd_free(workspace);
    data_deinit(&d);
}

static void check_all(const onnxd_simd *simd)
{
    for (uint32_t threads = 1; threads <= 3; threads += 2) {
        onnxd_team *team = NULL;
        cr_assert_null(onnxd_team_create(threads, &team));
        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
            check_case(simd, team, &cases[i]);
        onnxd_team_destroy(team);
    }
}

Test(attention, all_cases)
{
    each_level(check_all);
}

Test(attention, a_workspace_that_does_not_fit)
{
    size_t elements = 7;
    onnxd_head_attention a = attention_of(onnxd_simd_table(ONNXD_SIMD_PORTABLE), &cases[0]);
    a.keys = SIZE_MAX / 8;
    cr_expect_not(onnxd_head_attention_plan(&a, 1, &elements));
    a.keys = SIZE_MAX;
    cr_expect_not(onnxd_head_attention_plan(&a, 1, &elements));
}
