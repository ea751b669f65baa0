#!/usr/bin/env python3
"""Two requests at once on two threads, against the better of two other ways to serve them: one after
another with two threads, and side by side in two processes with one thread each.

    bench/side_by_side.py [--match TEXT,...] [--rounds N] [--bound 1.1] [--save NAME]

All go through the scheduler, as in the daemon (`onnxd bench --concurrency`). Every way is a process,
or two, that stay loaded; in each round each runs for about the same short time, and a ratio is that of
the least times over the rounds: whatever else the machine does can only add to them. Writes bench/results/<name>.md with --save. Exits non-zero when a ratio is
above the bound."""

import argparse
import json
import pathlib
import sys
import tempfile

# Before cases, which puts a folder with another module of this name on the path.
import compare  # isort: skip
import cases

MODELS = "resnet50,squeezenet,minilm_128,head_16,ppocr_cls"
TURN_S, MOST_RUNS = 0.15, 20000


class Way:
    """Some processes that serve requests at the same time; times are of one pair of requests."""

    def __init__(self, path, data, processes, threads, concurrency):
        command = [str(compare.BINARY), "bench", str(path), "--paced", "--data", str(data),
                   "--threads", str(threads), "--warmup", "3", "--concurrency", str(concurrency)]
        self.engines = [compare.Engine(command) for _ in range(processes)]
        self.pairs_ms = []
        self.last_ms = self.pair_ms([engine.first for engine in self.engines])

    @staticmethod
    def pair_ms(answers):
        return 2e3 / sum(answer["throughput_per_s"] for answer in answers)

    def turn(self):
        runs = round(2 * TURN_S * 1e3 / self.last_ms / len(self.engines))
        runs = max(4, min(MOST_RUNS, runs))
        for engine in self.engines:
            engine.process.stdin.write(f"{runs}\n")
            engine.process.stdin.flush()
        self.last_ms = self.pair_ms([engine.read() for engine in self.engines])
        self.pairs_ms.append(self.last_ms)

    def close(self):
        for engine in self.engines:
            engine.close()

    def result(self):
        return min(self.pairs_ms)


def measure(case, rounds):
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder)
        compare.save_inputs(case, data)
        ways = {}
        try:
            ways["at once"] = Way(case.path, data, 1, 2, 2)
            ways["one after another"] = Way(case.path, data, 1, 2, 1)
            ways["side by side"] = Way(case.path, data, 2, 1, 1)
            for _ in range(rounds):
                for way in ways.values():
                    way.turn()
        finally:
            for way in ways.values():
                way.close()
        return {name: way.result() for name, way in ways.items()}


def table(rows):
    lines = ["| model | at once | one after another, 2 threads | side by side, 1 thread | ratio |",
             "|---|---|---|---|---|"]
    for name, times, ratio in rows:
        lines.append(f"| {name} | {times['at once']:.3f} ms | {times['one after another']:.3f} ms | "
                     f"{times['side by side']:.3f} ms | {ratio:.3f} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--match", default=MODELS, help="names of bench/cases.py (%(default)s)")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--bound", type=float, default=1.1)
    parser.add_argument("--save", metavar="NAME")
    options = parser.parse_args()
    rows = []
    for name in options.match.split(","):
        found = [case for case in cases.cases(name, 1) if case.name == name]
        if not found:
            parser.error(f"no model '{name}'")
        times = measure(found[0], options.rounds)
        ratio = times["at once"] / min(times["one after another"], times["side by side"])
        rows.append((name, times, ratio))
        print(json.dumps({"model": name, "ratio": round(ratio, 3),
                          **{way: round(ms, 4) for way, ms in times.items()}}), flush=True)
    print(table(rows), end="")
    if options.save:
        path = compare.RESULTS / f"{options.save}.md"
        path.write_text("Two requests, time of both, on two cores.\n\n" + table(rows))
    return any(ratio > options.bound for _, _, ratio in rows)


if __name__ == "__main__":
    sys.exit(main())
