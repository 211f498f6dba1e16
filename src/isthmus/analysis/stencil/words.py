"""Words that conclusions and tables about stencils share."""

from isthmus.analysis.phrases import memory_name, spanned
from isthmus.analysis.stencil.model import MANAGED, Stencil, StencilWay
from isthmus.language import can_say, say
from isthmus.record import Interval, Metric, three_figures


def way_label(method: str) -> str:
    """The method in a table; one that this version does not know keeps its field name."""
    key = f"stencil.method_{method}"
    return say(key) if can_say(key) else method.replace("_", " ")


def way_sentence(way: StencilWay) -> str:
    """A way in running text."""
    method, memory = way
    key = f"stencil.way_{method}_managed" if memory == MANAGED else f"stencil.way_{method}"
    if can_say(key):
        return say(key, memory=memory_name(memory))
    return say("stencil.way_other", method=method.replace("_", " "), memory=memory_name(memory))


def phase_words(phase: Metric) -> str:
    """A phase in running text and in a legend."""
    key = f"stencil.phase_{phase}"
    return say(key) if can_say(key) else phase.replace("_", " ")


def stencil_words(stencil: Stencil) -> str:
    """``a square of 6144 points with halos of 1 column``."""
    if not stencil.is_square:
        return say("stencil.field", rows=stencil.side, columns=stencil.columns, count=stencil.halo)
    return say("stencil.square", side=stencil.side, count=stencil.halo)


def setting_words(stencil: Stencil) -> str:
    """``one rank alone``, ``2 ranks on one device``, ``4 ranks with 2 devices in a grid of 2 x 2``."""
    if stencil.ranks == 1:
        return say("stencil.setting_alone")
    if stencil.devices == 1:
        setting = say("stencil.setting_one_device", ranks=stencil.ranks)
    else:
        setting = say("stencil.setting_devices", ranks=stencil.ranks, devices=stencil.devices)
    return say("stencil.setting_cut", setting=setting, cut=cut_words(stencil)) if stencil.down > 1 else setting


def cut_words(stencil: Stencil) -> str:
    """``strips``, ``a grid of 3 x 2``."""
    if stencil.down == 1:
        return say("stencil.strips")
    return say("stencil.grid", down=stencil.down, across=stencil.across)


def ratio_words(value: Interval) -> str:
    """``1.85 to 1.93``, or one figure where both ends read the same."""
    return spanned(three_figures(value.low), three_figures(value.high))
