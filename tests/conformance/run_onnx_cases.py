#!/usr/bin/env python3
"""Runs the onnx package's own test cases through `onnxd run`.

    run_onnx_cases.py [--binary PATH] [--kind KIND ...] [--match TEXT] [--verbose]

A case counts as refused when onnxd names an operator, or a type of one, that it does not run; as
failed when it runs and differs, or ends in any other way. Exit 0 when nothing failed.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import onnx_cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What the messages of a refusal contain.
REFUSALS = ("is not known", "not supported")


def run_case(binary, case):
    """("passed" | "refused" | "failed", message)."""
    command = [str(binary), "run", str(case.folder / "model.onnx"), "--data", str(case.folder),
               "--rtol", repr(case.rtol), "--atol", repr(case.atol)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=120,
                                errors="replace")
    except subprocess.TimeoutExpired:
        return "failed", "timed out"
    if result.returncode == 0:
        return "passed", ""
    message = (result.stderr.strip().splitlines() or result.stdout.strip().splitlines()
               or [f"exit {result.returncode}"])[-1]
    is_refusal = result.returncode == 1 and any(text in result.stderr for text in REFUSALS)
    return ("refused" if is_refusal else "failed"), message


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=ROOT / "build" / "release" / "onnxd")
    parser.add_argument("--kind", action="append", choices=onnx_cases.KINDS)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="print refused cases too")
    options = parser.parse_args()

    totals = collections.defaultdict(collections.Counter)
    with tempfile.TemporaryDirectory() as folder:
        for case in onnx_cases.cases(folder, options.kind or onnx_cases.KINDS):
            if options.match not in case.name:
                continue
            outcome, message = run_case(options.binary, case)
            totals[case.kind][outcome] += 1
            if outcome == "failed" or (options.verbose and outcome == "refused"):
                print(f"{outcome} {case.kind}/{case.name}: {message}")
    for kind, counts in totals.items():
        print(f"{kind}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['refused']} refused")
    return 1 if any(counts["failed"] for counts in totals.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
