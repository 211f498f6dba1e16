"""What is said about overlap, on runs whose truth is known."""

from dataclasses import replace
from types import ModuleType

import msgspec
import pytest

from isthmus.analysis.conclusions import findings, verdict
from isthmus.analysis.overlap import limit_findings as overlap_limit_findings
from isthmus.analysis.overlap.chunks import ChunkCost
from isthmus.analysis.overlap.findings import overlap_findings, overlap_verdict
from isthmus.document.finding import Finding, Takeaway
from isthmus.record import Case, Interval, Run


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
    assert overlap_verdict(run) is None


def test_a_whole_run_says_what_gains_and_what_does_not(h200: Run) -> None:
    found = by_topic(h200)
    assert "times as fast as one stage after the other (3.60 ms), and reach 89 %" in found["overlap_pinned"].sentence
    assert "slow each other down" in found["overlap_pinned"].cause
    assert "chunks and streams gain nothing" in found["overlap_pageable"].sentence
    assert "occupies the thread" in found["overlap_pageable"].cause
    assert "staged pageable memory takes 2.0" in found["overlap_pageable"].fix
    assert "on 4 threads" in found["overlap_staged"].sentence
    assert "both directions run at once" in found["overlap_both_ways"].sentence
    assert "names 3 copy engines" in found["overlap_both_ways"].sentence
    assert "Each further chunk costs" in found["overlap_chunk_cost"].sentence
    assert "2.51 times with 1" in found["overlap_work"].sentence
    assert found["overlap_work"].fix.endswith("work that takes as long as a copy of pinned memory.")
    assert "overlap_above_bound" not in found


