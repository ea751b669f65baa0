#!/usr/bin/env python3
"""Runs the tests that hold a class of faults: fault_classes.py CLASS [build folder].

Which tests they are is read from docs/fault-classes.md, where a test is written as
`executable: suite/test`, or as `e2e: file.py::test`.
"""

import pathlib
import re
import subprocess
import sys

import source_tree

PAGE = "docs/fault-classes.md"


def classes(text):
    """{class: [(executable, test)]} from the rows of the page's table."""
    found = {}
    for row in re.findall(r"^\| ([A-Z]\d+) \|(.*)$", text, re.M):
        found[row[0]] = re.findall(r"`(\w+): ([^`]+)`", row[1])
    return found


def command(executable, test, build):
    """The command line that runs one test, None when it is not built."""
    if executable == "e2e":
        own = source_tree.ROOT / ".venv/bin/python"
        python = str(own) if own.exists() else sys.executable
        return [python, "-m", "pytest", "-q", str(source_tree.ROOT / "tests/e2e" / test)]
    binary = next(iter(sorted(build.rglob(f"test_{executable}"))), None)
    return binary and [str(binary), "--filter", test, "--short-filename"]


def main():
    known = classes(source_tree.read(PAGE))
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        print(f"usage: {sys.argv[0]} CLASS [build folder]\nclasses: {' '.join(known)}")
        return 64
    build = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else source_tree.ROOT / "build/release")
    failed = 0
    for executable, test in known[sys.argv[1]]:
        line = command(executable, test, build)
        if line is None:
            print(f"test_{executable} is not built in {build}")
            failed += 1
            continue
        print(" ".join(line), flush=True)
        result = subprocess.run(line, check=False, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        print(result.stdout, end="")
        # Criterion is content with a filter that no test meets.
        failed += result.returncode != 0 or "Tested: 0 " in result.stdout
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
