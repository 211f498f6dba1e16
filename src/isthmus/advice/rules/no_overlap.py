"""Copies and kernels that run one after the other, though those of one chunk could run under those of another."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from isthmus.advice.code import own_code, way_code
from isthmus.advice.combining import gain_of
from isthmus.advice.cycles import Pipeline, pipelines
from isthmus.advice.places import place_of
from isthmus.advice.rates import Range, Rates
from isthmus.advice.records import ONE_WAY
from isthmus.advice.rule import Draft, Rule, Summary, Words
from isthmus.advice.rules.needless import round_trips
from isthmus.advice.scene import Scene
from isthmus.advice.thresholds import SINGLE_CHUNKS
from isthmus.analysis.overlap.pipeline import pipeline_model
from isthmus.language import say, sentences
from isthmus.plan import Unpriced
from isthmus.record import Direction, PipelineNeed, format_bytes, format_seconds
from isthmus.trace import Integers, direction_index, kernel_name, memory_index

# 95 of 100 pipelines through pinned memory take no more than this factor more or less than is predicted of them
# (docs/statistics.md).
_MODEL_ERROR = 1.1
# Share of a loop's copies: both directions count, and only those to the device are tied.
_TIED_SHARE = 0.25
# In code: one for each stage, and one in reserve.
_STREAMS = 4


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
    facts: dict[str, Any] = {
        "loop": longest.is_loop,
        "iterations": sum(pipeline.chunks for pipeline in alike),
        "work": sum(pipeline.work for pipeline in alike),
        "both": sum(pipeline.both for pipeline in alike),
        "copied": sum(_measured(scene, pipeline) for pipeline in alike),
        "pageable": bool((scene.host_kind(longest.rows) == memory_index("pageable")).any()),
        "bytes": int(scene.trace.copies.bytes[longest.rows].max()),
        "place": place_of(scene, longest.rows),
        "kernel": _longest_kernel(scene),
    }
    return replace(draft, facts=facts)


def _longest_kernel(scene: Scene) -> str:
    """The kernel that the process spends most time in; empty where there is none."""
    kernels, names = scene.trace.kernels, scene.trace.names
    mine = (kernels.process == scene.process) & (kernels.name >= 0)
    spent = np.bincount(kernels.name[mine], kernels.lasted_ns[mine].clip(0), len(names))
    return kernel_name(names[int(spent.argmax())]) if mine.any() else ""


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
