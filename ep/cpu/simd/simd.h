/*
 * The vector kernels of the CPU provider: inner loops over FLOAT and quantised tensors, built once
 * per instruction set and chosen once per process.
 *
 *   level        instructions              lanes   tile of the matrix product
 *   portable     what the compiler targets  4      4 x 8
 *   avx2         AVX2, FMA and F16C         8      6 x 16
 *   avx512       AVX-512 F, BW, DQ and VL  16      12 x 32
 *   avx512_vnni  those and VNNI            16      12 x 32
 *   avx512_bf16  those and BF16            16      12 x 32
 *
 * Each file of the folder that ends in _kernels.c is compiled for every level; vector.h gives it
 * vectors of the level's width. Of the last two levels those files alone that have a use for the
 * instructions: both have their own byte_product, avx512_bf16 its own bf16_product, all else is
 * that of avx512. What a level offers is its table onnxd_simd. Kernels take strides and counts in
 * elements, allocate nothing and check nothing: the files of ep/cpu/ that use them have validated
 * every size.
 *
 * Threads: all functions may be called from any thread.
 */
#ifndef ONNXD_EP_CPU_SIMD_SIMD_H
#define ONNXD_EP_CPU_SIMD_SIMD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No level has wider tiles or vectors. */
#define ONNXD_SIMD_MAX_LANES 16
#define ONNXD_SIMD_MAX_ROWS 12
#define ONNXD_SIMD_MAX_COLUMNS 32

/* ---- what follows a product ------------------------------------------------------------------ */

typedef enum onnxd_simd_function {
    ONNXD_SIMD_IDENTITY,
    ONNXD_SIMD_RELU,
    ONNXD_SIMD_LEAKY_RELU,   /* x < 0 ? alpha x : x */
    ONNXD_SIMD_CLIP,         /* min(max(x, alpha), beta) */
    ONNXD_SIMD_HARD_SIGMOID, /* min(max(alpha x + beta, 0), 1) */
    ONNXD_SIMD_HARD_SWISH,   /* x hard_sigmoid(x) */
    /* alpha x min(max(x / 6 + 1 / 2, 0), 1) + beta */
    ONNXD_SIMD_SCALED_HARD_SWISH,
    ONNXD_SIMD_SIGMOID,
    ONNXD_SIMD_SILU, /* x sigmoid(alpha x) */
    ONNXD_SIMD_TANH,
    ONNXD_SIMD_ERF,
    ONNXD_SIMD_EXP,
    ONNXD_SIMD_GELU,
    ONNXD_SIMD_GELU_TANH,
    /* Of activate() alone; what follows a product has none of them. */
    ONNXD_SIMD_ABS,
    ONNXD_SIMD_NEGATIVE,
    ONNXD_SIMD_FLOOR,
    ONNXD_SIMD_CEIL,
    ONNXD_SIMD_ROUND, /* halves to even */
    ONNXD_SIMD_SQRT,
    ONNXD_SIMD_RECIPROCAL,
    ONNXD_SIMD_SQUARE,
    ONNXD_SIMD_CUBE,
    ONNXD_SIMD_ROOT,         /* x^0.5, which of -infinity is infinity and of -0 is 0 */
    ONNXD_SIMD_INVERSE_ROOT, /* x^-0.5 */
    ONNXD_SIMD_LOG,
    ONNXD_SIMD_SOFTPLUS,         /* log(1 + e^x) */
    ONNXD_SIMD_SOFTSIGN,         /* x / (1 + |x|) */
    ONNXD_SIMD_MISH,             /* x tanh(softplus(x)) */
    ONNXD_SIMD_ELU,              /* x < 0 ? alpha (e^x - 1) : x */
    ONNXD_SIMD_SELU,             /* beta (x > 0 ? x : alpha (e^x - 1)) */
    ONNXD_SIMD_CELU,             /* max(0, x) + min(0, alpha (e^(x / alpha) - 1)), alpha > 0 */
    ONNXD_SIMD_THRESHOLDED_RELU, /* x > alpha ? x : 0, also of NaN */
    ONNXD_SIMD_FUNCTION_COUNT
} onnxd_simd_function;
/* Those before it may follow a product. */
#define ONNXD_SIMD_FUSED_COUNT ONNXD_SIMD_ABS

/* An activation with its parameters; those that the function has no use for are 0. */
typedef struct onnxd_simd_activation {
    onnxd_simd_function function;
    float alpha, beta;
} onnxd_simd_activation;

