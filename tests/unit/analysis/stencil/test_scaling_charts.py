"""Curves of a stencil over ranks: no two lines look alike."""

import itertools

import msgspec

from isthmus.analysis.stencil.model import STENCIL_METHODS
from isthmus.analysis.stencil.section import section
from isthmus.record import Run
from tests.synthetic import runs as synthetic
from tests.synthetic import stencil as synthetic_stencil


def test_no_two_ways_look_the_same() -> None:
    ways = list(itertools.product(STENCIL_METHODS, ("pageable", "pinned", "managed")))
    phases = (1.0, 0.1, 0.1, 0.1, 0.1)
    cases = [synthetic_stencil.case(64, way, phases, ranks=count) for way in ways for count in (1, 2)]
    run: Run = synthetic.run(cases)
    run = msgspec.structs.replace(run, settings=msgspec.structs.replace(run.settings, options={"scaling": "strong"}))
    found = section([run])
    assert found
    legend = next(each for each in found.parts if each.title == "Scaling with the number of ranks").legend
    assert len(legend) == len(ways)
    assert len({(entry.look.variable, entry.look.dash) for entry in legend}) == len(ways)
    assert len({(entry.look.variable, entry.look.shape) for entry in legend}) == len(ways)
