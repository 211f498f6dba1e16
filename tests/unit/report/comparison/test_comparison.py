"""Comparisons and checks in every format and language."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import msgspec
import pytest

from isthmus.compare import Checkup, Comparison, check, compare, made_reference, parse_gate
from isthmus.errors import UsageError
from isthmus.language import LANGUAGES, Language, say, speaking
from isthmus.record import Case, Run, Series
from isthmus.report import comparison_document, formats_for, write
from isthmus.report.renderers import terminal

COMPARISON_FORMATS = [each.name for each in formats_for("comparison")]
KINDS = {"pinned": 55e9, "pageable": 12e9}


def times(case: Case, factor: float) -> Case:
    series = [Series(metric=each.metric, samples=[factor * time for time in each.samples]) for each in case.series]
    return msgspec.structs.replace(case, series=series)


@pytest.fixture(scope="module")
def base(synthetic: ModuleType) -> Run:
    truths = {
        ("copy", way, kind): synthetic.Truth(8e-6, rate) for kind, rate in KINDS.items() for way in ("h2d", "d2h")
    }
    made: Run = synthetic.run(synthetic.cases(truths), name="base")
    return made


@pytest.fixture(scope="module")
def comparison(base: Run) -> Comparison:
    """Pageable memory 20 % slower, a case with wrong data, one that is skipped, one that is new; another driver."""
    cases = [times(case, 1.2) if case.host_memory == "pageable" else case for case in base.cases]
    cases[0] = msgspec.structs.replace(cases[0], verified="no")
    cases[1] = msgspec.structs.replace(cases[1], series=[], skipped=True, note="<b>no room</b>")
    cases.append(msgspec.structs.replace(cases[2], bytes=3000))
    device = msgspec.structs.replace(base.fingerprint.device, driver_version="590 <&>")
    fingerprint = msgspec.structs.replace(base.fingerprint, device=device)
    new = msgspec.structs.replace(base, run="new", cases=cases, fingerprint=fingerprint)
    return compare(base, new, gates=[parse_gate("slower:5%"), parse_gate("faster:5%")])


@pytest.fixture(scope="module")
def checkup(base: Run) -> Checkup:
    slow = [times(case, 1.5) if case.host_memory == "pinned" else case for case in base.cases]
    return check(made_reference("machine", [base, base, base]), msgspec.structs.replace(base, run="new", cases=slow))


def written(shown: Comparison | Checkup, form: str, language: Language = "en") -> str:
    out = io.StringIO()
    with speaking(language):
        write(comparison_document(shown), form, out)
    return out.getvalue()


def texts_in(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        for value in found.values():
            yield from texts_in(value)
    elif isinstance(found, list):
        for value in found:
            yield from texts_in(value)
    elif isinstance(found, str):
        yield found


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", COMPARISON_FORMATS)
def test_every_format_speaks_every_language(
    comparison: Comparison, checkup: Checkup, form: str, language: Language
) -> None:
    for shown in (comparison, checkup):
        text = written(shown, form, language)
        assert "{" not in re.sub(r"<style>.*?</style>|<script.*?</script>", "", text, flags=re.S) or form == "json"
        assert bool(re.search("[ぁ-ん]", text)) == (language == "ja")
        assert bool(re.search("[一-鿿]", text)) == (language != "en")


def test_the_verdict_comes_first_on_a_page_and_last_in_a_terminal(comparison: Comparison) -> None:
    sentence = "Slower: 62 of 122 cases, median 1.200x the time."
    lines = written(comparison, "terminal").splitlines()
    assert sentence in " ".join(lines[-9:])
    markdown = written(comparison, "markdown").splitlines()
    assert "Wrong data" in markdown[2]
    assert sentence in markdown[4]


def test_all_that_is_to_be_said_is_said(comparison: Comparison) -> None:
    text = " ".join(written(comparison, "terminal").split())
    for part in (
        "Wrong data in the new run, right in the base: bandwidth H2D pinned 1 B.",
        "Within noise: 60 of 122 cases; undecided: 0. Smallest detectable change: 3.0 % typical, 3.0 % worst.",
        "Driver: 580.159 → 590 <&>. Can explain 62 of 62 differences.",
        "Skipped in the new run only: bandwidth D2H pinned 1 B. Reason given: <b>no room</b>",
        "In the new run only: bandwidth H2D pageable, driver 3 kB.",
        "slower:5% fails in 62 of 122 cases: ",
        " and 59 more.",
        "faster:5% holds. Too noisy to be guarded: 60 of 122 cases alone, 0 also with their group.",
    ):
        assert part in text, part


def test_what_runs_say_is_no_markup(comparison: Comparison) -> None:
    assert "<b>no room" not in written(comparison, "html")
    assert "&lt;b&gt;no room" in written(comparison, "html")
    assert "\\<b\\>no room" in written(comparison, "markdown")


def test_json_is_the_same_in_every_language_but_for_sentences(comparison: Comparison) -> None:
    documents = [json.loads(written(comparison, "json", language)) for language in LANGUAGES]
    for document in documents:
        assert document.pop("verdict")
        assert document["left_out"].pop("sentences")
    assert documents[0] == documents[1] == documents[2]
    assert all(text.isascii() for text in texts_in(documents[0]))


def test_json_holds_every_case_with_its_parameters(comparison: Comparison) -> None:
    document = json.loads(written(comparison, "json"))
    assert document["failed"] is True
    assert document["counts"] == {"slower": 62, "faster": 0, "same": 60, "cannot_tell": 0}
    assert len(document["cases"]) == 122
    first = document["cases"][0]
    assert (first["host_memory"], first["bytes"], first["verdict"]) == ("pageable", 1, "slower")
    assert first["ratio"]["median"] == pytest.approx(1.2)
    assert first["ratio"]["low"] < 1.2 < first["ratio"]["high"]
    assert [gate["holds"] for gate in document["gates"]] == [False, True]
    assert document["left_out"]["now_skipped"] == [
        {
            "experiment": "bandwidth",
            "method": "copy",
            "host_memory": "pinned",
            "bytes": 1,
            "direction": "d2h",
            "note": "<b>no room</b>",
        }
    ]


def test_the_page_holds_every_case_folded_and_draws_each_experiment(comparison: Comparison) -> None:
    page = written(comparison, "html")
    assert page.lstrip().startswith("<!doctype html>")
    assert page.count("<details>") == 2
    folded = page.split("<details>")[2]
    assert folded.count('<th scope="row">') == 122
    found = re.search(r'id="drawings"[^>]*>(.*?)</script>', page)
    assert found
    (chart,) = json.loads(gzip.decompress(base64.b64decode(found[1])))["charts"]
    assert len(chart["datasets"]["points"]["rows"]) == 122


def test_the_page_of_many_cases_leaves_out_those_that_are_the_same(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.report.comparison.tables._MOST_CASES", 100)
    page = written(comparison, "html")
    assert page.split("<details>")[2].count('<th scope="row">') == 62
    assert "Largest differences (62)" in page


def test_a_check_shows_what_is_out_of_range_and_counts_the_rest(checkup: Checkup) -> None:
    text = " ".join(written(checkup, "terminal").split())
    assert "Slower than the reference: 4 of 8 figures; 4 are within its range, 0 faster." in text
    assert re.search(r"verdict \w+ pinned 36\.\d GB/s 53\.\d GB/s to 56\.\d GB/s slower", text)
    assert "pageable, driver" not in text
    assert "Within the range: 4 figures; --format markdown lists all." in text
    assert "| H2D pageable, driver |" in written(checkup, "markdown")
    document = json.loads(written(checkup, "json"))
    assert (document["right"], document["counts"]) == (False, {"slow": 4, "right": 4, "fast": 0})


def test_what_is_slow_in_a_run_that_looks_right_is_told_apart(checkup: Checkup) -> None:
    right = [each for each in checkup.figures if each.verdict == "same"]
    slow = next(each for each in checkup.figures if each.verdict == "slower" and each.expected.quantity == "latency")
    text = " ".join(written(replace(checkup, figures=(slow, *right * 10)), "terminal").split())
    assert "Matches the reference: 40 of 41 figures are within its range, 1 slower, 0 faster." in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_row_fits_eighty_columns_beside_its_name(
    comparison: Comparison, checkup: Checkup, language: Language
) -> None:
    for shown in (comparison, checkup):
        out = io.StringIO()
        with speaking(language):
            terminal.write(comparison_document(shown), out, width=80)
            split = say("terminal.columns", title="", first=1, last=2, all=3).split("1")[0]
        assert split not in out.getvalue()


def test_a_gate_that_could_see_nothing_is_not_said_to_hold(comparison: Comparison) -> None:
    total = len(comparison.judgement.cases)
    blind = [replace(gate, named=(), blind_alone=total, blind=total) for gate in comparison.gates]
    text = " ".join(written(replace(comparison, gates=tuple(blind)), "terminal").split())
    assert "slower:5% guards nothing" in text
    assert "slower:5% holds." not in text


def test_the_same_run_is_as_fast_as_before(base: Run) -> None:
    text = " ".join(written(compare(base, base), "terminal").split())
    assert "No significant difference. Within noise: 124 of 124 cases; undecided: 0." in text
    assert "Hardware and settings are the same." in text
    assert "By group" not in text


def test_an_unknown_format_is_refused(comparison: Comparison) -> None:
    with pytest.raises(UsageError, match="no such format: 'csv'"):
        written(comparison, "csv")
