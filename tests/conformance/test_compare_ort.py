"""A small part of compare_ort.py: each operator's newest and oldest definition with one type. The
whole is a step of its own in scripts/test.sh."""

import pytest

import compare_ort
import exceptions
import onnxd_binary
import support


@pytest.fixture(scope="module")
def results():
    rows = {}
    definitions = [compare_ort.name_slots(d) for d in onnxd_binary.definitions(support.BINARY)]
    for row, definition in compare_ort.rows_of(definitions):
        if row.operator in exceptions.NOT_DRAWN or exceptions.unhit(row):
            continue
        rows.setdefault((row.domain, row.operator, "oldest"), (row, definition))
        rows[row.domain, row.operator, "newest"] = (row, definition)
    cases = [compare_ort.draw_case(7, row, definition, number)
             for number, (row, definition) in enumerate(rows.values())]
    drawn = [case for case in cases if case is not None]
    return len(cases) - len(drawn), compare_ort.run_cases(support.BINARY, drawn)


def test_nothing_differs(results):
    failed = [f"{r.case}: {r.text}" for r in results[1] if r.outcome == "failed"]
    assert not failed, "\n".join(failed)


def test_every_case_is_judged(results):
    undrawn, judged = results
    lonely = [f"{r.case}: {r.text}" for r in judged
              if r.outcome == "no peer" and exceptions.without_peer(r.case) is None]
    assert undrawn == 0
    assert not lonely, "\n".join(lonely)
    assert len(judged) > 250
