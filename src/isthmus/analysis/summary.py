"""The half screen that a report begins with: what a machine does, and what to do about it."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from isthmus.analysis.conclusions import Conclusions
from isthmus.document.finding import Finding
from isthmus.registry import EXPERIMENTS

# How much text at the width of a page, which is half a screen in all; wide characters fill two of its columns.
_LINES_DOES = 6
_LINES_ADVICE = 5
_COLUMNS = 130


@dataclass(frozen=True)
class Entry:
    """One text of the summary and the experiment whose section has more; empty for run and machine as a whole."""

    text: str
    experiment: str


class Summary(NamedTuple):
    """What the experiments of one run say, and what to do about it."""

    does: tuple[Entry, ...]
    advice: tuple[Entry, ...]


def summarise(conclusions: Conclusions) -> Summary:
    """The most important answers by their first sentences and what to do, as far as they fit.

    A run with wrong figures gets no answers here; its sections still have them.
    """
    answers = _answers(conclusions)
    return Summary(
        _fitting([Entry(first_sentence(each.text), name) for name, each in answers], _LINES_DOES),
        _fitting([Entry(do, name) for name, each in answers for do in each.do[:1]], _LINES_ADVICE),
    )


def first_sentence(text: str) -> str:
    """The text up to the end of its first sentence; a full stop inside a figure or a name ends none."""
    return re.split(r"(?<=\.)\s+(?=[^\W_])|(?<=。)", text, maxsplit=1)[0]


def things_to_do(conclusions: Conclusions, most: int) -> tuple[Entry, ...]:
    """What to do, the most important first: one thing of each experiment, in a sentence, before a second of any."""
    taken = _answers(conclusions)
    every = [(name, do) for at in (0, 1) for name, each in taken for do in each.do[at : at + 1]]
    return tuple(Entry(first_sentence(text), name) for name, text in every)[:most]


def _answers(conclusions: Conclusions) -> list[tuple[str, Finding]]:
    """Takeaways with their experiments, the most important first; none of a run with wrong figures."""
    importance = {each.name: each.importance for each in EXPERIMENTS}
    concluded = conclusions.experiments if conclusions.reliable else ()
    answers = [(each.experiment, each.takeaway) for each in concluded if each.takeaway]
    return sorted(answers, key=lambda each: importance[each[0]])


def _fitting(entries: Iterable[Entry], left: int) -> tuple[Entry, ...]:
    """The first entry and whichever others fit the lines that are left, in their order."""
    chosen: list[Entry] = []
    for entry in entries:
        lines = -(-sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in entry.text) // _COLUMNS)
        if entry.text and (lines <= left or not chosen):
            chosen.append(entry)
            left -= lines
    return tuple(chosen)
