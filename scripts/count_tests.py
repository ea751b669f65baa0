"""Counts test results: prints "<passed> <failed>", or names the skipped ones.

count_tests.py ctest LOG             a log of `ctest -V`; each Criterion test counts, other tests as
                                     one
count_tests.py junit FILE            a JUnit file, as pytest writes it
count_tests.py ctest-skipped LOG     one line for each skipped test: its name and why
count_tests.py junit-skipped FILE    the same
"""

import re
import sys
import xml.etree.ElementTree

SYNTHESIS = re.compile(r"^(\d+): .*Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) "
                       r"\| Crashing: (\d+)", re.M)
# "1/2 Test #1: base ....   Passed", "2/2 Test #2: check ....***Skipped"
RESULT = re.compile(r"^ *\d+/\d+ +Test +#(\d+): (\S+) .*?(Passed|\*\*\*\w+|Failed|Timeout|Not Run"
                    r"|Exception|Child aborted|SEGFAULT|Skipped)", re.M)
SKIPPED = ("Skipped", "***Skipped")


def count_ctest(text):
    passed = failed = 0
    synthesis = {int(m[1]): (int(m[3]), int(m[4]) + int(m[5])) for m in SYNTHESIS.finditer(text)}
    for match in RESULT.finditer(text):
        number, ok = int(match[1]), match[3] == "Passed"
        if match[3] in SKIPPED:
            continue
        test_passed, test_failed = synthesis.get(number, (1, 0) if ok else (0, 1))
        passed += test_passed
        # a leak found at exit fails the program though each of its tests has passed
        failed += max(test_failed, 0 if ok else 1)
    return passed, failed


def count_junit(path):
    passed = failed = 0
    for suite in xml.etree.ElementTree.parse(path).getroot().iter("testsuite"):
        number = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors", "skipped")}
        bad = number["failures"] + number["errors"]
        failed += bad
        passed += number["tests"] - bad - number["skipped"]
    return passed, failed


def skipped_in_ctest(text):
    """Criterion's skipped tests with their message, and programs that CTest skipped."""
    lines = []
    for match in re.finditer(r"^(\d+): .*\[SKIP\] (.*)$", text, re.M):
        lines.append(match[2].strip())
    for match in RESULT.finditer(text):
        if match[3] in SKIPPED:
            said = re.findall(rf"^{match[1]}: (.*\S.*)$", text, re.M)
            lines.append(f"{match[2]}: {said[-1] if said else 'no reason given'}")
    return lines


def skipped_in_junit(path):
    lines = []
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        for skipped in case.iter("skipped"):
            lines.append(f"{case.get('classname')}.{case.get('name')}: {skipped.get('message')}")
    return lines


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def main():
    kind, path = sys.argv[1:]
    if kind == "ctest":
        print(*count_ctest(read(path)))
    elif kind == "junit":
        print(*count_junit(path))
    else:
        found = skipped_in_ctest(read(path)) if kind == "ctest-skipped" else skipped_in_junit(path)
        for line in found:
            print(line)


if __name__ == "__main__":
    main()