/* What becomes of each element of a result before it is stored:
 * activation(element + bias[column] + residual[row][column]). */
typedef struct onnxd_simd_post {
    onnxd_simd_activation activation;
    const float *bias; /* from the tile's first column on, readable for whole vectors; or NULL */
    const float *residual; /* of the tile's first element; or NULL */
    size_t residual_stride;
} onnxd_simd_post;

/* ---- the product ----------------------------------------------------------------------------- */

/* Rows of C = A B, any number of them, and at most tile_columns columns; the level works on
 * tile_rows at a time. B is packed: for each of `taps` times `depth` steps the columns one after
 * the other, zeros behind the last, aligned for vectors. A is given by the addresses of its rows,
 * once per tap: a row's part for one tap is `depth` consecutive elements. */
typedef struct onnxd_simd_tile {
    const float *const *a; /* of tap t and row i: a[t * a_stride + i]; none beyond `rows` is read */
    size_t a_stride;
    const float *a_packed; /* the same by pack_rows(); NULL: where `a` says */
    size_t taps, depth;
    const float *b;
    const float *b_next; /* what the next tile's `b` will be, to be fetched meanwhile; or NULL */
    float *c;
    size_t c_stride;
    uint32_t rows, columns;      /* to be stored; columns at least 1, at most tile_columns */
    bool is_continued;           /* adds to what C holds */
    const onnxd_simd_post *post; /* NULL: stored as it is */
} onnxd_simd_tile;

/* ---- the product of bfloat16 ----------------------------------------------------------------- */

/* As onnxd_simd_tile, of factors in bfloat16 (the upper half of a float's bits) and sums in float.
 * Each step of the depth is a pair: B has for each of `pairs` steps tile_columns columns one after
 * the other, of each two elements, zeros behind the last column. Rows of A have 2 `pairs`
 * consecutive elements. Where the processor multiplies bfloat16 itself it takes elements below the
 * least normal number for zeros. */
typedef struct onnxd_simd_bf16_tile {
    const uint16_t *a; /* of row i: a[i * a_stride] on */
    size_t a_stride;
    size_t pairs;
    const uint16_t *b, *b_next; /* as onnxd_simd_tile has it */
    float *c;
    size_t c_stride;
    uint32_t rows, columns;      /* columns at least 1, at most tile_columns */
    bool is_continued;           /* adds to what C holds */
    const onnxd_simd_post *post; /* NULL: stored as it is */
} onnxd_simd_bf16_tile;

/* Which products are likely faster of bfloat16 than of float: those of at most so many rows that
 * have at least so many weights for each row. */
typedef struct onnxd_simd_bf16_gain {
    size_t rows, weights;
} onnxd_simd_bf16_gain;
/* Of few rows, whose weights come from beyond the second-level cache: half the bytes are faster
 * whatever multiplying costs. */
#define ONNXD_BF16_FEW_ROWS ((size_t)4)
#define ONNXD_BF16_GAIN_FROM_MEMORY                                                                \
    {                                                                                              \
        ONNXD_BF16_FEW_ROWS, (size_t)1 << 18                                                       \
    }

/* ---- windows --------------------------------------------------------------------------------- */

/* Pixels of one window over a channels-last image. */
typedef struct onnxd_simd_window {
    const float *const *pixels; /* [count]: their channels, one after the other */
    size_t count;
    float *out;
    bool is_continued; /* `out` holds what earlier pixels of the window gave */
} onnxd_simd_window;

/* ---- convolution channel by channel ---------------------------------------------------------- */

/* Neighbouring pixels of one row of the output. Their windows are given by rows of taps: where the
 * first tap of the first pixel's window reads, and its weights, [channels] for each tap. */
typedef struct onnxd_simd_depthwise {
    const float *const *in, *const *weights; /* [rows] */
    size_t in_offset, weight_offset;         /* added to each of them */
    size_t rows, columns;                    /* taps of a window; may be 0 */
    size_t column_step; /* from what one tap of a row reads to what the next one does */
    size_t pixel_step;  /* from what a tap reads for one pixel to what it does for the next */
    size_t pixels, channels;
    float *out;
    bool is_continued; /* adds to what `out` holds */
    /* Its residual is of the first pixel and lies as `out` does. NULL: nothing follows. */
    const onnxd_simd_post *post;
} onnxd_simd_depthwise;

