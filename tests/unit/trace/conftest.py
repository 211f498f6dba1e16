"""What tests of traces share: exports of nsys, written as they need them."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.synthetic.nsys import Rows, write_export

Export = Callable[..., Path]


@pytest.fixture
def export(tmp_path: Path) -> Export:
    """Writes an export with these tables."""

    def write(tables: dict[str, Rows] | None = None, sql: Sequence[str] = (), name: str = "trace.sqlite") -> Path:
        return write_export(tmp_path / name, tables, sql)

    return write
