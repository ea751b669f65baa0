/*
 * NonMaxSuppression: for each batch and class the boxes in the order of their scores, without those
 * that overlap a chosen one by more than a threshold.
 */
#include <inttypes.h>
#include <string.h>

#include "ops/index/order.h"
#include "ops/index/output.h"
#include "ops/ops.h"
#include "ops/support.h"
#include "ops/types.h"

typedef struct nms_params {
    int64_t is_centered;
} nms_params;

enum { BOXES, SCORES, MAX_BOXES, IOU_THRESHOLD, SCORE_THRESHOLD };

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"center_point_box", NULL};
    nms_params *p = params;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    return onnxd_attribute_int(node, "center_point_box", 0, 1, &p->is_centered);
}

static onnxd_status *check_shapes(const onnxd_node *node, const onnxd_shape *boxes,
                                  const onnxd_shape *scores)
{
    const onnxd_shape *shapes[] = {boxes, scores};
    for (uint32_t i = 0; i < ONNXD_COUNT(shapes); i++)
        if (shapes[i]->rank >= 0 && shapes[i]->rank != 3)
            return onnxd_op_error(node, "input %" PRIu32 " has rank %" PRId32 ", must have 3", i,
                                  shapes[i]->rank);
    if (boxes->rank >= 0 && onnxd_dim_is_static(boxes->dims[2]) && boxes->dims[2] != 4)
        return onnxd_op_error(node, "a box has %" PRId64 " numbers, must have 4", boxes->dims[2]);
    if (boxes->rank < 0 || scores->rank < 0)
        return NULL;
    static const struct {
        int boxes, scores;
        const char *what;
    } equal[] = {{0, 0, "batches"}, {1, 2, "boxes"}};
    for (size_t i = 0; i < ONNXD_COUNT(equal); i++) {
        int64_t a = boxes->dims[equal[i].boxes], b = scores->dims[equal[i].scores];
        if (onnxd_dim_is_static(a) && onnxd_dim_is_static(b) && a != b)
            return onnxd_op_error(node, "input 0 has %" PRId64 " %s, but input 1 has %" PRId64, a,
                                  equal[i].what, b);
    }
    return NULL;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    infer->outputs[0].dtype = ONNXD_INT64;
    infer->outputs[0].shape = onnxd_shape_of_rank(2);
    infer->outputs[0].shape.dims[1] = 3;
    return check_shapes(infer->node, &infer->inputs[BOXES].shape, &infer->inputs[SCORES].shape);
}

/* One call: limits, scratch of a class, and what has been chosen so far. */
typedef struct nms_call {
    onnxd_dynamic *dynamic;
    bool is_centered, has_score_threshold;
    float iou_threshold, score_threshold;
    size_t limit; /* of a class */
    size_t batches, classes, boxes;
    onnxd_tensor *order;  /* [2 * boxes] positions by score, and room to sort them */
    onnxd_tensor *chosen; /* [capacity, 3] */
    size_t chosen_count;
} nms_call;

/* The one element of an optional input; NULL when it is absent. */
static onnxd_status *find_scalar(const onnxd_dynamic *dynamic, uint32_t index, const void **out)
{
    *out = NULL;
    if (index >= dynamic->input_count || dynamic->inputs[index] == NULL)
        return NULL;
    const onnxd_tensor *tensor = dynamic->inputs[index]->tensor;
    if (tensor->count != 1)
        return onnxd_op_error(dynamic->node, "input %" PRIu32 " has %zu elements, must have one",
                              index, tensor->count);
    *out = tensor->data;
    return NULL;
}

