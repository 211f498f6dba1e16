"""What a stencil's curves over ranks say: the efficiency on all of them, and which cut is the faster one."""

from collections.abc import Iterator, Sequence

from isthmus.analysis.phrases import spanned
from isthmus.analysis.statistics.contrast import ratio
from isthmus.analysis.stencil.scaling import StencilCurve, stencil_curves
from isthmus.analysis.stencil.words import cut_words, ratio_words, way_sentence
from isthmus.document.finding import Finding
from isthmus.language import say, sentences
from isthmus.record import Run, format_seconds

__all__ = ["scaling_findings"]


def scaling_findings(run: Run) -> list[Finding]:
    """One for each curve, and one for each two that differ in the cut alone."""
    curves = stencil_curves(run)
    found = [finding for curve in curves if (finding := _curve(curve))]
    return [*found, *_cuts(curves)]


def _curve(curve: StencilCurve) -> Finding | None:
    """The fastest way of those that one rank alone was measured with."""
    for point in curve.ranking:
        efficiency, alone = curve.efficiency(curve.last, point.way), curve.single(point.way)
        if efficiency and alone and alone.iteration and point.iteration and curve.last.ranks > 1:
            break
    else:
        return None
    told = say(
        f"stencil.scaling_{curve.scaling}",
        ranks=curve.last.ranks,
        square=say("stencil.square", side=curve.side, count=curve.halo),
        cut=cut_words(curve.last),
        way=way_sentence(point.way),
        time=format_seconds(point.iteration.median),
        alone=format_seconds(alone.iteration.median),
        efficiency=spanned(f"{100 * efficiency.low:.0f}", f"{100 * efficiency.high:.0f}"),
    )
    share = point.exchange_share
    parts = [told, say("stencil.scaling_exchange", percent=100 * share) if share is not None else ""]
    shared = curve.last.devices < curve.last.ranks
    cause = say("stencil.scaling_shared", ranks=curve.last.ranks, count=curve.last.devices) if shared else ""
    return Finding("info", f"stencil_{curve.scaling}_{curve.kind}_{curve.side}_{curve.halo}", sentences(parts), cause)


def _cuts(curves: Sequence[StencilCurve]) -> Iterator[Finding]:
    """A grid against strips, each in the way that is fastest for it."""
    for strips in curves:
        for grid in curves:
            same = (strips.scaling, strips.side, strips.halo) == (grid.scaling, grid.side, grid.halo)
            if not same or (strips.kind, grid.kind) != ("strips", "grid") or not strips.ranking or not grid.ranking:
                continue
            ours, theirs = grid.ranking[0].elapsed, strips.ranking[0].elapsed
            if ours and theirs and theirs.low and strips.last.ranks == grid.last.ranks:
                text = say(
                    f"stencil.cuts_{strips.scaling}",
                    ranks=grid.last.ranks,
                    square=say("stencil.square", side=grid.side, count=grid.halo),
                    cut=cut_words(grid.last),
                    ratio=ratio_words(ratio(ours, theirs)),
                )
                yield Finding("info", f"stencil_cuts_{strips.scaling}_{strips.side}_{strips.halo}", text)
