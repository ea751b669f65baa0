#!/usr/bin/env python3
"""Compares onnxd with onnxruntime and onnx.reference on random cases of every operator.

    compare_ort.py [--all] [--count N] [--seed N] [--match OPERATOR] [--domain DOMAIN]
                   [--binary PATH] [--verbose]

A row is a definition of `onnxd list-operators --json` with one of its types. Every row is drawn at
least once, then rows at random until there are N cases (5000 with --all). Prints what failed, the
rows that no case hit, the cases that no peer can judge, and totals per domain. Exit 0 when nothing
failed and every row was hit.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import multiprocessing
import os
import sys
import zlib

import numpy as np

import batches
import compare
import exceptions
import generators
import onnxd_binary
import peers
from random_case import Draw, Unsuitable, imports_of

BATCH = 48
TRIES = 200


@dataclasses.dataclass(frozen=True)
class Row:
    domain: str
    operator: str
    since: int
    until: int
    slot: str
    dtype: str

    def __str__(self):
        return f"{self.domain} {self.operator} {self.since}-{self.until} {self.slot}={self.dtype}"


def name_slots(definition):
    """Gives each formal a "slot": what has the same slot has the same type. The schema of ONNX or
    of onnxruntime says which those are; without one, the definition's type variables do."""
    names = peers.type_names(definition["operator"], definition["domain"], definition["until"])
    for side in ("input", "output"):
        for index, formal in enumerate(definition[side + "s"]):
            own = f"{side} {index}"
            if names is None and formal["variable"]:
                own = f"T{formal['variable']}"
            elif names and index < len(names[side]) and "(" not in names[side][index]:
                own = names[side][index]
            formal["slot"] = own
    return definition


def slots_of(definition):
    """{slot: element types}, of inputs and of outputs that no input decides."""
    slots = {}
    for side in ("input", "output"):
        for formal in definition[side + "s"]:
            types = slots.setdefault(formal["slot"], formal["types"])
            slots[formal["slot"]] = [t for t in types if t in formal["types"]]
    return slots


def rows_of(definitions):
    for definition in definitions:
        for slot, dtypes in slots_of(definition).items():
            for dtype in dtypes:
                yield Row(definition["domain"], definition["operator"], definition["since"],
                          definition["until"], slot, dtype), definition


def draw_case(seed, row, definition, number):
    """A case that hits the row, or None when no drawn one is valid."""
    name = zlib.crc32(str(row).encode())
    for attempt in range(0 if row.operator in exceptions.NOT_DRAWN else TRIES):
        rng = np.random.default_rng([seed, name, number, attempt])
        opset = int(rng.integers(row.since, row.until + 1))
        types = {slot: dtypes[int(rng.integers(len(dtypes)))]
                 for slot, dtypes in slots_of(definition).items()}
        types[row.slot] = row.dtype
        draw = Draw(rng, definition, opset, types, number)
        try:
            case = generators.generate(draw)
        except Unsuitable:
            continue
        case.types = tuple(draw.types.values())
        case.rows = {dataclasses.replace(row, slot=s, dtype=t) for s, t in draw.types.items()}
        return case
    return None


def draw_cases(seed, definitions, count):
    """Every row once, then rows at random, at most `count` of those together with the first."""
    rows = list(rows_of(definitions))
    cases, undrawn = [], []
    for row, definition in rows:
        case = draw_case(seed, row, definition, len(cases))
        if case is None:
            undrawn.append(row)
        else:
            cases.append(case)
    rng = np.random.default_rng(seed)
    for _ in range(4 * count):
        if len(cases) >= count or not rows:
            break
        # By operator first, so that those with many types do not take all.
        row, definition = rows[int(rng.integers(len(rows)))]
        case = draw_case(seed, row, definition, len(cases))
        if case is not None:
            cases.append(case)
    return cases, undrawn


@dataclasses.dataclass
class Result:
    case: object
    outcome: str  # passed, failed, no peer
    peer: str
    text: str = ""


