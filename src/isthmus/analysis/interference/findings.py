"""What the interference experiment says: what each method of copying costs each neighbour."""

from isthmus.analysis.interference.model import DIRECTIONS, NEIGHBOURS, cost_words, costs, largest, telling
from isthmus.document.finding import Finding
from isthmus.language import say, sentences
from isthmus.record import Run


def findings(run: Run) -> list[Finding]:
    """One for each neighbour: both directions, the methods that tell most, of the largest copies."""
    pairs = ((neighbour, _sentence(run, neighbour)) for neighbour in NEIGHBOURS)
    return [Finding("note", f"interference_{neighbour}", text) for neighbour, text in pairs if text]


def takeaway(run: Run) -> Finding | None:
    """What the first neighbour that was measured pays; None where none was."""
    candidates = findings(run)
    return Finding("note", "interference", candidates[0].text) if candidates else None


def _sentence(run: Run, neighbour: str) -> str:
    texts = []
    for direction in DIRECTIONS:
        of_both = [cost for cost in largest(costs(run)) if (cost.neighbour, cost.direction) == (neighbour, direction)]
        if methods := say("common.comma").join(map(cost_words, telling(of_both))):
            texts.append(say(f"interference.beside_{neighbour}", direction=direction.upper(), methods=methods))
    return sentences(texts)
