"""The document of a comparison, or of a check against a reference: the answer, what supports it, causes and method."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from isthmus.compare import Checkup, Comparison
from isthmus.document.document import Answer, Block, Bullets, Charts, Data, Document, Heading, Item, Prose
from isthmus.language import say
from isthmus.report.comparison.checkup import check_left_out, check_runs, check_tables, check_verdict
from isthmus.report.comparison.data import checkup_data, comparison_data
from isthmus.report.comparison.tables import full_tables, legend, ratio_charts, short_tables
from isthmus.report.comparison.words import cause_sentences, gate_sentences, left_out, runs, verdict_sentences


def comparison_document(shown: Comparison | Checkup) -> Document:
    """The document in the language spoken now."""
    return _comparison(shown) if isinstance(shown, Comparison) else _checkup(shown)


def _comparison(shown: Comparison) -> Document:
    charts = ratio_charts(shown)
    drawn = (Heading(say("compare.column_ratio"), where="page"), Charts(charts, legend(shown))) if charts else ()
    lists = {
        "compare.gates": gate_sentences(shown),
        "compare.causes": cause_sentences(shown.causes),
        "compare.left_out": left_out(shown),
    }
    blocks = _blocks(
        Answer(tuple(verdict_sentences(shown)), failed=shown.failed),
        runs(shown),
        lists,
        (*drawn, *short_tables(shown), *full_tables(shown)),
        say("compare.method", margin=100 * shown.margin),
    )
    return Document("comparison", say("compare.title"), tuple(blocks), data=Data(lambda: comparison_data(shown)))


def _checkup(shown: Checkup) -> Document:
    blocks = _blocks(
        Answer(tuple(check_verdict(shown)), failed=not shown.right),
        check_runs(shown),
        {"compare.causes": cause_sentences(shown.causes), "compare.left_out": check_left_out(shown)},
        check_tables(shown),
        say("compare.check_method", count=shown.reference.runs),
    )
    return Document("comparison", say("compare.title"), tuple(blocks), data=Data(lambda: checkup_data(shown)))


def _blocks(
    answer: Answer, subjects: Sequence[str], lists: Mapping[str, Sequence[str]], tables: Iterable[Block], method: str
) -> Iterator[Block]:
    """The answer first, what supports it below; a terminal, whose end one sees, has the answer last."""
    listed: list[Block] = []
    for title, lines in lists.items():
        if lines:
            listed += [Heading(say(title)), Bullets(tuple(map(Item, lines)))]
    yield replace(answer, where="long")
    yield Bullets(tuple(map(Item, subjects)))
    yield from (replace(block, where="long") for block in listed)
    yield from tables
    yield Prose(method, "small", where="long")
    yield from (replace(block, where="terminal") for block in listed)
    yield replace(answer, title=say("page.verdict"), where="terminal")