def judge(case, found):
    if case.check is not None:
        text = f"onnxd: {found}" if isinstance(found, str) else case.check(case, found)
        return Result(case, "failed" if text else "passed", "check", text or "")
    peer, wanted = peers.expected(case)
    if peer is None:
        text = wanted if not isinstance(found, str) else f"onnxd: {found}; {wanted}"
        return Result(case, "no peer" if not isinstance(found, str) else "failed", "", text)
    if isinstance(found, str):
        return Result(case, "failed", peer, f"onnxd: {found}")
    if "narrowed" in peer:
        case = dataclasses.replace(case, rtol=max(case.rtol or 0, 1e-5),
                                   atol=max(case.atol or 0, 1e-5))
    for index, (kind, actual, expected) in enumerate(zip(case.outputs, found, wanted)):
        if kind is None:
            continue
        text = compare.difference(case, kind, actual, expected)
        if text:
            return Result(case, "failed", peer, f"output {index}: {text}")
    return Result(case, "passed", peer)


# What the worker processes find when they are forked: cases hold functions, which do not pickle.
_work = []


def run_batch(binary, index):
    batch, imports = _work[index]
    found = batches.run(binary, batch, dict(imports))
    return [(r.case.number, r.outcome, r.peer, r.text)
            for r in (judge(case, found[case.number]) for case in batch)]


def run_cases(binary, cases):
    """Results in no order."""
    by_number = {case.number: case for case in cases}
    groups = collections.defaultdict(list)
    for case in cases:
        groups[tuple(sorted(imports_of(case).items()))].append(case)
    _work[:] = [(group[i:i + BATCH], imports) for imports, group in groups.items()
                for i in range(0, len(group), BATCH)]
    results = []
    with concurrent.futures.ProcessPoolExecutor(
            os.cpu_count(), multiprocessing.get_context("fork")) as pool:
        futures = [pool.submit(run_batch, binary, index) for index in range(len(_work))]
        for future in futures:
            results += [Result(by_number[number], *rest) for number, *rest in future.result()]
    return results


def report(results, undrawn, all_rows, verbose):
    """Prints everything; returns whether all is well."""
    totals = collections.defaultdict(collections.Counter)
    by_peer = collections.Counter()
    hit = set()
    good = True
    lonely = collections.defaultdict(list)
    for result in sorted(results, key=lambda r: r.case.number):
        case = result.case
        totals[case.domain][result.outcome] += 1
        by_peer[result.peer] += 1
        if result.outcome != "no peer":
            hit |= case.rows
        if result.outcome == "failed":
            good = False
            print(f"failed: case {case.number} {case} against {result.peer or 'none'}: "
                  f"{result.text}")
        elif result.outcome == "no peer":
            reason = exceptions.without_peer(case)
            lonely[case.domain, case.operator, reason].append(result)
    for (domain, operator, reason), found in sorted(lonely.items(), key=str):
        good = good and reason is not None
        print(f"no peer: {domain} {operator}, {len(found)} cases: {reason or found[0].text}")
        if verbose and reason is None:
            for result in found:
                print(f"    {result.case}: {result.text}")
    missed = [row for row in all_rows if row not in hit]
    excused = [row for row in missed if exceptions.unhit(row)]
    for row in missed:
        if row not in excused:
            good = False
            print(f"not hit: {row}{' (no valid case drawn)' if row in undrawn else ''}")
    for domain, counts in sorted(totals.items()):
        print(f"{domain}: {counts['passed']} passed, {counts['failed']} failed, "
              f"{counts['no peer']} without a peer")
    print("judged by: " + ", ".join(f"{p or 'none'} {n}" for p, n in by_peer.most_common()))
    print(f"rows: {len(all_rows) - len(missed)} of {len(all_rows)} hit, "
          f"{len(excused)} excused by tests/conformance/exceptions.py")
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="at least 5000 cases")
    parser.add_argument("--count", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--match", default="", help="one operator; a trailing * matches more")
    parser.add_argument("--domain", default="")
    parser.add_argument("--binary", default=onnxd_binary.DEFAULT)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()

    def is_wanted(definition):
        name = definition["operator"]
        match = options.match
        named = name.startswith(match[:-1]) if match.endswith("*") else match in ("", name)
        return named and options.domain in ("", definition["domain"])

    definitions = [name_slots(d) for d in onnxd_binary.definitions(options.binary)
                   if is_wanted(d)]
    count = max(options.count, 5000 if options.all else 0)
    cases, undrawn = draw_cases(options.seed, definitions, count)
    print(f"{len(cases)} cases of {len(definitions)} definitions, seed {options.seed}")
    results = run_cases(options.binary, cases)
    good = report(results, set(undrawn), [row for row, _ in rows_of(definitions)], options.verbose)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
