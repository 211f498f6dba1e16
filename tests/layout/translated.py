"""Which English text each translation was made from: digests, kept by `python -m tests.layout.translated`.

A line a key in translated.json: digests of the English, Japanese and Chinese text when they last said the same. A
translation is stale where its English text has changed since and it has not. The command records everything else; it
takes the keys of translations that still hold as they are.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from isthmus.language import LANGUAGES, Language
from isthmus.language.catalogue import Text, read

CATALOGUES = Path(__file__).resolve().parents[2] / "src" / "isthmus" / "language"
SUBJECTS = sorted(path.stem for path in CATALOGUES.glob("*.json"))
RECORD = Path(__file__).with_suffix(".json")
REFRESH = "python -m tests.layout.translated"

Digests = dict[Language, str]


def digest(text: Text | None) -> str:
    return hashlib.blake2s(json.dumps(text, ensure_ascii=False).encode(), digest_size=4).hexdigest()


def current() -> dict[str, Digests]:
    """The digests of every text in every language, by key."""
    return {
        f"{subject}.{name}": {language: digest(read(language, subject).get(name)) for language in LANGUAGES}
        for subject in SUBJECTS
        for name in read("en", subject)
    }


def recorded() -> dict[str, Digests]:
    lines: dict[str, str] = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else {}
    return {key: dict(zip(LANGUAGES, line.split(), strict=True)) for key, line in lines.items()}


def stale(record: dict[str, Digests], texts: dict[str, Digests]) -> list[str]:
    """``ja fleet.title`` for each translation that was left as it was when its English text changed."""
    return [
        f"{language} {key}"
        for key, now in texts.items()
        if (was := record.get(key)) and was["en"] != now["en"]
        for language in LANGUAGES
        if language != "en" and was[language] == now[language]
    ]


def main(reviewed: list[str]) -> int:
    """Record what is not stale or was reviewed; returns 1 where something else is."""
    texts, record = current(), recorded()
    left = [each for each in stale(record, texts) if each.partition(" ")[2] not in reviewed]
    kept = {each.partition(" ")[2] for each in left}
    made = {key: record[key] if key in kept else now for key, now in texts.items()}
    lines = {key: " ".join(made[key][language] for language in LANGUAGES) for key in sorted(made)}
    RECORD.write_text(json.dumps(lines, indent=1) + "\n", "utf-8")
    if left:
        print(f"translate anew, or run `{REFRESH} KEY...` if they hold: {', '.join(left)}", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
