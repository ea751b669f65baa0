#include "ops/attention/attention_core.h"

#include <string.h>
#include <tgmath.h>

#include "base/size_math.h"
#include "ops/convert.h"
#include "ops/gemm_core.h"
#include "ops/real.h"

/* Queries handled at a time. */
#define QUERY_BLOCK 32

/* The keys [first, end). */
typedef struct range {
    size_t first, end;
} range;

static size_t total_length(const onnxd_attention *a)
{
    return a->past_length + a->kv_length;
}

/* What query `i` of a batch entry sees before masks; empty as first == end. */
static range visible(const onnxd_attention *a, size_t batch, size_t i)
{
    int64_t total = (int64_t)total_length(a);
    int64_t position = (a->offsets != NULL ? a->offsets[batch] : a->offset) + (int64_t)i;
    int64_t first = 0, end = total;
    if (a->left_window >= 0 && a->left_window < position)
        first = position - a->left_window;
    if (a->right_window >= 0 && a->right_window < total - position)
        end = position + a->right_window + 1;
    bool is_free = a->leaves_last_free && i + 1 == a->q_length;
    if (a->is_causal && !is_free && position + 1 < end)
        end = position + 1;
    if (a->key_counts != NULL && a->key_counts[batch] < end)
        end = a->key_counts[batch];
    for (uint32_t m = 0; m < a->mask_count; m++)
        if (a->masks[m].length < (size_t)total && (int64_t)a->masks[m].length < end)
            end = (int64_t)a->masks[m].length;
    if (end > total)
        end = total;
    if (first >= end)
        return (range){0, 0};
    return (range){(size_t)first, (size_t)end};
}

/* The keys that any of `count` queries from `i` on sees. */
static range visible_to_block(const onnxd_attention *a, size_t batch, size_t i, size_t count)
{
    range all = {0, 0};
    for (size_t r = 0; r < count; r++) {
        range seen = visible(a, batch, i + r);
        if (seen.first == seen.end)
            continue;
        if (all.first == all.end || seen.first < all.first)
            all.first = seen.first;
        if (seen.end > all.end)
            all.end = seen.end;
    }
    return all;
}

static bool is_double(const onnxd_attention *a)
{
    return a->q.dtype == ONNXD_DOUBLE || a->k.dtype == ONNXD_DOUBLE || a->v.dtype == ONNXD_DOUBLE ||
           a->softmax_dtype == ONNXD_DOUBLE;
}

/* Whether the product can read the operand where it lies. */
static bool needs_copy(const onnxd_attention *a, const onnxd_attention_operand *operand)
{
    return a->past_length != 0 || operand->dtype != (is_double(a) ? ONNXD_DOUBLE : ONNXD_FLOAT);
}

/* Numbers in each part of the workspace, in the order of their use. */
typedef struct sizes {
    size_t keys, values, queries, scores, bias, results; /* `bias` twice */
} sizes;

static bool sizes_of(const onnxd_attention *a, sizes *out)
{
    sizes s = {.keys = 0};
    size_t total, rows = a->q_length < QUERY_BLOCK ? a->q_length : QUERY_BLOCK;
    if (!onnxd_size_add(a->past_length, a->kv_length, &total))
        return false;
    if (needs_copy(a, &a->k) && !onnxd_size_mul(total, a->head_size, &s.keys))
        return false;
    if (needs_copy(a, &a->v) && !onnxd_size_mul(total, a->v_head_size, &s.values))
        return false;
    s.bias = total;
    if (!onnxd_size_mul(rows, a->head_size, &s.queries) ||
        !onnxd_size_mul(rows, total, &s.scores) ||
        !onnxd_size_mul(rows, a->v_head_size, &s.results))
        return false;
    *out = s;
    return true;
}

size_t onnxd_attention_workspace_bytes(const onnxd_attention *a)
{
    sizes s;
    size_t count;
    if (sizes_of(a, &s) && onnxd_size_add(s.keys, s.values, &count) &&
        onnxd_size_add(count, s.queries, &count) && onnxd_size_add(count, s.scores, &count) &&
        onnxd_size_add(count, s.bias, &count) && onnxd_size_add(count, s.bias, &count) &&
        onnxd_size_add(count, s.results, &count) &&
        onnxd_size_mul(count, is_double(a) ? sizeof(double) : sizeof(float), &count))
        return count;
    return SIZE_MAX;
}

#define KERNEL_FILE "ops/attention/attention_core_kernel.inc"
#include "ops/for_float_double.inc"
#undef KERNEL_FILE

void onnxd_attention_run(const onnxd_attention *a, void *workspace)
{
    sizes s;
    /* Results without elements may have any number of rows. */
    const bool has_results = a->v_head_size != 0 || (a->qk.data != NULL && total_length(a) != 0);
    if (!sizes_of(a, &s) || a->batch == 0 || a->q_heads == 0 || a->q_length == 0 || !has_results)
        return;
    if (is_double(a))
        run_double(a, &s, workspace);
    else
        run_float(a, &s, workspace);
}
