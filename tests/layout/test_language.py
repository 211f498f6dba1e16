"""Every text that the program says exists in every language, with the same placeholders, and none is never said."""

import ast
import re
import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from isthmus.language import LANGUAGES, Language, Text, read
from tests.layout.every import every

PACKAGE = Path(__file__).resolve().parents[2] / "src" / "isthmus"
CATALOGUES = PACKAGE / "language"
SUBJECTS = sorted(path.stem for path in CATALOGUES.glob("*.json"))
MODULES = sorted(PACKAGE.rglob("*.py"))
TRANSLATIONS = [language for language in LANGUAGES if language != "en"]

# What translations write as figures; 1 and 2 stand for articles and for "both", too.
NUMBERS = {"three": 3, "four": 4, "quarter": 4, "five": 5, "six": 6, "nine": 9, "ten": 10, "sixteenth": 16}


def forms(text: Text) -> list[str]:
    return list(text.values()) if isinstance(text, dict) else [text]


def placeholders(text: Text) -> set[str]:
    """The names that a text needs; ``count`` where it chooses a form."""
    named = {name for form in forms(text) for _, name, _, _ in string.Formatter().parse(form) if name is not None}
    return named | ({"count"} if isinstance(text, dict) else set())


def numbers(text: Text) -> set[str]:
    """The figures that a text says whatever its values are: ``5`` of "within 5 %"."""
    bare = re.sub(r"\{[^}]*\}", "", forms(text)[-1])
    return set(re.findall(r"\d+(?:[.,]\d+)*", bare)) - {"0", "1", "2"}


def keys_said(module: Path) -> Iterator[tuple[ast.expr, set[str] | None, int]]:
    """The keys that a module hands to `say` and `can_say`, with the values (None where they are handed on as a whole).

    A key may also stand anywhere else as a plain text: it is found by `whole_keys`.
    """
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "say":
            names = {keyword.arg for keyword in node.keywords}
            yield node.args[0], None if None in names else {name for name in names if name}, node.lineno


def whole_keys(expression: ast.expr) -> list[str] | None:
    """The keys that an expression can be, where all of them are written out; None where one is put together."""
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        return [expression.value]
    if isinstance(expression, ast.IfExp):
        first, second = whole_keys(expression.body), whole_keys(expression.orelse)
        return first + second if first and second else None
    return None


@cache
def texts_of(module: Path) -> tuple[set[str], set[str]]:
    """All texts written out in a module, and the beginnings of those that are put together."""
    whole, begun = set(), set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "section_of":
            # Which texts every section has.
            subject = f"{ast.literal_eval(node.args[0])}_report"
            whole |= {f"{subject}.{text}" for text in ("title", "intro", "question")}
            begun.add(f"{subject}.caveat_")
        if isinstance(node, ast.JoinedStr) and node.values and isinstance(node.values[0], ast.Constant):
            begun.add(str(node.values[0].value))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            whole.add(node.value)
    return whole, begun


def english(key: str) -> Text | None:
    subject, _, name = key.partition(".")
    return read("en", subject).get(name) if subject in SUBJECTS else None


@every(MODULES, lambda path: str(path.relative_to(PACKAGE)))
def test_what_is_said_exists_and_gets_its_values(module: Path) -> None:
    for expression, values, line in keys_said(module):
        for key in whole_keys(expression) or []:
            text = english(key)
            assert text is not None, f"{module.name}:{line}: the English catalogue has no {key!r}"
            assert values is None or placeholders(text) <= values, f"{module.name}:{line}: {key} needs {text!r}"


@every(SUBJECTS)
def test_no_text_is_never_said(subject: str) -> None:
    """A key counts as said where a module or a template writes it out, or begins one that it puts together so."""
    whole: set[str] = set()
    begun: set[str] = set()
    for module in MODULES:
        written, beginnings = texts_of(module)
        whole |= written
        begun |= {text for text in beginnings if text.startswith(f"{subject}.") and len(text) > len(subject) + 1}
    templates = "".join(path.read_text("utf-8") for path in PACKAGE.rglob("*.j2"))
    rules = "".join(path.read_text("utf-8") for path in (PACKAGE.parents[1] / "native/judge").glob("*.cpp"))
    for name in read("en", subject):
        key = f"{subject}.{name}"
        said = key in whole or any(key.startswith(start) for start in begun) or f'"{key}"' in templates + rules
        assert said, f"{key} is in the catalogue and never said"


@every([(language, subject) for language in TRANSLATIONS for subject in SUBJECTS])
def test_translations_have_the_placeholders_of_the_source(pair: tuple[Language, str]) -> None:
    language, subject = pair
    source, translated = read("en", subject), read(language, subject)
    for name, text in translated.items():
        assert placeholders(text) - {"count"} == placeholders(source[name]) - {"count"}, f"{language} {subject}.{name}"
        # Sentences follow one another without anything between them in some languages.
        assert all(forms(text)) or f"{subject}.{name}" == "common.between_sentences", f"{language} {subject}.{name}"


@every([(language, subject) for language in TRANSLATIONS for subject in SUBJECTS])
def test_translations_say_the_same_numbers(pair: tuple[Language, str]) -> None:
    language, subject = pair
    translated = read(language, subject)
    for name, text in read("en", subject).items():
        said, words = numbers(text), forms(text)[-1].lower()
        spelled = {str(number) for word, number in NUMBERS.items() if re.search(rf"\b{word}(s|th|ths)?\b", words)}
        found = numbers(translated[name])
        assert said <= found <= said | spelled, f"{language} {subject}.{name}: {text!r} and {translated[name]!r}"


def test_a_count_that_opens_a_sentence_leaves_the_verb_alone() -> None:
    """``1 of 1 medians have`` is wrong; a text without forms counts at its end: ``Medians with ...: 1 of 1``."""
    plural = re.compile(r"\{\w+\} of \{\w+\} .*\b(?:have|are|copy|differ)\b")
    texts = ((subject, name, text) for subject in SUBJECTS for name, text in read("en", subject).items())
    assert not [each for each in texts if isinstance(each[2], str) and plural.match(each[2])]