/* ---- Winograd's convolution ------------------------------------------------------------------ */

/* F(tile x tile, 3 x 3), tile 4 or 2: there are (tile + 2)^2 matrices, 36 or 16. */
#define ONNXD_SIMD_WINOGRAD_MATRICES(tile) (((size_t)(tile) + 2) * ((size_t)(tile) + 2))
#define ONNXD_SIMD_MOST_MATRICES 36

/* A tile of the output: the matrices' elements become up to tile x tile pixels. */
typedef struct onnxd_simd_winograd_out {
    size_t tile;
    const float *in; /* of matrix i: in[i * matrix + map] */
    size_t matrix;
    float *out; /* of the first pixel */
    size_t row_stride, pixel_stride;
    uint32_t rows, columns; /* that lie within the image */
    onnxd_simd_post post;   /* residual of the first pixel, its strides those of `out` */
} onnxd_simd_winograd_out;

/* ---- rows of elements ------------------------------------------------------------------------ */

typedef enum onnxd_simd_binary {
    ONNXD_SIMD_ADD,
    ONNXD_SIMD_SUBTRACT,
    ONNXD_SIMD_MULTIPLY,
    ONNXD_SIMD_DIVIDE,
    ONNXD_SIMD_GREATEST, /* NaN where either is */
    ONNXD_SIMD_LEAST,
    ONNXD_SIMD_POWER, /* a^b as C's pow() has it */
    ONNXD_SIMD_PRELU, /* a < 0 ? a b : a */
    ONNXD_SIMD_BINARY_COUNT
} onnxd_simd_binary;

/* out[i] = a[i a_step] op b[i b_step], steps 0 or 1; out may be a or b. */
typedef struct onnxd_simd_row {
    const float *a, *b;
    float *out;
    size_t count;
    bool a_step, b_step;
} onnxd_simd_row;

/* ---- element types --------------------------------------------------------------------------- */

/* X(from, to), by the names of base/dtype.h. */
#define ONNXD_SIMD_EACH_CAST(X)                                                                    \
    X(FLOAT, FLOAT16)                                                                              \
    X(FLOAT, DOUBLE)                                                                               \
    X(FLOAT, INT8)                                                                                 \
    X(FLOAT, UINT8)                                                                                \
    X(FLOAT, INT32)                                                                                \
    X(FLOAT, INT64)                                                                                \
    X(FLOAT, BOOL)                                                                                 \
    X(FLOAT16, FLOAT)                                                                              \
    X(DOUBLE, FLOAT)                                                                               \
    X(INT8, FLOAT)                                                                                 \
    X(UINT8, FLOAT)                                                                                \
    X(UINT8, INT32)                                                                                \
    X(INT32, FLOAT)                                                                                \
    X(INT32, INT64)                                                                                \
    X(INT32, BOOL)                                                                                 \
    X(INT64, FLOAT)                                                                                \
    X(INT64, INT32)                                                                                \
    X(INT64, BOOL)                                                                                 \
    X(BOOL, FLOAT)                                                                                 \
    X(BOOL, INT32)                                                                                 \
    X(BOOL, INT64)

typedef enum onnxd_simd_cast {
#define ONNXD_SIMD_CAST(from, to) ONNXD_SIMD_CAST_##from##_##to,
    ONNXD_SIMD_EACH_CAST(ONNXD_SIMD_CAST)
#undef ONNXD_SIMD_CAST
        ONNXD_SIMD_CAST_COUNT
} onnxd_simd_cast;

/* ---- reductions ------------------------------------------------------------------------------ */

/* Of a NaN each is NaN. */
typedef enum onnxd_simd_reduction {
    ONNXD_SIMD_REDUCE_SUM,
    ONNXD_SIMD_REDUCE_SQUARES,
    ONNXD_SIMD_REDUCE_MAGNITUDES,
    ONNXD_SIMD_REDUCE_MAX,
    ONNXD_SIMD_REDUCE_MIN,
    ONNXD_SIMD_REDUCTION_COUNT
} onnxd_simd_reduction;

/* (x - center) factor + addend */
typedef struct onnxd_simd_line {
    float center, factor, addend;
} onnxd_simd_line;

/* ---- normalisations -------------------------------------------------------------------------- */

/* out = (in - mean) / sqrt(mean of squares + epsilon) * scale + bias over a row; not centered: the
 * mean is taken for 0. */
