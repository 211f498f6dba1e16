"""References: what several runs of one kind of machine showed, as ranges, so that one run can be held against them."""

import gzip
import math
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median
from typing import Literal

import msgspec
import numpy as np

from isthmus.analysis.phrases import link_rate
from isthmus.analysis.statistics.curve import Curve, bandwidth_curves
from isthmus.analysis.statistics.shape import largest, latency, plateau
from isthmus.compare.pairing import timed_metric
from isthmus.compare.spread import GroupKey, SizeClass, group_key
from isthmus.errors import RunFileError, UsageError
from isthmus.files import read_bounded
from isthmus.record import Case, Device, Metric, Run, Series, case_key, memory_kind

PREFIX = "reference:"
_FORMAT, _SCHEMA_VERSION = "isthmus.reference", 1
_SUFFIX = ".json.gz"
# Bytes per second where a curve settles, or else of its largest sizes; seconds of its smallest transfers; the median
# ratio of a group's times to those of the reference.
Quantity = Literal["rate", "latency", "time"]

# What a figure varies by between machines of one kind, as far as is known before looking: what the link bounds hardly,
# what CPUs and their neighbours bound much. Counts like so many further runs.
_BY_LINK, _BY_OTHERS, _WEIGHT = 0.01, 0.10, 2
# So many standard deviations of the machines seen so far are still expected.
_WIDTH = 3.0


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """A figure with the range in which such machines have it, and how many runs it is from."""

    quantity: Quantity
    experiment: str
    method: str
    direction: str
    host_memory: str
    size: SizeClass
    low: float
    typical: float
    high: float
    runs: int

    @property
    def key(self) -> GroupKey:
        """The group that the figure is of."""
        return GroupKey(self.experiment, self.method, self.direction, self.host_memory, self.size)

    def scaled(self, ratio: float) -> "Expected":
        """The same, so many times as large."""
        ends = {name: _short(ratio * getattr(self, name)) for name in ("low", "typical", "high")}
        return self if ratio == 1.0 else msgspec.structs.replace(self, **ends)


class Reference(msgspec.Struct, frozen=True, kw_only=True):
    """A reference file: a run with one typical time a case in place of samples, and the expected figures.

    The fingerprint is that of the first of `runs` runs, without what names a single machine.
    """

    format: str
    schema_version: int
    name: str
    runs: int
    run: Run
    figures: list[Expected]

    def expected(self, run: Run) -> list[Expected]:
        """The figures, with rates as such devices have them at the sizes of this run, which may be fewer."""
        asked = {(*_series(case), case.bytes) for case in run.cases}
        shared = [case for case in self.run.cases if (*_series(case), case.bytes) in asked]
        whole, part = measured(self.run, ()), measured(msgspec.structs.replace(self.run, cases=shared), ())
        ratios = {key: part[key] / whole[key] for key in whole if key[0] == "rate" and key in part}
        return [each.scaled(ratios.get((each.quantity, each.key), 1.0)) for each in self.figures]

    def rate_at(self, key: GroupKey, size: int) -> Expected | None:
        """The range of a settled rate, as such devices have it at this size or the measured one nearest to it."""
        figure = next((each for each in self.figures if (each.quantity, each.key) == ("rate", key)), None)
        curve = next((curve for curve in bandwidth_curves(self.run) if _rate_key(curve) == key and curve.points), None)
        if figure is None or curve is None:
            return figure
        nearest = min(curve.points, key=lambda point: abs(math.log(point.bytes / size)))
        return figure.scaled(nearest.rate.median / _settled_rate(curve))

    def encoded(self) -> bytes:
        """The file's bytes; the same runs give the same file."""
        return gzip.compress(msgspec.json.encode(self), mtime=0)


def known_references() -> list[str]:
    """Names of the references in the package."""
    folder = files(__package__) / "references"
    return sorted(path.name.removesuffix(_SUFFIX) for path in folder.iterdir() if path.name.endswith(_SUFFIX))


def read_reference(name: str) -> Reference:
    """A reference of the package by its name, or one in a file, whose path ends in ``.json.gz``; either after
    ``reference:`` or alone.

    Raises UsageError for an unknown name, RunFileError for a file that is no reference.
    """
    name = name.removeprefix(PREFIX)
    path = Path(name) if name.endswith(_SUFFIX) else None
    if path is None and name not in known_references():
        raise UsageError(f"no such reference: {name!r}; there are {', '.join(known_references()) or 'none'}")
    try:
        with nullcontext(path) if path else as_file(files(__package__) / "references" / f"{name}{_SUFFIX}") as file:
            return msgspec.json.decode(read_bounded(file), type=Reference)
    except (RunFileError, msgspec.DecodeError) as error:
        raise RunFileError(f"{name}: not a reference: {error}; make one with scripts/make_reference.py") from error


def reference_for(device: Device) -> Reference | None:
    """The reference in the package that is of such a device at such a link; None where there is none."""
    if device.is_confidential:
        return None  # Its copies are encrypted, those of references are not.
    # Where no link was read, the name says what it should be.
    wanted, known = _kind(device), 4 if device.link and device.link.max_generation else 2
    return next((each for each in _packaged() if _kind(each.run.fingerprint.device)[:known] == wanted[:known]), None)


