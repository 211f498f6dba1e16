"""What comes first of all that is shown of a run: its machine, and whether that is as it should be."""

from collections.abc import Iterator

from isthmus.analysis.conclusions import Conclusions
from isthmus.analysis.machine import machine_strip, origin_line
from isthmus.compare import judge, reference_for
from isthmus.document.document import Block, Labelled, Strip
from isthmus.document.finding import TROUBLES, gravest_first, level_word
from isthmus.record import Run


def verdict_blocks(run: Run, conclusions: Conclusions) -> Iterator[Block]:
    """Machine, host and time, then what is wrong with it or with the run, the gravest first, or that nothing is.

    What two have in common to do is with the first; a fault ends with what a vendor asks for.
    """
    yield Strip(machine_strip(run), origin_line(run))
    health = judge(run, reference_for(run.fingerprint.device))
    troubles = [finding for finding in conclusions.findings if finding.level in TROUBLES]
    noise = [finding.text for finding in conclusions.whole.findings if finding.topic == "precision"]
    # Wrong data is a conclusion about both the device and the run, in the same words.
    shown: set[str] = set()
    for each in gravest_first(dict.fromkeys([*health.points, *troubles])):
        is_fault = each.level == "FAULT"
        advice = [text for text in (each.cause * is_fault, *each.do[: None if is_fault else 1]) if text not in shown]
        shown.update(advice)
        lines = (each.text, *advice, *(noise if each.level == "none" else ()))
        yield Labelled(level_word(each.level), tuple(filter(None, lines)), each.level)
