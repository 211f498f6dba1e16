"""What a plan says: the fastest way and its time, which is level with it, and when none can be named."""

import re
from dataclasses import replace

import numpy as np
import pytest

from isthmus.analysis.statistics.resample import DRAWS
from isthmus.language import LANGUAGES, Language, speaking
from isthmus.plan import Method, Plan, answer_words, basis_words, need_words, way_words, worth_words
from isthmus.record import MIB, BufferNeed, Interval, ManagedNeed, Need, PipelineNeed, SectionNeed, Timed
from isthmus.report.plan import plan_document


def sure(seconds: float) -> Interval:
    return Interval(seconds, seconds * 0.99, seconds * 1.01)


def said(uses: int, *ways: Method) -> str:
    return answer_words(Plan(BufferNeed(MIB, "h2d", uses), tuple(sorted(ways, key=lambda each: each.seconds.median))))


def test_ways_are_level_where_the_draws_of_their_ratio_say_so() -> None:
    random = np.random.default_rng(1)
    shared = random.lognormal(0.0, 0.3, 1 + DRAWS)
    shared[0] = 1.0
    wide = Interval(1.0, 0.5, 2.0)
    one = Method("registered", wide, draws=shared)
    # Always a tenth slower, though the intervals are almost the same.
    slower = Method("pageable", wide._replace(median=1.1), draws=1.1 * shared)
    own = random.lognormal(0.0, 0.3, 1 + DRAWS)
    own[0] = 1.0
    level = Method("pageable", wide._replace(median=1.1), draws=1.1 * own)
    assert "1.10x faster than the driver's copy" in said(1, one, slower)
    assert "Tied within noise: the driver's copy" in said(1, one, level)


def test_the_answer_has_the_time_of_a_use_and_of_all() -> None:
    text = said(100, Method("isthmus", sure(1.0)), Method("pageable", sure(5.0)))
    assert text.startswith("isthmus.copy: 10.0 ms (9.90 ms to 10.1 ms) a use, 1.00 s in all.")
    assert "5.0x faster than the driver's copy" in text


@pytest.mark.parametrize(
    ("cpu", "words"),
    [
        (20e-3, "Move it: 8.00 ms with its copies, 20.0 ms on the CPU (2.5 times as fast)."),
        (8e-3, "Whether to move it is within noise: 8.00 ms with its copies, 8.00 ms on the CPU."),
        (5e-3, "Leave it on the CPU: 5.00 ms there, 8.00 ms with its copies, 3.00 ms of it for them."),
    ],
)
def test_work_moves_where_it_is_faster_with_its_copies(cpu: float, words: str) -> None:
    """Also a kernel that gains nothing is answered: it takes 5 ms on either side."""
    need = PipelineNeed(64 * MIB, 5e-3, cpu_seconds=cpu)
    plan = Plan(need, (Method("pinned", sure(8e-3)),))
    assert worth_words(plan).startswith(words)
    assert worth_words(Plan(PipelineNeed(64 * MIB, 5e-3), plan.methods)) == ""
    assert worth_words(Plan(need, ())) == ""


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_was_measured_instead_is_part_of_a_sentence(language: Language) -> None:
    need = SectionNeed(30720, 8, 4096)
    plan = Plan(replace(need, pitch_bytes=1 << 18), (), timed=Timed(need, (), {}, 3.5))
    with speaking(language):
        text = basis_words(plan)
    assert not re.search(r"[.。][;；,，、をに]", text)
    assert text.endswith((".", "。"))


def test_nothing_is_called_the_fastest_while_a_rival_has_no_time() -> None:
    plan = Plan(BufferNeed(MIB), (Method("pageable", sure(1.0)),), {}, {"isthmus": "not measured"})
    assert plan.fastest is None
    assert answer_words(plan).endswith("the fastest of those predicted.")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "need", [BufferNeed(MIB), BufferNeed(MIB, uses=7), ManagedNeed(MIB, 0.25), ManagedNeed(MIB, stride_bytes=4096)]
)
def test_needs_are_described_in_every_language(language: str, need: Need) -> None:
    with speaking(language):  # type: ignore[arg-type]
        text = need_words(need)
    assert "1 MiB" in text
    assert "{" not in text


def test_a_new_kind_of_memory_needs_no_words_of_its_own() -> None:
    assert way_words(BufferNeed(MIB, source="new"), "pinned_portable") == "portable pinned memory"
    assert way_words(BufferNeed(MIB, source="pinned"), "by_light") == "by_light"


def test_factors_are_against_the_fastest_also_where_a_tied_way_leads() -> None:
    ways = (Method("pageable", sure(1.02)), Method("isthmus", sure(1.0)), Method("registered", sure(2.0)))
    text = str(plan_document(Plan(BufferNeed(MIB), ways)))
    assert {"1.02", "1.00", "2.00"} <= set(re.findall(r"'(\d\.\d\d)'", text))
    assert "0.98" not in text
