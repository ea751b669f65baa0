/*
 * Every operator with inputs of shapes that it does not expect: each rank, pairs of ranks, empty
 * and huge extents, extents that do not match. Each call must end in a result or in an error that
 * names the node; what it must not do shows under the sanitizers.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/ops/hostile.h"

#define MAX_RANK 8 /* that ONNX's own operators meet; 16 is the most that a tensor can have */
#define PAIRED 3   /* inputs whose ranks are changed together */

static unsigned result_count, refusal_count;

static void count(const char *message)
{
    if (message[0] == '\0')
        result_count++;
    else
        refusal_count++;
}

/* Evaluates, or infers where the values of the shape are too many to make. */
static void run(op_call *call, bool has_values)
{
    count(has_values ? hostile_evaluate(call) : hostile_infer(call));
}

/* The call as it is, with nothing known about the values: what a load sees. */
static void forget_values(op_call *call, const onnxd_op_def *def)
{
    for (uint32_t i = 0; i < call->node.input_count; i++)
        if ((def->shape_inputs >> i & 1) == 0) {
            onnxd_tensor_release(call->values[i]);
            call->values[i] = NULL;
        }
}

/* `rank` extents of `extent`, or those of `like`, cut or with ones in front. */
static onnxd_shape of_rank(int32_t rank, int64_t extent, const onnxd_shape *like)
{
    onnxd_shape shape = {.rank = rank};
    for (int32_t i = 0; i < rank; i++) {
        int32_t from = i - rank + (like == NULL ? 0 : like->rank);
        shape.dims[i] = like == NULL ? extent : from < 0 ? 1 : like->dims[from];
    }
    return shape;
}

static bool is_present(const op_call *call, uint32_t input)
{
    return input < call->node.input_count && call->inputs[input] != ONNXD_NONE;
}

static uint32_t input_count(const op_text *text)
{
    static op_call c;
    op_call_open(&c, text);
    uint32_t result = c.node.input_count;
    op_call_close(&c);
    return result;
}

/* ---- ranks --------------------------------------------------------------------------------- */

static void each_rank(const op_text *text, const onnxd_op_def *def)
{
    static op_call c;
    uint32_t inputs = input_count(text);
    for (uint32_t i = 0; i < inputs; i++)
        for (int32_t rank = 0; rank <= MAX_RANK; rank++)
            for (int64_t extent = -1; extent <= 2; extent++)
                for (int is_known = 0; is_known < 2; is_known++) {
                    op_call_open(&c, text);
                    bool has_values = false;
                    if (is_present(&c, i)) {
                        onnxd_shape like = c.types[i].shape;
                        onnxd_shape shape = of_rank(rank, extent, extent < 0 ? &like : NULL);
                        has_values = hostile_set_shape(&c, i, &shape) && is_known == 1;
                    }
                    if (is_known == 0)
                        forget_values(&c, def);
                    run(&c, has_values);
                }
}

