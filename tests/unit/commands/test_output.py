"""What the name of a report says of its format, and which names are refused."""

from pathlib import Path

import pytest

from isthmus.commands._output import format_of
from isthmus.document.document import Kind
from isthmus.errors import UsageError

KIND: Kind = "fleet"


@pytest.mark.parametrize(
    ("name", "output", "expected"),
    [
        (None, None, "terminal"),
        (None, "a", "terminal"),
        (None, "a.TXT", "terminal"),
        (None, "a.HTML", "html"),
        ("csv", "a", "csv"),
        ("csv", "a.csv", "csv"),
        ("json", "-.json", "json"),
    ],
)
def test_the_suffix_says_the_format_unless_one_is_named(name: str | None, output: str | None, expected: str) -> None:
    assert format_of(KIND, name, Path(output) if output else None) == expected


@pytest.mark.parametrize(
    ("name", "output", "message"),
    [
        (None, "a.foo", "its suffix says no format of this report; expected one of .csv, .htm, .html, .json, "),
        ("csv", "a.html", "its suffix says html, and the format asked for is csv"),
        (None, "-", "a report goes to standard output without -o"),
        ("csv", "-", "a report goes to standard output without -o"),
    ],
)
def test_names_that_contradict_are_refused(name: str | None, output: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        format_of(KIND, name, Path(output))