static onnxd_status *read_limits(nms_call *c)
{
    const void *limit, *iou, *score;
    ONNXD_TRY(find_scalar(c->dynamic, MAX_BOXES, &limit));
    ONNXD_TRY(find_scalar(c->dynamic, IOU_THRESHOLD, &iou));
    ONNXD_TRY(find_scalar(c->dynamic, SCORE_THRESHOLD, &score));
    if (limit != NULL && *(const int64_t *)limit > 0)
        c->limit = (size_t) * (const int64_t *)limit;
    if (iou != NULL)
        c->iou_threshold = *(const float *)iou;
    if (!(c->iou_threshold >= 0 && c->iou_threshold <= 1))
        return onnxd_op_error(c->dynamic->node,
                              "input 3, the overlap threshold, is %g, outside [0, 1]",
                              (double)c->iou_threshold);
    c->has_score_threshold = score != NULL;
    if (score != NULL)
        c->score_threshold = *(const float *)score;
    return NULL;
}

/* Corners in order; y1, x1, y2, x2 in the input may be any two opposite ones. */
typedef struct box {
    float top, left, bottom, right;
} box;

static box load_box(const float *numbers, bool is_centered)
{
    if (is_centered) {
        float half_width = numbers[2] / 2, half_height = numbers[3] / 2;
        return (box){numbers[1] - half_height, numbers[0] - half_width, numbers[1] + half_height,
                     numbers[0] + half_width};
    }
    bool is_up = numbers[0] > numbers[2], is_left = numbers[1] > numbers[3];
    return (box){numbers[is_up ? 2 : 0], numbers[is_left ? 3 : 1], numbers[is_up ? 0 : 2],
                 numbers[is_left ? 1 : 3]};
}

/* Whether intersection over union is above the threshold. */
static bool overlap(const box *a, const box *b, float threshold)
{
    float top = a->top > b->top ? a->top : b->top;
    float left = a->left > b->left ? a->left : b->left;
    float bottom = a->bottom < b->bottom ? a->bottom : b->bottom;
    float right = a->right < b->right ? a->right : b->right;
    if (!(bottom > top && right > left))
        return false;
    float common = (bottom - top) * (right - left);
    float area_a = (a->bottom - a->top) * (a->right - a->left);
    float area_b = (b->bottom - b->top) * (b->right - b->left);
    float joint = area_a + area_b - common;
    return area_a > 0 && area_b > 0 && joint > 0 && common / joint > threshold;
}

/* Descending scores of equal boxes in ascending position, NaN last. */
static int compare_scores(const void *a, const void *b, size_t count)
{
    (void)count;
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y) + ((x != x) - (y != y));
}

/* Room for one more choice; the room doubles, so that it is never far more than what was chosen. */
static onnxd_status *grow(nms_call *c)
{
    const onnxd_run_env *env = c->dynamic->env;
    int64_t capacity = c->chosen == NULL ? 0 : c->chosen->shape.dims[0];
    if (c->chosen_count < (size_t)capacity)
        return NULL;
    onnxd_shape shape = {.rank = 2, .dims = {capacity == 0 ? 64 : 2 * capacity, 3}};
    onnxd_tensor *larger;
    ONNXD_TRY(env->allocate(env, ONNXD_INT64, &shape, &larger));
    if (capacity != 0)
        memcpy(larger->data, c->chosen->data, c->chosen->bytes);
    onnxd_tensor_release(c->chosen);
    c->chosen = larger;
    return NULL;
}

static onnxd_status *choose(nms_call *c, size_t batch, size_t class_index, size_t position)
{
    ONNXD_TRY(grow(c));
    int64_t *row = (int64_t *)c->chosen->data + 3 * c->chosen_count++;
    row[0] = (int64_t)batch;
    row[1] = (int64_t)class_index;
    row[2] = (int64_t)position;
    return NULL;
}

/* Candidates between two looks at whether the request is still wanted. */
#define CHECK_EVERY 256