typedef struct onnxd_simd_layer_norm {
    size_t length;
    float epsilon;
    bool is_centered;
    const float *scale, *bias; /* [length]; no bias: NULL */
} onnxd_simd_layer_norm;

/* out[c] = in[c] / (bias + alpha * sum of squares)^0.75, the sum over `size` channels around c: one
 * more above than below where it is even. */
typedef struct onnxd_simd_lrn {
    size_t channels, size;
    float alpha, bias;
    /* [channels + size + 2 ONNXD_SIMD_MAX_LANES], zeros where no squares are put. */
    float *scratch;
} onnxd_simd_lrn;

/* ---- recurrent operators -----------------------------------------------------------------------
 */

/* A step of LSTM or GRU for one entry of the batch. Rows of gates hold `hidden` elements for each
 * gate, in ONNX's order; a gate's argument is the sum of both rows. h and c hold the state before
 * the step, then the one after it. */
typedef struct onnxd_simd_cell {
    size_t hidden;
    onnxd_simd_activation activations[3]; /* f, g and LSTM's h */
    float clip;                           /* bounds the arguments of f and g; INFINITY: does not */
    const float *x, *recur;               /* rows of gates: X W^T and H R^T with the biases */
    float *h;
    /* LSTM: */
    float *c;
    const float *peepholes; /* [3 * hidden]: input, output, forget; NULL: none */
    bool couples_input_and_forget;
    /* GRU: reset = reset gate (.) factor, which is h, whose product with R then becomes recur's
     * last gate, or, linear before the reset, that gate itself. */
    const float *factor;
    float *reset; /* may be factor */
} onnxd_simd_cell;
/* ---- quantised tensors ----------------------------------------------------------------------- */

/* A quantised tensor is one of INT8 or UINT8. Its bytes are read alike: with the sign bits of UINT8
 * flipped, and those of its zero point, both are less by 128, and the difference is as it was. */
typedef struct onnxd_simd_zero {
    uint8_t flip;  /* 0x80 for UINT8, 0 for INT8 */
    int16_t value; /* the flipped zero point, as INT8 */
} onnxd_simd_zero;

/* Rows of C = A B of 16-bit integers with 32-bit sums modulo 2^32, tile_columns columns. Each step
 * of the depth is a pair: B has for each of `taps` times `pairs` steps the columns one after the
 * other, of each two elements; A is given by the addresses of its rows, once per tap, 2 `pairs`
 * consecutive elements each, aligned to pairs. Elements are within [-255, 255], so that the
 * products of a pair have a sum. */
typedef struct onnxd_simd_integer_tile {
    const int16_t *const
        *a; /* of tap t and row i: a[t * a_stride + i]; none beyond `rows` is read */
    size_t a_stride;
    size_t taps, pairs;
    const int16_t *b;
    int32_t *c; /* rows of tile_columns */
    uint32_t rows;
    bool is_continued; /* adds to what C holds */
} onnxd_simd_integer_tile;

/* The same of bytes: A is UINT8 as it lies, B INT8 in steps of four elements. Unless the level
 * takes any bytes, sums of two products next to each other, elements 0 and 1 or 2 and 3 of a step,
 * are within 16 bits; of two steps that are marked, so are the sums of both such sums. */
typedef struct onnxd_simd_byte_tile {
    const uint8_t *const
        *a; /* of tap t and row i: a[t * a_stride + i]; none beyond `rows` is read */
    size_t a_stride;
    size_t taps, steps;
    const int8_t *b, *b_next; /* as onnxd_simd_tile has it */
    const bool *marks;        /* [taps][steps / 2]; not read by a level that takes any bytes */
    int32_t *c;               /* rows of tile_columns */
    uint32_t rows;
    bool is_continued; /* adds to what C holds */
} onnxd_simd_byte_tile;

typedef enum onnxd_simd_integer_kind {
    ONNXD_SIMD_SUMS,  /* INT32: sum + addend */
    ONNXD_SIMD_REALS, /* FLOAT: (sum + addend) factor + bias */
    ONNXD_SIMD_BYTES  /* INT8 or UINT8: min(max((sum + addend) factor, low), high), rounded to even,
                         + zero; NaN is the lowest number */
} onnxd_simd_integer_kind;

/* The range of a quantised type less the zero point, and the zero point. */
typedef struct onnxd_simd_range {
    float low, high, zero;
} onnxd_simd_range;

