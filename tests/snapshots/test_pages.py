"""Pages: their elements and texts, and what their script unpacks, which draws the charts."""

import base64
import gzip
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from isthmus.compare import compare
from isthmus.document.document import Document
from isthmus.fleet import survey
from isthmus.record import GIB, KIB, MIB, Case, Run
from isthmus.report.advice import advice_document
from isthmus.report.comparison.document import comparison_document
from isthmus.report.fleet.document import fleet_document
from isthmus.report.runs import runs_document
from isthmus.report.trace.document import trace_document
from tests.made_traces import made_advice, made_trace
from tests.snapshots.documents import abridged, in_format
from tests.synthetic import batching, fleet, overlap, runs

PINNED: runs.Key = ("copy", "h2d", "pinned")
_SCRIPT = re.compile(r"(<script[^>]*>)(.*?)(</script>)", re.DOTALL)
_STYLE = re.compile(r"(<style[^>]*>).*?(</style>)", re.DOTALL)


def _slow_hosts(folder: Path) -> Document:
    slow = {(2, 3): fleet.by_link(2.0), (4, 0): fleet.together_only(1.6)}
    made = fleet.save_hosts(folder / "hosts", 5, slow, devices=4)
    fleet.save(fleet.fleet([fleet.member("n9", 0)]), made / "n9.json")
    return fleet_document(survey([made]))


def _compared() -> Document:
    whole, half = (runs.run(runs.cases({PINNED: runs.Truth(8e-6, rate)}, [KIB, MIB, GIB])) for rate in (50e9, 25e9))
    return comparison_document(compare(whole, half))


def _pieces() -> list[Case]:
    return batching.cases(
        {"copies": batching.Cost(0, 2e-6, 5e10), "pack": batching.Cost(1e-5, 1e-7, 5e10)}, [64, KIB], [16, 256]
    )


def _charts() -> Run:
    """Curves with a link and what failed, tiles and a timeline."""
    pinned = runs.cases({("copy", "h2d", "pinned"): runs.Truth(8e-6, 50e9)}, [64 * KIB, MIB, 16 * MIB])
    pinned[1] = replace(pinned[1], verified="no", note="byte 7: 0x00, expected 0x2a")
    return runs.run([*pinned, *_pieces(), overlap.traced(chunks=2)])


PAGES: Mapping[str, Callable[[Path], Document]] = {
    "charts": lambda _: runs_document([_charts()]),
    "two": lambda _: runs_document([_charts(), runs.run([], device=runs.cpu_device(), end=None)]),
    "healthy": lambda _: runs_document([runs.run(runs.cases({PINNED: runs.Truth(8e-6, 50e9)}, [KIB, MIB, GIB]))]),
    "pieces": lambda _: runs_document([runs.run(_pieces())]),
    "comparison": lambda _: _compared(),
    "trace": lambda _: trace_document(made_trace(), made_advice()),
    "advice": lambda _: advice_document(made_advice(), [made_trace()]),
    "fleet": _slow_hosts,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name: str, tmp_path: Path, text_file: SnapshotAssertion, json_file: SnapshotAssertion) -> None:
    packed: list[str] = []

    def take(script: re.Match[str]) -> str:
        begin, content, end = script.groups()
        if "octet-stream" in begin and 'id="library"' not in begin:
            packed.append(gzip.decompress(base64.b64decode(content)).decode())
        return f"{begin}{end}"

    text = _SCRIPT.sub(take, _STYLE.sub(r"\1\2", in_format(PAGES[name](tmp_path), "html")))
    lines = (line.strip() for line in re.sub(r"(?=<(?!/))", "\n", text).splitlines())
    assert "".join(f"{line}\n" for line in lines if line) == text_file
    assert abridged(json.dumps([json.loads(each) for each in packed])) == json_file
