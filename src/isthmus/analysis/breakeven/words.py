"""Words for break-even answers: cases and numbers of uses."""

from isthmus.language import can_say, say

# The cases that reports show; data that is produced in place makes curves of the same shape.
PLAIN_CASES = ("round_trip", "reduction")


def case_words(case: str) -> str:
    """The case in running text; one that this version does not know keeps its field name."""
    key = f"breakeven.case_{case}"
    return say(key) if can_say(key) else case.replace("_", " ")


def about_uses(count: float) -> str:
    """A number of uses; large ones to two digits."""
    return f"{count:.0f}" if count < 100 else f"{float(f'{count:.2g}'):.0f}"


def uses_count(count: float) -> str:
    """``1 use``, ``12 uses``."""
    return say("breakeven.uses", count=count, number=about_uses(count))
