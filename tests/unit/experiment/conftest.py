"""What tests of experiments share: plans that are measured to the end, and devices in the place of cards."""

import random
from collections.abc import Callable, Sequence

import pytest

from isthmus import _native
from isthmus.errors import DeviceAbsent
from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.rounds import Clock, run_rounds
from isthmus.experiment.engine.sampling import Rules
from isthmus.experiment.engine.sweep import Sweep, planned
from isthmus.machine import devices
from isthmus.machine.devices import OpenDevice, open_device
from isthmus.record import Case


@pytest.fixture(scope="module")
def host() -> OpenDevice:
    return open_device("host")


@pytest.fixture(params=["host", "opencl:0"])
def device(request: pytest.FixtureRequest, skip_without: Callable[[str], None]) -> OpenDevice:
    skip_without(request.param)
    return open_device(request.param)


@pytest.fixture
def ended() -> Callable[[Planned], list[Case]]:
    """All cases of a plan: those that were skipped, and the others, measured with two samples each."""

    def ended(planned: Planned) -> list[Case]:
        found = list(planned.skipped)
        for batch in planned.batches:
            prepared = batch.prepare()
            assert len(batch.cases) == len(prepared.subjects) + len(prepared.ended)
            found += [case for cases in prepared.ended for case in cases]
            rules = Rules(least_samples=2, visit_samples=2, most_samples=2, long_seconds=float("inf"))
            forever = Clock(float("inf"), float("inf"))
            run_rounds(prepared.subjects, rules, forever, found.extend, random.Random(1))
        return found

    return ended


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[Sweep, Sequence[Case]], Planned]:
    """The plan of a sweep for these cases in place of its own, all of which it can do as far as it looks."""

    def given(sweep: Sweep, cases: Sequence[Case]) -> Planned:
        monkeypatch.setattr(sweep, "cases", lambda: cases)
        monkeypatch.setattr(sweep, "why_not", lambda _: None)
        return planned(sweep)

    return given


@pytest.fixture
def first_of_cards(monkeypatch: pytest.MonkeyPatch) -> Callable[..., _native.Device]:
    """Has models of the host backend opened in place of cards, and gives the first; ``lost`` is one that is gone."""

    def first_of_cards(*models: str) -> _native.Device:
        cards = [None if model == "lost" else open_device(model).native for model in models]

        def open_native(_: str, index: int) -> _native.Device:
            card = cards[index]
            if card is None:
                raise DeviceAbsent("it has fallen off the bus")
            return card

        monkeypatch.setattr(devices, "open_native", open_native)
        assert cards[0] is not None, "the run's own device is there"
        return cards[0]

    return first_of_cards
