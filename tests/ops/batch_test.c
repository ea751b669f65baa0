/*
 * What operators say of batches (batch_inputs, has_batch): every operator that says something has a
 * row here, computes the row whole and in parts, and must find the same bits.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "graph/batch.h"
#include "ops/ops.h"
#include "tests/ops/op_call.h"

/* Inputs without values are filled; those with values are constants. `expected`: the inputs that
 * are cut, or "-" where the batch cannot be computed in parts. Operators without a row here get
 * their least number of inputs, each float[6,3,4,4], all of which must be cut. */
static const op_text rows[] = {
    {"Add", 0, "", "float[6,3]; float[6,3]", "0 1"},
    {"Add", 0, "", "float[6,3]; float[3]", "0"},
    {"Add", 0, "", "float[1,3]; float[6,1]", "1"},
    {"Add", 0, "", "float[6]; float[2,6]", "-"},
    {"Add", 0, "", "float[6,6]; float[6]", "0"},
    {"Add", 0, "", "float[6]; float[6,6]", "1"},
    {"Add", 0, "", "float[6,1]; float[6,1]{1,2,3,4,5,6}", "-"},
    {"Add", 0, "", "float[4,3]; float[4,3]", "-"},
    {"Add", 6, "broadcast=1 axis=0", "float[6,3]; float[6]", "-"},
    {"BatchNormalization", 0, "", "float[6,2,3]; float[2]; float[2]; float[2]; float[2]{1,2}", "0"},
    {"BatchNormalization:3", 0, "training_mode=1",
     "float[6,2,3]; float[2]; float[2]; float[2]; float[2]{1,2}", "-"},
    {"BatchNormalization", 14, "training_mode=1",
     "float[6,2,3]; float[2]; float[2]; float[2]; float[2]{1,2}", "-"},
    {"And", 0, "", "bool[6,3]; bool[6,1]", "0 1"},
    {"Or", 0, "", "bool[6,3]; bool[6,1]", "0 1"},
    {"Xor", 0, "", "bool[6,3]; bool[6,1]", "0 1"},
    {"Not", 0, "", "bool[6,3]", "0"},
    {"BitwiseAnd", 0, "", "uint8[6,3]; uint8[6,1]", "0 1"},
    {"BitwiseOr", 0, "", "uint8[6,3]; uint8[6,1]", "0 1"},
    {"BitwiseXor", 0, "", "uint8[6,3]; uint8[6,1]", "0 1"},
    {"BitwiseNot", 0, "", "uint8[6,3]", "0"},
    {"BitShift", 0, "direction='LEFT'", "uint8[6,3]; uint8[6,1]", "0 1"},
    {"Cast", 0, "to=7", "float[6,3]", "0"},
    {"CastLike", 0, "", "float[6,3]; int32[6]", "0"},
    {"Clip", 0, "", "float[6,3]; float[]{-1}; float[]{1}", "0"},
    {"Concat", 0, "axis=1", "float[6,3]; float[6,2]", "0 1"},
    {"Concat", 0, "axis=0", "float[6,3]; float[6,3]", "-"},
    {"Concat", 0, "axis=0", "float[6,3]; float[0,3]", "0"},
    {"Conv", 0, "", "float[6,2,5]; float[6,2,3]; float[6]", "0"},
    {"ConvInteger", 0, "", "uint8[6,2,5]; int8[6,2,3]; uint8[]", "0"},
    {"ConvTranspose", 0, "", "float[6,6,5]; float[6,6,3]", "0"},
    {"com.microsoft/ConvTransposeWithDynamicPads", 0, "",
     "float[6,2,5]; float[2,6,3]; int64[2]{0,0}", "0"},
    {"DepthToSpace", 0, "blocksize=2", "float[6,4,2,2]", "0"},
    {"SpaceToDepth", 0, "blocksize=2", "float[6,4,2,2]", "0"},
    {"DequantizeLinear", 0, "", "uint8[6,3]; float[]; uint8[]", "0"},
    {"DequantizeLinear", 0, "axis=1", "uint8[6,3]; float[3]; uint8[3]", "0"},
    {"DequantizeLinear", 0, "axis=0", "uint8[6,3]; float[6]; uint8[6]", "-"},
    {"DequantizeLinear", 0, "axis=0 block_size=2", "uint8[6,3]; float[3,3]", "-"},
    {"com.microsoft/DequantizeLinear", 0, "axis=0", "uint8[6,3]; float[6]; uint8[6]", "-"},
    {"com.microsoft/DequantizeLinear", 0, "", "uint8[6,3]; float[]; uint8[]", "0"},
    {"QuantizeLinear", 0, "", "float[6,3]; float[]; uint8[]", "0"},
    {"QuantizeLinear", 0, "axis=0", "float[6,3]; float[6]; uint8[6]", "-"},
    {"QuantizeLinear", 0, "axis=0 block_size=2", "float[6,3]; float[3,3]", "-"},
    {"com.microsoft/QuantizeLinear", 0, "", "float[6,3]; float[]; uint8[]", "0"},
    {"com.microsoft/FusedConv", 0, "activation='Relu'",
     "float[6,2,5]; float[6,2,3]; float[6]; float[6,6,3]", "0 3"},
    {"com.microsoft/FusedGemm", 0, "activation='Relu'", "float[6,6]; float[6,6]; float[6,6]",
     "0 2"},
    {"com.microsoft/FusedGemm", 0, "activation='Relu'", "float[6,4]; float[4,5]; float[6,1]",
     "0 2"},
    {"Gemm", 0, "", "float[6,4]; float[4,5]; float[5]", "0"},
    {"Gemm", 0, "", "float[6,4]; float[4,6]; float[6,6]", "0 2"},
    {"Gemm", 0, "", "float[6,4]; float[4,6]; float[6]", "0"},
    {"Gemm", 0, "transA=1", "float[6,6]; float[6,6]; float[6,6]", "-"},
    {"Gemm", 0, "transB=1", "float[6,6]; float[6,6]; float[1,6]", "0"},
    {"com.microsoft/BiasGelu", 0, "", "float[6,3]; float[3]", "0"},
    {"com.microsoft/FastGelu", 0, "", "float[6,3]; float[3]", "0"},
    {"GroupNormalization", 0, "num_groups=2", "float[6,4,3]; float[4]; float[4]", "0"},
    {"InstanceNormalization", 0, "", "float[6,4,3]; float[4]; float[4]", "0"},
    {"LayerNormalization", 0, "axis=-1", "float[6,4,3]; float[3]; float[3]", "0"},
    {"LayerNormalization:3", 0, "axis=1", "float[6,4,3]; float[4,3]", "0"},
    {"LayerNormalization", 0, "axis=0", "float[6,3]; float[3]", "-"},
    {"LayerNormalization", 0, "axis=-2", "float[6,3]; float[3]", "-"},
    {"LayerNormalization", 0, "axis=1", "float[6,3]; float[6,3]", "-"},
    {"RMSNormalization", 0, "axis=-1", "float[6,4,3]; float[3]", "0"},
    {"RMSNormalization", 0, "axis=0", "float[6,3]; float[3]", "-"},
    {"LRN", 0, "size=3", "float[6,4,3,3]", "0"},
    {"MatMul", 0, "", "float[6,4]; float[4,5]", "0"},
    {"MatMul", 0, "", "float[6,6]; float[6,6]", "-"},
    {"MatMul", 0, "", "float[6,2,4]; float[6,4,5]", "0 1"},
    {"MatMul", 0, "", "float[2,4]; float[6,4,5]", "1"},
    {"MatMul", 0, "", "float[6,4]; float[6,4,6]", "1"},
    {"MatMul", 0, "", "float[6,4]; float[4]", "0"},
    {"MatMul", 0, "", "float[4]; float[6,4,5]", "1"},
    {"MatMul", 0, "", "float[4]; float[4,6]", "-"},
    {"MatMul", 0, "", "float[6]; float[6,6]", "-"},
    {"MatMulInteger", 0, "", "uint8[6,4]; int8[4,5]; uint8[]", "0"},
    {"MatMulInteger", 0, "", "uint8[6,4]; int8[4,5]; uint8[6]", "-"},
    {"MaxPool", 0, "kernel_shape=[2]", "float[6,3,4]", "0"},
    {"MaxPool:2", 0, "kernel_shape=[2]", "float[6,3,4]", "-"},
    {"AveragePool", 0, "kernel_shape=[2,2] pads=[1,1,0,0]", "float[6,3,4,4]", "0"},
    {"Mod", 0, "fmod=1", "float[6,3]; float[6,1]", "0 1"},
    {"PRelu", 0, "", "float[6,3,2]; float[3,1]", "0"},
    {"PRelu", 0, "", "float[6,3]; float[6,3]", "0 1"},
    {"QLinearConv", 0, "",
     "uint8[6,2,5]; float[]; uint8[]; uint8[6,2,3]; float[6]; uint8[6]; float[]; uint8[]", "0"},
    {"QLinearMatMul", 0, "",
     "uint8[6,4]; float[]; uint8[]; uint8[4,5]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"QLinearMatMul", 0, "",
     "uint8[6,4]; float[6]; uint8[6]; uint8[4,5]; float[]; uint8[]; float[]; uint8[]", "-"},
    {"com.microsoft/QGemm", 0, "",
     "uint8[6,4]; float[]; uint8[]; uint8[4,5]; float[]; uint8[]; -; float[]; uint8[]", "0"},
    {"com.microsoft/QGemm", 0, "transA=1",
     "uint8[6,6]; float[]; uint8[]; uint8[6,6]; float[]; uint8[]; -; float[]; uint8[]", "-"},
    {"com.microsoft/QLinearAdd", 0, "",
     "uint8[6,4]; float[]; uint8[]; uint8[6,4]; float[]; uint8[]; float[]; uint8[]", "0 3"},
    {"com.microsoft/QLinearMul", 0, "",
     "uint8[6,4]; float[]; uint8[]; uint8[4]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"com.microsoft/QLinearSigmoid", 0, "", "uint8[6,4]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"com.microsoft/QLinearLeakyRelu", 0, "alpha=0.1",
     "uint8[6,4]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"com.microsoft/QLinearAveragePool", 0, "kernel_shape=[2]",
     "uint8[6,3,4]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"com.microsoft/QLinearGlobalAveragePool", 0, "",
     "uint8[6,3,4,2]; float[]; uint8[]; float[]; uint8[]", "0"},
    {"com.microsoft/NhwcMaxPool", 0, "kernel_shape=[2,2]", "uint8[6,4,4,3]", "0"},
    {"ReduceMean", 0, "", "float[6,3,4]; int64[2]{1,2}", "0"},
    {"ReduceMean", 0, "keepdims=0", "float[6,3,4]; int64[1]{-1}", "0"},
    {"ReduceMean", 0, "", "float[6,3,4]; int64[1]{0}", "-"},
    {"ReduceMean", 0, "keepdims=0", "float[6,6]; int64[1]{0}", "-"},
    {"ReduceMean", 0, "", "float[6,3,4]", "-"},
    {"ReduceSum", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceMax", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceMin", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceProd", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceL1", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceL2", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceSumSquare", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceLogSum", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"ReduceLogSumExp", 0, "", "float[6,3,4]; int64[1]{1}", "0"},
    {"Resize", 0, "", "float[6,3,4]; -; float[3]{1,1,2}", "0"},
    {"Resize", 0, "", "float[6,3,4]; -; float[3]{2,1,1}", "-"},
    {"Resize", 0, "", "float[6,3,4]; -; -; int64[3]{6,3,8}", "-"},
    {"Resize", 0, "axes=[2]", "float[6,3,4]; -; -; int64[1]{8}", "0"},
    {"Resize", 0, "coordinate_transformation_mode='tf_crop_and_resize'",
     "float[6,3,4]; float[6]{0,0,0,1,1,1}; float[3]{1,1,2}", "0"},
    {"Resize", 0, "coordinate_transformation_mode='tf_crop_and_resize'",
     "float[6,3,4]; float[6]{0.1,0,0,1,1,1}; float[3]{1,1,2}", "-"},
    {"Resize", 0, "coordinate_transformation_mode='asymmetric' nearest_mode='floor'",
     "float[6,3,4]; -; float[3]{1.1,1,2}", "-"},
    {"Resize", 0, "keep_aspect_ratio_policy='not_larger'",
     "float[6,20,20]; -; -; int64[3]{100,21,21}", "-"},
    {"Upsample", 9, "", "float[6,3,4]; float[3]{1,1,2}", "0"},
    {"Upsample", 9, "", "float[6,3,4]; float[3]{1.1,1,2}", "-"},
    {"Upsample", 7, "scales=[1.1,1.0,2.0]", "float[6,3,4]", "-"},
    {"Upsample", 7, "scales=[1.0,1.0,2.0]", "float[6,3,4]", "0"},
    {"Softmax", 0, "axis=-1", "float[6,3]", "0"},
    {"Softmax", 0, "axis=0", "float[6,3]", "-"},
    {"Softmax", 0, "axis=-2", "float[6,3]", "-"},
    {"Softmax", 11, "axis=1", "float[6,3,2]", "0"},
    {"Softmax", 11, "axis=0", "float[6,3,2]", "-"},
    {"LogSoftmax", 0, "axis=0", "float[6,3]", "-"},
    {"LogSoftmax", 0, "axis=1", "float[6,3]", "0"},
    {"Split:2", 0, "axis=1 num_outputs=2", "float[6,4]", "0"},
    {"Split:2", 0, "axis=1", "float[6,4]; int64[2]{1,3}", "0"},
    {"Split:2", 0, "axis=0 num_outputs=2", "float[6,4]", "-"},
    {"Transpose", 0, "perm=[0,2,1]", "float[6,3,2]", "0"},
    {"Transpose", 0, "perm=[1,0]", "float[6,6]", "-"},
    {"Transpose", 0, "perm=[2,1,0]", "float[6,3,6]", "-"},
    {"Where", 0, "", "bool[6,1]; float[6,3]; float[1,3]", "0 1"},
    {"onnxd/Conv", 0, "", "float[6,5,2]; float[6,2,3]; float[6]; float[6,3,6]", "0 3"},
    {"onnxd/MaxPool", 0, "kernel_shape=[2]", "float[6,4,3]", "0"},
    {"onnxd/AveragePool", 0, "kernel_shape=[2]", "float[6,4,3]", "0"},
    {"onnxd/LRN", 0, "size=3", "float[6,4,4,3]", "0"},
    {"onnxd/DepthToSpace", 0, "blocksize=2", "float[6,2,2,4]", "0"},
    {"onnxd/ConvInteger", 0, "", "uint8[6,5,2]; int8[6,2,3]; uint8[]", "0"},
    {"onnxd/QLinearConv", 0, "",
     "uint8[6,5,2]; float[]; uint8[]; uint8[6,2,3]; float[6]; uint8[6]; float[]; uint8[]", "0"},
    {"onnxd/QLinearConv", 0, "",
     "uint8[6,5,2]; float[]; uint8[]; uint8[6,2,3]; float[6]; uint8[6]; float[]; uint8[]; -; "
     "uint8[6,3,6]; float[]; uint8[]; float[]; uint8[]",
     "0 9"},
    {"onnxd/Dense", 0, "", "float[6,4]; float[4,5]; float[5]; float[6,5]", "0 3"},
    {"onnxd/Dense", 0, "", "float[6,2,4]; float[6,4,5]", "0 1"},
    {"onnxd/Elementwise", 0, "steps=['Add','Exp'] operands=[0,1,-1,0] parameters=[0.0,0.0,0.0,0.0]",
     "float[6,4]; float[6,1]", "0 1"},
};

/* Values by chance, the same each time: floats above 0, small whole numbers. */
static void fill(onnxd_tensor *tensor, uint64_t seed)
{
    size_t count;
    cr_assert(onnxd_shape_count(&tensor->shape, &count));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const uint32_t whole = (uint32_t)(seed >> 33) % 7 + 1;
        switch (tensor->dtype) {
        case ONNXD_FLOAT:
            ((float *)tensor->data)[i] = (float)whole * 0.37f;
            break;
        case ONNXD_BOOL:
            ((uint8_t *)tensor->data)[i] = whole & 1;
            break;
        case ONNXD_UINT8:
        case ONNXD_INT8:
            ((uint8_t *)tensor->data)[i] = (uint8_t)whole;
            break;
        case ONNXD_INT32:
            ((int32_t *)tensor->data)[i] = (int32_t)whole;
            break;
        default:
            cr_assert_fail("no values for %s", onnxd_dtype_name(tensor->dtype));
        }
    }
}

