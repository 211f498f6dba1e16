"""The figures of a document as one JSON object for scripts: keys never change with the language, sentences do."""

from typing import TextIO

import msgspec

from isthmus.document.document import Document


def write(document: Document, out: TextIO) -> None:
    """Write the object, indented; what is listed has a line for each of its objects, written as they are made."""
    assert document.data
    text = msgspec.json.format(msgspec.json.encode(document.data.content()), indent=2).decode()
    if document.data.listed is None:
        out.write(f"{text}\n")
        return
    name, objects = document.data.listed
    out.write(text.removesuffix("\n}") + f',\n  "{name}": [')
    for place, each in enumerate(objects()):
        out.write(f"{',' if place else ''}\n    {msgspec.json.encode(each).decode()}")
    out.write("\n  ]\n}\n")