def test_a_size_that_one_memory_alone_has_is_told_beside_the_others(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    large, times = 4 * synthetic_overlap.SIZE, synthetic_overlap.PINNED
    four = replace(times, into=4 * times.into, work=4 * times.work, out=4 * times.out)
    made = [*synthetic_overlap.h200_cases(), *synthetic_overlap.cases("pinned", four, size=large)]
    found = by_topic(synthetic.run(made))
    assert found["overlap_pinned"].sentence.startswith("Pinned memory, 64 MiB")
    assert found[f"overlap_pinned_{large}"].sentence.startswith("Pinned memory, 256 MiB")
    assert "staged pageable memory takes 2.0" in found["overlap_pageable"].fix
    assert f"overlap_staged_{large}" not in found


def test_the_verdict_names_the_best_pipelines(h200: Run) -> None:
    taken = overlap_verdict(h200)
    assert isinstance(taken, Takeaway)
    text = taken.does
    assert text.startswith("Pinned memory in 32 chunks on 2 streams is 2.51 times as fast")
    assert "Pageable memory gains nothing from chunks and streams" in text
    assert taken.advice == "Copy in, compute and copy out at once, in a few chunks on several streams."
    assert text in verdict([h200])


def test_the_verdict_names_together_what_has_one_answer(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = [
        *synthetic_overlap.cases("pinned", synthetic_overlap.PAGEABLE),
        *synthetic_overlap.cases("pageable", synthetic_overlap.PAGEABLE),
        *synthetic_overlap.cases("staged", synthetic_overlap.Truth(overlaps=False, noise=0.3)),
    ]
    assert overlap_verdict(synthetic.run(cases)) == Takeaway(
        "Pinned memory and pageable memory gain nothing from chunks and streams. Whether staged pageable memory gains "
        "5 % or more from chunks and streams, this run cannot tell."
    )


def test_the_comparison_starts_from_what_programs_do_first(h200: Run) -> None:
    sentence = by_topic(h200)["overlap_memory"].sentence
    assert sentence.startswith(
        "Pageable memory in one piece, 64 MiB with work that takes as long as a copy of pinned memory, takes 14.2"
    )
    assert "pinned memory 1.43 ms (9.9 times as fast)" in sentence


def test_the_work_is_told_by_what_it_took(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = [
        *synthetic_overlap.cases("pinned", synthetic_overlap.Truth(out=1.5e-3, work=10.8e-3), ratio=10.0),
        *synthetic_overlap.cases("pageable", synthetic_overlap.Truth(into=8e-3, work=10.8e-3), ratio=10.0),
    ]
    found = by_topic(synthetic.run(cases))
    words = "work that takes 7.2 times as long as a copy of pinned memory"
    assert all(words in found[topic].sentence for topic in ("overlap_pinned", "overlap_pageable", "overlap_memory"))


def test_without_pinned_memory_the_other_kind_is_named(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = synthetic_overlap.cases("pageable", synthetic_overlap.Truth(work=3.6e-3))
    sentence = by_topic(synthetic.run(cases))["overlap_pageable"].sentence
    assert "work that takes 3 times as long as a copy of pageable memory:" in sentence


def test_work_that_was_not_measured_alone_is_told_as_meant(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), ratio=3.0)
    run = synthetic.run([case for case in cases if case.method != "work_alone"])
    assert "work that was meant to take 3 times as long as a copy:" in by_topic(run)["overlap_pinned"].sentence


@pytest.mark.parametrize(
    ("stage", "noise", "told"),
    [
        (1.6e-3, 0.002, "(slower: "),
        (1.2e-3, 0.002, "(no faster)"),
        (0.9e-3, 0.002, "(1.33 to 1.34 times as fast)"),
        (1.18e-3, 0.2, "(whether faster, this run cannot tell)"),
    ],
)
def test_what_is_slower_for_certain_is_called_so(
    synthetic: ModuleType, synthetic_overlap: ModuleType, stage: float, noise: float, told: str
) -> None:
    plain = synthetic_overlap.Truth(noise=noise)
    pinned = synthetic_overlap.Truth(into=stage, work=stage, out=stage, overlaps=False, noise=noise)
    cases = [*synthetic_overlap.cases("pageable", plain), *synthetic_overlap.cases("pinned", pinned, seed=5)]
    assert told in by_topic(synthetic.run(cases))["overlap_memory"].sentence


def test_chunks_that_only_cost_lose(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(overlaps=False, chunk=1e-3)))
    assert "chunks and streams lose; even the best, 2 chunks on " in by_topic(run)["overlap_pinned"].sentence
    assert overlap_verdict(run) == Takeaway("Pinned memory loses by chunks and streams.")


def test_a_single_fast_pipeline_is_no_gain_and_not_unknown_either(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(overlaps=False))
    [fast] = [case for case in synthetic_overlap.cases("pinned", synthetic_overlap.Truth()) if _way(case) == (16, 4)]
    run = synthetic.run([*(case for case in cases if _way(case) != (16, 4)), fast])
    sentence = by_topic(run)["overlap_pinned"].sentence
    assert "only one of the 21 pipelines of several chunks is faster by 5 % or more for certain" in sentence
    assert "16 chunks on 4 streams are 2.6" in sentence


def test_a_gain_that_may_be_too_small_is_still_a_gain(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    # One stage after the other takes 3.6 ms, 16 chunks 3.43 ms.
    truth = synthetic_overlap.Truth(share=0.394)
    run = synthetic.run(synthetic_overlap.cases("pinned", truth, chunks=(1, 16), streams=(4,)))
    assert "chunks and streams gain, but whether as much as 5 %" in by_topic(run)["overlap_pinned"].sentence


@pytest.mark.parametrize(
    ("ideal", "told"),
    [
        (Interval(30, 20, 45), "from about 30 (20 to 45) chunks on that is more"),
        (Interval(50, 20, 90), "from about 50 (20 to more than 64) chunks on"),
        (Interval(90, 40, 200), "from how many chunks on that is more than a finer pipeline saves, up to 64 cannot"),
        (Interval(1000, 300, 3000), "up to 64, the most measured, that is not more"),
        (Interval(0.4, 0.1, 0.9), "with 2 chunks already that is more"),
    ],
)
def test_nothing_is_said_of_chunks_beyond_those_measured(
    h200: Run, monkeypatch: pytest.MonkeyPatch, ideal: Interval, told: str
) -> None:
    cost = ChunkCost(4, (2, 4, 8, 16, 32, 64), Interval(2e-6, 1e-6, 3e-6), ideal)
    monkeypatch.setattr(overlap_limit_findings, "chunk_cost", lambda _: cost)
    sentence = by_topic(h200)["overlap_chunk_cost"].sentence
    assert "costs 2.00 us (1.00 us to 3.00 us) on 4 streams" in sentence
    assert told in sentence


def test_copies_that_do_not_slow_each_other_down_are_no_cause(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = [
        *synthetic_overlap.cases("pinned", synthetic_overlap.PINNED),
        synthetic_overlap.both_ways("pinned", 1.3e-3),
    ]
    assert by_topic(synthetic.run(cases))["overlap_pinned"].cause == ""


def test_directions_that_take_turns_are_a_warning(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    truth = synthetic_overlap.Truth(share=0.6)
    cases = [*synthetic_overlap.cases("pinned", truth), synthetic_overlap.both_ways("pinned", 2.38e-3)]
    run = synthetic.run(cases, device=synthetic.gpu(copy_engines=1))
    finding = by_topic(run)["overlap_both_ways"]
    assert finding.severity == "warning"
    assert "take turns" in finding.sentence
    assert finding.cause == "A single copy engine serves both directions."


def test_directions_that_hinder_each_other_on_a_processor_are_none(
    synthetic: ModuleType, synthetic_overlap: ModuleType
) -> None:
    cases = [
        *synthetic_overlap.cases("pinned", synthetic_overlap.Truth(share=0.6)),
        synthetic_overlap.both_ways("pinned", 4e-3),
    ]
    finding = by_topic(synthetic.run(cases, device=synthetic.cpu_device()))["overlap_both_ways"]
    assert finding.severity == "info"
    assert "hinder each other" in finding.sentence
    assert "The processor makes the copies" in finding.cause


def test_a_share_above_one_is_explained(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    cases = synthetic_overlap.cases("pinned", synthetic_overlap.Truth(share=1.2))
    on_gpu = by_topic(synthetic.run(cases))["overlap_above_bound"]
    on_cpu = by_topic(synthetic.run(cases, device=synthetic.cpu_device()))["overlap_above_bound"]
    assert on_gpu.sentence == on_cpu.sentence
    assert "of 22 pipelines are faster than their bound" in on_gpu.sentence
    assert "the run cannot tell" in on_gpu.cause
    assert "processor's caches" in on_cpu.cause


def test_noise_is_called_so(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    truth = synthetic_overlap.Truth(overlaps=False, noise=0.3)
    run = synthetic.run(synthetic_overlap.cases("pinned", truth))
    assert "this run cannot tell whether chunks and streams gain" in by_topic(run)["overlap_pinned"].sentence
    assert overlap_verdict(run) == Takeaway(
        "Whether pinned memory gains 5 % or more from chunks and streams, this run cannot tell."
    )


def test_one_chunk_alone_is_no_comparison(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(1,)))
    assert "several chunks were not measured" in by_topic(run)["overlap_pinned"].sentence
    assert overlap_verdict(run) is None


def test_many_chunks_alone_are_none_either(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(), chunks=(4, 16)))
    assert "one chunk was not measured" in by_topic(run)["overlap_pinned"].sentence


def test_copies_above_the_link_are_an_error(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    # 64 MiB in 0.5 ms are 134 GB/s.
    run = synthetic.run(synthetic_overlap.cases("pinned", synthetic_overlap.Truth(into=0.5e-3)))
    assert "above_link" in {finding.topic for finding in findings(run) if finding.severity == "error"}


def test_a_timeline_alone_says_nothing(synthetic: ModuleType, synthetic_overlap: ModuleType) -> None:
    run = synthetic.run([msgspec.structs.replace(synthetic_overlap.traced(), spans=[])])
    assert overlap_findings(run) == []
