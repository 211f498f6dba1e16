"""This project's own dialect in src and native becomes less: each word has an allowance, which only falls.

Allowances are upper limits and may be too high for a while: two changes that both remove words then need not agree on
a number. `python -m tests.layout.test_words` lowers them to what there is.
"""

import re
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SUFFIXES = {".py", ".pyi", ".j2", ".json", ".txt", ".c", ".cl", ".cpp", ".cu", ".h", ".hpp"}

# Each word, whole and in any case, with what to write in its place and how often it may be there.
ALLOWED: dict[str, tuple[str, int]] = {
    "found": ("the thing that it is: `curve`, `runs`, `reply`", 346),
    "way": ("method, direction, link or memory kind", 226),
    "ways": ("methods, directions, links or memory kinds", 72),
    "told": ("values, reported, distinguished", 39),
    "said": ("reported, stated, shown", 38),
    "saw": ("`record_...`, measured", 0),
    "noted": ("recorded", 16),
    "got": ("`allocated`, received, returned", 43),
    "gave": ("`released`, returned", 14),
    "turn": ("iteration, interleaved", 27),
    "turns": ("iterations, interleaved", 28),
    "beside": ("with, next to, concurrent with", 91),
    "nobody": ("no caller; or turn the sentence round", 22),
    "no one": ("as for nobody: no thread, no caller; or turn the sentence round", 0),
    "whoever": ("any caller; or turn the sentence round", 7),
    "lies": ("is, is at, is stored in", 30),
    "stands": ("is, is at, is stored in", 11),
    "what is no": ("NaN, stale data, or what it is", 5),
    "Of ...": ("first what the comment or docstring is about", 32),
}
OPENING = re.compile(r'(?:#|//|""")\s*Of\b')

# Uses that are plain English, each with its reason; they are not counted.
PLAIN = {
    r"(one|two|either)-way": "the field's terms for copies in one direction and in both",
    r"(not|was|were|be) found": "what a search ends with",
    r"turn(s|ed)? (on|off)": "what is done to a setting",
    r"way out|by the way": "idioms",
}


def texts() -> Iterable[str]:
    for folder in ("src", "native"):
        for path in sorted((REPOSITORY / folder).rglob("*")):
            if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield path.read_text("utf-8")


def counts(read: Iterable[str]) -> dict[str, int]:
    """How often each word is in the texts but for what is PLAIN, and how many comments open with "Of"."""
    plain = re.compile("|".join(rf"\b(?:{each})\b" for each in PLAIN), re.IGNORECASE)
    words = re.compile(rf"\b(?:{'|'.join(ALLOWED.keys() - {'Of ...'})})\b", re.IGNORECASE)
    counted = dict.fromkeys(ALLOWED, 0)
    for text in read:
        for each in words.findall(plain.sub("", text)):
            counted[each.lower()] += 1
        counted["Of ..."] += len(OPENING.findall(text))
    return counted


def test_no_word_of_the_dialect_becomes_more_frequent() -> None:
    read = list(texts())
    assert len(read) > 500
    more = [
        f"{word}: {count}, {count - ALLOWED[word][1]} more than are allowed; write {ALLOWED[word][0]}"
        for word, count in counts(read).items()
        if count > ALLOWED[word][1]
    ]
    assert not more, "; ".join(more)


def test_words_are_counted_whole_and_without_plain_uses() -> None:
    counted = counts(["# Of ways: found_it, FOUND.", "a two-way link was not found", "// What is no result, found"])
    assert {word: count for word, count in counted.items() if count} == {
        "ways": 1,
        "found": 2,
        "what is no": 1,
        "Of ...": 1,
    }


def main() -> None:
    path, now = Path(__file__), counts(texts())
    source = path.read_text("utf-8")
    for word, (_, allowed) in ALLOWED.items():
        source = re.sub(rf'("{re.escape(word)}": .*, ){allowed}\)', rf"\g<1>{min(allowed, now[word])})", source)
    path.write_text(source, "utf-8")


if __name__ == "__main__":
    main()
