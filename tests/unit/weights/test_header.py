"""Headers of safetensors files: what is right is read as it was written, and nothing else is taken."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import WeightsFileError
from isthmus.weights import BITS, Header, parse_header, read_header_text
from isthmus.weights.header import MOST_HEADER_BYTES, _checked, _usual


def written(header: object, data: int = 0, length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return (len(text) if length is None else length).to_bytes(8, "little") + text + bytes(data)


def read(content: bytes, folder: Path) -> Header:
    path = folder / "model.safetensors"
    path.write_bytes(content)
    with path.open("rb") as file:
        return parse_header(read_header_text(file, "model"), "model")


def entry(dtype: object, shape: object, begin: object, end: object) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


@st.composite
def files(draw: st.DrawFn) -> tuple[dict[str, Any], int]:
    """A header that is right, its entries in any order, and the bytes of its tensors."""
    entries: dict[str, Any] = {}
    at = 0
    for name in draw(st.lists(st.text(max_size=8).filter(lambda text: text != "__metadata__"), unique=True)):
        dtype = draw(st.sampled_from([one for one, bits in BITS.items() if bits % 8 == 0]))
        shape = draw(st.lists(st.integers(0, 4), max_size=4))
        size = math.prod(shape) * BITS[dtype] // 8
        entries[name] = entry(dtype, shape, at, at + size)
        at += size
    shuffled = {name: entries[name] for name in draw(st.permutations(list(entries)))}
    if draw(st.booleans()):
        shuffled["__metadata__"] = draw(st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3))
    return shuffled, at


@given(files(), st.integers(0, 9))
def test_what_was_written_is_read(tmp_path: Path, file: tuple[dict[str, Any], int], padding: int) -> None:
    entries, size = file
    text = json.dumps(entries).encode() + b" " * padding
    header = read(written(text, size), tmp_path)
    assert header.metadata == entries.get("__metadata__", {})
    assert header.data_begin == 8 + len(text)
    found = {one.name: entry(one.dtype, list(one.shape), one.begin, one.end) for one in header.tensors}
    assert found == {name: value for name, value in entries.items() if name != "__metadata__"}
    assert [one.end for one in header.tensors[:-1]] == [one.begin for one in header.tensors[1:]]


@given(st.binary(max_size=60), st.integers(-3, 3))
def test_any_bytes_are_refused_or_read_and_never_anything_else(tmp_path: Path, text: bytes, off: int) -> None:
    try:
        header = read(written(text, 3, max(0, len(text) + off)), tmp_path)
    except WeightsFileError as error:
        assert str(error).startswith("model: ")  # noqa: PT017 - either outcome is right
    else:
        assert sum(one.end - one.begin for one in header.tensors) == 3 - off


@given(files(), st.data())
def test_one_wrong_number_is_noticed(tmp_path: Path, file: tuple[dict[str, Any], int], data: st.DataObject) -> None:
    entries, size = file
    names = [name for name in entries if name != "__metadata__"]
    if not names:
        return
    changed = entries[data.draw(st.sampled_from(names))]
    place = data.draw(st.sampled_from([0, 1]))
    changed["data_offsets"][place] += data.draw(st.sampled_from([-1, 1, 1 << 40, 1 << 64]))
    with pytest.raises(WeightsFileError):
        read(written(entries, size), tmp_path)


# What a header is made of, and what it is not to be made of.
PIECES = [
    '"',
    "{",
    "}",
    "[",
    ",",
    ":",
    " ",
    "\n",
    "\\",
    "\\u0061",
    "\x01",
    "-",
    "0",
    ".0",
    "e1",
    "true",
    "null",
    "NaN",
    "é",
]
PIECES += ['"__metadata__":{},', '"__metadata__":{"a":"b"},', '"dtype":"U8",', '"x":1,', "1" * 25, "1" * 5000]


@given(files(), st.booleans(), st.booleans(), st.data())
def test_what_is_read_at_once_is_what_is_read_with_care(
    file: tuple[dict[str, Any], int], compact: bool, ascii_alone: bool, data: st.DataObject
) -> None:
    """The same of headers that are right and of those in which something was put, left out or repeated."""

    def careful(text: bytes, size: int) -> Header | None:
        try:
            return _checked(text, size, "model")
        except WeightsFileError:
            return None

    entries, size = file
    in_order = sorted(entries.items(), key=lambda one: one[1].get("data_offsets", []))
    right = json.dumps(dict(in_order), separators=(",", ":") if compact else None, ensure_ascii=ascii_alone)
    expected = careful(right.encode(), size)
    assert expected is not None
    if expected.tensors and right.isascii() and "\\" not in right:
        assert _usual(right.encode(), size) == expected
    text = right
    for _ in range(data.draw(st.integers(1, 3))):
        begin, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        place = data.draw(st.integers(0, len(text)))
        put = data.draw(st.sampled_from([*PIECES, text[begin:end]]))
        text = text[:place] + put + text[data.draw(st.integers(place, min(len(text), place + 3))) :]
    usual = _usual(text.encode(), size)
    assert usual is None or usual == careful(text.encode(), size)


F32 = entry("F32", [2], 0, 8)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "0 bytes, and a safetensors file begins with 8"),
        (b"1234567", "7 bytes, and"),
        (
            written(b"{}", 0, MOST_HEADER_BYTES + 1),
            f"said to have {MOST_HEADER_BYTES + 1} bytes, and the format allows",
        ),
        (written(b"{}", 0, (1 << 64) - 1), "the format allows"),
        (written(b"{}", 0, 3), "said to have 3 bytes, and 2 are left of the file: it was cut off"),
        (written(b"", 0), "begins with b''; expected '{'"),
        (written(b" {}"), "begins with b' {}'"),
        (written(b"[]"), "expected '{'"),
        (written(b"{"), "no JSON"),
        (written(b"{} x"), "no JSON"),
        (written(b'{"\xff": 1}'), "no JSON: 'utf-8'"),
        (written(b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "nests its brackets"),
        (written(b'{"a": ' + b"1" * 5000 + b"}"), "no JSON"),
        (written(b'{"a": NaN}'), "holds NaN"),
        (written(b'{"a": 1, "a": 1}'), "names 'a' twice"),
        (
            written(b'{"a": {"dtype": "U8", "dtype": "U8", "shape": [], "data_offsets": [0, 1]}}', 1),
            "names 'dtype' twice",
        ),
        (written({"__metadata__": []}), r"__metadata__ is \[\]; expected an object of texts"),
        (written({"__metadata__": {"a": 1}}), "expected an object of texts"),
        (written({"a": 1}), "'a' is 1; expected an object with dtype, shape and data_offsets"),
        (written({"a": {"dtype": "F32", "shape": [2]}}), "expected an object with dtype"),
        (written({"a": entry("F31", [2], 0, 8)}, 8), "type 'F31'; known are BOOL, "),
        (written({"a": entry(["F32"], [2], 0, 8)}, 8), r"type \['F32'\]"),
        (written({"a": entry("F32", 2, 0, 8)}, 8), "the shape 2; expected a list of whole numbers"),
        (written({"a": entry("F32", [2.0], 0, 8)}, 8), "expected a list of whole numbers"),
        (written({"a": entry("F32", [True, 2], 0, 8)}, 8), "expected a list of whole numbers"),
        (written({"a": entry("F32", [-2], 0, 8)}, 8), "expected a list of whole numbers"),
        (written({"a": entry("F32", [2], -8, 0)}, 8), "expected where its bytes begin and end"),
        (written({"a": entry("F32", [2], 8, 0)}, 8), "expected where its bytes begin and end"),
        (written({"a": F32 | {"data_offsets": [0, 4, 8]}}, 8), "expected where its bytes begin and end"),
        (written({"a": entry("F32", [3], 0, 8)}, 8), r"F32 of shape \[3\], takes 12 bytes, and the file gives it 8"),
        (written({"a": entry("F32", [1 << 62, 4], 0, 0)}), "larger than any memory"),
        (written({"a": entry("F32", [1 << 63, 1 << 63, 0, 1 << 70], 0, 8)}, 8), "takes 0 bytes"),
        (written({"a": entry("F32", [2] * 1_000_000, 0, 8)}, 8), "larger than any memory"),
        (written({"a": entry("F4", [3], 0, 1)}, 1), r"takes 1\.5 bytes"),
        (written({"a": F32, "b": entry("U8", [1], 9, 10)}, 10), "a gap before 'b'.* begin at 9; expected 8"),
        (written({"a": F32, "b": entry("U8", [2], 7, 9)}, 9), "an overlap with 'b'"),
        (written({"a": F32, "b": F32}, 8), "an overlap with 'b'"),
        (written({"a": entry("F32", [2], 1, 9)}, 9), "a gap before 'a'"),
        (written({"a": F32}, 7), "have 8 bytes, and the file has 7 after the header: it was cut off"),
        (written({"a": F32}, 9), "what follows is none of the tensors'"),
    ],
)
def test_a_header_that_lies_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(WeightsFileError, match=message) as refused:
        read(content, tmp_path)
    assert len(str(refused.value)) < 600


def test_a_name_as_long_as_a_header_does_not_fill_the_message(tmp_path: Path) -> None:
    with pytest.raises(WeightsFileError) as refused:
        read(written({"x" * 100_000: 1}), tmp_path)
    assert len(str(refused.value)) < 300
