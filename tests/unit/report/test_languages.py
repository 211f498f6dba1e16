"""Reports in Japanese and Chinese: no English prose is left but what run files say themselves."""

import io
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import msgspec
import pytest

from isthmus.language import Language, speaking
from isthmus.record import Run
from isthmus.report.renderers import html, terminal
from isthmus.report.runs import runs_document
from tests.snapshots.odd_places import LATENCY
from tests.snapshots.subjects import interference
from tests.synthetic import allocation as synthetic_allocation
from tests.synthetic import batching as synthetic_batching
from tests.synthetic import breakeven as synthetic_breakeven
from tests.synthetic import managed as synthetic_managed
from tests.synthetic import openacc as synthetic_openacc
from tests.synthetic import overlap as synthetic_overlap
from tests.synthetic import paths as synthetic_paths
from tests.synthetic import peers as synthetic_peers
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil
from tests.synthetic import strided as synthetic_strided
from tests.synthetic import threads as synthetic_threads

# Four words in lower case that follow one another, none of which is a call, an option or a unit.
_PROSE = re.compile(r"(?:(?<=\s)|^)[a-z]{2,}(?: [a-z]{2,}){3,}")
_VOID = {"meta", "br", "path"}


class Texts(HTMLParser):
    """The texts of a page that are not marked as English, and its labels and titles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._open: list[bool] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.found += [value for name in ("aria-label", "title") if (value := given.get(name))]
        if tag not in _VOID:
            hidden = tag in ("style", "script", "code") or given.get("lang") == "en"
            self._open.append(hidden or (bool(self._open) and self._open[-1]))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Nothing is inside."""

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not (self._open and self._open[-1]):
            self.found.append(data)


@pytest.fixture(scope="module")
def everything() -> Run:
    """A run of every experiment, with wrong data, failed calls and skips among its cases."""
    return synthetic.run(
        [
            *synthetic.h200().cases,
            *synthetic.skips(("copy", "h2d", "pageable_huge"), [1], ""),
            *synthetic_allocation.h200(),
            *synthetic_batching.h200_cases(),
            *synthetic_breakeven.breakeven(synthetic_breakeven.H200),
            *synthetic_managed.cases(),
            *synthetic_openacc.everything(both=True),
            *synthetic_overlap.h200_cases(),
            *synthetic_stencil.cases(),
            *synthetic_strided.h200_cases(),
            *synthetic_threads.cases({("h2d", "pinned"): lambda threads: 55.0}),
            *synthetic_threads.cases({("h2d", "pageable"): lambda threads: min(7.0 * threads, 28.0)}),
            *synthetic_paths.whole(3),
            *synthetic_peers.whole(3),
            *interference(),
            *LATENCY["steps"]().cases,
        ]
    )


def prose(texts: list[str]) -> Iterator[str]:
    for text in texts:
        for line in text.splitlines():
            if found := _PROSE.search(line):
                yield f"{found[0]!r} in {line.strip()[:200]!r}"


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["ja", "zh"])
def test_a_page_of_every_experiment_has_no_english_prose(everything: Run, language: Language) -> None:
    out = io.StringIO()
    with speaking(language):
        html.write(runs_document([everything, everything]), out)
    assert sorted(set(prose(Texts(out.getvalue()).found))) == []


@pytest.mark.thorough
@pytest.mark.parametrize("language", ["ja", "zh"])
def test_a_terminal_report_of_every_experiment_has_no_english_prose(everything: Run, language: Language) -> None:
    # Reasons of skips are the run file's own, and lines of a terminal do not say whose they are.
    measured = msgspec.structs.replace(everything, cases=[case for case in everything.cases if not case.skipped])
    out = io.StringIO()
    with speaking(language):
        terminal.write(runs_document([measured]), out, width=10_000)
    assert sorted(set(prose(out.getvalue().splitlines()))) == []
