"""One conclusion about a run, with what supports it, its cause and what to do; and what to take away from all."""

from dataclasses import dataclass
from typing import Literal

from isthmus.language import say

# The machine is not as it should be; it costs the user, who can change it; a property, or noise. The gravest first.
Severity = Literal["FAULT", "ATTENTION", "note"]


def severity_word(severity: Severity) -> str:
    """Faults and matters for attention have one name in all languages, so that one can search for it."""
    return say("page.severity_note") if severity == "note" else severity


@dataclass(frozen=True)
class Finding:
    """A conclusion in sentences.

    `topic` is a stable name for scripts and tests; `cause` and `fix` are empty where the data do not support one or
    nothing needs to be done.
    """

    severity: Severity
    topic: str
    sentence: str
    cause: str = ""
    fix: str = ""


@dataclass(frozen=True)
class Takeaway:
    """What an experiment says in two short texts: what the machine does, and what to do about it.

    All are whole sentences; `advice` is empty where nothing follows, `also` is a lesser thing to do.
    """

    does: str
    advice: str = ""
    also: str = ""
