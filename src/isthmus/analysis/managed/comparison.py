"""The paper's figures for a V100 one by one beside those of a run, with what the run's own figures say about why."""

from collections.abc import Mapping
from typing import NamedTuple

from isthmus.analysis.managed.model import Movement, Pattern, movements, why_no_migration
from isthmus.analysis.managed.published import (
    PAPER_BYTES,
    PAPER_DENSE_SECONDS,
    PAPER_EXPLICIT_SECONDS,
    PAPER_PERCENT,
    PAPER_STRIDE,
    PAPER_STRIDE_SECONDS,
    PAPER_WHOLE_RATIO,
    moved_whole,
    phases_told,
    touches_told,
)
from isthmus.analysis.managed.thresholds import ON_DEMAND, WHOLE_COPIES, overtaking
from isthmus.analysis.managed.words import managed_answer, times_words, touched_words
from isthmus.analysis.statistics.contrast import ratio
from isthmus.language import say
from isthmus.record import Run, format_bytes, format_rate, format_seconds

__all__ = ["PaperFigure", "paper_figures"]


class PaperFigure(NamedTuple):
    """One figure of the paper, and the run's, in words; `why` is what the run's figures say about the difference."""

    name: str
    published: str
    here: str
    why: str = ""


def paper_figures(run: Run) -> list[PaperFigure]:
    """Those that the run's largest array has a counterpart for."""
    found = [each for each in movements(run) if each.curves]
    main: Mapping[Pattern, Movement] = {each.pattern: each for each in found if each.bytes == found[0].bytes}
    known_within = run.settings.target_relative_half_width
    figures = [figure for each in main.values() for figure in _threshold(each, known_within)]
    if "percent" in main:
        figures += _whole(main["percent"])
    if "stride" in main:
        figures += _strides(main["stride"], moves=not why_no_migration(run))
    return figures


def _threshold(movement: Movement, known_within: float) -> list[PaperFigure]:
    answer = overtaking(movement, ON_DEMAND, WHOLE_COPIES[0], known_within)
    if answer is None:
        return []
    points = movement.curves[ON_DEMAND]
    first, last = (
        say(
            "managed.time_with",
            time=format_seconds(points[place].seconds.median),
            touched=touched_words(movement.pattern, place),
        )
        for place in (min(points), max(points))
    )
    # The nearest copy of the whole array stands for all.
    copied = movement.at(WHOLE_COPIES[0], max(points))
    if copied:
        why = say("managed.why_wins", first=first, last=last, copied=format_seconds(copied.seconds.median))
    else:
        why = say("managed.why_wins_alone", first=first, last=last)
    if movement.pattern == "percent":
        published = say("managed.answer_up_to_percent", value=f"{PAPER_PERCENT} %")
    else:
        published = say("managed.answer_from_stride", value=format_bytes(PAPER_STRIDE))
    here = managed_answer(movement.pattern, answer.threshold)
    return [PaperFigure(say("managed.figure_wins"), published, here, why)]


def _whole(movement: Movement) -> list[PaperFigure]:
    whole = moved_whole(movement)
    if whole is None:
        return []
    sizes = {"theirs": format_bytes(PAPER_BYTES), "ours": format_bytes(movement.bytes)}
    explicit, managed = whole.rate(whole.explicit.seconds), whole.rate(whole.managed.seconds)
    paper_explicit, paper_managed = PAPER_BYTES / PAPER_EXPLICIT_SECONDS, PAPER_BYTES / PAPER_DENSE_SECONDS
    return [
        PaperFigure(
            say("managed.figure_whole"),
            say("common.times", factor=f"{PAPER_WHOLE_RATIO:.2f}"),
            times_words(whole.ratio),
            phases_told(whole),
        ),
        PaperFigure(
            say("managed.figure_explicit", **sizes),
            _rate_and_time(paper_explicit, PAPER_EXPLICIT_SECONDS),
            _rate_and_time(explicit, whole.explicit.seconds.median),
            say("managed.why_explicit", factor=explicit / paper_explicit),
        ),
        PaperFigure(
            say("managed.figure_managed", **sizes),
            _rate_and_time(paper_managed, PAPER_DENSE_SECONDS),
            _rate_and_time(managed, whole.managed.seconds.median),
            say("managed.why_managed", factor=managed / paper_managed),
        ),
    ]


def _rate_and_time(rate: float, seconds: float) -> str:
    return say("managed.rate_and_time", rate=format_rate(rate), time=format_seconds(seconds))


def _strides(movement: Movement, *, moves: bool) -> list[PaperFigure]:
    points = movement.curves.get(ON_DEMAND, {})
    figures: list[PaperFigure] = []
    dense = next(iter(points), None)
    # Only strides below the paper's threshold are those at which its managed array moved whole.
    compared = [(dense, PAPER_DENSE_SECONDS)] if dense is not None and dense < PAPER_STRIDE else []
    for place, seconds in (*compared, (PAPER_STRIDE, PAPER_STRIDE_SECONDS)):
        explicit = movement.at(WHOLE_COPIES[0], place)
        if place not in points or explicit is None:
            continue
        why = touches_told(movement) if moves and not figures else ""
        factor = say("common.times", factor=f"{seconds / PAPER_EXPLICIT_SECONDS:.2f}")
        gap = times_words(ratio(points[place].seconds, explicit.seconds))
        published = _ratio_and_times(factor, seconds, PAPER_EXPLICIT_SECONDS)
        here = _ratio_and_times(gap, points[place].seconds.median, explicit.seconds.median)
        figures.append(PaperFigure(say("managed.figure_stride", stride=format_bytes(place)), published, here, why))
    return figures


def _ratio_and_times(times: str, managed: float, explicit: float) -> str:
    return say(
        "managed.ratio_and_times",
        ratio=times,
        managed=format_seconds(managed),
        explicit=format_seconds(explicit),
    )
