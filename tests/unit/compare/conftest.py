"""What tests of comparisons share: pairs of runs whose truth is known."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from isthmus.record import Case, Run, Series
from tests.synthetic import runs as synthetic

Remade = Callable[..., Run]


@pytest.fixture
def run() -> Run:
    """Four kinds of memory each way, 31 sizes, samples that vary by 1 %."""
    kinds = {"pinned": 55e9, "registered": 55e9, "write_combined": 55e9, "pageable": 12e9}
    truths = {
        ("copy", direction, kind): synthetic.Truth(8e-6, rate, 0.01)
        for kind, rate in kinds.items()
        for direction in ("h2d", "d2h")
    }
    made: Run = synthetic.run(synthetic.cases(truths, samples=12), name="base")
    return made


@pytest.fixture
def remade() -> Remade:
    """The run as another visit of the same machine gives it: every case by a few per cent off, times `factor`.

    `factor` takes a case and gives what its times are multiplied by; `spread` is what cases differ by between visits.
    """

    def remake(
        run: Run, factor: Callable[[Case], float] = lambda _: 1.0, *, spread: float = 0.03, seed: int = 5
    ) -> Run:
        random = np.random.default_rng(seed)
        cases = []
        for case in run.cases:
            scale = factor(case) * random.lognormal(0.0, spread)
            series = [
                Series(
                    metric=each.metric,
                    samples=[float(time * scale * random.lognormal(0.0, 0.01)) for time in each.samples],
                )
                for each in case.series
            ]
            cases.append(msgspec.structs.replace(case, series=series))
        return msgspec.structs.replace(run, run="new", cases=cases)

    return remake