static void ok(onnxd_status *status, const op_text *row)
{
    cr_assert_null(status, "%s(%s) of %s: %s", row->op_type, row->attributes, row->inputs,
                   status == NULL ? "" : onnxd_status_message(status));
}

static onnxd_tensor *part_of(const onnxd_tensor *whole, uint32_t parts, uint32_t part)
{
    onnxd_shape shape = whole->shape;
    onnxd_tensor *tensor;
    shape.dims[0] /= parts;
    cr_assert_null(onnxd_tensor_create(whole->dtype, &shape, &tensor));
    memcpy(tensor->data, (const char *)whole->data + part * tensor->bytes, tensor->bytes);
    return tensor;
}

static void expect_part(const op_call *call, const op_text *row, uint64_t cut, uint32_t parts,
                        uint32_t part)
{
    onnxd_tensor *inputs[OP_CALL_MAX] = {NULL}, *outputs[OP_CALL_MAX] = {NULL};
    const onnxd_tensor *borrowed[OP_CALL_MAX];
    for (uint32_t i = 0; i < call->node.input_count; i++) {
        const bool is_cut = (cut >> i & 1) != 0;
        inputs[i] = is_cut ? part_of(call->values[i], parts, part) : NULL;
        borrowed[i] = is_cut ? inputs[i] : call->values[i];
    }
    ok(onnxd_op_evaluate(&call->node, borrowed, OP_CALL_MAX_BYTES, outputs), row);
    for (uint32_t i = 0; i < call->node.output_count; i++) {
        onnxd_tensor *expected = part_of(call->outputs[i], parts, part);
        cr_expect(onnxd_shape_equal(&outputs[i]->shape, &expected->shape));
        cr_expect_eq(memcmp(outputs[i]->data, expected->data, expected->bytes), 0,
                     "%s(%s) of %s: output %u of part %u of %u differs", row->op_type,
                     row->attributes, row->inputs, i, part, parts);
        onnxd_tensor_release(expected);
        onnxd_tensor_release(outputs[i]);
    }
    for (uint32_t i = 0; i < call->node.input_count; i++)
        onnxd_tensor_release(inputs[i]);
}

