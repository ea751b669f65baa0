"""What onnxd's results are compared with: onnxruntime, and where it refuses, onnx.reference.

    expected(case) -> (name of the peer, outputs), or (None, why each peer refused)

In order:
    modern     the same result said in a way that the peers know (Case.modern)
    moved      elements that are only moved: onnxruntime moves their numbers instead
    ort        the case as it is, or at another opset of the same definition
    widened    float16 and bfloat16 computed by onnxruntime in float, and rounded
    narrowed   all floats computed by onnxruntime in float; only where a generator asks for it
    reference  onnx.reference
"""

import copy
import dataclasses
import functools
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as pybind

import quirks
from random_case import FLOAT8, FLOATS, NUMPY, PACKED, build_model, dtype_of, imports_of

# The newest opset and IR version that the pinned onnxruntime takes.
ORT_OPSET = 26
ORT_IR = 11


@functools.lru_cache(maxsize=1)
def _options():
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Byte kernels that do not saturate on CPUs without VNNI.
    options.add_session_config_entry("session.x64quantprecision", "1")
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


@functools.lru_cache(maxsize=1)
def _ort_schemas():
    return {(s.domain, s.name): s for s in pybind.get_all_operator_schema()
            if s.domain not in ("", "ai.onnx.ml")}


def type_names(operator, domain, opset):
    """{"input": [...], "output": [...]}: the schema's name of each formal's type ("T",
    "tensor(int64)"), or None without a schema."""
    try:
        schema = onnx.defs.get_schema(operator, opset, "" if domain == "ai.onnx" else domain)
        return {"input": [f.type_str for f in schema.inputs],
                "output": [f.type_str for f in schema.outputs]}
    except onnx.defs.SchemaError:
        schema = _ort_schemas().get((domain, operator))
    return schema and {"input": [f.typeStr for f in schema.inputs],
                       "output": [f.typeStr for f in schema.outputs]}


def _ort_value(value):
    if isinstance(value, list):
        return value
    if value.dtype == np.object_ or value.dtype in (np.float32, np.float64, np.float16, np.bool_) \
            or value.dtype.kind in "iu" and value.dtype.name in np.sctypeDict:
        return value
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(
        value.view(np.uint16 if value.dtype.itemsize == 2 else np.uint8),
        numpy_helper.from_array(value.reshape(-1)[:0]).data_type)


def _from_ort(value, dtype):
    if isinstance(value, list):
        return [np.asarray(v) for v in value]
    value = np.asarray(value)
    return value.astype(NUMPY[dtype]) if dtype in FLOAT8 + PACKED + ("bfloat16",) else value


def _widen_outputs(graph):
    """Outputs of types that it cannot hand to numpy end in a Cast to one that holds them."""
    for output in graph.output:
        kind = output.type.tensor_type
        name = onnx.TensorProto.DataType.Name(kind.elem_type).lower()
        if name not in FLOAT8 + PACKED + ("bfloat16",):
            continue
        whole = onnx.TensorProto.INT8 if "int" in name else onnx.TensorProto.FLOAT
        graph.node.append(onnx.helper.make_node("Cast", [output.name], [output.name + "_w"],
                                                to=whole))
        output.name += "_w"
        kind.elem_type = whole


def run_ort(case):
    opset = case.opset
    if case.domain == "ai.onnx" and opset > ORT_OPSET:
        # What came after only added types: it refuses those by itself.
        if onnx.defs.get_schema(case.operator, ORT_OPSET, "") is not None:
            opset = ORT_OPSET
    # Packed inputs have no form in its Python interface: the model holds them.
    held = {i for i, v in enumerate(case.inputs)
            if isinstance(v, np.ndarray) and dtype_of(v) in PACKED}
    if held:
        case = dataclasses.replace(case, constants=case.constants | held)
    model, feeds, _ = build_model([case], imports_of(case, opset), ORT_IR)
    _widen_outputs(model.graph)
    session = onnxruntime.InferenceSession(model.SerializeToString(), _options(),
                                           providers=["CPUExecutionProvider"])
    kinds = [kind for kind in case.outputs if kind is not None]
    values = {name: _ort_value(value) for name, value in feeds.items()}
    names = [output.name for output in model.graph.output]
    results = session.run(names, values)
    return _with_absent(case, [_from_ort(r, k) for r, k in zip(results, kinds)])


