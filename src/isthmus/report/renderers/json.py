"""The figures of a document as one JSON object for scripts: keys never change with the language, sentences do."""

import re
from typing import Any, TextIO

import msgspec

from isthmus.document.document import Document

# What commands a terminal or turns the order of letters, as JSON may have it raw: other programs read it the same.
_HIDDEN = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def write(document: Document, out: TextIO) -> None:
    """Write the object, indented; what is listed has a line for each of its objects, written as they are made."""
    assert document.data
    text = msgspec.json.format(_encoded(document.data.content()), indent=2)
    if document.data.listed is None:
        out.write(f"{text}\n")
        return
    name, objects = document.data.listed
    out.write(text.removesuffix("\n}") + f',\n  "{name}": [')
    for place, each in enumerate(objects()):
        out.write(f"{',' if place else ''}\n    {_encoded(each)}")
    out.write("\n  ]\n}\n")


def _encoded(content: Any) -> str:
    return _HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", msgspec.json.encode(content).decode())
