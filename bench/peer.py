#!/usr/bin/env python3
"""Runs a model on a peer as `onnxd bench --paced` does on onnxd: loads it and the inputs, prints a
line of JSON once it is warm, then for each line N of standard input the times of N runs.

    peer.py onnxruntime|openvino MODEL DATA --threads N [--save]

With --save the outputs of one run are written to DATA/output_N.pb first."""

import argparse
import json
import pathlib
import sys
import time

import onnx


def inputs_of(folder):
    count = len(list(folder.glob("input_*.pb")))
    return [onnx.load_tensor(folder / f"input_{i}.pb") for i in range(count)]


def onnxruntime_runner(path, tensors, threads):
    import onnxruntime
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    # Bound, so that no copy into or out of Python is counted.
    binding = session.io_binding()
    for described, tensor in zip(session.get_inputs(), tensors):
        binding.bind_cpu_input(described.name, onnx.numpy_helper.to_array(tensor))
    for described in session.get_outputs():
        binding.bind_output(described.name)
    return (lambda: session.run_with_iobinding(binding),
            lambda: [value.numpy() for value in binding.get_outputs()])


def openvino_runner(path, tensors, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(path, "CPU", {
        "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "f32", "ENABLE_CPU_PINNING": "NO"})
    request = compiled.create_infer_request()
    for index, tensor in enumerate(tensors):
        request.set_input_tensor(index, openvino.Tensor(onnx.numpy_helper.to_array(tensor)))
    count = len(compiled.outputs)
    return request.infer, lambda: [request.get_output_tensor(i).data for i in range(count)]


RUNNERS = {"onnxruntime": onnxruntime_runner, "openvino": openvino_runner}


def peak_rss_kib():
    """getrusage() may tell that of the process that started this one."""
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def measure(run, count):
    times = []
    cpu = time.process_time_ns()
    for _ in range(count):
        start = time.perf_counter_ns()
        run()
        times.append((time.perf_counter_ns() - start) / 1e6)
    cpu = (time.process_time_ns() - cpu) / 1e6 / count
    times.sort()
    return {"latency_ms": {"median": times[len(times) // 2], "min": times[0]},
            "cpu_ms_per_run": cpu,
            "peak_rss_kib": peak_rss_kib()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=RUNNERS)
    parser.add_argument("model")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--save", action="store_true")
    arguments = parser.parse_args()
    tensors = inputs_of(arguments.data)
    start = time.perf_counter_ns()
    run, outputs = RUNNERS[arguments.peer](arguments.model, tensors, arguments.threads)
    load_ms = (time.perf_counter_ns() - start) / 1e6
    for _ in range(arguments.warmup):
        run()
    if arguments.save:
        run()
        for index, value in enumerate(outputs()):
            (arguments.data / f"output_{index}.pb").write_bytes(
                onnx.numpy_helper.from_array(value).SerializeToString())
    print(json.dumps(measure(run, 1) | {"load_ms": load_ms}), flush=True)
    for line in sys.stdin:
        print(json.dumps(measure(run, int(line))), flush=True)


if __name__ == "__main__":
    main()
