"""What comes first of all that is shown of a run: its machine, and whether that is as it should be."""

from collections.abc import Iterator

from isthmus.analysis.conclusions import Conclusions
from isthmus.analysis.machine import machine_strip
from isthmus.compare import judge, reference_for
from isthmus.document.document import Block, Labelled, Strip
from isthmus.document.finding import TROUBLES, gravest_first, level_word
from isthmus.record import Run


def verdict_blocks(run: Run, conclusions: Conclusions) -> Iterator[Block]:
    """The machine in a line, then what is wrong with it or with the run, the gravest first, or that nothing is."""
    yield Strip(machine_strip(run))
    health = judge(run, reference_for(run.fingerprint.device))
    troubles = [finding for finding in conclusions.findings if finding.level in TROUBLES]
    noise = [finding.text for finding in conclusions.whole.findings if finding.topic == "precision"]
    # Wrong data is a conclusion about both the device and the run, in the same words.
    for each in gravest_first(dict.fromkeys([*health.points, *troubles])):
        why = each.cause if each.level == "FAULT" else ""
        lines = (each.text, why, *each.do[:1], *(noise if each.level == "none" else ()))
        yield Labelled(level_word(each.level), tuple(filter(None, lines)), each.level)
