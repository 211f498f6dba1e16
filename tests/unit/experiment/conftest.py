"""Fake machines: trees of /proc and /sys files below a temporary root."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Tree = Callable[[Mapping[str, str]], Path]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """Writes the files, given as path -> text, and returns the root."""

    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Makes everything below a path answer EACCES, also to root, for whom file modes mean nothing."""

    def deny(top: Path) -> None:
        def refusing(name: str) -> None:
            original = getattr(Path, name)

            def call(self: Path, *arguments: object, **options: object) -> object:
                if self.is_relative_to(top):
                    raise PermissionError(13, "Permission denied", str(self))
                return original(self, *arguments, **options)

            monkeypatch.setattr(Path, name, call)

        for name in ("read_bytes", "iterdir", "stat", "open"):
            refusing(name)

    return deny
