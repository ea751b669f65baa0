"""ONNX models made for the tests: random weights for the light models, one-operator models."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LIGHT_NAMES = ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "resnet50",
               "shufflenet", "squeezenet", "vgg19", "zfnet512")


# Variance gain of the Gemm weights where a network's features would saturate its softmax.
HEAD_GAIN = {"inception_v2": 0.1, "shufflenet": 0.001}


def light_path(folder, name):
    return folder / f"light_{name}.onnx"


def light_input(model):
    """(name, array) of the model's only input, filled with arange(n)/n as its authors did."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    (value,) = [v for v in model.graph.input if v.name not in initialized]
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return value.name, (np.arange(count, dtype=np.float32) / count).reshape(shape)


def stored_output(folder, name):
    tensor = onnx.TensorProto()
    tensor.ParseFromString((folder / f"light_{name}_output_0.pb").read_bytes())
    return numpy_helper.to_array(tensor)


def _weight(role, ends_branch, shape, head_gain, rng):
    """Values of a weight that keep activations near unit scale through a deep network, so that the
    last softmax is neither flat nor saturated. ends_branch: the result is added to a residual."""
    operator, index = role
    if operator == "BatchNormalization":
        gain = (0.1, 0.3) if ends_branch else (0.8, 1.2)
        low, high = {1: gain, 2: (-0.1, 0.1), 3: (-0.1, 0.1), 4: (0.8, 1.2)}[index]
        return rng.uniform(low, high, shape)
    if operator == "Mul":
        return rng.uniform(0.8, 1.2, shape)
    if operator in ("Conv", "Gemm") and index == 1:
        fan_in = max(int(np.prod(shape[1:])), 1)
        gain = 2.0 if operator == "Conv" else head_gain
        return rng.standard_normal(shape) * np.sqrt(gain / fan_in)
    return rng.uniform(-0.1, 0.1, shape)


def with_random_weights(model, seed=1, head_gain=1.0):
    """A copy in which every ConstantOfShape weight is a seeded random initializer."""
    rng = np.random.default_rng(seed)
    shapes = {t.name: [int(v) for v in numpy_helper.to_array(t)] for t in model.graph.initializer
              if t.data_type == TensorProto.INT64}
    consumers = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            consumers.setdefault(name, (node, index))

    def consumer(name):
        node, index = consumers[name]
        passes_on = node.op_type in ("Unsqueeze", "Reshape") and index == 0
        return consumer(node.output[0]) if passes_on else (node, index)

    result = onnx.ModelProto()
    result.CopyFrom(model)
    del result.graph.node[:]
    for node in model.graph.node:
        if node.op_type != "ConstantOfShape":
            result.graph.node.append(node)
            continue
        name = node.output[0]
        user, index = consumer(name)
        after = consumers.get(user.output[0])
        ends_branch = after is not None and after[0].op_type == "Sum"
        values = _weight((user.op_type, index), ends_branch, shapes[node.input[0]], head_gain,
                         rng)
        values = values.astype(np.float32)
        result.graph.initializer.append(numpy_helper.from_array(values, name))
    # IR 3 wants initializers among the inputs; from IR 4 on they need not be.
    result.ir_version = 4
    return result


def random_light_model(folder, name):
    return with_random_weights(onnx.load(light_path(folder, name)),
                               head_gain=HEAD_GAIN.get(name, 1.0))


def value_info(name, elem_type, shape):
    return helper.make_tensor_value_info(name, elem_type, shape)


def one_node(op_type, inputs, outputs, opset=21, initializers=(), domain="", **attributes):
    """A model of one node. inputs, outputs: [(name, TensorProto type, shape)]."""
    names = [name for name, _, _ in inputs] + [t.name for t in initializers]
    order = attributes.pop("input_order", names)
    node = helper.make_node(op_type, order, [name for name, _, _ in outputs], domain=domain,
                            **attributes)
    graph = helper.make_graph([node], op_type, [value_info(*v) for v in inputs],
                              [value_info(*v) for v in outputs], list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(domain, opset)])
    model.ir_version = 10
    return model