/* Bytes that are added to a quantised result before it is stored, as a sum of two quantised
 * tensors: round(result own_factor + other factor) + zero, of elements less their zero points. */
typedef struct onnxd_simd_byte_addend {
    const uint8_t *rows; /* of the first row and column; NULL: nothing is added */
    size_t stride;
    onnxd_simd_zero zero;
    float own_factor, factor;
    onnxd_simd_range range;
} onnxd_simd_byte_addend;

/* What becomes of the sums of a tile. The arrays are of the tile's first column on, readable for
 * whole tiles. */
typedef struct onnxd_simd_integer_post {
    onnxd_simd_integer_kind kind;
    const int32_t *addends;       /* or NULL */
    const float *factors;         /* of REALS and BYTES */
    const float *bias;            /* of REALS; or NULL */
    onnxd_simd_range range;       /* of BYTES */
    onnxd_simd_byte_addend other; /* of BYTES */
} onnxd_simd_integer_post;

/* out = round(a a_factor + b b_factor) + zero of elements less their zero points. */
typedef struct onnxd_simd_quantized_sum {
    const uint8_t *a, *b;
    uint8_t *out;
    size_t count;
    onnxd_simd_zero a_zero, b_zero;
    float a_factor, b_factor;
    onnxd_simd_range range;
} onnxd_simd_quantized_sum;

/* ---- a level --------------------------------------------------------------------------------- */

typedef enum onnxd_simd_level {
    ONNXD_SIMD_PORTABLE,
    ONNXD_SIMD_AVX2,
    ONNXD_SIMD_AVX512,
    ONNXD_SIMD_AVX512_VNNI,
    ONNXD_SIMD_AVX512_BF16,
    ONNXD_SIMD_LEVEL_COUNT
} onnxd_simd_level;

