"""One conclusion about a machine or a run: how grave it is, what was seen, why, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from isthmus.language import say, sentences

# The machine is not as it should be; it costs the user, who can change it; it is as it should be; a property, or noise;
# nothing that one could judge. The gravest first.
Level = Literal["FAULT", "ATTENTION", "OK", "note", "none"]
# What a user has to know before anything else.
TROUBLES: tuple[Level, ...] = ("FAULT", "ATTENTION")


def gravity(level: Level) -> int:
    """The place of a level among all, the gravest first."""
    return get_args(Level).index(level)


def level_word(level: Level) -> str:
    """What a screen shows for it; faults and the like are called the same in all languages, for searches."""
    return {"note": say("page.severity_note"), "none": "--"}.get(level, level)


@dataclass(frozen=True)
class Finding:
    """A conclusion in sentences.

    `topic` is a stable name for scripts and tests; `cause` is empty where the data do not support one. `do` are things
    to do, the likeliest cure first; those given as an empty text are left out.
    """

    level: Level
    topic: str
    text: str
    cause: str = ""
    do: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Drop empty texts, so that callers need not check."""
        object.__setattr__(self, "do", tuple(filter(None, self.do)))

    @property
    def cure(self) -> str:
        """All that there is to do, as one text."""
        return sentences(self.do)


def known(*findings: Finding | None) -> list[Finding]:
    """The findings that there are, in their order."""
    return [finding for finding in findings if finding]


def gravest_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings by level; those of one level stay in their order."""
    return sorted(findings, key=lambda finding: gravity(finding.level))