def _with_absent(case, results):
    rest = iter(results)
    return [next(rest) if kind is not None else None for kind in case.outputs]


def _run_as_float(case, types):
    if case.nodes is not None or not any(
            isinstance(v, np.ndarray) and dtype_of(v) in types for v in case.inputs):
        raise RuntimeError("nothing to convert")
    other = copy.copy(case)
    other.inputs = [v.astype(np.float32) if isinstance(v, np.ndarray) and dtype_of(v) in types
                    else v for v in case.inputs]
    other.outputs = ["float" if kind in types else kind for kind in case.outputs]
    with np.errstate(over="ignore"):
        return [r.astype(NUMPY[kind]) if kind in types else r
                for r, kind in zip(run_ort(other), case.outputs)]


def run_widened(case):
    return _run_as_float(case, ("float16", "bfloat16"))


def run_narrowed(case):
    return _run_as_float(case, ("double", "float16", "bfloat16"))


def run_moved(case):
    """Moves the positions of the elements, then looks them up."""
    moved = copy.copy(case)
    moved.inputs = list(case.inputs)
    present = [i for i in case.moves if i < len(case.inputs) and case.inputs[i] is not None]
    source = np.concatenate([case.inputs[i].ravel() for i in present])
    for number, kind in enumerate(("int64", "int32")):
        start = 0
        for index in present:
            value = case.inputs[index]
            moved.inputs[index] = np.arange(start, start + value.size, dtype=NUMPY[kind]).reshape(
                value.shape)
            start += value.size
        moved.outputs = [kind] + list(case.outputs[1:])
        try:
            results = run_ort(moved)
        except Exception:  # no kernel for one type: try the other
            if number == 1:
                raise
            continue
        return [source[results[0]]] + results[1:]
    return None


def run_reference(case):
    model, feeds, _ = build_model([case], imports_of(case))
    values = {name: value.astype(str).astype(object) if isinstance(value, np.ndarray)
              and value.dtype == np.object_ else value for name, value in feeds.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        results = _with_absent(case, ReferenceEvaluator(model).run(None, values))
    # It computes some in another precision than the result's.
    return [r.astype(NUMPY[k]) if isinstance(r, (np.ndarray, np.generic)) and k in FLOATS
            and r.dtype.kind == "f" else r for r, k in zip(results, case.outputs)]


RUNNERS = {"ort": run_ort, "widened": run_widened, "reference": run_reference,
           "moved": run_moved, "narrowed": run_narrowed}


def expected(case):
    reasons = []
    if case.modern is not None:
        name, outputs = expected(case.modern)
        if name is None:
            return None, outputs
        with np.errstate(all="ignore"):
            return f"modern {name}", [
                v if v is None or isinstance(kind, tuple) or kind == "string"
                else np.asarray(v).astype(NUMPY[kind]) for v, kind in zip(outputs, case.outputs)]
    order = (("moved",) if case.moves else ()) + case.peers
    for name in order:
        reason = quirks.distrusted(name, case)
        if reason is None:
            try:
                outputs = RUNNERS[name](case)
                if all(kind is None or isinstance(kind, tuple) or
                       _is_type(value, kind) for kind, value in zip(case.outputs, outputs)):
                    return name, outputs
                reason = "another type"
            except Exception as error:  # a peer may refuse in any way it likes
                reason = f"{type(error).__name__}: {error}"
        reasons.append(f"{name}: {reason.strip().splitlines()[0][:300]}")
    return None, "; ".join(reasons)


def _is_type(value, kind):
    value = np.asarray(value)
    if kind == "string":
        return value.dtype.kind in "OUST"
    return value.dtype == NUMPY[kind]
