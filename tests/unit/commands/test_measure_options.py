"""Options of `isthmus measure` that stand for several others."""

import pytest

from isthmus.commands._measure_options import as_program_did, percents, stride_sizes
from isthmus.errors import UsageError
from isthmus.experiment.engine.options import Options
from isthmus.experiment.measure import choose_experiments
from isthmus.record import KIB, MIB


def test_a_known_program_has_its_sizes_memory_and_directions() -> None:
    options = as_program_did(Options(), "bandwidthTest")
    assert [size // MIB for size in options.sizes] == list(range(160, 3041, 160)), "the nineteen of the article"
    assert (options.memory, options.directions) == (("pageable", "pinned"), ("h2d", "d2h"))
    assert [each.name for each in choose_experiments([], options)] == ["bandwidth"]


def test_what_is_given_counts() -> None:
    given = Options(sizes=[16 * MIB], memory=["pinned"], directions=["d2h"], budget_seconds=1.0)
    assert as_program_did(given, "bandwidthTest") == given
    assert as_program_did(Options(), "") == Options()


def test_another_program_is_refused() -> None:
    with pytest.raises(UsageError, match="no program 'nvbandwidth'; expected --as bandwidthTest"):
        as_program_did(Options(), "nvbandwidth")


def test_parts_of_an_array_are_whole_per_cents_and_multiples_of_a_double() -> None:
    assert percents(["60%,10%", "0.1"]) == [10, 60]
    assert stride_sizes(["4KiB:396KiB:4KiB"]) == [each * 4 * KIB for each in range(1, 100)], "the paper's 99"
    assert (percents(None), stride_sizes(None)) == ([], [])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("0.5%", "not whole per cents: --fractions with 0.5 %; expected 1 to 100, such as 10%,60%"),
        ("10,60", "10 has no unit: 10%"),
        ("120%", "not whole per cents: --fractions with 120 %"),
        ("half", "not a share: 'half'"),
    ],
)
def test_other_shares_are_refused(words: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        percents([words])


def test_a_stride_within_a_double_is_refused() -> None:
    with pytest.raises(UsageError, match="not a stride of doubles: 12 bytes; expected multiples of 8, such as 4KiB"):
        stride_sizes(["12,16"])