static uint64_t mask_of(const char *inputs)
{
    uint64_t mask = 0;
    for (; *inputs != '\0'; inputs++)
        if (*inputs >= '0' && *inputs <= '9')
            mask |= (uint64_t)1 << (*inputs - '0');
    return mask;
}

/* In parts of two and of one index. */
static void expect_parts(const op_call *call, const op_text *row,
                         const onnxd_tensor *const *constants, const onnxd_tensor_type *outputs,
                         uint32_t parts)
{
    uint64_t cut = 0;
    const bool is_divisible =
        onnxd_batch_is_divisible(&call->node, call->types, constants, outputs, parts, &cut);
    cr_expect_eq(is_divisible, strcmp(row->expected, "-") != 0,
                 "%s(%s) of %s: %u parts are %spossible", row->op_type, row->attributes,
                 row->inputs, parts, is_divisible ? "" : "not ");
    if (!is_divisible)
        return;
    cr_expect_eq(cut, mask_of(row->expected), "%s(%s) of %s cuts %llx, not %s", row->op_type,
                 row->attributes, row->inputs, (unsigned long long)cut, row->expected);
    for (uint32_t part = 0; part < parts; part++)
        expect_part(call, row, cut, parts, part);
}

static void expect_row(const op_text *row, int64_t opset)
{
    op_text text = *row;
    op_call call;
    const onnxd_tensor *constants[OP_CALL_MAX] = {NULL};
    onnxd_tensor_type outputs[OP_CALL_MAX];
    text.opset = opset;
    op_call_open(&call, &text);
    for (uint32_t i = 0; i < call.node.input_count; i++) {
        constants[i] = call.values[i];
        if (call.values[i] != NULL || call.types[i].dtype == ONNXD_UNDEFINED)
            continue;
        ok(onnxd_tensor_create(call.types[i].dtype, &call.types[i].shape, &call.values[i]), row);
        fill(call.values[i], i + 1);
    }
    ok(op_call_evaluate(&call), row);
    for (uint32_t i = 0; i < call.node.output_count; i++)
        outputs[i] =
            (onnxd_tensor_type){.dtype = call.outputs[i]->dtype, .shape = call.outputs[i]->shape};
    expect_parts(&call, row, constants, outputs, 3);
    expect_parts(&call, row, constants, outputs, 6);
    op_call_close(&call);
}

