/*
 * One operator call as text, for tables of cases.
 *
 *   inputs      "float[2,?,s0]; int64[2]{1,-1}; -; string[1]{ab}; float*"
 *               dimensions are extents, ? or symbols s0, s1, ...; * is an unknown rank; values in
 *               braces make the value known; - is an absent input
 *   attributes  "axis=-1 alpha=0.5 mode='edge' axes=[0,2] scales=[1.0] value=<int32[1]{7}>
 *               keys=['a','b']"
 *
 * Results are in the same form, outputs separated by "; ", or "error: <message>". They are valid
 * until the next call.
 */
#ifndef ONNXD_TESTS_OPS_OP_TEXT_H
#define ONNXD_TESTS_OPS_OP_TEXT_H

#include <stdint.h>

typedef struct op_text {
    /* With the number of outputs where that is not 1: "Split:3". With the domain where that is not
     * ai.onnx: "ai.onnx.ml/Scaler". */
    const char *op_type;
    int64_t opset;
    const char *attributes, *inputs;
    const char *expected; /* a result that begins with "error: " needs only contain the rest */
} op_text;

/* Types of the outputs ("float[2,3]"). */
const char *op_text_infer(const op_text *call);
/* Values of the outputs ("float[2]{1,2.5}"); every present input has values. */
const char *op_text_evaluate(const op_text *call);

/* Runs the calls of a table and compares each result with `expected`. */
void op_text_expect_inferred(const op_text *calls, unsigned count);
void op_text_expect_evaluated(const op_text *calls, unsigned count);
#define EXPECT_INFERRED(calls) op_text_expect_inferred(calls, sizeof(calls) / sizeof((calls)[0]))
#define EXPECT_EVALUATED(calls) op_text_expect_evaluated(calls, sizeof(calls) / sizeof((calls)[0]))

#endif
