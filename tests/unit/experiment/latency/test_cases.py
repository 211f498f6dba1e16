"""The smallest steps: what is planned where, that samples are taken, and that what cannot be done says why."""

from collections.abc import Callable

import pytest

from isthmus.experiment.engine.batch import Planned
from isthmus.experiment.engine.options import Options
from isthmus.experiment.latency.cases import plan
from isthmus.machine.devices import OpenDevice
from isthmus.record import GIB, MIB, Case

QUICK = Options(mode="quick", sizes=[MIB])


Measure = Callable[..., list[Case]]


@pytest.fixture
def measured(ended: Callable[[Planned], list[Case]]) -> Measure:
    return lambda device, options=QUICK: ended(plan(device, options, GIB))


def test_an_access_is_timed_on_the_devices_clock_and_ends_where_it_must(device: OpenDevice, measured: Measure) -> None:
    accesses = [case for case in measured(device) if case.method == "access" and case.series]
    assert {case.verified for case in accesses} == {"yes"}
    assert {series.metric for case in accesses for series in case.series} == {"device_seconds"}
