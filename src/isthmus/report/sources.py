"""The document of the publications that Isthmus repeats: how to, and what came of it on kept runs."""

from collections.abc import Iterator

from isthmus.analysis.published.source import sources
from isthmus.document.document import Block, Code, Document, Heading, Prose
from isthmus.language import Quoted, say


def sources_document() -> Document:
    """A section for each source: its question, the commands that repeat it, and the answer of runs in `results/`."""
    return Document("sources", say("published.sources_title"), tuple(_blocks()))


def _blocks() -> Iterator[Block]:
    yield Prose(say("published.sources_intro"))
    for source in sources():
        yield Heading(say(f"published.question_{source.machine}"))
        yield Prose(Quoted(source.citation), "small")
        yield Code(say("published.repeat"), "\n".join(source.commands), alone=True)
        yield Prose(say(f"published.answer_{source.machine}"), "answer")
