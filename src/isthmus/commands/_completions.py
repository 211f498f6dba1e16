"""What a shell offers while a command line is typed: devices of this machine, experiments, references and kept runs."""

import os
from collections.abc import Iterator
from pathlib import Path

from isthmus.registry import MEASURED

# What runs and references are read from.
_SUFFIXES = (".json", ".json.gz")
_REFERENCE = "reference:"


def devices(incomplete: str) -> list[str]:
    """The names that --device takes here, and all."""
    from isthmus.machine.devices import probe

    names = [device.spec for backend in probe() for device in backend.devices]
    return [name for name in (*names, "all") if name.startswith(incomplete)]


def experiments(incomplete: str) -> list[tuple[str, str]]:
    """Their names with what each measures."""
    known = [(each.name, each.help) for each in MEASURED]
    return [each for each in (*known, ("all", "every experiment")) if each[0].startswith(incomplete)]


def languages(incomplete: str) -> list[str]:
    """The languages of sentences."""
    from isthmus.language import LANGUAGES

    return [name for name in LANGUAGES if name.startswith(incomplete)]


def styles(incomplete: str) -> list[str]:
    """Whom a check speaks to."""
    from isthmus.report.styles import STYLES

    return [name for name in STYLES if name.startswith(incomplete)]


def snippets(incomplete: str) -> list[str]:
    """The languages of snippets."""
    from isthmus.plan import SNIPPET_LANGUAGES

    return [name for name in SNIPPET_LANGUAGES if name.startswith(incomplete)]


def references(incomplete: str) -> list[str]:
    """The names of references, without what precedes them where a run is taken, too."""
    from isthmus.compare import known_references

    return [name for name in known_references() if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """Files and folders that begin so, runs that are kept, and references."""
    from isthmus.cache import state_root

    names = [*_files(incomplete)]
    root = state_root()
    if root is not None:
        kept = [str(each) for each in (root / "runs").glob("*.json*")]
        names += [each for each in kept if each.startswith(incomplete) and each not in names]
    return names + [name for name in map(_REFERENCE.__add__, references("")) if name.startswith(incomplete)]


def _files(incomplete: str) -> Iterator[str]:
    folder, _, begin = incomplete.rpartition("/")
    try:
        entries = sorted(Path(f"{folder}/" if folder or incomplete.startswith("/") else ".").iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(begin) and (begin or not entry.name.startswith(".")):
            name = f"{incomplete.removesuffix(begin)}{entry.name}"
            if entry.is_dir():
                yield f"{name}/"
            elif name.endswith(_SUFFIXES):
                yield name


def join_colons() -> str:
    """Undo what bash does to ``cuda:0``, which it takes for three words; gives what it has of the last word already.

    Works on the environment that bash calls us with.
    """
    words, place = os.environ.get("COMP_WORDS", "").split("\n"), int(os.environ.get("COMP_CWORD", "0") or 0)
    joined: list[str] = []
    glue = False
    for index, word in enumerate(words[: place + 1]):
        if index > 1 and (word == ":" or glue):
            joined[-1] += word
        else:
            joined.append(word)
        glue = word == ":"
    os.environ |= {"COMP_WORDS": "\n".join(joined), "COMP_CWORD": str(len(joined) - 1)}
    return joined[-1][: joined[-1].rfind(":") + 1] if joined else ""
