/* The walk through the sequence that the recurrent operators share. */
#include <inttypes.h>
#include <string.h>

#include "base/size_math.h"
#include "ops/gemm_core.h"
#include "ops/real.h"
#include "ops/recurrent/recurrent.h"
#include "ops/support.h"

enum { X, W, R, BIAS, LENGTHS, INITIAL_H, INITIAL_C, PEEPHOLES };
enum { Y, LAST_H, LAST_C };

/* Parts of the workspace, in numbers of the type calculated in. */
enum {
    PART_X, /* copies of half types, of W and R for one direction */
    PART_W,
    PART_R,
    PART_PRODUCTS, /* X * W^T for all steps */
    PART_BIAS,     /* of W, then of R */
    PART_PEEPHOLES,
    PART_GATES,
    PART_RECUR,
    PART_H,
    PART_C,
    PART_NEXT_H,
    PART_NEXT_C,
    PART_SPARE,
    PART_COUNT
};

typedef struct walk {
    const onnxd_compute *context;
    const onnxd_recurrent_params *params;
    const onnxd_recurrent_cell *cell;
    size_t steps, batch, width, hidden;
    size_t gates, columns;   /* numbers per entry of the batch: gates * hidden */
    onnxd_dtype dtype, wide; /* in memory, and calculated in */
    size_t element;          /* bytes of `wide` */
    const int32_t *lengths;  /* NULL: all are `steps` */
    size_t longest;
    char *parts[PART_COUNT];
} walk;

static walk walk_of(const onnxd_compute *context, const onnxd_recurrent_cell *cell)
{
    const onnxd_recurrent_params *params = context->params;
    const int64_t *x = context->inputs[X].shape.dims;
    walk w = {.context = context,
              .params = params,
              .cell = cell,
              .steps = (size_t)x[params->is_batch_first ? 1 : 0],
              .batch = (size_t)x[params->is_batch_first ? 0 : 1],
              .width = (size_t)x[2],
              .hidden = (size_t)context->inputs[R].shape.dims[2],
              .dtype = context->inputs[X].dtype};
    w.gates = cell->gates * w.hidden;
    w.columns = cell->columns(params) * w.hidden;
    w.wide = w.dtype == ONNXD_DOUBLE ? ONNXD_DOUBLE : ONNXD_FLOAT;
    w.element = onnxd_dtype_size(w.wide);
    w.longest = w.steps;
    return w;
}

/* Numbers in each part. */
static bool part_sizes(const walk *w, size_t sizes[PART_COUNT])
{
    size_t rows, state;
    memset(sizes, 0, PART_COUNT * sizeof(sizes[0]));
    if (!onnxd_size_mul(w->steps, w->batch, &rows) ||
        !onnxd_size_mul(w->batch, w->hidden, &state) ||
        !onnxd_size_mul(rows, w->gates, &sizes[PART_PRODUCTS]) ||
        !onnxd_size_mul(w->batch, w->gates, &sizes[PART_GATES]) ||
        !onnxd_size_mul(w->batch, w->gates, &sizes[PART_RECUR]))
        return false;
    /* With halves W and R are in memory already, in fewer bytes. */
    if (w->wide != w->dtype) {
        if (!onnxd_size_mul(rows, w->width, &sizes[PART_X]) ||
            !onnxd_size_mul(w->gates, w->width, &sizes[PART_W]) ||
            !onnxd_size_mul(w->gates, w->hidden, &sizes[PART_R]))
            return false;
    }
    sizes[PART_BIAS] = 2 * w->gates;
    sizes[PART_PEEPHOLES] = 3 * w->hidden;
    for (size_t i = PART_H; i <= PART_SPARE; i++)
        sizes[i] = state;
    return true;
}

size_t onnxd_recurrent_workspace_bytes(const onnxd_compute *context,
                                       const onnxd_recurrent_cell *cell)
{
    walk w = walk_of(context, cell);
    size_t sizes[PART_COUNT], total = 0;
    if (!onnxd_compute_has_work(context))
        return 0;
    if (!part_sizes(&w, sizes))
        return SIZE_MAX;
    for (size_t i = 0; i < PART_COUNT; i++)
        if (!onnxd_size_add(total, sizes[i], &total))
            return SIZE_MAX;
    return onnxd_size_mul(total, w.element, &total) ? total : SIZE_MAX;
}

/* Elements [first, first + count) of a tensor as numbers of the wide type; zeros without one. */
static void load(const walk *w, const onnxd_tensor_view *view, size_t first, size_t count,
                 void *out)
{
    if (view == NULL)
        memset(out, 0, count * w->element);
    else if (w->wide == w->dtype)
        memcpy(out, (const char *)onnxd_tensor_view_data(view) + first * w->element,
               count * w->element);
    else
        onnxd_real_widen(w->dtype, (const uint16_t *)onnxd_tensor_view_data(view) + first, count,
                         out);
}

