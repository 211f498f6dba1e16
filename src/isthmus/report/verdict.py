"""What stands above everything else that is said of a run: its machine, and whether that is as it should be."""

from collections.abc import Iterator

from isthmus.analysis.conclusions import Conclusions
from isthmus.analysis.strip import machine_strip
from isthmus.compare import judge, reference_for
from isthmus.document.document import Block, Labelled, Strip
from isthmus.document.finding import Severity
from isthmus.record import Run

# Wrong data: what the verdict on the device begins with, too.
_JUDGED = "verification"


def verdict_blocks(run: Run, found: Conclusions) -> Iterator[Block]:
    """The machine in a line, then what is wrong with it or with the run, the gravest first, or that nothing is."""
    yield Strip(machine_strip(run))
    health = judge(run, reference_for(run.fingerprint.device))
    points = [(point.level, (point.text, *point.do[:1])) for point in health.points]
    for finding in found.findings:
        if finding.topic == _JUDGED:
            # The verdict counts such cases; the finding says which is the first.
            level, (text, *do) = points[0]
            points[0] = level, (text, finding.sentence, *do)
        elif finding.severity != "note":
            points.append((finding.severity, tuple(filter(None, (finding.sentence, finding.fix)))))
    for level in ("FAULT", "ATTENTION"):
        severity: Severity = "FAULT" if level == "FAULT" else "ATTENTION"
        yield from (Labelled(level, lines, severity) for each, lines in points if each == level)
    for level, lines in points:
        if level == "OK":
            yield Labelled("OK", lines)
        elif level == "none":
            yield Labelled(
                "--", (*lines, *(each.sentence for each in found.whole.findings if each.topic == "precision"))
            )
