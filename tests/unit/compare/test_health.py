"""The verdict on a link in every language and width; each fault with its words is in `tests/snapshots/checks`."""

import io
import re
from typing import Any

import pytest

from isthmus.compare.health import Health, judge
from isthmus.compare.reference import reference_for
from isthmus.language import LANGUAGES, speaking
from isthmus.record import Run, read_run
from isthmus.report.check import check_document, check_line
from isthmus.report.renderers import terminal
from tests.snapshots.test_checks import RESULTS, X8, changed, ended, h200, healthy


def check_lines(run: Run, health: Health, columns: int) -> list[str]:
    """The screen of one device."""
    out = io.StringIO()
    terminal.write(check_document([(run, health, "")], columns=columns), out, width=columns)
    return out.getvalue().splitlines()


def test_the_reference_of_a_device_is_found_by_its_name_and_link() -> None:
    found = reference_for(healthy().fingerprint.device)
    assert found
    assert found.name == "h200-pcie5"
    assert reference_for(changed(healthy(), max_width=8).fingerprint.device) is None
    assert reference_for(changed(healthy(), conditions={"confidential_computing": "on"}).fingerprint.device) is None
    assert reference_for(read_run(RESULTS / "pocl-all.json.gz").fingerprint.device) is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("slower", [1.0, 2.0])
def test_a_screen_is_short_and_begins_with_the_verdict(language: Any, width: int, slower: float) -> None:
    run = changed(healthy(), slower=slower, **(X8 if slower > 1 else {}))
    with speaking(language):
        health = judge(run, h200())
        lines = check_lines(run, health, width)
    assert lines[0].startswith("FAULT  " if slower > 1 else "OK  ")
    assert len(lines) <= (15 if width >= 80 else 30)
    assert all(len(line) <= width for line in lines if "pinned" in line or "ピン留め  " in line)
    if width >= 80:
        assert all(len(line) <= width for line in lines)
        assert any("x8" in line for line in lines[:3]) == (slower > 1)
    assert "\n" not in check_line(run, health)


def test_numbers_are_the_same_in_all_languages() -> None:
    run = ended(changed(healthy(), slower=2.0, **X8), replays=9)
    told = []
    for language in LANGUAGES:
        with speaking(language):
            told.append(sorted(re.findall(r"\d+(?:\.\d+)?", " ".join(check_lines(run, judge(run, h200()), 200)))))
    assert told[0] == told[1] == told[2]
