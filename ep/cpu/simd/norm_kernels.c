/*
 * Normalisations of rows: softmax, layer normalisation, and LRN across the channels of a pixel.
 * Sums run in as many lanes as a vector has, whose sums are added in the end.
 */
#include <math.h>

#include "ep/cpu/simd/levels.h"
#include "ep/cpu/simd/vector_math.h"
#include "ep/cpu/simd/vector_rows.h"

INLINED float greatest_of(vf v)
{
    float lanes[LANES], most = -INFINITY;
    vf_store(lanes, v);
    UNROLLED
    for (size_t i = 0; i < LANES; i++)
        most = lanes[i] > most ? lanes[i] : most;
    return most;
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* A NaN, and a row without a number above negative infinity, make the whole row NaN: their
 * exponentials are. */
void LEVEL_NAME(onnxd_simd_softmax)(const float *in, size_t length, float *out)
{
    vf most = vf_all(-INFINITY), sum = vf_all(0);
    for (size_t i = 0; i < length; i += LANES)
        most = vf_max(part_of(in, i, length, -INFINITY), most);
    const float greatest = greatest_of(most);
    for (size_t i = 0; i < length; i += LANES) {
        const vf power = vf_exp2_below_one((part_of(in, i, length, -INFINITY) - greatest) * LOG2_E);
        put_part(out, i, length, power);
        /* Behind the end of a row of negative infinities there is NaN, as within it. */
        sum += power;
    }
    const vf scale = vf_all(1.0f / sum_of(sum));
    for (size_t i = 0; i < length; i += LANES)
        put_part(out, i, length, part_of(out, i, length, 0) * scale);
}

static bool has_nan(const float *row, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (isnan(row[i]))
            return true;
    return false;
}

float LEVEL_NAME(onnxd_simd_weigh)(float *scores, size_t length, float scale, const float *mask)
{
    vf most = vf_all(-INFINITY), sum = vf_all(0);
    for (size_t i = 0; i < length; i += LANES) {
        /* To the base 2 from here on. */
        vf score = part_of(scores, i, length, 0) * (scale * LOG2_E);
        if (mask != NULL)
            score += part_of(mask, i, length, 0) * LOG2_E;
        put_part(scores, i, length, score);
        most = vf_max(part_of(scores, i, length, -INFINITY), most);
    }
    const float greatest = greatest_of(most);
    if (greatest == -INFINITY && !has_nan(scores, length)) {
        memset(scores, 0, length * sizeof(float));
        return 0;
    }
    for (size_t i = 0; i < length; i += LANES) {
        const vf power = vf_exp2_below_one(part_of(scores, i, length, -INFINITY) - greatest);
        put_part(scores, i, length, power);
        sum += power;
    }
    return sum_of(sum);
}

/* ---- layer normalisation --------------------------------------------------------------------- */

void LEVEL_NAME(onnxd_simd_layer_norm)(const onnxd_simd_layer_norm *norm, const float *in,
                                       float *out)
{
    const size_t length = norm->length;
    vf sum = vf_all(0), squares = vf_all(0);
    float mean = 0;
    if (norm->is_centered) {
        for (size_t i = 0; i < length; i += LANES)
            sum += part_of(in, i, length, 0);
        mean = sum_of(sum) / (float)length;
    }
    for (size_t i = 0; i < length; i += LANES) {
        const vf difference = part_of(in, i, length, mean) - mean;
        squares += difference * difference;
    }
    const float factor = 1.0f / sqrtf(sum_of(squares) / (float)length + norm->epsilon);
    for (size_t i = 0; i < length; i += LANES) {
        vf v = (part_of(in, i, length, 0) - mean) * factor * part_of(norm->scale, i, length, 0);
        if (norm->bias != NULL)
            v += part_of(norm->bias, i, length, 0);
        put_part(out, i, length, v);
    }
}

/* ---- LRN ------------------------------------------------------------------------------------- */

/* x ^ -0.75, for the exponent that networks have. */
INLINED vf power_of(vf x)
{
    const vf root = vf_sqrt(x);
    return 1.0f / (root * vf_sqrt(root));
}

void LEVEL_NAME(onnxd_simd_lrn)(const onnxd_simd_lrn *lrn, const float *in, float *out)
{
    const size_t channels = lrn->channels, below = (lrn->size - 1) / 2;
    float *squares = lrn->scratch + below;
    for (size_t i = 0; i < channels; i += LANES) {
        const vf x = part_of(in, i, channels, 0);
        put_part(squares, i, channels, x * x);
    }
    for (size_t i = 0; i < channels; i += LANES) {
        vf sum = vf_all(0);
        for (size_t k = 0; k < lrn->size; k++)
            sum += vf_load(lrn->scratch + i + k);
        const vf base = sum * lrn->alpha + lrn->bias;
        put_part(out, i, channels, part_of(in, i, channels, 0) * power_of(base));
    }
}