/* Whether a row is of the operator: "op_type", or "domain/op_type", and ":outputs". */
static bool is_of(const op_text *row, const onnxd_op_def *def)
{
    char full[64];
    const int length = snprintf(full, sizeof(full), "%s%s%s", def->domain,
                                def->domain[0] == '\0' ? "" : "/", def->op_type);
    return strcspn(row->op_type, ":") == (size_t)length &&
           strncmp(row->op_type, full, (size_t)length) == 0;
}

static int64_t newest_opset(const op_text *row)
{
    const onnxd_op_registry *registry = onnxd_ops();
    int64_t newest = 0;
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++)
            if (is_of(row, def) && def->until > newest)
                newest = def->until;
    return newest;
}

Test(batch, parts_are_found_and_computed_as_the_whole_is)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        expect_row(&rows[i], rows[i].opset != 0 ? rows[i].opset : newest_opset(&rows[i]));
}

static bool has_row(const onnxd_op_def *def)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (is_of(&rows[i], def))
            return true;
    return false;
}

static const char *type_of(onnxd_dtype_set types)
{
    return (types & ONNXD_SET(FLOAT)) != 0   ? "float"
           : (types & ONNXD_SET(INT32)) != 0 ? "int32"
                                             : "bool";
}

/* What broadcasts or goes element by element needs no row of its own. */
static void expect_default(const onnxd_op_def *def)
{
    char name[64], inputs[128] = "", expected[32] = "";
    (void)snprintf(name, sizeof(name), "%s%s%s", def->domain, def->domain[0] == '\0' ? "" : "/",
                   def->op_type);
    for (uint32_t i = 0; i < def->min_inputs; i++) {
        const size_t at = strlen(inputs);
        (void)snprintf(inputs + at, sizeof(inputs) - at, "%s%s[6,3,4,4]", i == 0 ? "" : "; ",
                       type_of(def->inputs[i].types));
        (void)snprintf(expected + 2 * i, sizeof(expected) - 2 * i, "%u ", i);
    }
    const op_text row = {name, 0, "", inputs, expected};
    expect_row(&row, def->until);
}

Test(batch, every_operator_that_speaks_of_batches_is_tried)
{
    const onnxd_op_registry *registry = onnxd_ops();
    unsigned defaults = 0;
    for (size_t t = 0; t < registry->table_count; t++)
        for (const onnxd_op_def *def = registry->tables[t]; def->op_type != NULL; def++) {
            cr_expect(def->has_batch == NULL || def->batch_inputs != 0, "%s", def->op_type);
            /* Of strings no part is a view. */
            if (def->batch_inputs == 0 || has_row(def) || def->inputs[0].types == ONNXD_SET(STRING))
                continue;
            expect_default(def);
            defaults++;
        }
    cr_expect_gt(defaults, 20);
}
