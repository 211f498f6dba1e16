"""What a comparison or a check against a reference shows, as plain data, for whichever format writes it."""

from dataclasses import dataclass
from typing import NamedTuple

from isthmus.compare import Checkup, Comparison
from isthmus.document.grid import Grid
from isthmus.document.section import Chart, LegendEntry
from isthmus.language import say
from isthmus.report.comparison.chart import legend, ratio_charts
from isthmus.report.comparison.checkup_tables import check_tables, every_figure
from isthmus.report.comparison.checkup_words import check_causes, check_left_out, check_runs, check_verdict
from isthmus.report.comparison.tables import NotedTable, full_tables, short_tables
from isthmus.report.comparison.words import cause_sentences, gate_sentences, left_out, runs, verdict_sentences


class Paragraphs(NamedTuple):
    """Sentences under a heading."""

    title: str
    lines: list[str]


@dataclass(frozen=True)
class Document:
    """The answer first, then what supports it.

    `failed` marks the answer as one that should stop a build.
    """

    title: str
    verdict: list[str]
    failed: bool
    runs: list[str]
    lists: list[Paragraphs]
    tables: list[NotedTable]
    method: str


@dataclass(frozen=True)
class PageOnly:
    """What the page alone shows, and would be made for nothing elsewhere: charts, and tables too long to read through.

    The latter are `folded`.
    """

    folded: list[Grid]
    charts: tuple[Chart, ...]
    legend: tuple[LegendEntry, ...]


def page_only(shown: Comparison | Checkup) -> PageOnly:
    """What the page shows besides the document, in the language that is spoken now."""
    if isinstance(shown, Comparison):
        return PageOnly(full_tables(shown), ratio_charts(shown), legend(shown))
    return PageOnly(every_figure(shown), (), ())


def document(shown: Comparison | Checkup) -> Document:
    """The document in the language that is spoken now."""
    return _comparison(shown) if isinstance(shown, Comparison) else _checkup(shown)


def _comparison(shown: Comparison) -> Document:
    return Document(
        title=say("compare.title"),
        verdict=verdict_sentences(shown),
        failed=shown.failed,
        runs=runs(shown),
        lists=_filled(
            Paragraphs(say("compare.gates"), gate_sentences(shown)),
            Paragraphs(say("compare.causes"), cause_sentences(shown)),
            Paragraphs(say("compare.left_out"), left_out(shown)),
        ),
        tables=short_tables(shown),
        method=say("compare.method", margin=100 * shown.margin),
    )


def _checkup(shown: Checkup) -> Document:
    return Document(
        title=say("compare.check_title"),
        verdict=check_verdict(shown),
        failed=not shown.right,
        runs=check_runs(shown),
        lists=_filled(
            Paragraphs(say("compare.check_causes"), check_causes(shown)),
            Paragraphs(say("compare.left_out"), check_left_out(shown)),
        ),
        tables=check_tables(shown),
        method=say("compare.check_method", count=shown.reference.runs),
    )


def _filled(*lists: Paragraphs) -> list[Paragraphs]:
    return [each for each in lists if each.lines]
