"""Every text is translated, and from the English text as it is now.

`python -m tests.layout.test_translations KEY...` records that the translations of these keys hold.
"""

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from isthmus.language import LANGUAGES, Language, Text
from tests.layout.every import every

CATALOGUES = Path(__file__).resolve().parents[2] / "src" / "isthmus" / "language"
FILES = sorted(CATALOGUES.glob("*.json"))
REFRESH = "python -m tests.layout.test_translations"

# A text in every language, and "of", the digest of the English that was translated.
Entry = dict[str, Text]


def digest(text: Text) -> str:
    return hashlib.blake2s(json.dumps(text, ensure_ascii=False).encode(), digest_size=4).hexdigest()


def as_file(entries: dict[str, Entry]) -> str:
    """One line a language, so that a diff shows which sentence changed."""
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"


def what_to_do(key: str, entry: Entry) -> Iterator[str]:
    """A sentence for each thing that is wrong with the entry of a text."""
    if missing := [language for language in LANGUAGES if language not in entry]:
        yield f"{key}: add {' and '.join(missing)}"
    if unknown := sorted(entry.keys() - {*LANGUAGES, "of"}):
        yield f"{key}: there is no language {' or '.join(unknown)}; leave it out"
    if "en" in entry and entry.get("of") != digest(entry["en"]):
        yield (
            f'{key}: the English text is not the one that was translated; translate it anew, then set "of" to '
            f'"{digest(entry["en"])}" (or: {REFRESH} {key})'
        )


@every(FILES, lambda path: f"src/isthmus/language/{path.name}")
def test_every_text_is_translated_from_its_english_text(path: Path) -> None:
    written = path.read_text("utf-8")
    entries = json.loads(written)
    faults = [fault for name, entry in entries.items() for fault in what_to_do(f"{path.stem}.{name}", entry)]
    assert not faults, "; ".join(faults)
    assert written == as_file(entries), f"write it as json.dumps does, with two spaces (or: {REFRESH} {path.stem}.KEY)"


# Between letters of Chinese and Japanese, and round them; what stands behind a name, as of a function, is code.
NARROW_BRACKETS = re.compile(
    r"(?<![A-Za-z0-9_])\([^()]*\)(?=[\u3001-\u9fff])|[\u3001-\u9fff]\([^()]*\)|\([^()]*[\u3001-\u9fff][^()]*\)"
)


@pytest.mark.parametrize("language", ["ja", "zh"])
def test_brackets_are_as_wide_as_the_letters(language: Language) -> None:
    texts = [(path.stem, entry[language]) for path in FILES for entry in json.loads(path.read_text("utf-8")).values()]
    said = [(stem, text) for stem, found in texts for text in ([found] if isinstance(found, str) else found.values())]
    assert not [(stem, text) for stem, text in said if NARROW_BRACKETS.search(text)]


def test_a_stale_or_missing_translation_is_named_with_what_to_do() -> None:
    held: Entry = {"en": "a", "ja": "b", "zh": "c", "of": digest("a")}
    assert list(what_to_do("some.key", held)) == []
    [stale] = what_to_do("some.key", {**held, "en": "A"})
    assert stale.startswith("some.key: ")
    assert f'"of" to "{digest("A")}"' in stale
    assert list(what_to_do("some.key", {"en": "a", "zh": "c", "of": digest("a")})) == ["some.key: add ja"]
    assert list(what_to_do("some.key", {**held, "fr": "d"})) == ["some.key: there is no language fr; leave it out"]
    assert len(list(what_to_do("some.key", {"en": "a"}))) == 2


def main(keys: list[str]) -> None:
    for key in keys:
        subject, _, name = key.partition(".")
        path = CATALOGUES / f"{subject}.json"
        entries: dict[str, Entry] = json.loads(path.read_text("utf-8"))
        entries[name]["of"] = digest(entries[name]["en"])
        path.write_text(as_file(entries), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
