"""What a trace does not show of a program's copies: over that nothing can be reported to be all right."""

from collections.abc import Iterator, Sequence

import numpy as np

from isthmus.advice.missing import unknown_kinds_words
from isthmus.advice.records import Mask
from isthmus.advice.scene import Scene
from isthmus.language import say
from isthmus.trace import UNKNOWN, Integers, Trace, grouped, vendors


def unseen(traces: Sequence[Trace], every: Sequence[Scene]) -> tuple[str, ...]:
    """What was lost or cannot be known, each a sentence; nothing where all that the program copied is in the traces."""
    sentences = [f"{trace.name}: {lost}" for trace in traces for lost in trace.lost]
    for trace in traces:
        sentences += _of_trace(trace)
    if unknown := unknown_kinds_words(every):
        sentences.append(unknown)
    return tuple(sentences)


def _of_trace(trace: Trace) -> Iterator[str]:
    copies = trace.copies
    if count := int((copies.direction == UNKNOWN).sum()):
        yield say("advice.unseen_directions", count=count)
    called = np.zeros(len(trace.calls), np.bool_)
    called[copies.call[(copies.call >= 0) & (copies.call < called.size)]] = True
    copying = [place for place, name in enumerate(trace.names) if vendors.copies(name)]
    made = _outermost(trace, np.flatnonzero(np.isin(trace.calls.name, copying)), called)
    if count := int((~made).sum()):
        yield say("advice.unseen_copies", count=count, of=made.size)
    if "calls" in trace.knows and (count := int((copies.call[copies.migration != 1] == UNKNOWN).sum())):
        yield say("advice.unseen_calls", count=count)


def _outermost(trace: Trace, rows: Integers, called: Mask) -> Mask:
    """For each of these calls that is in none of the others, whether it or one within made a copy on a device."""
    calls = trace.calls
    order = rows[np.lexsort((-calls.end_ns[rows], calls.start_ns[rows], calls.thread[rows], calls.process[rows]))]
    outer = np.ones(order.size, np.bool_)
    for group in grouped(calls.process[order], calls.thread[order]):
        ends = np.maximum.accumulate(calls.end_ns[order[group]])
        outer[group[1:]] = calls.end_ns[order[group[1:]]] > ends[:-1]
    made = np.zeros(int(outer.sum()), np.bool_)
    np.logical_or.at(made, np.cumsum(outer) - 1, called[order])
    return made
