#!/usr/bin/env python3
"""Runs the onnx package's own test cases through `onnxd run`.

    run_onnx_cases.py [--binary PATH] [--kind KIND ...] [--match TEXT] [--jobs N]
                      [--each-switch [--every-case]]

--each-switch runs the cases once for each of switches.py in place of once; where that leaves out a graph
pass, without the models of one node, unless --every-case is given.
A case passes, fails, or is skipped because SKIPPED names it with a reason; those whose stored output
is random (RANDOM) are judged by their distribution. Exit 0 when nothing failed.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx_cases
import random_output
import switches

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT_S = 600
# kind/name -> why it is not run. The daemon has to refuse each of them by name.
SKIPPED = {
    "simple/test_gradient_of_add": "Gradient trains; an inference server refuses it",
    "simple/test_gradient_of_add_and_mul": "Gradient trains; an inference server refuses it",
}
# name -> what judges an output that is not the stored one.
RANDOM = {name: random_output.check_bernoulli for name in (
    "test_bernoulli", "test_bernoulli_expanded", "test_bernoulli_double",
    "test_bernoulli_double_expanded", "test_bernoulli_seed", "test_bernoulli_seed_expanded")}


def run_case(binary, case, switch=switches.NONE):
    """("passed" | "failed" | "skipped", message)."""
    if case.name in RANDOM:
        wrong = RANDOM[case.name](binary, case.folder)
        return ("passed", "") if wrong is None else ("failed", wrong)
    command = [str(binary), "run", str(case.folder / "model.onnx"), "--data", str(case.folder),
               "--rtol", repr(max(case.rtol, switch.tolerance)),
               "--atol", repr(max(case.atol, switch.tolerance))]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S,
                                errors="replace", env=os.environ | switch.environment)
    except subprocess.TimeoutExpired:
        return "failed", "timed out"
    reason = SKIPPED.get(f"{case.kind}/{case.name}")
    if reason is not None and result.returncode == 1 and "not supported" in result.stderr:
        return "skipped", reason
    if result.returncode == 0:
        return "passed", ""
    lines = result.stderr.strip().splitlines() or result.stdout.strip().splitlines()
    return "failed", (lines or [f"exit {result.returncode}"])[-1]


def run_all(binary, cases, jobs, switch=switches.NONE):
    """(case, outcome, message) of each, in order."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        cases = list(cases)
        yield from ((case, *result) for case, result in
                    zip(cases, pool.map(lambda case: run_case(binary, case, switch), cases)))


def run_and_report(binary, cases, jobs, switch=switches.NONE):
    """Whether nothing failed."""
    title = f"{switch.name}, " if switch.name else ""
    totals = collections.defaultdict(collections.Counter)
    for case, outcome, message in run_all(binary, cases, jobs, switch):
        totals[case.kind][outcome] += 1
        if outcome != "passed":
            print(f"{outcome} {title}{case.kind}/{case.name}: {message}")
    for kind, counts in totals.items():
        print(f"{title}{kind}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['skipped']} skipped", flush=True)
    return not any(counts["failed"] for counts in totals.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=ROOT / "build" / "release" / "onnxd")
    parser.add_argument("--kind", action="append", choices=onnx_cases.KINDS)
    parser.add_argument("--match", default="", help="only cases whose name contains this")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--each-switch", action="store_true",
                        help="once for each of switches.py: without each graph pass, ...")
    parser.add_argument("--every-case", action="store_true",
                        help="models of one node also where a graph pass is left out")
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        cases = [case for case in onnx_cases.cases(folder, options.kind or onnx_cases.KINDS)
                 if options.match in case.name]
        if not options.each_switch:
            return 0 if run_and_report(options.binary, cases, options.jobs) else 1
        all_passed = True
        for switch in switches.switches(options.binary, folder):
            if switch.reason:
                print(f"skipped {switch.name}: {switch.reason}")
                continue
            chosen = [case for case in cases
                      if options.every_case or not (switch.is_pass and case.is_one_node)]
            all_passed &= run_and_report(options.binary, chosen, options.jobs, switch)
        return 0 if all_passed else 1


if __name__ == "__main__":
    sys.exit(main())
