"""What is said about overlap, on runs whose truth is known."""

from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.analysis.overlap.findings import findings as overlap_findings
from isthmus.analysis.overlap.findings import takeaway as overlap_takeaway
from isthmus.document.finding import Finding
from isthmus.record import Case, Run


def by_topic(run: Run) -> dict[str, Finding]:
    found = overlap_findings(run)
    topics = [finding.topic for finding in found]
    assert len(topics) == len(set(topics))
    return dict(zip(topics, found, strict=True))


def _way(case: Case) -> tuple[int | None, int | None] | None:
    return (case.pieces, case.streams) if case.method == "pipeline" else None


@pytest.fixture(scope="module")
def h200(synthetic: ModuleType, synthetic_overlap: ModuleType) -> Run:
    return synthetic.run(synthetic_overlap.h200_cases())  # type: ignore[no-any-return]


def test_a_run_without_overlap_says_nothing(synthetic: ModuleType) -> None:
    run = synthetic.h200()
    assert overlap_findings(run) == []
    assert overlap_takeaway(run) is None


def test_a_whole_run_says_what_gains_and_what_does_not(h200: Run) -> None:
    found = by_topic(h200)
    assert "32 chunks on 2 streams are 2.5 times" in found["overlap_pinned"].text
    assert "chunking gains nothing" in found["overlap_pageable"].text
    assert "blocks the thread" in found["overlap_pageable"].cause
    assert found["overlap_pageable"].cure == "Pin the memory, or stage it through a reusable pinned buffer."
    assert "on 4 threads" in found["overlap_staged"].text
    assert "of the ideal saving" in found["overlap_both_ways"].text
    assert "do not overlap" not in found["overlap_both_ways"].text


def test_a_size_that_one_memory_alone_has_is_told_beside_the_others(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    large, times = 4 * synthetic_overlap.SIZE, synthetic_overlap.PINNED
    four = replace(times, into=4 * times.into, work=4 * times.work, out=4 * times.out)
    made = [*synthetic_overlap.h200_cases(), *synthetic_overlap.cases("pinned", four, size=large)]
    found = by_topic(synthetic.run(made))
    assert found["overlap_pinned"].text.startswith("Pinned memory, 64 MiB")
    assert found[f"overlap_pinned_{large}"].text.startswith("Pinned memory, 256 MiB")
    assert f"overlap_staged_{large}" not in found


def test_the_verdict_names_the_best_pipelines(h200: Run) -> None:
    taken = overlap_takeaway(h200)
    assert isinstance(taken, Finding)
    assert taken.text.startswith("Pinned memory, 64 MiB, work 1x a copy: 32 chunks on 2 streams are 2.5 times")
    assert "Pageable memory, 64 MiB, work 1x a copy: chunking gains nothing." in taken.text
    assert taken.cure.startswith("Copy in, compute and copy out at the same time")
    assert taken.text in verdict([h200])


@pytest.mark.parametrize(
    ("truth", "words"), [({"work": 3.6e-3}, "work 3x a copy:"), ({"work": 1.2e-3}, "work 1x a copy:")]
)
def test_the_work_is_given_by_what_it_took(
    synthetic: ModuleType, synthetic_overlap: ModuleType, truth: dict[str, float], words: str
) -> None:
    run = synthetic.run(synthetic_overlap.cases("pageable", synthetic_overlap.Truth(**truth)))
    assert words in by_topic(run)["overlap_pageable"].text


def test_work_that_was_not_measured_alone_is_given_as_meant(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), ratio=3.0)
    run = synthetic.run([case for case in cases if case.method != "work_alone"])
    assert "work ≈3x a copy:" in by_topic(run)["overlap_pinned"].text


def test_chunks_that_only_cost_gain_nothing(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(overlaps=False, chunk=1e-3)))
    assert "chunking gains nothing. The best, 2 chunks on " in by_topic(run)["overlap_pinned"].text


def test_a_single_fast_pipeline_is_no_gain(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(overlaps=False))
    [fast] = [case for case in synthetic_overlap.cases("pinned", synthetic_overlap.Truth()) if _way(case) == (16, 4)]
    run = synthetic.run([*(case for case in cases if _way(case) != (16, 4)), fast])
    sentence = by_topic(run)["overlap_pinned"].text
    assert "unclear whether chunking gains 5 % or more. The best, 16 chunks on 4 streams, are 2.7" in sentence


@pytest.mark.parametrize(("engines", "severity"), [(1, "note"), (2, "ATTENTION")])
def test_directions_that_take_turns_need_attention_where_engines_would_not_make_them(
    synthetic: ModuleType, synthetic_overlap: ModuleType, engines: int, severity: str
) -> None:
    truth = synthetic_overlap.Truth(share=0.6)
    cases = [*synthetic_overlap.cases("pinned", truth), synthetic_overlap.both_ways("pinned", 2.38e-3)]
    run = synthetic.run(cases, device=synthetic.gpu(copy_engines=engines))
    finding = by_topic(run)["overlap_both_ways"]
    assert finding.level == severity
    assert "do not overlap" in finding.text
    assert finding.cause == ("One copy engine serves both directions." if engines == 1 else "")


def test_directions_that_slow_each_other_down_on_a_cpu_are_no_warning(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = [
        *synthetic_overlap.cases("pinned", synthetic_overlap.Truth(share=0.6)),
        synthetic_overlap.both_ways("pinned", 4e-3),
    ]
    finding = by_topic(synthetic.run(cases, device=synthetic.cpu_device()))["overlap_both_ways"]
    assert finding.level == "note"
    assert "do not overlap" in finding.text
    assert finding.cause == "The device is the CPU: what overlaps shares its cores."


def test_noise_is_called_so(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    truth = synthetic_overlap.Truth(overlaps=False, noise=0.3)
    run = synthetic.run(synthetic_overlap.cases("pinned", truth))
    sentence = by_topic(run)["overlap_pinned"].text
    assert "unclear whether chunking gains" in sentence
    assert overlap_takeaway(run) == Finding("note", "overlap", sentence)


@pytest.mark.parametrize("chunks", [(1,), (4, 16)])
def test_without_one_chunk_or_several_nothing_is_compared(
    synthetic: ModuleType, synthetic_overlap: ModuleType, chunks: tuple[int, ...]
) -> None:
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=chunks))
    assert "overlap_pinned" not in by_topic(run)


def test_copies_above_the_link_are_an_error(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    # 64 MiB in 0.5 ms are 134 GB/s.
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(into=0.5e-3)))
    assert "above_link" in {finding.topic for finding in findings(run) if finding.level == "FAULT"}


def test_a_timeline_alone_says_nothing(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run([msgspec.structs.replace(synthetic_overlap.traced(), spans=[])])
    assert overlap_findings(run) == []
