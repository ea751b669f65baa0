#!/usr/bin/env python3
"""Compares the operators that onnxd knows with the schemas of the onnx package.

    schema_gaps.py [--binary PATH] [--domain DOMAIN] [--match TEXT]

Prints a line for each operator version that is missing or whose number of inputs, types or kinds
differ, and a summary of operators without any definition. Exit 0 when there is nothing to report.
"""

import argparse
import collections
import re
import sys

import onnx

import onnxd_binary

# (domain, operator) -> why it is not there.
EXPECTED_ABSENT = {
    ("ai.onnx.preview.training", "Gradient"):
        "differentiates the graph: refused by name (graph/refused.inc)",
}
KINDS = (
    (r"tensor\((\w+)\)", "tensor"),
    (r"seq\(tensor\((\w+)\)\)", "sequence"),
    (r"optional\(tensor\((\w+)\)\)", "optional"),
    (r"optional\(seq\(tensor\((\w+)\)\)\)", "optional sequence"),
    (r"map\(\w+,tensor\((\w+)\)\)", "map"),
    (r"seq\(map\(\w+,tensor\((\w+)\)\)\)", "sequence of maps"),
    (r"sparse_tensor\((\w+)\)", "sparse tensor"),
)


def split_type(text):
    """("sequence", "float") of "seq(tensor(float))"."""
    text = text.replace(" ", "")
    for pattern, kind in KINDS:
        match = re.fullmatch(pattern, text)
        if match:
            return kind, match.group(1)
    raise ValueError(f"a type this script does not know: {text}")


def schema_formal(formal):
    pairs = [split_type(t) for t in formal.types]
    return {kind for kind, _ in pairs}, {name for _, name in pairs}


def histories():
    """(domain, operator) -> [(since, until, schema), ...], deprecated versions left out."""
    versions = collections.defaultdict(dict)
    for schema in onnx.defs.get_all_schemas_with_history():
        versions[schema.domain or "ai.onnx", schema.name][schema.since_version] = schema
    newest = collections.defaultdict(int)
    for (domain, _), schemas in versions.items():
        newest[domain] = max(newest[domain], *schemas)
    newest["ai.onnx"] = onnx.defs.onnx_opset_version()
    result = {}
    for key, schemas in sorted(versions.items()):
        order = sorted(schemas)
        ends = [number - 1 for number in order[1:]] + [newest[key[0]]]
        result[key] = [(since, until, schemas[since]) for since, until in zip(order, ends)
                       if not schemas[since].deprecated]
    return result


def formal_at(formals, index):
    if index < len(formals):
        return formals[index]
    return formals[-1] if formals and formals[-1]["variadic"] else None


def listed(names):
    return ", ".join(sorted(names))


# An optional that holds something is that thing here, so these take and give either kind.
EITHER_KIND = ("Optional", "OptionalGetElement", "OptionalHasElement")


def compare_side(side, formals, schema_formals, is_either_kind):
    """Differences of one side of a definition, as texts."""
    for index, formal in enumerate(schema_formals):
        ours = formal_at(formals, index)
        if ours is None:
            yield f"{side} {index} is missing"
            continue
        kinds, types = schema_formal(formal)
        for what, mine, theirs in (("types", set(ours["types"]), types),
                                   ("kinds", set(ours["kinds"]), kinds)):
            if theirs - mine:
                yield f"{side} {index}: missing {what} {listed(theirs - mine)}"
            if mine - theirs and not (what == "kinds" and is_either_kind):
                yield f"{side} {index}: extra {what} {listed(mine - theirs)}"
        if formal.option.name == "Variadic" and not ours["variadic"]:
            yield f"{side} {index} is not variadic"
        if formal.option.name == "Optional" and not ours["optional"]:
            yield f"{side} {index} is not optional"
    if len(formals) > len(schema_formals):
        yield f"{len(formals)} {side}s, the schema has {len(schema_formals)}"


def compare(rows, schema):
    """Differences of one schema version against the rows that hold within it."""
    for row in rows:
        where = f"{row['since']}-{row['until']}"
        for side, formals, schema_formals in (("input", row["inputs"], schema.inputs),
                                              ("output", row["outputs"], schema.outputs)):
            for text in compare_side(side, formals, list(schema_formals),
                                     schema.name in EITHER_KIND):
                yield f"{where}: {text}"
        if row["min_inputs"] != schema.min_input:
            yield f"{where}: at least {row['min_inputs']} inputs, the schema says {schema.min_input}"
        is_variadic = any(f.option.name == "Variadic" for f in schema.inputs)
        if not is_variadic and row["max_inputs"] != schema.max_input:
            yield f"{where}: at most {row['max_inputs']} inputs, the schema says {schema.max_input}"


def gaps(definitions, match="", domain=""):
    """[(domain, operator, "opsets", text)]; the text of an operator without rows is "missing"."""
    rows = collections.defaultdict(list)
    for row in definitions:
        rows[row["domain"], row["operator"]].append(row)
    found = []
    for key, versions in histories().items():
        if match not in key[1] or domain not in ("", key[0]) or key in EXPECTED_ABSENT:
            continue
        if key not in rows:
            found.append((*key, f"{versions[0][0]}-{versions[-1][1]}", "missing"))
            continue
        for since, until, schema in versions:
            held = [r for r in rows[key] if r["since"] <= until and r["until"] >= since]
            covered = {o for r in held for o in range(r["since"], r["until"] + 1)}
            lacking = sorted(set(range(since, until + 1)) - covered)
            if lacking:
                found.append((*key, f"{lacking[0]}-{lacking[-1]}", "no definition"))
            for text in dict.fromkeys(compare(held, schema)):
                found.append((*key, f"{since}-{until}", text))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default=onnxd_binary.DEFAULT)
    parser.add_argument("--domain", default="")
    parser.add_argument("--match", default="", help="only operators whose name contains this")
    options = parser.parse_args()

    found = gaps(onnxd_binary.definitions(options.binary), options.match, options.domain)
    missing = collections.defaultdict(list)
    for domain, operator, opsets, text in found:
        if text == "missing":
            missing[domain].append(operator)
        else:
            print(f"{domain} {operator} (schema {opsets}): {text}")
    for domain, operators in missing.items():
        print(f"{domain}: {len(operators)} operators missing: {' '.join(operators)}")
    print(f"{len(found)} gaps")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
