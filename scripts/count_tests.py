"""Counts test results: prints "<passed> <failed>".

count_tests.py ctest LOG     a log of `ctest -V`; each Criterion test counts, other tests as one
count_tests.py junit FILE    a JUnit file, as pytest writes it
"""

import re
import sys
import xml.etree.ElementTree

SYNTHESIS = re.compile(r"^(\d+): .*Synthesis: Tested: (\d+) \| Passing: (\d+) \| Failing: (\d+) "
                       r"\| Crashing: (\d+)", re.M)
RESULT = re.compile(r"^ *\d+/\d+ +Test +#(\d+): .*?(Passed|Failed|Skipped|Timeout|Not Run|Exception"
                    r"|Child aborted|SEGFAULT|\*\*\*)", re.M)


def count_ctest(text):
    passed = failed = 0
    synthesis = {int(m[1]): (int(m[3]), int(m[4]) + int(m[5])) for m in SYNTHESIS.finditer(text)}
    for match in RESULT.finditer(text):
        number, ok = int(match[1]), match[2] == "Passed"
        if match[2] == "Skipped" or "***Skipped" in match[0]:
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


def main():
    kind, path = sys.argv[1:]
    if kind == "ctest":
        with open(path, encoding="utf-8", errors="replace") as file:
            print(*count_ctest(file.read()))
    else:
        print(*count_junit(path))


if __name__ == "__main__":
    main()
