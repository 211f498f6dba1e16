"""What tests of snapshots share: files that are named after the test's case, one for each document."""

from pathlib import Path
from typing import cast

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation


class TextFile(SingleFileSnapshotExtension):
    """``runs/h200-all.txt`` for the case ``h200-all`` of a test in ``test_runs.py``.

    A test with several documents of a case names the others: ``runs/h200-all.screen.txt``.
    """

    _write_mode = WriteMode.TEXT
    file_extension = "txt"

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        return str(Path(test_location.filepath).with_name(test_location.basename.removeprefix("test_")))

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: int | str = 0) -> str:
        case = _case(test_location)
        return f"{case}.{index}" if isinstance(index, str) else case

    @classmethod
    def matches_test_location(cls, *, test_location: PyTestLocation, snapshot_location: str) -> bool:
        path = Path(snapshot_location)
        case = path.name.partition(".")[0]
        return (str(path.parent), case) == (cls.dirname(test_location=test_location), _case(test_location))


class JsonFile(TextFile):
    """The same for JSON."""

    file_extension = "json"


def _case(location: PyTestLocation) -> str:
    return cast(pytest.Function, location.item).callspec.id


@pytest.fixture
def text_file(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(TextFile)


@pytest.fixture
def json_file(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(JsonFile)
