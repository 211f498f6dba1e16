"""Copies and kernels that run one after the other, though those of one chunk could run under those of another."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from isthmus.advice.code import own_code, way_code
from isthmus.advice.combining import gain_of
from isthmus.advice.places import place_of
from isthmus.advice.rates import Range, Rates, Seconds
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.rules.needless import round_trips
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import (
    LARGE_COPY_BYTES,
    LEAST_CYCLES,
    MOST_SINGLE_KERNELS,
    OVERLAP_BYTES,
    OVERLAP_SECONDS,
    SINGLE_CHUNKS,
)
from isthmus.analysis.overlap.pipeline import pipeline_model
from isthmus.language import say, sentences
from isthmus.plan import Unpriced
from isthmus.record import Direction, PipelineNeed, format_bytes, format_seconds
from isthmus.trace import Integers, direction_index, grouped, kernel_name, memory_index, union

_IN, _WORK, _OUT = range(3)
# Kinds of iterations that are looked at: those that copy longest.
_MOST_KINDS = 64
# 95 of 100 pipelines through pinned memory take no more than this factor more or less than is predicted of them
# (docs/statistics.md).
_MODEL_ERROR = 1.1
# Share of a loop's copies: both directions count, and only those to the device are tied.
_TIED_SHARE = 0.25
# In code: one for each stage, and one in reserve.
_STREAMS = 4


@dataclass(frozen=True)
class Pipeline:
    """Iterations of one kind, which could run at the same time, or the one whose copies can be cut into chunks."""

    rows: Integers
    # Seconds of all kernels, with the copies as they are, and of both at once: each moment counted once.
    work: float
    busy: float
    both: float
    # How many chunks pass through.
    chunks: int
    is_loop: bool


def pipelines(scene: Scene) -> list[Pipeline]:
    """Loops of copies and kernels, and single large copies with long kernels.

    An iteration ends where the device goes back to an earlier stage; those that move the same bytes are of one loop.
    """
    rows = scene.copies[scene.trace.copies.bytes[scene.copies] >= OVERLAP_BYTES]
    begin, end = scene.kernels
    if not rows.size or not begin.size:
        return []
    stage = np.where(scene.trace.copies.direction[rows] == direction_index("h2d"), _IN, _OUT)
    stages = np.concatenate([stage, np.full(begin.size, _WORK)])
    begins = np.concatenate([scene.device_begin(rows), begin])
    ends = np.concatenate([scene.device_end(rows), end])
    order = np.argsort(begins, kind="stable")
    stages, begins, ends = stages[order], begins[order], ends[order]
    iteration = np.concatenate([[0], np.cumsum(stages[1:] < stages[:-1])])
    row_of = np.concatenate([rows, np.full(begin.size, -1)])[order]
    sizes = np.where(row_of >= 0, scene.trace.copies.bytes[np.maximum(row_of, 0)], 0)
    moved = [np.bincount(iteration, np.where(stages == each, sizes, 0)).astype(np.int64) for each in (_IN, _OUT)]
    work = np.bincount(iteration, np.where(stages == _WORK, ends - begins, 0.0))
    copied = np.bincount(iteration, np.where(stages != _WORK, ends - begins, 0.0))
    largest = np.zeros(work.size, np.int64)
    np.maximum.at(largest, iteration, sizes)
    is_large = (largest >= LARGE_COPY_BYTES) & (np.minimum(copied, work) >= OVERLAP_SECONDS)
    is_large &= np.bincount(iteration, stages == _WORK) <= MOST_SINGLE_KERNELS
    # Copies of a size that comes again and again belong to a loop whose iterations were not recognised.
    distinct, counts = np.unique(sizes[row_of >= 0], return_counts=True)
    is_large &= ~np.isin(largest, distinct[counts > 2 * LEAST_CYCLES])
    usable = np.flatnonzero((work > 0) & (copied > 0))
    kinds = [usable[group] for group in grouped(moved[0][usable], moved[1][usable])]
    kinds = [same_kind for same_kind in kinds if same_kind.size >= LEAST_CYCLES or is_large[same_kind].all()]
    all_pipelines = []
    for same_kind in sorted(kinds, key=lambda kind: -float(copied[kind].sum()))[:_MOST_KINDS]:
        members = np.isin(iteration, same_kind)
        is_loop = same_kind.size >= LEAST_CYCLES
        chunks = int(same_kind.size) if is_loop else SINGLE_CHUNKS * int(same_kind.size)
        copies = row_of[members & (row_of >= 0)]
        all_pipelines.append(
            Pipeline(copies, *_times(stages[members], begins[members], ends[members]), chunks, is_loop)
        )
    return all_pipelines


def _times(stages: Integers, begins: Seconds, ends: Seconds) -> tuple[float, float, float]:
    of_work = stages == _WORK
    work, copied = (union(begins[mask], ends[mask]).length for mask in (of_work, ~of_work))
    busy = union(begins, ends).length
    return work, busy, work + copied - busy


def _find(scene: Scene, rates: Rates) -> Draft | None:
    ranked: list[tuple[float, Pipeline]] = []
    gains = []
    candidates = pipelines(scene)
    tied = _tied(scene, rates) if candidates else np.zeros(0, np.int64)
    for pipeline in candidates:
        pageable = scene.host_kind(pipeline.rows) == memory_index("pageable")
        if scene.other is not None and pageable.any():
            raise Unpriced(say("advice.overlap_elsewhere"))
        # What an iteration begins with is what the one before it ended with.
        if np.isin(pipeline.rows, tied).mean() > _TIED_SHARE:
            continue
        stages = {direction: _stage(scene, rates, pipeline, direction) for direction in ONE_WAY}
        gain = _gain(scene, rates, pipeline, stages)
        if gain[0] <= 0:
            continue
        lasted = scene.device_end(pipeline.rows) - scene.device_begin(pipeline.rows)
        ranked.append((float(gain[0]), pipeline))
        gains.append(lasted[:, np.newaxis] / lasted.sum() * gain)
    if not ranked:
        return None
    rows = np.concatenate([pipeline.rows for _, pipeline in ranked])
    draft = Draft("copies", rows, np.concatenate(gains))
    if gain_of(scene, draft).median <= 0:
        # They alternate here and there, and nothing would end sooner.
        return None
    longest = max(ranked, key=lambda each: each[0])[1]
    alike = [pipeline for _, pipeline in ranked if pipeline.is_loop == longest.is_loop]
    # The kernel that the process spends most time in; empty where there is none.
    kernels, names = scene.trace.kernels, scene.trace.names
    mine = (kernels.process == scene.process) & (kernels.name >= 0)
    spent = np.bincount(kernels.name[mine], kernels.lasted_ns[mine].clip(0), len(names))
    facts: dict[str, Any] = {
        "loop": longest.is_loop,
        "iterations": sum(pipeline.chunks for pipeline in alike),
        "work": sum(pipeline.work for pipeline in alike),
        "both": sum(pipeline.both for pipeline in alike),
        "copied": sum(_measured(scene, pipeline) for pipeline in alike),
        "pageable": bool((scene.host_kind(longest.rows) == memory_index("pageable")).any()),
        "bytes": int(scene.trace.copies.bytes[longest.rows].max()),
        "place": place_of(scene, longest.rows),
        "kernel": (kernel_name(names[int(spent.argmax())]) if mine.any() else ""),
    }
    return replace(draft, facts=facts)


def _tied(scene: Scene, rates: Rates) -> Integers:
    """Copies that only bring back what the iteration before them had sent away."""
    if scene.trace.knows.isdisjoint(("addresses", "contents")):
        return np.zeros(0, np.int64)
    return round_trips(scene, rates)[1]


def _measured(scene: Scene, pipeline: Pipeline) -> float:
    return float((scene.device_end(pipeline.rows) - scene.device_begin(pipeline.rows)).sum())


def _stage(scene: Scene, rates: Rates, pipeline: Pipeline, direction: Direction) -> Range:
    """Seconds of all copies of one direction, those of pageable memory as if it were pinned."""
    rows = pipeline.rows[scene.trace.copies.direction[pipeline.rows] == direction_index(direction)]
    lasted = scene.device_end(rows) - scene.device_begin(rows)
    seconds = np.repeat(lasted[:, np.newaxis], 3, axis=1)
    pageable = scene.host_kind(rows) == memory_index("pageable")
    if pageable.any():
        pinned = rates.copy("pinned", direction, scene.trace.copies.bytes[rows[pageable]])
        seconds[pageable] = np.minimum(pinned, seconds[pageable])
    total: Range = seconds.sum(axis=0)
    return total


def _gain(scene: Scene, rates: Rates, pipeline: Pipeline, stages: Mapping[Direction, Range]) -> Range:
    """What the longest of the three stages leaves of all of them, once the pipeline is filled and drained.

    van Werkhoven et al. 2014 (doi 10.1109/CCGrid.2014.16): the maximum of copies in, work, and copies out. Where both
    directions run at once, each takes as much longer as the run measured.
    """
    into, out = stages["h2d"], stages["d2h"]
    work = np.full(3, pipeline.work)
    copied = into + out
    serial = pipeline.busy - _measured(scene, pipeline) + copied
    model = pipeline_model(rates.run, "pinned")
    slower = np.zeros(3)
    if model is not None and model.both is not None and into[0] > 0 and out[0] > 0:
        chunk = float(scene.trace.copies.bytes[pipeline.rows].mean())
        share = [
            float(model.both.added(direction, chunk)[0] / model.both.alone[direction].draws(chunk)[0])
            for direction in ONE_WAY
        ]
        slower = max(share) * np.minimum(into, out)
    longest = np.max([into + slower * (into > 0), work, out + slower * (out > 0)], axis=0)
    fill = (into + work + out - np.max([into, work, out], axis=0)) / pipeline.chunks
    # However it errs, nothing ends before its longest stage.
    new = np.maximum((longest + fill) * [1.0, 1 / _MODEL_ERROR, _MODEL_ERROR], longest)
    gain: Range = serial - new[[0, 2, 1]]
    return gain


def _words(summary: Summary) -> Words:
    facts = summary.facts
    copied, work = format_seconds(facts["copied"]), format_seconds(facts["work"])
    if facts["loop"]:
        both = format_seconds(round(facts["both"], 9))
        cause = say("advice.overlap_loop", count=facts["iterations"], copied=copied, work=work, both=both)
        change, code = say("advice.overlap_iterations"), own_code("overlap", summary.interface)
    else:
        cause = say("advice.overlap_single", size=format_bytes(facts["bytes"]), copied=copied, work=work)
        need, options = PipelineNeed(facts["bytes"], facts["work"]), {"chunks": SINGLE_CHUNKS, "streams": _STREAMS}
        change = say("advice.overlap_chunks")
        code = way_code(need, "pinned_pipeline", summary.interface, options)
    pin = say("advice.overlap_pin") if facts["pageable"] else ""
    if facts["place"] and facts["kernel"]:
        what = say("advice.overlap_what", place=facts["place"], kernel=facts["kernel"])
        cause = sentences([cause, what])
    return Words(
        say("advice.overlap_title"), cause, sentences([pin, change]), say("advice.overlap_pricing"), code, "overlap"
    )


RULE = Rule(
    "no-overlap",
    (("kernels",),),
    _find,
    _words,
    beyond=frozenset({"pageable"}),
    by_trace=True,
    windows="each",
    totals=frozenset({"iterations", "work", "both", "copied"}),
)
