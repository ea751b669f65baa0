/* Convolutions of one channel and one map per group. */
#include "ep/cpu/compute/convolution_internal.h"
#include "ep/cpu/compute/pieces.h"

/* Pixels of a row that a piece has at least. */
#define LEAST_PIXELS ((size_t)16)
/* Rows of taps that are handed to the kernel at once. */
#define ROWS 64

typedef struct depthwise_run {
    const onnxd_convolution_call *call;
    size_t parts, part_pixels; /* of each row of the output */
} depthwise_run;

/* Some pixels of one row of the output. */
typedef struct row_part {
    const onnxd_convolution_call *call;
    onnxd_window_place place; /* of the row's first pixel */
    float *out;               /* the row */
    const float *residual;    /* of the row, or NULL */
    int64_t first, end;       /* pixels */
} row_part;

void onnxd_convolution_depthwise_pack(const onnxd_convolution_shape *shape, const float *weights,
                                      float *packed)
{
    const size_t taps = onnxd_image_window_taps(&shape->window);
    const size_t channels = shape->window.channels;
    for (size_t t = 0; t < taps; t++)
        for (size_t c = 0; c < channels; c++)
            packed[t * channels + c] = weights[c * taps + t];
}

/* ---- along a row ----------------------------------------------------------------------------- */

/* Pixels [first, end), which all use the taps [column, column + columns) of each row. */
static void run_pixels(const row_part *part, onnxd_simd_depthwise *kernel, int64_t first,
                       int64_t end, int64_t column, int64_t columns)
{
    const onnxd_convolution *c = part->call->c;
    const onnxd_image_window *w = &c->shape.window;
    const int64_t at = first * w->stride[2] - w->pad_begin[2] + column * w->dilation[2];
    onnxd_simd_post post = *kernel->post;
    if (part->residual != NULL)
        post.residual = part->residual + (size_t)first * w->channels;
    onnxd_simd_depthwise pixels = *kernel;
    pixels.in_offset = columns == 0 ? 0 : (size_t)at * part->call->places.channels;
    pixels.weight_offset = (size_t)column * w->channels;
    pixels.columns = (size_t)columns;
    pixels.pixels = (size_t)(end - first);
    pixels.out = part->out + (size_t)first * w->channels;
    pixels.post = &post;
    c->simd->depthwise(&pixels);
}

/* The first pixel of a row whose tap `k` reads at `position` or behind it, of at most `end`. */
static int64_t first_at(const onnxd_image_window *w, int64_t k, int64_t position, int64_t end)
{
    const int64_t distance = position - k * w->dilation[2] + w->pad_begin[2];
    const int64_t pixel = distance <= 0 ? 0 : (distance + w->stride[2] - 1) / w->stride[2];
    return pixel < end ? pixel : end;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* A pixel near the ends of the row, some of whose taps may read beyond them. */
static void run_end(const row_part *part, onnxd_simd_depthwise *kernel, int64_t pixel)
{
    const onnxd_image_window *w = &part->call->c->shape.window;
    int64_t column = 0, end = w->kernel[2];
    while (column < end && first_at(w, column, 0, pixel + 1) > pixel)
        column++;
    while (end > column && first_at(w, end - 1, w->in[2], pixel + 1) <= pixel)
        end--;
    run_pixels(part, kernel, pixel, pixel + 1, column, end - column);
}

static void run_columns(const row_part *part, onnxd_simd_depthwise *kernel)
{
    const onnxd_image_window *w = &part->call->c->shape.window;
    /* From the first pixel on, no tap reads before the row; from the second, one reads behind. */
    const int64_t inner = most(part->first, first_at(w, 0, 0, part->end));
    const int64_t last = most(inner, first_at(w, w->kernel[2] - 1, w->in[2], part->end));
    for (int64_t pixel = part->first; pixel < inner; pixel++)
        run_end(part, kernel, pixel);
    if (last > inner)
        run_pixels(part, kernel, inner, last, 0, w->kernel[2]);
    for (int64_t pixel = last; pixel < part->end; pixel++)
        run_end(part, kernel, pixel);
}

/* ---- rows of taps ---------------------------------------------------------------------------- */

static void run_row(const row_part *part)
{
    const onnxd_convolution *c = part->call->c;
    const onnxd_image_window *w = &c->shape.window;
    const size_t pitch = part->call->places.channels;
    const onnxd_simd_post none = {.activation = {.function = ONNXD_SIMD_IDENTITY}};
    const onnxd_simd_post post = {
        .activation = c->activation, .bias = c->bias, .residual = part->residual};
    const float *in[ROWS], *weights[ROWS];
    onnxd_simd_depthwise kernel = {.in = in,
                                   .weights = weights,
                                   .column_step = (size_t)w->dilation[2] * pitch,
                                   .pixel_step = (size_t)w->stride[2] * pitch,
                                   .channels = w->channels,
                                   .post = &none};
    row_part first_rows = *part;
    first_rows.residual = NULL;
    for (int64_t z = 0; z < w->kernel[0]; z++) {
        for (int64_t y = 0; y < w->kernel[1]; y++) {
            const int64_t at_z = part->place.start[0] + z * w->dilation[0];
            const int64_t at_y = part->place.start[1] + y * w->dilation[1];
            if (at_z < 0 || at_z >= w->in[0] || at_y < 0 || at_y >= w->in[1])
                continue;
            if (kernel.rows == ROWS) {
                run_columns(&first_rows, &kernel);
                kernel.is_continued = true;
                kernel.rows = 0;
            }
            const int64_t row = ((int64_t)part->place.batch * w->in[0] + at_z) * w->in[1] + at_y;
            in[kernel.rows] = part->call->in + (size_t)(row * w->in[2]) * pitch;
            weights[kernel.rows++] =
                c->packed + (size_t)((z * w->kernel[1] + y) * w->kernel[2]) * w->channels;
        }
    }
    kernel.post = &post;
    run_columns(part, &kernel);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

static void run_piece(void *context, size_t index, uint32_t worker)
{
    const depthwise_run *run = context;
    const onnxd_image_window *w = &run->call->c->shape.window;
    const size_t row = index / run->parts, width = (size_t)w->out[2];
    const size_t first = index % run->parts * run->part_pixels;
    const size_t corner = row * width * w->channels;
    const size_t end = first + run->part_pixels < width ? first + run->part_pixels : width;
    const float *residual = run->call->residual;
    row_part part = {.call = run->call,
                     .out = run->call->out + corner,
                     .residual = residual == NULL ? NULL : residual + corner,
                     .first = (int64_t)first,
                     .end = (int64_t)end};
    (void)worker;
    onnxd_window_place_init(w, row * width, &part.place);
    run_row(&part);
}

void onnxd_convolution_depthwise_run(const onnxd_convolution_call *call)
{
    const onnxd_convolution *c = call->c;
    const size_t width = (size_t)c->shape.window.out[2], rows = c->pixels / width;
    const uint32_t threads = onnxd_team_width(call->team);
    const size_t wanted = onnxd_pieces_wanted(threads);
    depthwise_run run = {.call = call};
    size_t parts = (wanted + rows - 1) / rows;
    run.part_pixels = (width + parts - 1) / parts;
    if (run.part_pixels < LEAST_PIXELS)
        run.part_pixels = LEAST_PIXELS;
    run.parts = (width + run.part_pixels - 1) / run.part_pixels;
    onnxd_team_run(call->team, rows * run.parts, run_piece, &run);
}