@cache
def _packaged() -> tuple[Reference, ...]:
    """Read once: a screen and a page after it ask for the same one."""
    return tuple(map(read_reference, known_references()))


def _kind(device: Device) -> tuple[object, ...]:
    link = device.link
    return device.backend, device.name, link and link.max_generation, link and link.max_width


def measured(run: Run, typical: Sequence[Case]) -> dict[tuple[Quantity, GroupKey], float]:
    """The figures of a run; `typical` has the cases of the reference, to whose times those of the run are compared."""
    figures: dict[tuple[Quantity, GroupKey], float] = {}
    for curve in bandwidth_curves(run):
        key = _rate_key(curve)
        if curve.points:
            figures["rate", key] = _settled_rate(curve)
        smallest = latency(curve)
        if smallest:
            figures["latency", key._replace(size="small")] = smallest.median
    times = {case_key(case): case.series[0].samples[0] for case in typical}
    ratios: dict[GroupKey, list[float]] = {}
    for case in run.cases if times else ():
        metric = timed_metric(case)
        expected = times.get(case_key(case))
        if metric and expected and case.experiment != "bandwidth" and case.verified != "no":
            ratios.setdefault(group_key(case), []).append(median(case.samples(metric)) / expected)
    return figures | {("time", key): median(values) for key, values in ratios.items()}


def _rate_key(curve: Curve) -> GroupKey:
    return GroupKey("bandwidth", curve.method, curve.direction, curve.host_memory, "large")


def _settled_rate(curve: Curve) -> float:
    settled = plateau(curve)
    return settled.rate.median if settled else median(point.rate.median for point in largest(curve))


def made_reference(name: str, runs: Sequence[Run]) -> Reference:
    """The reference that several runs of one kind of machine make.

    Raises UsageError without runs, or when their devices are of different kinds.
    """
    kinds = sorted({f"{run.fingerprint.device.backend} {run.fingerprint.device.name}" for run in runs})
    if len(kinds) != 1:
        raise UsageError(
            f"a reference is made from runs of one kind of device; these are of {', '.join(kinds) or 'none'}"
        )
    cases = _typical_cases(runs)
    values: dict[tuple[Quantity, GroupKey], list[float]] = {}
    for run in runs:
        for figure, value in measured(run, cases).items():
            values.setdefault(figure, []).append(value)
    return Reference(
        format=_FORMAT,
        schema_version=_SCHEMA_VERSION,
        name=name,
        runs=len(runs),
        run=_anonymous(runs[0], cases),
        figures=[
            _expected(quantity, key, figures, link_rate(runs[0], both=key.direction == "both"))
            for (quantity, key), figures in sorted(values.items())
        ],
    )


def _series(case: Case) -> tuple[str, ...]:
    return case.experiment, case.method, case.direction or "", case.host_memory


def _typical_cases(runs: Sequence[Run]) -> list[Case]:
    """Every case that some run measured, with the median of the runs' medians as its only sample."""
    medians: dict[tuple[object, ...], list[float]] = {}
    first: dict[tuple[object, ...], tuple[Case, Metric]] = {}
    for run in runs:
        for case in run.cases:
            metric = timed_metric(case)
            if metric and case.verified != "no":
                first.setdefault(case_key(case), (case, metric))
                medians.setdefault(case_key(case), []).append(median(case.samples(metric)))
    return [
        msgspec.structs.replace(
            case,
            series=[Series(metric=metric, samples=[float(f"{median(medians[key]):.4g}")])],
            migrations=[],
            faults=[],
            spans=[],
            note="",
        )
        for key, (case, metric) in first.items()
    ]


def _anonymous(run: Run, cases: list[Case]) -> Run:
    """The run without what belongs to one machine or one moment, with these cases."""
    fingerprint = run.fingerprint
    device = msgspec.structs.replace(fingerprint.device, uuid="", pci_address="")
    host = msgspec.structs.replace(fingerprint.host, name="")
    return msgspec.structs.replace(
        run,
        fingerprint=msgspec.structs.replace(fingerprint, device=device, host=host),
        settings=msgspec.structs.replace(run.settings, command=[], options={}),
        cases=cases,
    )


def _expected(quantity: Quantity, key: GroupKey, values: Sequence[float], carried: float | None) -> Expected:
    """The range that holds all values, and three standard deviations around the middle one.

    No rate is expected beyond what the link carries, where that is known.
    """
    most = carried if carried and quantity == "rate" else math.inf
    logs = np.log(values)
    middle = float(np.median(logs))
    link = quantity == "rate" and memory_kind(key.host_memory).link_bound
    prior = _BY_LINK if link else _BY_OTHERS
    variance = (_WEIGHT * prior**2 + float(np.sum((logs - middle) ** 2))) / (_WEIGHT + len(values) - 1)
    reach = _WIDTH * math.sqrt(variance)
    return Expected(
        quantity=quantity,
        **key._asdict(),
        low=_short(min(math.exp(middle - reach), *values)),
        typical=_short(math.exp(middle)),
        high=_short(max(min(math.exp(middle + reach), most), *values)),
        runs=len(values),
    )


def _short(value: float) -> float:
    return float(f"{value:.4g}")
