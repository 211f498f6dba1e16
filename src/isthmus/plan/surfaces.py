"""Methods to move pieces or rows at a spot, each by the surface through what was measured of it."""

from collections.abc import Iterable, Mapping

from isthmus.analysis.pieces.alignment import alignment_unit, natural_unit
from isthmus.analysis.pieces.cell import BATCHING, Cell
from isthmus.analysis.statistics.resample import interval_of
from isthmus.analysis.statistics.surface import Spot, cost_surface
from isthmus.language import say
from isthmus.plan.answer import Method
from isthmus.plan.ways import by_time
from isthmus.record import Run

_PLAINEST = ("section", *BATCHING.methods)
_PACKED_ON_THREADS = ("pack_threads", "pack_kernel")
# Whose threads move one unit each, so that halving it doubles their accesses.
_BY_UNITS = ("kernel", "mapped_kernel", "pack_kernel", "device_pack")


def is_aligned(each_bytes: int, *pitches: int) -> bool:
    """Whether pieces and their pitches are so well aligned that those that were measured stand for them.

    Of 48 needs on an H200, those aligned to 4 bytes took what aligned ones take (benchmarks/plan_check.py).
    """
    return alignment_unit(each_bytes, *pitches) >= min(natural_unit(each_bytes), 4)


def ways_at(run: Run, cells: Mapping[Spot, Cell], spot: Spot, *, aligned: bool) -> list[Method]:
    """Every method that was measured on either side of the spot, the fastest there first.

    Methods that move by units are left out where pieces are not aligned: measured ones are.
    """
    samples: dict[str, dict[Spot, tuple[float, ...]]] = {}
    for measured, cell in cells.items():
        for method, point in cell.compared.items():
            samples.setdefault(method, {})[measured] = point.samples
    threads = max((cell.threads for cell in cells.values()), default=0)
    target = run.settings.target_relative_half_width
    methods: list[Method] = []
    for method in sorted(samples, key=_plainness):
        surface = cost_surface(samples[method], known_within=target)
        if surface.side(spot) or (method in _BY_UNITS and not aligned):
            continue
        seconds = interval_of(surface.draws_at(spot))
        options = {"threads": threads} if threads and method in _PACKED_ON_THREADS else {}
        methods.append(Method(method, seconds, options=options))
    return list(by_time(methods))


def _plainness(method: str) -> int:
    return _PLAINEST.index(method) if method in _PLAINEST else len(_PLAINEST)


def reasons(cells: Iterable[Cell], known: Iterable[Method], *, aligned: bool) -> tuple[dict[str, str], dict[str, str]]:
    """Why methods have no time: the run says that they cannot be had or are wrong; or it holds nothing near enough."""
    unknown: dict[str, str] = {}
    unpriced: dict[str, str] = {}
    names = {way.name for way in known}
    for cell in cells:
        for method in (each for each in cell.compared if each not in names):
            near = aligned or method not in _BY_UNITS
            unpriced[method] = say("plan.too_far" if near else "plan.layout_unmeasured")
        unknown |= {method: reason for method, reason in cell.skipped.items() if method not in names}
        unknown |= {method: say("labels.wrong_data") for method in cell.failed if method not in names}
    return {name: why for name, why in unknown.items() if name not in unpriced}, unpriced
