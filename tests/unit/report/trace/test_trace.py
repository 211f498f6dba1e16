"""Reports of a trace: figures, names, every format, texts that are hostile, and traces with nothing in them."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest

from isthmus.language import LANGUAGES, Language, speaking
from isthmus.report import formats_for, write
from isthmus.report.trace.document import trace_document
from isthmus.report.trace.lanes import lanes_of
from isthmus.report.trace.totals import activity_rows, call_rows, shares
from isthmus.trace import Calls, Copies, Intervals, Process, Trace, Windows, kernel_name
from tests.made_traces import FIRST_NS, KERNEL, MS, columns, empty_trace, made_advice, made_trace, row

TRACE_FORMATS = [each.name for each in formats_for("trace")]
HOSTILE = "</script><script>alert(1)</script>\x1b[31m"


def written(trace: Trace, format_name: str, **more: object) -> str:
    out = io.StringIO()
    write(trace_document(trace, **more), format_name, out)  # type: ignore[arg-type]
    return out.getvalue()


def test_rows_have_nvprofs_figures() -> None:
    rows = {row.name: row for row in activity_rows(made_trace())}
    pageable = rows["copy H2D pageable"]
    assert (pageable.calls, pageable.bytes, pageable.total_ns) == (2, 200_000_000, 20 * MS)
    assert (pageable.least_ns, pageable.most_ns, pageable.mean_ns) == (10 * MS, 10 * MS, 10 * MS)
    assert pageable.bytes_per_second == pytest.approx(10e9)
    guessed = made_trace()
    guessed.copies.estimated[0] = 1
    guessed.copies.end_ns[0] = guessed.copies.start_ns[0] + 1
    row = next(row for row in activity_rows(guessed) if row.name == "copy H2D pageable")
    assert row.bytes == 200_000_000
    assert row.bytes_per_second == pytest.approx(10e9)
    guessed.copies.estimated[:] = 1
    assert {row.bytes_per_second for row in activity_rows(guessed) if row.kind == "copy"} == {None}
    assert list(rows) == sorted(rows, key=lambda name: -rows[name].total_ns)
    assert {"copy H2D pinned", "copy D2H pinned", "migration H2D, by faults", "memset", "ns::saxpy"} <= set(rows)
    assert [(row.name, row.calls) for row in call_rows(made_trace())] == [("cudaMemcpy", 2)]


@pytest.mark.parametrize(
    ("full", "short"),
    [
        ("CUDA graph", "CUDA graph"),
        (KERNEL, "ns::saxpy"),
        ("cudnn_ampere_scudnn_128x64", "cudnn_ampere_scudnn_128x64"),
        ("void f<decltype(a->b)>(int)", "f"),
        ("void at::native::<unnamed>::k<4, g(T1)::[lambda(float)]>(int)", "at::native::k"),
        (
            "void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4>(float*)",
            "at::native::CatArrayBatchedCopy",
        ),
        ("std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int>(float)", "internal::gemvx::kernel"),
        ("<<<(((", "<<<((("),
        ("k" * 200, "k" * 79 + "…"),
    ],
)
def test_kernels_have_short_names(full: str, short: str) -> None:
    assert kernel_name(full) == short


def test_what_overlaps_on_a_stream_has_tracks_of_its_own() -> None:
    rows = [row(at, at + 3, process=0, device=0, bytes=1, migration=1, direction=0) for at in (0, 1, 2, 5)]
    trace = replace(made_trace(), copies=Copies.filled(**columns(rows)), kernels=Intervals.empty())
    spans = [each for each in json.loads(written(trace, "chrome"))["traceEvents"] if each.get("cat") == "copy"]
    ends: dict[int, float] = {}
    for span in spans:
        assert ends.get(span["tid"], 0) <= span["ts"]
        ends[span["tid"]] = span["ts"] + span["dur"]
    assert len(ends) == 3


@pytest.mark.parametrize("format_name", TRACE_FORMATS)
@pytest.mark.parametrize("trace", [empty_trace(), made_trace()], ids=["empty", "full"])
def test_every_format_writes_any_trace(format_name: str, trace: Trace) -> None:
    assert written(trace, format_name).endswith("\n") or format_name == "html"


@pytest.mark.parametrize("format_name", TRACE_FORMATS)
def test_hostile_texts_do_no_harm(format_name: str) -> None:
    trace = replace(
        made_trace(),
        names=(HOSTILE, HOSTILE),
        processes=(Process(1, HOSTILE), Process(2, HOSTILE)),
        devices={0: HOSTILE},
        sites=((HOSTILE,),),
        notes=(HOSTILE,),
    )
    text = written(trace, format_name)
    if format_name == "html":
        assert text.count("<script") == 2
        assert "<script>alert" not in text
    if format_name == "markdown":
        assert "<script" not in text.replace("\\<script", "")
    if format_name == "terminal":
        assert "\x1b" not in text
    if format_name in ("json", "chrome"):
        json.loads(text)


def test_numbers_that_point_nowhere_are_not_followed() -> None:
    trace, wild = made_trace(), np.full(5, 999)
    broken = replace(trace, names=(), copies=replace(trace.copies, call=wild, process=wild))
    for format_name in TRACE_FORMATS:
        assert written(broken, format_name)


@pytest.mark.parametrize("language", LANGUAGES)
def test_reports_speak_every_language(language: Language) -> None:
    with speaking(language):
        texts = [written(made_trace(), name, advice=made_advice()) for name in ("terminal", "markdown", "html")]
    assert {"en": "Transfers of", "ja": "の転送", "zh": "的传输"}[language] in "".join(texts)
    assert all("pageable memory" in text for text in texts)  # the advice's own words


def test_each_device_has_the_windows_of_its_own_processes() -> None:
    """Two ranks on a device each, both busy all the time; one rank's windows are the other's gaps."""
    begin, end = np.array([0, 50]) * MS, np.array([50, 100]) * MS
    kernels = [
        {"start_ns": 50 * each * MS, "end_ns": 50 * (each + 1) * MS, "process": each, "device": each} for each in (0, 1)
    ]
    trace = replace(
        made_trace(),
        copies=Copies.empty(),
        calls=Calls.filled(**columns([{"start_ns": 0, "end_ns": 100 * MS, "process": 0}])),
        kernels=Intervals.filled(**columns(kernels)),
        memsets=Intervals.empty(),
        windows=Windows(begin, end, process=np.array([0, 1]), launched_ns=begin),
    )
    assert [(each.computing_ns, each.idle_ns) for each in shares(trace)] == [(100 * MS, 0)] * 2


def test_kernels_of_windows_are_said_to_be_so_and_counted_for_the_whole_time() -> None:
    """The first half of the time was recorded, in which a kernel runs from 44 ms on."""
    trace = made_trace()
    begin, end = np.array([FIRST_NS]), np.array([FIRST_NS + 50 * MS])
    windowed = replace(trace, windows=Windows(begin, end, process=np.array([0]), launched_ns=begin))
    assert "Kernels were recorded in 1 windows, 50.0 % of the time" in written(windowed, "terminal").replace("\n", " ")
    idle = next(lane for lane in lanes_of(windowed).lanes if lane.name.endswith("Idle"))
    assert max(start + lasted for start, lasted in zip(idle.start, idle.lasted, strict=True)) <= 50 * MS
    recorded = json.loads(written(windowed, "json"))["kernels_recorded"]
    assert recorded == {"windows": 1, "recorded_ns": 50 * MS, "share": 0.5}
    assert "kernels_recorded" not in json.loads(written(trace, "json"))
    share = next(each for each in shares(windowed) if each.device == 0)
    # From 44 to 50 ms, and twice as much of the whole; copies are all known.
    assert (share.computing_ns, share.copying_ns, share.both_ns, share.idle_ns) == (12 * MS, 26 * MS, 2 * MS, 40 * MS)
