"""Options of `isthmus measure` that stand for several others."""

import pytest

from isthmus.commands._measure_options import as_program_did
from isthmus.errors import UsageError
from isthmus.experiment.engine.options import Options
from isthmus.experiment.measure import choose_experiments
from isthmus.record import MIB


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