static void store(const walk *w, const void *values, size_t count, const onnxd_tensor_view *view,
                  size_t first)
{
    if (w->wide == w->dtype)
        memcpy((char *)onnxd_tensor_view_data(view) + first * w->element, values,
               count * w->element);
    else
        onnxd_real_narrow(w->dtype, values, count,
                          (uint16_t *)onnxd_tensor_view_data(view) + first);
}

/* The elements where they lie if their type is calculated in, else a copy in `part`. */
static const char *wide_form(const walk *w, const onnxd_tensor_view *view, size_t first,
                             size_t count, char *part)
{
    if (w->wide == w->dtype)
        return (const char *)onnxd_tensor_view_data(view) + first * w->element;
    load(w, view, first, count, part);
    return part;
}

/* Adds `terms` to each of `rows` rows of `count` numbers. */
static void add_to_rows(const walk *w, const void *terms, size_t rows, size_t count, void *matrix)
{
    for (size_t r = 0; r < rows; r++) {
        if (w->wide == ONNXD_FLOAT) {
            float *row = (float *)matrix + r * count;
            for (size_t i = 0; i < count; i++)
                row[i] += ((const float *)terms)[i];
        } else {
            double *row = (double *)matrix + r * count;
            for (size_t i = 0; i < count; i++)
                row[i] += ((const double *)terms)[i];
        }
    }
}

/* Element offsets of an entry's state in initial_h, Y_h and the like, and of a step in Y. */
static size_t state_at(const walk *w, size_t direction, size_t entry)
{
    size_t row = w->params->is_batch_first ? entry * w->params->directions + direction
                                           : direction * w->batch + entry;
    return row * w->hidden;
}

static size_t output_at_step(const walk *w, size_t direction, size_t entry, size_t step)
{
    size_t directions = w->params->directions;
    size_t row = w->params->is_batch_first ? (entry * w->steps + step) * directions + direction
                                           : (step * directions + direction) * w->batch + entry;
    return row * w->hidden;
}

static size_t length_of(const walk *w, size_t entry)
{
    return w->lengths == NULL ? w->steps : (size_t)w->lengths[entry];
}

/* Biases of one direction: what belongs to x, then what belongs to recur. */
static void load_bias(const walk *w, size_t direction)
{
    char *of_x = w->parts[PART_BIAS], *of_recur = of_x + w->gates * w->element;
    load(w, onnxd_compute_input(w->context, BIAS), direction * 2 * w->gates, 2 * w->gates, of_x);
    size_t done = w->columns * w->element;
    add_to_rows(w, of_recur + done, 1, w->gates - w->columns, of_x + done);
}

static void multiply_inputs(const walk *w, size_t direction, const char *x)
{
    size_t rows = w->steps * w->batch, weights = w->gates * w->width;
    const char *matrix =
        wide_form(w, &w->context->inputs[W], direction * weights, weights, w->parts[PART_W]);
    onnxd_product product = {rows, w->width, w->gates, w->width, 1, 1, w->width};
    onnxd_product_run(&product, w->wide, x, matrix, w->parts[PART_PRODUCTS]);
    add_to_rows(w, w->parts[PART_BIAS], rows, w->gates, w->parts[PART_PRODUCTS]);
}

static void load_state(const walk *w, size_t direction)
{
    for (size_t b = 0; b < w->batch; b++) {
        size_t from = state_at(w, direction, b), to = b * w->hidden * w->element;
        load(w, onnxd_compute_input(w->context, INITIAL_H), from, w->hidden, w->parts[PART_H] + to);
        if (w->cell->has_cell_state)
            load(w, onnxd_compute_input(w->context, INITIAL_C), from, w->hidden,
                 w->parts[PART_C] + to);
    }
}

static void store_state(const walk *w, size_t direction)
{
    const onnxd_tensor_view *last_h = onnxd_compute_output(w->context, LAST_H);
    const onnxd_tensor_view *last_c = onnxd_compute_output(w->context, LAST_C);
    for (size_t b = 0; b < w->batch; b++) {
        size_t to = state_at(w, direction, b), from = b * w->hidden * w->element;
        if (last_h != NULL)
            store(w, w->parts[PART_H] + from, w->hidden, last_h, to);
        if (last_c != NULL)
            store(w, w->parts[PART_C] + from, w->hidden, last_c, to);
    }
}

/* Takes over the new state of entries that are not at their end, and outputs it. */
static void advance(const walk *w, size_t direction, bool is_reverse, size_t step)
{
    const onnxd_tensor_view *y = onnxd_compute_output(w->context, Y);
    size_t bytes = w->hidden * w->element;
    for (size_t b = 0; b < w->batch; b++) {
        size_t length = length_of(w, b);
        if (step >= length)
            continue;
        char *h = w->parts[PART_H] + b * bytes;
        memcpy(h, w->parts[PART_NEXT_H] + b * bytes, bytes);
        if (w->cell->has_cell_state)
            memcpy(w->parts[PART_C] + b * bytes, w->parts[PART_NEXT_C] + b * bytes, bytes);
        if (y != NULL)
            store(w, h, w->hidden, y,
                  output_at_step(w, direction, b, is_reverse ? length - 1 - step : step));
    }
}

