"""The section of an experiment, made of its parts and of the texts that every section has."""

from collections.abc import Iterable

from isthmus.document.section import Part, Section
from isthmus.language import say


def section_of(
    experiment: str, parts: Iterable[Part | None], caveats: Iterable[str] = (), intro: str = ""
) -> Section | None:
    """A section of the parts that show something; None where none does. `caveats` are the names of those texts."""
    shown = tuple(part for part in parts if part and (part.charts or part.grids))
    if not shown:
        return None
    texts = f"{experiment}_report"
    return Section(
        experiment,
        say(f"{texts}.title"),
        intro or say(f"{texts}.intro"),
        shown,
        say(f"{texts}.question"),
        tuple(say(f"{texts}.caveat_{caveat}") for caveat in caveats),
    )
