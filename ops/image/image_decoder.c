/*
 * ImageDecoder: the bytes of an image file to pixels [height, width, channels]. What no decoder
 * understands becomes an empty tensor, as ONNX demands.
 */
#include <string.h>

#include "ops/choice.h"
#include "ops/image/codec/codec.h"
#include "ops/ops.h"
#include "ops/support.h"

typedef enum pixel_format { FORMAT_RGB, FORMAT_BGR, FORMAT_GRAYSCALE } pixel_format;

typedef struct decoder_params {
    pixel_format format;
} decoder_params;

static onnxd_status *parse(const onnxd_node *node, int64_t opset, onnxd_arena *arena, void *params)
{
    (void)opset, (void)arena;
    static const char *const names[] = {"pixel_format", NULL};
    static const char *const formats[] = {"RGB", "BGR", "Grayscale"};
    decoder_params *p = params;
    size_t format = FORMAT_RGB;
    ONNXD_TRY(onnxd_attributes_allow(node, names));
    ONNXD_TRY(onnxd_op_choice(node, "pixel_format", formats, ONNXD_COUNT(formats), &format));
    p->format = (pixel_format)format;
    return NULL;
}

static int64_t channels_of(const decoder_params *p)
{
    return p->format == FORMAT_GRAYSCALE ? 1 : 3;
}

static onnxd_status *infer(onnxd_infer *infer)
{
    const onnxd_shape *input = &infer->inputs[0].shape;
    if (input->rank != ONNXD_RANK_UNKNOWN && input->rank != 1)
        return onnxd_op_error(infer->node, "the input has rank %d, it must be a list of bytes",
                              (int)input->rank);
    infer->outputs[0].dtype = ONNXD_UINT8;
    infer->outputs[0].shape = onnxd_shape_of_rank(3);
    infer->outputs[0].shape.dims[2] = channels_of(infer->params);
    return NULL;
}

/* ---- decoding ------------------------------------------------------------------------------ */

typedef struct tensor_room {
    onnxd_image_room base;
    const onnxd_run_env *env;
    onnxd_tensor *tensor;
} tensor_room;

static onnxd_status *make(onnxd_image_room *base, size_t width, size_t height, uint8_t **out_pixels)
{
    tensor_room *room = ONNXD_CONTAINER_OF(base, tensor_room, base);
    const onnxd_shape shape = {.rank = 3, .dims = {(int64_t)height, (int64_t)width, 3}};
    ONNXD_TRY(room->env->allocate(room->env, ONNXD_UINT8, &shape, &room->tensor));
    /* A damaged file may end before the last row. */
    memset(room->tensor->data, 0, room->tensor->bytes);
    *out_pixels = room->tensor->data;
    return NULL;
}

/* NULL in room->tensor when no decoder takes the bytes. */
static onnxd_status *decode(const onnxd_tensor *input, tensor_room *room)
{
    static const onnxd_image_decoder decoders[] = {
        onnxd_decode_jpeg, onnxd_decode_png, onnxd_decode_webp,     onnxd_decode_bmp,
        onnxd_decode_tiff, onnxd_decode_pnm, onnxd_decode_jpeg2000,
    };
    for (size_t i = 0; i < ONNXD_COUNT(decoders); i++) {
        if (decoders[i](input->data, input->bytes, &room->base))
            return NULL;
        onnxd_tensor_release(room->tensor);
        room->tensor = NULL;
        if (room->base.status != NULL)
            return room->base.status;
    }
    return NULL;
}

static void swap_channels(onnxd_tensor *tensor)
{
    uint8_t *pixel = tensor->data;
    for (size_t i = 0; i + 2 < tensor->bytes; i += 3) {
        const uint8_t red = pixel[i];
        pixel[i] = pixel[i + 2];
        pixel[i + 2] = red;
    }
}

/* BT.601 luma in 16 bits of fraction, rounded. */
static onnxd_status *to_gray(const onnxd_run_env *env, const onnxd_tensor *color,
                             onnxd_tensor **out_gray)
{
    onnxd_shape shape = color->shape;
    onnxd_tensor *gray;
    shape.dims[2] = 1;
    ONNXD_TRY(env->allocate(env, ONNXD_UINT8, &shape, &gray));
    const uint8_t *from = color->data;
    uint8_t *to = gray->data;
    for (size_t i = 0; i < gray->bytes; i++, from += 3)
        to[i] = (uint8_t)((from[0] * 19595u + from[1] * 38470u + from[2] * 7471u + 0x8000u) >> 16);
    *out_gray = gray;
    return NULL;
}

static onnxd_status *run(onnxd_dynamic *dynamic)
{
    const decoder_params *p = dynamic->params;
    tensor_room room = {.base = {.make = make}, .env = dynamic->env};
    onnxd_tensor *output;
    ONNXD_TRY(decode(dynamic->inputs[0]->tensor, &room));
    output = room.tensor;
    if (output == NULL) {
        const onnxd_shape nothing = {.rank = 3, .dims = {0, 0, channels_of(p)}};
        ONNXD_TRY(dynamic->env->allocate(dynamic->env, ONNXD_UINT8, &nothing, &output));
    } else if (p->format == FORMAT_BGR) {
        swap_channels(output);
    } else if (p->format == FORMAT_GRAYSCALE) {
        onnxd_status *status = to_gray(dynamic->env, room.tensor, &output);
        onnxd_tensor_release(room.tensor);
        ONNXD_TRY(status);
    }
    onnxd_status *status = onnxd_datum_of_tensor(output, &dynamic->outputs[0]);
    onnxd_tensor_release(output);
    return status;
}

const onnxd_op_def onnxd_op_image_decoder[] = {
    {.op_type = "ImageDecoder",
     .domain = "",
     .since = 20,
     .until = ONNXD_OPSET_MAX,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .inputs = {{.types = ONNXD_SET(UINT8)}},
     .outputs = {{.types = ONNXD_SET(UINT8)}},
     .params_bytes = sizeof(decoder_params),
     .parse = parse,
     .infer = infer,
     .run = run},
    {.op_type = NULL},
};
