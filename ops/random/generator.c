#include "ops/random/generator.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/random.h>

#include "ops/support.h"

onnxd_status *onnxd_seed_parse(const onnxd_node *node, onnxd_seed *out_seed)
{
    onnxd_seed seed = {.is_given = onnxd_node_attribute(node, "seed") != NULL};
    ONNXD_TRY(onnxd_attribute_float(node, "seed", &seed.value));
    *out_seed = seed;
    return NULL;
}

onnxd_status *onnxd_random_dtype_parse(const onnxd_node *node, onnxd_dtype_set allowed,
                                       onnxd_dtype *inout_dtype)
{
    int64_t number = *inout_dtype;
    ONNXD_TRY(onnxd_attribute_int(node, "dtype", 1, ONNXD_DTYPE_COUNT - 1, &number));
    onnxd_dtype dtype = onnxd_dtype_from_onnx(number);
    if (dtype != ONNXD_UNDEFINED && ((allowed >> dtype) & 1) == 0)
        return onnxd_op_error(node,
                              "attribute 'dtype' is %s, which opset %" PRId64 " does not allow",
                              onnxd_dtype_name(dtype), node->opset);
    *inout_dtype = dtype;
    return NULL;
}

onnxd_status *onnxd_generator_init(onnxd_generator *generator, const onnxd_node *node,
                                   const onnxd_seed *seed)
{
    onnxd_generator fresh = {.counter = 0};
    if (seed->is_given)
        memcpy(fresh.key, &seed->value, sizeof(seed->value));
    else if (getentropy(fresh.key, sizeof(fresh.key)) != 0)
        return onnxd_op_error_code(ONNXD_INTERNAL, node, "the system gives no random seed");
    *generator = fresh;
    return NULL;
}

/* The multipliers and key increments of the paper's Philox4x32. */
#define MULTIPLIER_0 0xd2511f53u
#define MULTIPLIER_1 0xcd9e8d57u
#define INCREMENT_0 0x9e3779b9u
#define INCREMENT_1 0xbb67ae85u
#define ROUNDS 10

/* The next block: 128 random bits. */
static void next_block(onnxd_generator *generator, uint64_t *out_words)
{
    uint32_t key[] = {generator->key[0], generator->key[1]};
    uint32_t c[] = {(uint32_t)generator->counter, (uint32_t)(generator->counter >> 32), 0, 0};
    generator->counter++;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t product_0 = (uint64_t)MULTIPLIER_0 * c[0];
        uint64_t product_1 = (uint64_t)MULTIPLIER_1 * c[2];
        c[0] = (uint32_t)(product_1 >> 32) ^ c[1] ^ key[0];
        c[1] = (uint32_t)product_1;
        c[2] = (uint32_t)(product_0 >> 32) ^ c[3] ^ key[1];
        c[3] = (uint32_t)product_0;
        key[0] += INCREMENT_0;
        key[1] += INCREMENT_1;
    }
    out_words[0] = (uint64_t)c[0] << 32 | c[1];
    out_words[1] = (uint64_t)c[2] << 32 | c[3];
}

static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 0x1p-53;
}

void onnxd_generator_uniform(onnxd_generator *generator, double *values, size_t count)
{
    uint64_t words[2];
    for (size_t i = 0; i < count; i += 2) {
        next_block(generator, words);
        values[i] = to_unit(words[0]);
        if (i + 1 < count)
            values[i + 1] = to_unit(words[1]);
    }
}

/* Box and Muller, "A note on the generation of random normal deviates" (1958): two from two. */
void onnxd_generator_normal(onnxd_generator *generator, double *values, size_t count)
{
    static const double turn = 6.283185307179586;
    uint64_t words[2];
    for (size_t i = 0; i < count; i += 2) {
        next_block(generator, words);
        /* In (0, 1], which has a logarithm. */
        double radius = sqrt(-2 * log(1 - to_unit(words[0]))), angle = turn * to_unit(words[1]);
        values[i] = radius * cos(angle);
        if (i + 1 < count)
            values[i + 1] = radius * sin(angle);
    }
}
