"""Names that are chosen from few: the language where none is named, and what is suggested for a wrong one."""

import pytest

from isthmus.commands._choices import language_of, one_of
from isthmus.errors import UsageError


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({}, "en"),
        ({"LANG": "C"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
        ({"LANG": "ja_JP.UTF-8"}, "ja"),
        ({"LANG": "ja_JP.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "ja_JP.UTF-8", "LC_ALL": ""}, "ja"),
    ],
)
def test_the_locale_chooses_the_language(
    variables: dict[str, str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert language_of("") == language
    assert language_of("en") == "en"


@pytest.mark.parametrize(("name", "hint"), [("de", ""), ("yaml", ""), ("htm", "did you mean 'html'? ")])
def test_only_what_is_alike_is_suggested(name: str, hint: str) -> None:
    with pytest.raises(UsageError) as error:
        one_of(name, ("terminal", "html", "en", "ja"), "thing")
    assert str(error.value) == f"no such thing: {name!r}; {hint}expected one of terminal, html, en, ja"
