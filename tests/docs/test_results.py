"""The pages in results/ say what `isthmus report` and `isthmus fleet` say of the same files now."""

import re
from pathlib import Path

import pytest

from isthmus.commands.main import main

RESULTS = Path(__file__).resolve().parents[2] / "results"
PAGES = sorted(RESULTS.glob("*.html"))


def shown(page: Path) -> list[str]:
    """What a reader sees of a page, line by line; charts are drawn from the same figures."""
    text = re.sub(r"<(script|style)\b.*?</\1>", "", page.read_text("utf-8"), flags=re.DOTALL)
    lines = re.sub(r"<[^>]*>", "\n", text).splitlines()
    return [line.strip() for line in lines if line.strip()]


@pytest.mark.thorough
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_kept_page_is_what_is_rendered_now(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert PAGES
    monkeypatch.chdir(RESULTS)
    source = f"{page.stem}.json.gz"
    command = "fleet" if page.stem.endswith("-fleet") else "report"
    assert main([command, source, "-o", str(tmp_path / page.name)]) == 0, capsys.readouterr().err
    assert shown(page) == shown(tmp_path / page.name), (
        f"render it anew: isthmus {command} {source} --force -o {page.name}"
    )
