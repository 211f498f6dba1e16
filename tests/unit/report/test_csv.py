"""The tidy table: columns in their frozen order, every case and metric a row."""

import csv
import io
from collections.abc import Callable

import pytest

from tests.synthetic import runs as synthetic

# Written out and not imported: scripts of others rely on this order, so a change must fail here.
FROZEN = (
    "run,backend,device,experiment,method,direction,host_memory,bytes,threads,streams,pieces,width_bytes,rows,"
    "pitch_bytes,stride_bytes,fraction,metric,unit,median,ci_low,ci_high,samples,verified,note"
)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_columns_keep_their_order(rendered: Callable[..., str]) -> None:
    header = rendered("csv", synthetic.run([])).splitlines()[0]
    assert header == FROZEN or header.startswith(f"{FROZEN},")


def test_every_case_and_metric_is_a_row(rendered: Callable[..., str]) -> None:
    run = synthetic.h200()
    lines = table(rendered("csv", run))
    assert len(lines) == sum(max(len(case.series), 1) for case in run.cases)
    assert {line["metric"] for line in lines} == {"host_seconds", "device_seconds", "enqueue_seconds"}
    assert {line["unit"] for line in lines} == {"s"}


def test_a_skip_is_a_row_with_its_reason(rendered: Callable[..., str]) -> None:
    reason = 'needs "4 GiB", has 3\nand a half'
    (line,) = table(rendered("csv", synthetic.run(synthetic.skips(("copy", "h2d", "pinned"), [1], reason))))
    assert (line["samples"], line["note"], line["median"]) == ("0", reason, "")


def test_medians_and_intervals_are_those_of_the_samples(rendered: Callable[..., str]) -> None:
    cases = synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}, [1 << 20], samples=11)
    ordered = sorted(cases[0].samples("host_seconds"))
    line = table(rendered("csv", synthetic.run(cases)))[0]
    # Of 11 samples the 2nd and the 10th hold the median with 98.8 %, the 3rd and the 9th only with 93.5 %.
    found = [float(line[name]) for name in ("median", "ci_low", "ci_high")]
    assert found == pytest.approx([ordered[5], ordered[1], ordered[9]], rel=1e-8)
