"""The test cases that the onnx package carries, as folders that `onnxd run` understands.
The light models have a test of their own.

    cases(folder, kinds) -> Case, ...; each has model.onnx and test_data_set_N/{input,output}_N.pb.
"""

import dataclasses
import pathlib
import warnings

import numpy as np
import onnx
import onnx.backend.test
from onnx import numpy_helper

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")


@dataclasses.dataclass
class Case:
    kind: str
    name: str
    folder: pathlib.Path
    operators: frozenset
    rtol: float = 1e-3
    atol: float = 1e-7
    is_one_node: bool = False  # without a graph of its own


def _operators(model):
    return frozenset((n.domain if n.domain != "ai.onnx" else "", n.op_type)
                     for n in model.graph.node)


def _is_one_node(model):
    nodes = model.graph.node
    return len(nodes) == 1 and not any(a.type in (onnx.AttributeProto.GRAPH,
                                                  onnx.AttributeProto.GRAPHS)
                                       for a in nodes[0].attribute)


def _serialize(value, name, type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(list(value), name).SerializeToString()
    if kind == "optional_type":
        return numpy_helper.from_optional(value, name).SerializeToString()
    if kind == "map_type":
        return numpy_helper.from_dict(value, name).SerializeToString()
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    return numpy_helper.from_array(np.asarray(value), name).SerializeToString()


def _write(case, folder):
    folder.mkdir(parents=True)
    onnx.save(case.model, folder / "model.onnx")
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir()
        for prefix, values, infos in (("input", inputs, case.model.graph.input),
                                      ("output", outputs, case.model.graph.output)):
            for index, (value, info) in enumerate(zip(values, infos)):
                (data / f"{prefix}_{index}.pb").write_bytes(
                    _serialize(value, info.name, info.type))


def _rtol(case):
    """The case's own, but two units in the last place for bfloat16, as onnx's runner compares."""
    types = {o.type.tensor_type.elem_type for o in case.model.graph.output}
    return max(case.rtol, 2**-6) if onnx.TensorProto.BFLOAT16 in types else case.rtol


def _node_cases(folder):
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        generated = collect_testcases(None)
    for case in generated:
        target = folder / "node" / case.name
        _write(case, target)
        yield Case("node", case.name, target, _operators(case.model), _rtol(case), case.atol,
                   _is_one_node(case.model))


def _stored_cases(kind):
    root = pathlib.Path(onnx.backend.test.__file__).parent / "data" / kind
    for target in sorted(root.iterdir()):
        if (target / "model.onnx").is_file():
            model = onnx.load(target / "model.onnx", load_external_data=False)
            yield Case(kind, target.name, target, _operators(model),
                       is_one_node=_is_one_node(model))


def cases(folder, kinds=KINDS):
    folder = pathlib.Path(folder)
    for kind in kinds:
        yield from _node_cases(folder) if kind == "node" else _stored_cases(kind)