/* The rows of X * W^T for a step: as they lie, or collected for entries at different times. */
static void *gates_of(const walk *w, bool is_reverse, size_t step)
{
    size_t bytes = w->gates * w->element;
    if (w->lengths == NULL && !w->params->is_batch_first)
        return w->parts[PART_PRODUCTS] +
               (is_reverse ? w->steps - 1 - step : step) * w->batch * bytes;
    for (size_t b = 0; b < w->batch; b++) {
        size_t length = length_of(w, b), time = step;
        if (step >= length)
            time = 0;
        else if (is_reverse)
            time = length - 1 - step;
        size_t row = w->params->is_batch_first ? b * w->steps + time : time * w->batch + b;
        memcpy(w->parts[PART_GATES] + b * bytes, w->parts[PART_PRODUCTS] + row * bytes, bytes);
    }
    return w->parts[PART_GATES];
}

/* The state as the product with R takes it. */
static const void *factor_of(const walk *w)
{
    char *h = w->parts[PART_H], *spare = w->parts[PART_SPARE];
    if (w->cell->approximate == NULL)
        return h;
    memcpy(spare, h, w->batch * w->hidden * w->element);
    w->cell->approximate((float *)(void *)spare, w->batch * w->hidden);
    return spare;
}

static void run_direction(const walk *w, size_t direction, const char *x)
{
    const onnxd_tensor_view *peepholes = onnxd_compute_input(w->context, PEEPHOLES);
    bool is_reverse = direction == 1 || w->params->is_reverse;
    size_t weights = w->gates * w->hidden;
    load_bias(w, direction);
    load_state(w, direction);
    multiply_inputs(w, direction, x);
    onnxd_recurrent_step s = {.params = w->params,
                              .activations = w->params->activations[direction],
                              .batch = w->batch,
                              .hidden = w->hidden,
                              .recur = w->parts[PART_RECUR],
                              .h = w->parts[PART_H],
                              .c = w->parts[PART_C],
                              .next_h = w->parts[PART_NEXT_H],
                              .next_c = w->parts[PART_NEXT_C],
                              .spare = w->parts[PART_SPARE]};
    s.r = wide_form(w, &w->context->inputs[R], direction * weights, weights, w->parts[PART_R]);
    if (peepholes != NULL)
        s.peepholes = wide_form(w, peepholes, direction * 3 * w->hidden, 3 * w->hidden,
                                w->parts[PART_PEEPHOLES]);
    onnxd_product product = {w->batch, w->hidden, w->columns, w->hidden, 1, 1, w->hidden};
    for (size_t step = 0; step < w->longest; step++) {
        s.x = gates_of(w, is_reverse, step);
        onnxd_product_run(&product, w->wide, factor_of(w), s.r, s.recur);
        add_to_rows(w, w->parts[PART_BIAS] + w->gates * w->element, w->batch, w->columns, s.recur);
        if (w->wide == ONNXD_DOUBLE)
            w->cell->step_double(&s);
        else
            w->cell->step_float(&s);
        advance(w, direction, is_reverse, step);
    }
    store_state(w, direction);
}

static onnxd_status *read_lengths(walk *w)
{
    const onnxd_tensor_view *view = onnxd_compute_input(w->context, LENGTHS);
    if (view == NULL)
        return NULL;
    w->lengths = onnxd_tensor_view_data(view);
    w->longest = 0;
    for (size_t b = 0; b < w->batch; b++) {
        int32_t length = w->lengths[b];
        if (length < 0 || (size_t)length > w->steps)
            return onnxd_op_error(w->context->node,
                                  "element %zu of input 4 is %" PRId32 ", allowed is 0 to %zu", b,
                                  length, w->steps);
        if ((size_t)length > w->longest)
            w->longest = (size_t)length;
    }
    return NULL;
}

onnxd_status *onnxd_recurrent_compute(const onnxd_compute *context,
                                      const onnxd_recurrent_cell *cell)
{
    walk w = walk_of(context, cell);
    ONNXD_TRY(read_lengths(&w));
    if (!onnxd_compute_has_work(context))
        return NULL;
    size_t sizes[PART_COUNT];
    if (!part_sizes(&w, sizes))
        return onnxd_op_error(context->node, "the shapes are too large");
    char *at = context->workspace;
    for (size_t i = 0; i < PART_COUNT; at += sizes[i] * w.element, i++)
        w.parts[i] = at;
    const onnxd_tensor_view *y = onnxd_compute_output(context, Y);
    if (y != NULL && w.lengths != NULL && w.steps != 0)
        memset(onnxd_tensor_view_data(y), 0, onnxd_tensor_view_bytes(y));
    const char *x =
        wide_form(&w, &context->inputs[X], 0, w.steps * w.batch * w.width, w.parts[PART_X]);
    for (size_t direction = 0; direction < w.params->directions; direction++)
        run_direction(&w, direction, x);
    return NULL;
}