Test(hostile_shapes, every_input_of_every_operator_takes_every_rank)
{
    hostile_for_each(each_rank);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

static void each_pair_of_ranks(const op_text *text, const onnxd_op_def *def)
{
    static op_call c;
    uint32_t inputs = input_count(text);
    (void)def;
    for (uint32_t a = 0; a < PAIRED && a < inputs; a++)
        for (uint32_t b = a + 1; b < PAIRED && b < inputs; b++)
            for (int32_t rank = 0; rank < (MAX_RANK + 1) * (MAX_RANK + 1); rank++) {
                op_call_open(&c, text);
                onnxd_shape of_a = of_rank(rank / (MAX_RANK + 1), 1, NULL);
                onnxd_shape of_b = of_rank(rank % (MAX_RANK + 1), 1, NULL);
                bool has_values = true;
                if (is_present(&c, a))
                    has_values = hostile_set_shape(&c, a, &of_a);
                if (is_present(&c, b))
                    has_values = hostile_set_shape(&c, b, &of_b) && has_values;
                run(&c, has_values);
            }
}

Test(hostile_shapes, ranks_of_input_weights_and_bias_disagree_in_every_way)
{
    hostile_for_each(each_pair_of_ranks);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

/* ---- extents ------------------------------------------------------------------------------- */

/* `change` makes an extent from the one that the call has. */
static void each_extent(const op_text *text, const onnxd_op_def *def, bool is_known,
                        int64_t (*change)(int64_t extent, size_t which), size_t changes)
{
    static op_call c;
    uint32_t inputs = input_count(text);
    for (uint32_t i = 0; i < inputs; i++) {
        for (int32_t axis = 0; axis < ONNXD_MAX_RANK; axis++)
            for (size_t which = 0; which < changes; which++) {
                op_call_open(&c, text);
                if (!is_present(&c, i) || axis >= c.types[i].shape.rank) {
                    op_call_close(&c);
                    continue;
                }
                onnxd_shape shape = c.types[i].shape;
                shape.dims[axis] = change(shape.dims[axis], which);
                bool has_values = hostile_set_shape(&c, i, &shape);
                if (!is_known)
                    forget_values(&c, def);
                run(&c, has_values && is_known);
            }
    }
}

static int64_t neighbour(int64_t extent, size_t which)
{
    const int64_t extents[] = {0, extent > 0 ? extent - 1 : 1, extent + 1, 2 * extent, 17};
    return extents[which];
}

static void each_neighbour(const op_text *text, const onnxd_op_def *def)
{
    each_extent(text, def, true, neighbour, 5);
}

Test(hostile_shapes, every_extent_is_zero_one_off_and_doubled)
{
    hostile_for_each(each_neighbour);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

static int64_t huge(int64_t extent, size_t which)
{
    static const int64_t extents[] = {INT32_MAX,
                                      (int64_t)INT32_MAX + 1,
                                      (int64_t)1 << 32,
                                      ((int64_t)1 << 32) + 1,
                                      (int64_t)1 << 62,
                                      INT64_MAX - 1,
                                      INT64_MAX,
                                      ONNXD_DIM_UNKNOWN,
                                      ONNXD_DIM_FROM_SYMBOL(0)};
    (void)extent;
    return extents[which];
}

static void each_huge(const op_text *text, const onnxd_op_def *def)
{
    each_extent(text, def, true, huge, 9);
    each_extent(text, def, false, huge, 9);
}

/* Types only: no memory is asked for, and no product or sum of extents may wrap. */
Test(hostile_shapes, every_extent_is_huge_or_unknown)
{
    hostile_for_each(each_huge);
    cr_expect(result_count > 1000 && refusal_count > 1000, "%u results, %u refusals", result_count,
              refusal_count);
}

/* A zero beside a huge extent: the product is 0, but what is left of it is not. */
static void each_zero_beside_huge(const op_text *text, const onnxd_op_def *def)
{
    static op_call c;
    uint32_t inputs = input_count(text);
    (void)def;
    for (uint32_t i = 0; i < inputs; i++)
        for (int32_t zero = 0; zero < ONNXD_MAX_RANK; zero++)
            for (int32_t axis = 0; axis < ONNXD_MAX_RANK; axis++) {
                op_call_open(&c, text);
                int32_t rank = is_present(&c, i) ? c.types[i].shape.rank : 0;
                if (zero >= rank || axis >= rank || axis == zero) {
                    op_call_close(&c);
                    continue;
                }
                onnxd_shape shape = c.types[i].shape;
                shape.dims[zero] = 0;
                shape.dims[axis] = (int64_t)1 << 62;
                run(&c, hostile_set_shape(&c, i, &shape));
            }
}

Test(hostile_shapes, an_extent_of_zero_hides_no_huge_one)
{
    hostile_for_each(each_zero_beside_huge);
    cr_expect(result_count > 100 && refusal_count > 100, "%u results, %u refusals", result_count,
              refusal_count);
}