static onnxd_status *run_class(nms_call *c, size_t batch, size_t class_index)
{
    const float *boxes = (const float *)c->dynamic->inputs[BOXES]->tensor->data;
    const float *scores = (const float *)c->dynamic->inputs[SCORES]->tensor->data;
    int64_t *order = c->order->data;
    size_t count = 0, first = c->chosen_count;
    boxes += batch * c->boxes * 4;
    scores += (batch * c->classes + class_index) * c->boxes;
    for (size_t i = 0; i < c->boxes; i++)
        if (!c->has_score_threshold || scores[i] > c->score_threshold)
            order[count++] = (int64_t)i;
    ONNXD_TRY(onnxd_sort_positions(c->dynamic->env, order, order + c->boxes, count, compare_scores,
                                   scores, 1, sizeof(float)));
    for (size_t i = 0; i < count && c->chosen_count - first < c->limit; i++) {
        if (i % CHECK_EVERY == 0)
            ONNXD_TRY(c->dynamic->env->check(c->dynamic->env));
        const box candidate = load_box(boxes + 4 * order[i], c->is_centered);
        bool is_suppressed = false;
        for (size_t j = first; j < c->chosen_count && !is_suppressed; j++) {
            int64_t other = ((const int64_t *)c->chosen->data)[3 * j + 2];
            const box chosen = load_box(boxes + 4 * other, c->is_centered);
            is_suppressed = overlap(&candidate, &chosen, c->iou_threshold);
        }
        if (!is_suppressed)
            ONNXD_TRY(choose(c, batch, class_index, (size_t)order[i]));
    }
    return NULL;
}

static onnxd_status *run_all(nms_call *c)
{
    const onnxd_run_env *env = c->dynamic->env;
    const onnxd_tensor *boxes = c->dynamic->inputs[BOXES]->tensor;
    const onnxd_tensor *scores = c->dynamic->inputs[SCORES]->tensor;
    ONNXD_TRY(check_shapes(c->dynamic->node, &boxes->shape, &scores->shape));
    ONNXD_TRY(read_limits(c));
    c->batches = (size_t)scores->shape.dims[0];
    c->classes = (size_t)scores->shape.dims[1];
    c->boxes = (size_t)scores->shape.dims[2];
    if (scores->count == 0 || c->limit == 0)
        return NULL;
    onnxd_shape shape = {.rank = 2, .dims = {2, (int64_t)c->boxes}};
    ONNXD_TRY(env->allocate(env, ONNXD_INT64, &shape, &c->order));
    for (size_t batch = 0; batch < c->batches; batch++)
        for (size_t i = 0; i < c->classes; i++)
            ONNXD_TRY(run_class(c, batch, i));
    return NULL;
}

static onnxd_status *publish(nms_call *c)
{
    const onnxd_run_env *env = c->dynamic->env;
    onnxd_shape shape = {.rank = 2, .dims = {(int64_t)c->chosen_count, 3}};
    onnxd_tensor *output;
    ONNXD_TRY(env->allocate(env, ONNXD_INT64, &shape, &output));
    if (output->bytes != 0)
        memcpy(output->data, c->chosen->data, output->bytes);
    return onnxd_publish_output(c->dynamic, 0, output);
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const nms_params *p = dynamic->params;
    nms_call call = {.dynamic = dynamic, .is_centered = p->is_centered != 0};
    onnxd_status *status = run_all(&call);
    if (status == NULL)
        status = publish(&call);
    onnxd_tensor_release(call.order);
    onnxd_tensor_release(call.chosen);
    return status;
}

const onnxd_op_def onnxd_op_non_max_suppression[] = {
    {.op_type = "NonMaxSuppression",
     .domain = "",
     .since = 10,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 2,
     .max_inputs = 5,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(FLOAT)},
                {.types = ONNXD_SET(FLOAT)},
                {.types = ONNXD_SET(INT64), .is_optional = true},
                {.types = ONNXD_SET(FLOAT), .is_optional = true},
                {.types = ONNXD_SET(FLOAT), .is_optional = true}},
     .outputs = {{.types = ONNXD_SET(INT64)}},
     .params_bytes = sizeof(nms_params),
     .parse = parse,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};
