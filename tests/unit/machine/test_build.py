"""What `isthmus --version` says beside the version."""

from pathlib import Path

import pytest

from isthmus.machine import build

PROPRIETARY = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\n"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build  (root@host)\n"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PROPRIETARY, "NVIDIA driver 535.104.05"),
        (OPEN, "NVIDIA driver 580.159.04"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  470.57\n", "NVIDIA driver 470.57"),
        ("something else\n", "NVIDIA driver of an unknown version"),
    ],
)
def test_the_driver_is_named_by_its_file(text: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "version").write_text(text)
    monkeypatch.setattr(build, "_NVIDIA", tmp_path / "version")
    assert build.described_build()[-1] == line


def test_without_a_driver_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_NVIDIA", tmp_path / "version")
    assert build.described_build()[-1].startswith("no NVIDIA driver is loaded (")


@pytest.mark.parametrize(("text", "lines"), [("3d1badc2a1b2\n", ["commit 3d1badc2a1b2"]), ("\n", []), (None, [])])
def test_the_commit_is_that_of_the_build(
    text: str | None, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Found:
        submodule_search_locations = (str(tmp_path),)

    if text is not None:
        (tmp_path / "commit.txt").write_text(text)
    monkeypatch.setattr("isthmus.installing.find_spec", lambda name: Found)
    assert build.described_build()[:-1] == lines
