"""What a notebook shows of a run, and what is concluded of it as data."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import isthmus
from isthmus import errors
from isthmus.errors import IsthmusError
from isthmus.notebook import MeasuredRun, open_run
from isthmus.report.check import CheckedDevice
from tests.synthetic import runs as synthetic

KEPT = Path(__file__).resolve().parents[3] / "results"


class Elements(HTMLParser):
    """Counts elements, each of which has to end."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def shown(run: MeasuredRun) -> Elements:
    parser = Elements()
    parser.feed(run._repr_html_())
    assert not parser.open
    return parser


def test_a_notebook_shows_the_first_screen() -> None:
    run = open_run(KEPT / "h200-all.json.gz")
    elements = shown(run)
    assert elements.seen.count("table") >= 2
    assert "script" not in elements.seen
    assert elements.seen[0] == "div", "its styles and all else are within one element"
    for text in ("NVIDIA H200", "pinned", "64 MiB"):
        assert text in elements.text.replace("\N{NO-BREAK SPACE}", " ")
        assert text in str(run)
    assert repr(run) == "<isthmus run 20261123T053253Z-355932: NVIDIA H200, 9471 cases, OK>"
    assert len(run) == 9471


def test_what_a_file_says_is_text() -> None:
    record = synthetic.run([], device=synthetic.gpu(name="<script>alert(1)</script>"))
    elements = shown(MeasuredRun(record))
    assert "script" not in elements.seen
    assert "<script>" in elements.text


def test_conclusions_are_data_with_a_version() -> None:
    run = open_run(KEPT / "h200-all.json.gz")
    data = run.conclusions()
    assert (data["format"], data["schema_version"], data["run"]) == ("isthmus.conclusions", 1, run.record.run)
    assert msgspec.convert(data["verdict"], CheckedDevice).level == run.level == "OK"
    assert data["findings"]
    for finding in data["findings"]:
        assert set(finding) == {"level", "topic", "text", "cause", "do"}
    assert msgspec.json.decode(msgspec.json.encode(data)) == data


def test_a_reference_is_chosen_by_name() -> None:
    path = KEPT / "h200-all.json.gz"
    assert open_run(path, reference="h100-pcie5").conclusions()["verdict"]["reference"] == "h100-pcie5"
    with pytest.raises(errors.IsthmusError):
        open_run(path, reference="nonesuch")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text("{}")
    with pytest.raises(errors.RunFileError):
        open_run(path)


def test_importing_stays_light_and_frames_need_nothing_of_ours() -> None:
    code = (
        "import sys, isthmus\n"
        "heavy = {'numpy', 'msgspec', 'jinja2', 'rich', 'isthmus.notebook', 'isthmus._native'}\n"
        "print(heavy & set(sys.modules)); isthmus.open_run\n"
        "print({'pyarrow', 'pandas', 'polars', 'typer', 'IPython'} & set(sys.modules))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\nset()\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"sizes": [4096, 0]}, "smallest transfer is 1 byte"),
        ({"sizes": [-5]}, "-5"),
        ({"seed": -1}, "seed is -1"),
        ({"seconds": 0.0}, "seconds is 0.0"),
        ({"seconds": float("inf")}, "seconds is inf"),
        ({"reference": "h200-pcie"}, "h200-pcie"),
    ],
)
def test_what_the_command_refuses_is_refused_before_anything_is_measured(
    words: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.machine.devices.open_device", None)
    with pytest.raises(IsthmusError, match=re.escape(said)):
        isthmus.measure("bandwidth", device="host", mode="quick", **words)


def test_sizes_of_numpy_are_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def chosen(_: object, options: Any) -> None:
        seen.extend(options.sizes)
        raise IsthmusError("enough")

    monkeypatch.setattr("isthmus.experiment.measure.choose_experiments", chosen)
    with pytest.raises(IsthmusError, match="enough"):
        isthmus.measure("bandwidth", sizes=np.array([1 << 20, 4096, 4096]))
    assert [type(size) for size in seen] == [int, int]
    assert seen == [4096, 1 << 20]
