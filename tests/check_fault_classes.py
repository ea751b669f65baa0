"""docs/fault-classes.md names tests that exist, and tests/ops/attribute_names.inc every attribute."""

import re
import sys

import fault_classes
import source_tree

CLASSES = [f"B{n}" for n in range(7, 20)] + [f"C{n}" for n in range(5, 11)]


def criterion_tests():
    """{suite/test} of the C tests."""
    found = set()
    for path in source_tree.files(".c"):
        if path.parts[0] == "tests":
            found.update(f"{suite}/{test}" for suite, test in
                         re.findall(r"^Test\((\w+), (\w+)", source_tree.read(path), re.M))
    return found


def e2e_tests():
    """{file.py::test} of the tests against a daemon."""
    return {f"{path.name}::{test}" for path in source_tree.files(".py")
            if path.parts[:2] == ("tests", "e2e")
            for test in re.findall(r"^def (test_\w+)", source_tree.read(path), re.M)}


def check_page(text, tests):
    known = fault_classes.classes(text)
    for name in CLASSES:
        if not known.get(name):
            yield f"{fault_classes.PAGE}: no test for {name}"
    for name, named in known.items():
        for executable, test in named:
            if test not in tests:
                yield f"{fault_classes.PAGE}: {name}: no test '{test}' ({executable})"


def read_attributes(text):
    """Names that a source file of operators reads or allows."""
    found = set(re.findall(r'onnxd_attribute_\w+\(\s*\w+(?:->\w+)?,\s*"(\w+)"', text))
    lists = re.findall(r"const char \*const \w+(?:\[\w*\])+\s*=\s*\{(.*?)\};", text, re.S)
    lists = [body for body in lists if "NULL" in body]
    lists += re.findall(r"#define \w*ATTRIBUTES\w*((?:[^\n]*\\\n)+[^\n]*)", text)
    for body in lists:
        found.update(re.findall(r'"([a-zA-Z_0-9]+)"', body))
    return found


def check_attributes(path, listed):
    for name in sorted(read_attributes(source_tree.read(path)) - listed):
        yield f"{path}: attribute '{name}' is not in tests/ops/attribute_names.inc"


def main():
    tests = criterion_tests() | e2e_tests()
    problems = list(check_page(source_tree.read(fault_classes.PAGE), tests))
    listed = set(re.findall(r'"(\w+)"', source_tree.read("tests/ops/attribute_names.inc")))
    for path in source_tree.files(".c"):
        if path.parts[0] == "ops":
            problems.extend(check_attributes(path, listed))
    return source_tree.finish("fault_classes", problems)


if __name__ == "__main__":
    sys.exit(main())
