"""docs/extending.md speaks of the code as it is: files that it names exist, and names stand in one of them."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
SECTIONS = re.split(r"^## ", (REPOSITORY / "docs" / "extending.md").read_text("utf-8"), flags=re.MULTILINE)[1:]
ROOTS = ("src/", "native/", "tests/", "docs/")


def code(section: str) -> list[str]:
    return re.findall(r"(?<!`)`([^`]+)`(?!`)", section)


def sources(paths: list[Path]) -> str:
    files = [file for path in paths for file in (path.rglob("*.*") if path.is_dir() else [path])]
    return "\n".join(
        file.read_text("utf-8") for file in files if file.suffix in {".py", ".hpp", ".cpp", ".json", ".cl"}
    )


def test_the_page_has_what_can_be_added() -> None:
    titles = [section.splitlines()[0] for section in SECTIONS]
    assert titles == [
        "An experiment",
        "A memory kind",
        "A trace format",
        "A rule of chunks",
        "A report format",
        "A kind of card",
    ]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_files_and_names_exist(section: str) -> None:
    words = code(section)
    paths = [REPOSITORY / word for word in words if word.startswith(ROOTS)]
    assert [str(path) for path in paths if not path.exists()] == []
    text = sources([*paths, REPOSITORY / "src/isthmus/experiment/engine", REPOSITORY / "src/isthmus/errors.py"])
    names = [word for word in words if re.fullmatch(r"[A-Za-z_]{3,}", word)]
    assert len(names) >= 3
    assert [name for name in names if not re.search(rf"\b{name}\b", text)] == []


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_each_fits_on_a_page(section: str) -> None:
    assert len(section.splitlines()) <= 40
