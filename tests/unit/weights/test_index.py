"""Indices of weights in several files: which tensor is where, and names that lead elsewhere are refused."""

import json
from pathlib import Path

import pytest

from isthmus.errors import WeightsFileError
from isthmus.weights import read_index


def test_tensors_are_found_by_their_files(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors.index.json"
    names = {"a": "1.safetensors", "b": "2.safetensors", "c": "1.safetensors"}
    path.write_text(json.dumps({"metadata": {"total_size": 5}, "weight_map": names}))
    assert read_index(path) == {tmp_path / "1.safetensors": {"a", "c"}, tmp_path / "2.safetensors": {"b"}}


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "a\0b", 5, None, ["a"]], ids=repr
)
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: object) -> None:
    path = tmp_path / "x.index.json"
    path.write_text(json.dumps({"weight_map": {"good": "a", "w": name}}))
    with pytest.raises(WeightsFileError, match=r"'w' is said to be in .* expected the name of a file beside the index"):
        read_index(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no JSON"),
        ("[]", "is a list; expected a JSON object"),
        ("{}", "no object weight_map"),
        ('{"weight_map": 5}', "no object weight_map"),
        ('{"weight_map": {"a": "x", "a": "y"}}', "names 'a' twice"),
    ],
)
def test_what_is_no_index_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.index.json"
    path.write_text(text)
    with pytest.raises(WeightsFileError, match=message):
        read_index(path)
