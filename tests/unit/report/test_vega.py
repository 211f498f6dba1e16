"""The drawing script: kept between runs, made again when damaged, made anyway when it cannot be kept."""

import base64
import gzip
from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from isthmus.report import vega


@pytest.fixture
def bundles(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """What was asked of vl-convert, which here gives a short script at once."""
    asked: list[str] = []

    def bundle(snippet: str) -> str:
        asked.append(snippet)
        return "const a = 1;"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return asked


def test_it_is_made_once(bundles: list[str]) -> None:
    first, second = vega.packed_script(), vega.packed_script()
    assert first == second
    assert gzip.decompress(base64.b64decode(first)).startswith(b"(()=>{const a = 1;")
    assert len(bundles) == 1


def test_a_damaged_copy_is_made_again(bundles: list[str], tmp_path: Path) -> None:
    whole = vega.packed_script()
    (kept,) = (tmp_path / "isthmus").rglob("vega-embed.js*")
    kept.write_text(kept.read_text()[:-5])
    assert vega.packed_script() == whole
    assert len(bundles) == 2
    (kept,) = (tmp_path / "isthmus").rglob("vega-embed.js*")
    kept.write_bytes(b"\xff\xfe")
    assert vega.packed_script() == whole


def test_a_script_that_was_planted_is_in_no_page(bundles: list[str], tmp_path: Path) -> None:
    """Under the name that older versions gave it, and under today's, with the hash of the right one."""
    whole = vega.packed_script()
    (kept,) = (tmp_path / "isthmus").rglob("vega-embed.js*")
    kept.write_text("steal()")
    (tmp_path / "isthmus" / f"vega-embed-{version('vl-convert-python')}.js").write_text(
        "steal()/* end of vega-embed */"
    )
    assert vega.packed_script() == whole


def test_scripts_of_a_folder_that_others_may_write_to_are_not_used(
    bundles: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = vega.packed_script()
    (tmp_path / "isthmus").chmod(0o777)
    assert vega.packed_script() == vega.packed_script() == whole
    assert len(bundles) == 3
    assert capsys.readouterr().err.count("others may write to it (its mode is 777)") == 1


def test_a_cache_that_cannot_be_written_costs_only_time(
    bundles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert vega.packed_script() == vega.packed_script()
    assert len(bundles) == 2


def test_a_relative_cache_is_ignored(bundles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    vega.packed_script()
    assert not (tmp_path / "here").exists()
    assert list((tmp_path / "home/.cache/isthmus").iterdir())
