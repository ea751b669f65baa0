#!/usr/bin/env python3
"""onnxd, onnxruntime and openvino on the same models, inputs and thread counts, taking turns in one
run, and the ratios of their medians.

    bench/compare.py [--all] [--match TEXT] [--threads 1,2] [--batch 1,8] [--peers ...] [--rounds N]

Every engine is a process of its own that stays loaded; in each round each runs for about the same
time. Outputs are compared with onnxruntime's where that is among the peers. Writes
bench/results/<name>.json and .md with --save NAME. Exits non-zero when an output differs, and with
--all, which holds the rows to bounds.py, when a bound is missed.
"""

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np
import onnx

import bounds
import cases

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = ROOT / "build" / "release" / "onnxd"
RESULTS = ROOT / "bench" / "results"
PEERS = ("onnxruntime", "openvino")
# Seconds that an engine runs for in a round, and the most runs.
TURN_S, MOST_RUNS = 0.3, 2000


class Engine:
    """A process that answers each count of runs with a line of JSON."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env=os.environ | (environment or {}))
        self.first = self.read()
        self.medians, self.cpu = [], []
        self.peak_rss_kib = self.first["peak_rss_kib"]

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            error = self.process.stderr.read().strip().splitlines()
            raise RuntimeError(error[-1] if error else "no answer")
        return json.loads(line)

    def turn(self):
        last = self.medians[-1] if self.medians else self.first["latency_ms"]["median"]
        runs = max(1, min(MOST_RUNS, int(TURN_S * 1e3 / max(last, 1e-3))))
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        answer = self.read()
        self.medians.append(answer["latency_ms"]["median"])
        self.cpu.append(answer["cpu_ms_per_run"])
        self.peak_rss_kib = answer["peak_rss_kib"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def result(self):
        return {"median_ms": statistics.median(self.medians), "cpu_ms": statistics.median(self.cpu),
                "load_ms": self.first["load_ms"], "peak_rss_kib": self.peak_rss_kib}


def command_of(engine, path, data, threads, save=False, options=()):
    if engine == "onnxd":
        return [str(BINARY), "bench", str(path), "--paced", "--data", str(data), "--threads",
                str(threads), "--warmup", "3", *options]
    return [sys.executable, str(ROOT / "bench" / "peer.py"), engine, str(path), str(data),
            "--threads", str(threads), *(["--save"] if save else [])]


def save_inputs(row, folder):
    for index, array in enumerate(row.inputs):
        (folder / f"input_{index}.pb").write_bytes(
            onnx.numpy_helper.from_array(array).SerializeToString())


def environment_of(case, folder):
    """Of onnxd: a configuration with the case's options."""
    if not case.options:
        return {}
    path = folder / "onnxd.json"
    path.write_text(json.dumps({"providers": [{"name": "cpu_ep", "options": case.options}]}))
    return {"ONNXD_CONFIG": str(path)}


def outputs_agree(case, data, environment):
    """None, or what `onnxd run` says of the outputs that onnxruntime left in `data`."""
    result = subprocess.run([str(BINARY), "run", str(case.path), "--data", str(data), "--rtol",
                             str(case.rtol), "--atol", str(case.atol)],
                            capture_output=True, text=True, check=False,
                            env=os.environ | environment)
    lines = (result.stdout + result.stderr).strip().splitlines()
    if result.returncode == 0 and "outputs equal" in result.stdout:
        return None
    return lines[-1] if lines else "failed"


@dataclasses.dataclass
class Row:
    model: str
    threads: int
    batch: int
    engines: dict
    difference: str | None

    def ratio(self, peer):
        return self.part(peer, "median_ms")

    def part(self, peer, measured):
        """None where one of the two could not run the model."""
        if "onnxd" not in self.engines or peer not in self.engines:
            return None
        return self.engines["onnxd"][measured] / self.engines[peer][measured]


def measure(case, threads, batch, peers, rounds):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        save_inputs(case, folder)
        environment = environment_of(case, folder)
        engines = {}
        try:
            for engine in (*peers, "onnxd"):
                try:
                    engines[engine] = Engine(command_of(engine, case.path, folder, threads,
                                                        engine == "onnxruntime"),
                                             environment if engine == "onnxd" else {})
                except RuntimeError as error:
                    print(f"{case.name}: {engine} cannot run it: {error}", flush=True)
            for _ in range(rounds):
                for engine in engines.values():
                    engine.turn()
        finally:
            for engine in engines.values():
                engine.close()
        difference = outputs_agree(case, folder, environment) \
            if "onnxruntime" in engines else None
        return Row(case.name, threads, batch, {n: e.result() for n, e in engines.items()},
                   difference)


