"""The calls of a method as code, with the numbers of the need in it, from templates."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from string import Template
from typing import Literal, get_args

from isthmus.errors import UsageError
from isthmus.plan.answer import Method
from isthmus.record import BufferNeed, ManagedNeed, Need, PiecesNeed, PipelineNeed, SectionNeed

SnippetLanguage = Literal["cuda", "torch", "cupy", "isthmus", "opencl"]
SNIPPET_LANGUAGES: tuple[SnippetLanguage, ...] = get_args(SnippetLanguage)

_DOUBLE_BYTES = 8
# What threads of kernels move at once.
_WORDS = {16: "uint4", 8: "uint2", 4: "unsigned", 2: "unsigned short", 1: "char"}
# A line for one direction, at its own indentation.
_ONE_WAY = re.compile(r"^( *)@(h2d|d2h) ", re.MULTILINE)


def snippet(need: Need, method: Method, language: str) -> str:
    """The calls of a method: ``cuda`` (C++, runtime API), ``torch``, ``cupy`` (Python) or ``opencl`` (C, host code).

    ``isthmus`` (Python) has the calls of the library, which chooses among such methods by itself.

    Raises UsageError for an unknown language, and where a language's library has no calls for the method.
    """
    if language not in SNIPPET_LANGUAGES:
        raise UsageError(f"no snippets for {language!r}; there are {', '.join(SNIPPET_LANGUAGES)}")
    name = _template_name(need, method.name, language)
    if name is None:
        others = ", ".join(snippet_languages(need, method.name)) or "none"
        raise UsageError(f"{language} has no calls for {method.name}; with snippets for it: {others}")
    direction = getattr(need, "direction", "both")
    text = _one_way(_templates(language)[name], {"h2d", "d2h"} if direction == "both" else {direction})
    return Template(text).substitute(_values(need, method.options))


def snippet_languages(need: Need, method: str) -> tuple[SnippetLanguage, ...]:
    """Those whose library has the calls of a method."""
    return tuple(language for language in SNIPPET_LANGUAGES if _template_name(need, method, language))


def _template_name(need: Need, method: str, language: str) -> str | None:
    """The template of exactly this need, or of its kind."""
    match need:
        case BufferNeed():
            names = [f"buffer_{need.source}_{method}"]
        case PiecesNeed():
            names = [f"pieces_{method}", "pieces"]
        case SectionNeed():
            names = [f"section_{method}", "section"]
        case ManagedNeed():
            pattern = "fraction" if need.fraction is not None else "stride"
            names = [f"managed_{pattern}_{method}", f"managed_{method}"]
        case PipelineNeed():
            # One chunk is a pipeline of one.
            names = [f"pipeline_{need.source}_{method.rpartition('_')[0]}"]
    return next((name for name in names if name in _templates(language)), None)


@cache
def _templates(language: str) -> dict[str, str]:
    """The texts of a language by name."""
    folder = files(__package__) / "snippets" / language
    return {file.name.removesuffix(".txt"): file.read_text("utf-8") for file in folder.iterdir()}


def _one_way(text: str, directions: set[str]) -> str:
    """The text without the lines of other directions, and without the marks of the rest."""
    lines = [
        line for line in text.splitlines(keepends=True) if not (mark := _ONE_WAY.match(line)) or mark[2] in directions
    ]
    return _ONE_WAY.sub(r"\1", "".join(lines))


def _values(need: Need, options: Mapping[str, int]) -> dict[str, object]:
    match need:
        case BufferNeed():
            return {"bytes": need.bytes, "uses": need.uses}
        case PiecesNeed():
            word = _word(need.piece_bytes)
            values: dict[str, object] = {"pieces": need.pieces, "piece_bytes": need.piece_bytes}
        case SectionNeed():
            pitch = need.device_pitch_bytes or need.width_bytes
            word = _word(need.width_bytes, need.pitch_bytes, pitch)
            values = {"rows": need.rows, "width": need.width_bytes}
            values |= {"host_pitch": need.pitch_bytes, "device_pitch": pitch}
        case ManagedNeed():
            doubles = need.bytes // _DOUBLE_BYTES
            step = need.stride_bytes or _DOUBLE_BYTES
            part = int(doubles * need.fraction) if need.fraction else -(-doubles * _DOUBLE_BYTES // step)
            return {"bytes": need.bytes, "touched": max(part, 1), "step": step}
        case PipelineNeed():
            return {"bytes": need.bytes, **options}
    return values | {"word": word, "word_type": _WORDS[word], "threads": options.get("threads", 1)}


def _word(*sizes: int) -> int:
    """The largest word that divides all sizes; the memory itself is aligned to it."""
    return next(word for word in _WORDS if not any(size % word for size in sizes))
