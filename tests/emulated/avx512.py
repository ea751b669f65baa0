#!/usr/bin/env python3
"""Runs tests of the vector kernels on emulated processors that have AVX-512 and VNNI; with --all the
long ones, too, and ONNX's cases in which such kernels run.

    avx512.py [--build FOLDER] [--limit-s N] [--machines N] [--match TEXT] [--all]

FOLDER holds a release build. Needs the packages that `scripts/install_dependencies.sh test` installs.
Prints what `ctest -V` would (scripts/count_tests.py). Exit 0 when nothing failed, and all had been run
after N seconds.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import machine
import onnx

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
import onnx_cases  # noqa: E402 its folder has to be on the path

BYTES = "@(integer_*|byte_product)/*"
ALL = "*"
# Programs of the build's tests/ep/cpu, the level and those of the tests that are run, and the seconds
# that it takes, about. VNNI has kernels of its own for bytes alone. Casts are left out: at every level
# Bochs makes the smallest float16 of 2^-25, half of it, which processors round to even, to 0.
TESTS = (
    ("cpu_simd", "avx512_vnni", BYTES, 10),
    ("ep_cpu_product", "avx512", ALL, 50),
    ("ep_cpu_product", "avx512_vnni", BYTES, 10),
    ("cpu_recurrent", "avx512", "*/every_case_at_every_level", 60),
    ("cpu_simd", "avx512", "@(simd_reduce|simd_norm)/*", 30),
)
# Minutes each.
LONG_TESTS = (
    ("cpu_simd", "avx512", "!(simd_cast|simd_reduce|simd_norm)/*", 250),
    ("ep_cpu_convolution", "avx512", ALL, 250),
    ("ep_cpu_convolution", "avx512_vnni", BYTES, 60),
)
CASE_S = 0.5
# It has the kernels of the other one but for bytes.
CASE_LEVEL = "avx512_vnni"
# Operators whose vector kernels take constant weights, which the cases give as inputs.
WANTS_CONSTANTS = frozenset((
    "Conv", "ConvInteger", "GRU", "Gemm", "LSTM", "LayerNormalization", "MatMulInteger", "QLinearConv",
    "QLinearMatMul", "RNN"))
# Large libraries that nothing here calls: oneDNN is switched off, and Criterion compares no files.
ABSENT = {"libdnnl.so": "dnnl_", "libgit2.so": "git_"}
# What shows in `onnxd inspect` that a vector kernel runs.
VECTOR_KERNEL = "simd:"


@dataclasses.dataclass
class Item:
    name: str
    command: str
    weight: float


def tests(chosen):
    return [Item(f"{name} {level} {pattern}",
                 f"ONNXD_TEST_LEVEL={level} test_{name} --short-filename --jobs 1 "
                 f"--filter '{pattern}'", weight)
            for name, level, pattern, weight in chosen]


def runs_vector_kernel(binary, case):
    shown = subprocess.run([str(binary), "inspect", str(case.folder / "model.onnx")],
                           capture_output=True, text=True, errors="replace", check=False)
    return VECTOR_KERNEL in shown.stdout


def with_constants(case, folder):
    """The case with all inputs but the first one as initializers, or None."""
    model = onnx.load(case.folder / "model.onnx")
    data = case.folder / "test_data_set_0"
    inputs = list(model.graph.input)
    if len(inputs) < 2 or not all(i.type.HasField("tensor_type") for i in inputs):
        return None
    for number, info in enumerate(inputs[1:], 1):
        tensor = onnx.TensorProto.FromString((data / f"input_{number}.pb").read_bytes())
        tensor.name = info.name
        model.graph.initializer.append(tensor)
        model.graph.input.remove(info)
    target = folder / case.name
    (target / data.name).mkdir(parents=True)
    onnx.save(model, target / "model.onnx")
    for path in [data / "input_0.pb", *data.glob("output_*.pb")]:
        shutil.copy(path, target / data.name)
    return dataclasses.replace(case, name=f"{case.name}_constant", folder=target)


def cases(binary, folder):
    """Those in which a vector kernel runs, without those that spell an operator out."""
    found = [case for case in onnx_cases.cases(folder) if "_expanded" not in case.name]
    constant = [with_constants(case, folder / "constant") for case in found
                if WANTS_CONSTANTS.intersection(op for _, op in case.operators)
                and case.kind == "node"]
    found += [case for case in constant if case is not None]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        chosen = list(pool.map(lambda case: runs_vector_kernel(binary, case), found))
    return [case for case, is_chosen in zip(found, chosen) if is_chosen]


def case_items(chosen):
    return [Item(case.name, f"ONNXD_CONFIG=/config onnxd run /cases/{case.name}/model.onnx "
                 f"--data /cases/{case.name} --rtol {case.rtol!r} --atol {case.atol!r}", CASE_S)
            for case in chosen]


def case_files(chosen):
    files = {}
    for case in chosen:
        for path in case.folder.rglob("*"):
            if path.is_file():
                files[f"cases/{case.name}/{path.relative_to(case.folder)}"] = path.read_bytes()
    options = {"cpu.isa": CASE_LEVEL, "cpu.onednn": False, "cpu.threads": 1}
    files["config"] = json.dumps({"providers": [{"name": "cpu_ep", "options": options}]}).encode()
    return files


def divide(items, count):
    """Into so many parts of about equal weight."""
    parts = [[] for _ in range(count)]
    weights = [0.0] * count
    for item in sorted(items, key=lambda item: -item.weight):
        least = weights.index(min(weights))
        parts[least].append(item)
        weights[least] += item.weight
    return [part for part in parts if part]


class Report:
    """Prints results as `ctest -V` does. For any thread."""

    def __init__(self, total):
        self.total = total
        self.counts = collections.Counter()
        self.start = time.monotonic()
        self.lock = threading.Lock()

    def add(self, result):
        with self.lock:
            number = sum(self.counts.values()) + 1
            is_passed = result.code == 0
            self.counts[is_passed] += 1
            for line in result.output.splitlines():
                if not is_passed or "Synthesis" in line:
                    print(f"{number}: {line}")
            # count_tests.py takes the first word behind the number for the name.
            print(f"{number}/{self.total} Test #{number}: {result.name.replace(' ', ':')} ... "
                  f"{'Passed' if is_passed else '***Failed'} "
                  f"{time.monotonic() - self.start:.1f} s", flush=True)

    def is_good(self):
        return self.counts[True] == self.total


def run_part(pc, part, limit_s, report):
    """What the machine did not come to fails."""
    done = 0
    try:
        pc.start((item.name, item.command) for item in part)
        for result in pc.results(limit_s):
            report.add(result)
            done += 1
    except machine.MachineError as error:
        said = f"{error}\n{pc.messages()}"
        for item in part[done:]:
            report.add(machine.Result(item.name, -1, said))
            said = "not run"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--limit-s", type=float, default=900)
    parser.add_argument("--machines", type=int, default=os.cpu_count())
    parser.add_argument("--match", default="", help="only what has this in its name")
    parser.add_argument("--all", action="store_true",
                        help="the tests that take minutes and ONNX's cases, too: half an hour")
    options = parser.parse_args()

    programs = {f"test_{name}": options.build / "tests" / "ep" / "cpu" / f"test_{name}"
                for name, *_ in TESTS} | {"onnxd": options.build / "onnxd"}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        chosen = cases(options.build / "onnxd", folder / "cases") if options.all else []
        items = [*tests(TESTS + LONG_TESTS if options.all else TESTS), *case_items(chosen)]
        items = [item for item in items if options.match in item.name]
        report = Report(len(items))
        parts = divide(items, options.machines)
        files = case_files(chosen)
        pcs = [machine.Machine(folder / f"machine{i}", programs, files, ABSENT)
               for i in range(len(parts))]
        with concurrent.futures.ThreadPoolExecutor(len(parts)) as pool:
            list(pool.map(lambda pc, part: run_part(pc, part, options.limit_s, report), pcs, parts))
    print(f"{report.counts[True]} of {report.total} passed")
    return 0 if report.is_good() else 1


if __name__ == "__main__":
    sys.exit(main())
