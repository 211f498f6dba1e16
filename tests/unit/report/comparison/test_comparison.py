"""Comparisons and checks in every format and language."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from isthmus.compare import Checkup, Comparison, GroupKey, check, compare, made_reference, parse_gate
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.record import Case, Run, Series
from isthmus.report import formats_for, write
from isthmus.report.comparison.document import comparison_document
from isthmus.report.comparison.words import way_memory_name
from tests.synthetic import runs as synthetic

COMPARISON_FORMATS = [each.name for each in formats_for("comparison")]
KINDS = {"pinned": 55e9, "pageable": 12e9}


def times(case: Case, factor: float) -> Case:
    series = [Series(metric=each.metric, samples=[factor * time for time in each.samples]) for each in case.series]
    return msgspec.structs.replace(case, series=series)


@pytest.fixture(scope="module")
def base() -> Run:
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


def test_the_page_of_many_cases_leaves_out_those_that_are_the_same(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.report.comparison.tables._MOST_CASES", 100)
    page = written(comparison, "html")
    assert page.split("<details>")[2].count('<th scope="row">') == 62
    assert "Largest differences (62)" in page


def test_a_gate_that_could_see_nothing_is_not_said_to_hold(comparison: Comparison) -> None:
    total = len(comparison.judgement.cases)
    blind = [replace(gate, named=(), blind_alone=total, blind=total) for gate in comparison.gates]
    text = " ".join(written(replace(comparison, gates=tuple(blind)), "terminal").split())
    assert "slower:5% guards nothing" in text
    assert "slower:5% holds." not in text


@pytest.mark.parametrize("memory", ["pageable", "pageable_isthmus"])
def test_what_the_library_copies_is_not_called_the_drivers(memory: str) -> None:
    assert way_memory_name(GroupKey("bandwidth", "isthmus", "d2h", memory, "large")) == "D2H pageable, isthmus"
    assert way_memory_name(GroupKey("bandwidth", "copy", "d2h", "pageable", "large")) == "D2H pageable, driver"
    assert way_memory_name(GroupKey("bandwidth", "memcpy", "", "pageable", "large")) == "memcpy pageable"