def features():
    return next((set(line.split()) for line in open("/proc/cpuinfo")
                 if line.startswith("flags")), set())


def machine():
    name = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                 if line.startswith("model name")), platform.processor())
    isa = [f for f in ("avx2", "avx512f", "avx512_vnni", "avx512_bf16") if f in features()]
    return {"processor": name, "cpus": os.cpu_count(), "isa": isa}


def text_of(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def table(rows, peers):
    yield "| model | threads | batch | onnxd ms | " + \
        " | ".join(f"{p} ms | ratio" for p in peers) + " | load | memory |"
    yield "|---" * (6 + 2 * len(peers)) + "|"
    for row in rows:
        own = row.engines["onnxd"]
        cells = [row.model, str(row.threads), str(row.batch), f"{own['median_ms']:.3f}"]
        for peer in peers:
            time = row.engines[peer]["median_ms"] if peer in row.engines else None
            cells += [text_of(time, "{:.3f}"), text_of(row.ratio(peer))]
        cells += [text_of(row.part(peers[0], "load_ms")),
                  text_of(row.part(peers[0], "peak_rss_kib"))]
        yield "| " + " | ".join(cells) + " |"
    for peer in peers:
        yield ""
        yield f"Geometric mean against {peer}: " \
            f"{text_of(bounds.geometric_mean([r.ratio(peer) for r in rows]))}"


def save(name, rows, text):
    RESULTS.mkdir(exist_ok=True)
    facts = machine()
    record = {"machine": facts, "rows": [dataclasses.asdict(r) for r in rows]}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (RESULTS / f"{name}.md").write_text(
        f"{facts['processor']}, {facts['cpus']} CPUs, {' '.join(facts['isa'])}\n\n{text}\n")


def check(parser, peers):
    """Ends with what is missing before anything is measured."""
    if not BINARY.exists():
        parser.error(f"{BINARY} is missing: build it with scripts/build.sh release onnxd")
    for peer in peers:
        if peer not in PEERS:
            parser.error(f"'{peer}' is no peer, allowed are {', '.join(PEERS)}")
        if importlib.util.find_spec(peer) is None:
            parser.error(f"the Python package '{peer}' is missing: install it, or leave it out of "
                         "--peers")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true",
                        help="every model, held to the bounds of bounds.py")
    parser.add_argument("--match", default="",
                        help="models whose names contain the text; every model without it")
    parser.add_argument("--threads", default="1,2", help="counts of compute threads")
    parser.add_argument("--batch", default="1,8", help="extents of the first dimension")
    parser.add_argument("--peers", default=",".join(PEERS), help="the engines to compare with")
    parser.add_argument("--rounds", type=int, default=9, help="turns of every engine")
    parser.add_argument("--save", default="", help="name of the files in bench/results")
    arguments = parser.parse_args()
    if arguments.all:
        arguments.match = ""
    peers = arguments.peers.split(",")
    check(parser, peers)
    rows, left_out = [], {}
    for threads in map(int, arguments.threads.split(",")):
        for batch in map(int, arguments.batch.split(",")):
            for case in cases.cases(arguments.match, batch):
                if case.needs and case.needs not in features():
                    left_out[case.name] = case.needs
                    continue
                row = measure(case, threads, batch, peers, arguments.rounds)
                rows.append(row)
                ratios = ", ".join(f"{text_of(row.ratio(p))} of {p}'s" for p in peers)
                print(f"{row.model} threads {threads} batch {batch}: onnxd "
                      f"{row.engines['onnxd']['median_ms']:.3f} ms, {ratios}"
                      f"{'' if row.difference is None else ', outputs differ: ' + row.difference}",
                      flush=True)
    if not rows and not left_out:
        parser.error(f"no model's name contains '{arguments.match}'")
    missed = bounds.missed(rows, peers)
    text = "\n".join([*table(rows, peers), "", *(f"Missed: {line}" for line in missed),
                      *(f"Not measured: {name}, since this processor lacks {feature}"
                        for name, feature in left_out.items())])
    print(text)
    if arguments.save:
        save(arguments.save, rows, text)
    return 1 if any(r.difference for r in rows) or (arguments.all and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
