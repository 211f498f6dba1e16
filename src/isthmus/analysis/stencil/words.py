"""Words that conclusions and tables about stencils share."""

from isthmus.analysis.labels import kind_label
from isthmus.analysis.stencil.model import Stencil, StencilWay
from isthmus.language import can_say, say
from isthmus.record import Metric


def way_label(method: str) -> str:
    """The method in a table; one that this version does not know keeps its field name."""
    key = f"stencil.method_{method}"
    return say(key) if can_say(key) else method.replace("_", " ")


def way_title(method: StencilWay) -> str:
    """A method as one bar or in a sentence: ``GPU packs, pinned``."""
    return say("common.comma").join([way_label(method[0]), kind_label(method[1])])


def phase_words(phase: Metric) -> str:
    """A phase in a heading."""
    key = f"stencil.phase_{phase}"
    return say(key) if can_say(key) else phase.replace("_", " ")


def stencil_words(stencil: Stencil) -> str:
    """``6144 x 6144 points, halos 1 wide, 4 ranks (2 x 2) on 2 devices``."""
    field = say("stencil.field", rows=stencil.side, columns=stencil.columns, count=stencil.halo)
    return say("common.comma").join([field, setting_words(stencil)])


def setting_words(stencil: Stencil) -> str:
    """``1 rank``, ``4 ranks (2 x 2) on 2 devices``."""
    devices = say("stencil.devices", count=stencil.devices)
    return say("stencil.setting", count=stencil.ranks, down=stencil.down, across=stencil.across, devices=devices)
