"""What the last line of scripts/test.sh rests on."""

import subprocess
import sys

import pytest

import support

CTEST_LOG = """\
1: [SKIP] suite::one: needs an accelerator
1: [====] Synthesis: Tested: 3 | Passing: 2 | Failing: 1 | Crashing: 0
1/6 Test #1: base .............................***Failed    0.10 sec
2: the tool is not installed
2/6 Test #2: check_format .....................***Skipped   0.10 sec
3: [====] Synthesis: Tested: 5 | Passing: 5 | Failing: 0 | Crashing: 0
3/6 Test #3: model ............................   Passed    0.10 sec
4: [====] Synthesis: Tested: 4 | Passing: 4 | Failing: 0 | Crashing: 0
4/6 Test #4: leaks ............................***Failed    0.10 sec
5/6 Test #5: hangs ............................***Timeout 300.00 sec
6/6 Test #6: crashes ..........................***Exception: SegFault  0.10 sec
"""
JUNIT = """<testsuites><testsuite tests="4" failures="1" errors="0" skipped="1">
<testcase classname="a" name="ok"/><testcase classname="a" name="ok2"/>
<testcase classname="a" name="bad"><failure message="no"/></testcase>
<testcase classname="a" name="other"><skipped message="needs root"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize("kind, text, expected", [
    ("ctest", CTEST_LOG, "11 4\n"),
    ("ctest-skipped", CTEST_LOG, "suite::one: needs an accelerator\n"
                                 "check_format: the tool is not installed\n"),
    ("junit", JUNIT, "2 1\n"),
    ("junit-skipped", JUNIT, "a.other: needs root\n"),
])
def test_counting(tmp_path, kind, text, expected):
    path = tmp_path / "results"
    path.write_text(text)
    script = support.ROOT / "scripts" / "count_tests.py"
    result = subprocess.run([sys.executable, script, kind, path], capture_output=True, text=True,
                            check=True)
    assert result.stdout == expected