typedef struct onnxd_simd {
    onnxd_simd_level level;
    uint32_t lanes;
    uint32_t tile_rows, tile_columns;
    void (*product)(const onnxd_simd_tile *tile);
    /* A in the order that product() reads it in: for each tile_rows rows, and for each step of each
     * tap, an element of each row; what lies in place of rows beyond `rows` is not read. Of the
     * tile it reads a, a_stride, taps, depth and rows. `out` has room for whole tiles. */
    void (*pack_rows)(const onnxd_simd_tile *tile, float *out);
    void (*bf16_product)(const onnxd_simd_bf16_tile *tile);
    /* Elements in bfloat16, rounded to the nearest, ties to even; NaN stays NaN. Writes up to
     * `lanes` - 1 elements behind the last, anything. */
    void (*bf16_round)(const float *in, size_t count, uint16_t *out);
    /* Two rows of tile_columns elements in bfloat16, column by column an element of each. */
    void (*bf16_pair)(const float *first, const float *second, uint16_t *out);
    onnxd_simd_bf16_gain bf16_gain;
    /* Per channel: the largest element, and the sum times `scale`. */
    void (*maximum)(const onnxd_simd_window *window, size_t channels);
    void (*sum)(const onnxd_simd_window *window, size_t channels, float scale);
    void (*depthwise)(const onnxd_simd_depthwise *pixels);
    /* Kernels of 3 x 3, `stride` elements apart, into the matrices: of matrix i, out[i * matrix]
     * and the next tile_columns, zeros behind the `columns` that there are kernels for. */
    void (*winograd_weights)(size_t tile, const float *kernels, size_t stride, size_t columns,
                             float *out, size_t matrix);
    /* The (tile + 2)^2 pixels of a tile into as many matrices: of matrix i
     * out[i * matrix + channel]. */
    void (*winograd_in)(size_t tile, const float *const *pixels, size_t channels, float *out,
                        size_t matrix);
    void (*winograd_out)(const onnxd_simd_winograd_out *tile, size_t maps);
    /* The softmax of a row of at least one element; out may be in. */
    void (*softmax)(const float *in, size_t length, float *out);
    /* The same without the division, in place, of scale * scores + mask (NULL: none): returns what
     * to divide by. Of negative infinities alone all becomes 0. */
    float (*weigh)(float *scores, size_t length, float scale, const float *mask);
    /* out may be in. */
    void (*layer_norm)(const onnxd_simd_layer_norm *norm, const float *in, float *out);
    void (*lrn)(const onnxd_simd_lrn *lrn, const float *in, float *out);
    /* out[c * out_stride + r] = in[r * in_stride + c] */
    void (*transpose)(const float *in, size_t rows, size_t columns, size_t in_stride, float *out,
                      size_t out_stride);
    void (*transpose_bytes)(const uint8_t *in, size_t rows, size_t columns, size_t in_stride,
                            uint8_t *out, size_t out_stride);
    void (*binary)(onnxd_simd_binary op, const onnxd_simd_row *row);
    /* out[i] = activation(in[i]); out may be in. */
    void (*activate)(const onnxd_simd_activation *activation, size_t count, const float *in,
                     float *out);
    void (*cast)(onnxd_simd_cast cast, const void *in, size_t count, void *out);
    /* Of `count` > 0 elements. */
    float (*reduce)(onnxd_simd_reduction how, const float *in, size_t count);
    /* Of `rows` > 0 rows, column by column. */
    void (*reduce_columns)(onnxd_simd_reduction how, const float *in, size_t rows, size_t columns,
                           size_t in_stride, float *out);
    /* The sum of the squares of the distances to `center` of `count` > 0 elements. */
    float (*spread)(const float *in, size_t count, float center);
    /* The first element that equals `value`; `count` where none does. */
    size_t (*find)(const float *in, size_t count, float value);
    /* out may be in. */
    void (*affine)(const float *in, size_t count, const onnxd_simd_line *line, float *out);
    void (*lstm)(const onnxd_simd_cell *cell);
    /* Fills `reset`; what follows takes recur's last gate as it then is. */
    void (*gru_reset)(const onnxd_simd_cell *cell);
    void (*gru)(const onnxd_simd_cell *cell);
    /* Multiplies and adds as fast as the level can, without touching memory: returns the
     * floating-point operations that `steps` steps are. */
    double (*arithmetic)(size_t steps);
    /* Reads whole vectors of memory as fast as the level can; what it returns only depends on them.
     */
    float (*read)(const float *from, size_t count);
    void (*integer_product)(const onnxd_simd_integer_tile *tile);
    /* NULL where the level has nothing faster than integer_product. */
    void (*byte_product)(const onnxd_simd_byte_tile *tile);
    bool takes_any_bytes; /* byte_product is exact whatever B is */
    /* `rows` rows of tile_columns sums, of which the first `columns` are stored, rows of elements
     * of the kind's type `out_stride` elements apart. */
    void (*integer_store)(const onnxd_simd_integer_post *post, const int32_t *sums, size_t rows,
                          size_t columns, void *out, size_t out_stride);
    /* `steps` pairs of INT8 for each of tile_columns columns, less `zeros` of the pairs of one step
     * (NULL: 0), as 16-bit integers. */
    void (*integer_unpack)(const int8_t *in, size_t steps, const int16_t *zeros, int16_t *out);
    /* Elements of a quantised tensor less their zero point. */
    void (*integer_widen)(const uint8_t *in, size_t count, onnxd_simd_zero zero, int16_t *out);
    void (*dequantize)(const uint8_t *in, size_t count, onnxd_simd_zero zero, float scale,
                       float *out);
    /* in / scale as ONNXD_SIMD_BYTES. */
    void (*quantize)(const float *in, size_t count, float scale, const onnxd_simd_range *range,
                     uint8_t *out);
    /* Widens [*inout_low, *inout_high] to the elements; NaN is passed over. */
    void (*bounds)(const float *in, size_t count, float *inout_low, float *inout_high);
    void (*quantized_sum)(const onnxd_simd_quantized_sum *sum);
    /* Per channel the largest element of `count` > 0 pixels; flip as in onnxd_simd_zero. */
    void (*quantized_maximum)(const uint8_t *const *pixels, size_t count, size_t channels,
                              uint8_t flip, uint8_t *out);
} onnxd_simd;

/* The name of a level as the option cpu.isa has it: "portable", "avx2", "avx512", "avx512_vnni",
 * "avx512_bf16". Constant. */
const char *onnxd_simd_level_name(onnxd_simd_level level);
/* Whether this build has the level and this processor and its operating system can run it. */
bool onnxd_simd_is_available(onnxd_simd_level level);
/* The best available level. */
onnxd_simd_level onnxd_simd_best(void);
/* The table of an available level; constant. */
const onnxd_simd *onnxd_simd_table(onnxd_simd_level level);

#endif
