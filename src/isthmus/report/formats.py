"""The registry of formats: a line here and a file in `renderers/` make one, which then serves every command."""

import difflib
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from isthmus.errors import UsageError

if TYPE_CHECKING:
    from isthmus.document.document import Document, Kind


class Renderer(Protocol):
    """What a module of `renderers/` is."""

    def write(self, document: "Document", out: IO[Any]) -> None:
        """Write the document to `out`, a text file."""


@dataclass(frozen=True)
class Format:
    """A format with the suffixes of its files and the kinds of documents that it serves, all where none is named."""

    name: str
    suffixes: tuple[str, ...] = ()
    serves: tuple["Kind", ...] = ()

    @property
    def has_sentences(self) -> bool:
        """Whether it shows all that a document says, and not figures alone."""
        return not self.serves

    def renderer(self) -> Renderer:
        """Its module, loaded now: some need libraries that take longer to load than a report takes to make."""
        return cast(Renderer, import_module(f"isthmus.report.renderers.{self.name}"))


FORMATS = (
    Format("terminal", ("", ".log", ".text", ".txt")),
    Format("markdown", (".markdown", ".md")),
    Format("html", (".htm", ".html")),
    Format(
        "json",
        (".json",),
        (
            "runs",
            "check",
            "calibration",
            "comparison",
            "trace",
            "advice",
            "acceleration",
            "races",
            "fleet",
            "devices",
            "plan",
        ),
    ),
    Format("csv", (".csv",), ("runs", "trace", "fleet")),
    Format("chrome", (".trace",), ("trace",)),
    Format("prometheus", (".prom",), ("fleet",)),
    Format("slurm", serves=("fleet",)),
    Format("kubectl", serves=("fleet",)),
)


def formats_for(kind: "Kind") -> tuple[Format, ...]:
    """The formats that a document of this kind can be written in."""
    return tuple(each for each in FORMATS if not each.serves or kind in each.serves)


def format_names(kind: "Kind") -> str:
    """``terminal, markdown or html``: the same for the help of a command."""
    *names, last = (each.name for each in formats_for(kind))
    return f"{', '.join(names)} or {last}"


def format_named(kind: "Kind", name: str) -> Format:
    """The format of this name. Raises UsageError, which lists those that fit, where it does not fit the kind."""
    fitting = {each.name: each for each in formats_for(kind)}
    if name in fitting:
        return fitting[name]
    others = next((each.serves for each in FORMATS if each.name == name), ())
    near = difflib.get_close_matches(name.lower(), fitting, 1, cutoff=0.6)
    hint = f"that is for {' and '.join(others)}; " if others else f"did you mean {near[0]!r}? " if near else ""
    raise UsageError(f"no such format: {name!r}; {hint}expected one of {', '.join(fitting)}")


def format_of_suffix(suffix: str) -> Format | None:
    """The format whose files have this suffix, in whichever case."""
    return next((each for each in FORMATS if suffix.lower() in each.suffixes), None)
