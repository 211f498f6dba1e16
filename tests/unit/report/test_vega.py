"""The script that draws a page's charts, as the build put it into the package."""

import base64
import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from isthmus.errors import Unsupported
from isthmus.installing import installed_file
from isthmus.report import vega

SCRIPT = Path(__file__).parents[3] / "scripts/make_page_script.py"


def test_it_leaves_one_name_behind() -> None:
    script = gzip.decompress(base64.b64decode(vega.packed_script())).decode()
    assert script.startswith("(()=>{")
    assert script.endswith("})();")
    assert "window.vegaEmbed" in script


def test_the_build_makes_the_same_again(tmp_path: Path) -> None:
    """It holds neither time nor place: a wheel that is built twice is one wheel."""
    subprocess.run([sys.executable, SCRIPT, tmp_path / "a.js"], check=True)
    assert (tmp_path / "a.js").read_bytes() == installed_file("vega-embed.js.gz.base64").read_bytes()


def test_a_package_without_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Found:
        submodule_search_locations = (str(tmp_path),)

    monkeypatch.setattr("isthmus.installing.find_spec", lambda _: Found)
    with pytest.raises(Unsupported, match=f"no vega-embed.js.gz.base64 in {tmp_path}; install the package anew"):
        vega.packed_script.__wrapped__()
