"""What a run has next to the figures of the paper on OpenACC: its largest array, on demand against copied whole."""

from collections.abc import Mapping
from typing import NamedTuple

from isthmus.analysis.managed.model import ON_DEMAND, WHOLE_COPIES, Pattern, main_movements, overtaking
from isthmus.analysis.managed.words import managed_answer
from isthmus.analysis.published.source import Measured, Series, quotient, sources
from isthmus.analysis.statistics.curve import rate_of
from isthmus.record import Run, format_bytes


class Answers(NamedTuple):
    """From where on, or up to where, on demand beats copying all: as published, and as measured."""

    published: str
    here: str


def paper_answers(run: Run) -> Mapping[Pattern, Answers]:
    """The paper's two thresholds next to the run's, by pattern."""
    table = next(source.experiments["managed"] for source in sources() if "managed" in source.experiments)
    answers: dict[Pattern, Answers] = {}
    for series in table.series:
        here = measured_movements(run, series) if series.quantity in {"percent", "size"} else {}
        for place, value in here.items():
            ends = series.by_place[place]
            if ends and value.words:
                share = series.quantity == "percent"
                written = f"{ends[0]:g} %" if share else format_bytes(round(ends[0]))
                answers["percent" if share else "stride"] = Answers(written, value.words)
    return answers


def measured_movements(run: Run, series: Series) -> Mapping[int, Measured]:
    """The run's values of one published series, by stride where it has several."""
    pattern: Pattern = "stride" if "stride" in series.name else "percent"
    movement, target = main_movements(run).get(pattern), run.settings.target_relative_half_width
    if movement is None:
        return {}
    match series.quantity:
        case "percent" | "size":
            answer = overtaking(movement, ON_DEMAND, WHOLE_COPIES[0], target)
            return {0: Measured(None, words=managed_answer(pattern, answer.threshold))} if answer else {}
        case "rate":
            point = movement.at(WHOLE_COPIES[0] if series.name == "explicit_rate" else ON_DEMAND, 100)
            if point is None:
                return {}
            return {0: Measured(rate_of(movement.bytes, point.seconds), not point.converged)}
        case _:
            return {
                0 if pattern == "percent" else place: quotient(point.seconds, other.seconds, target)
                for place, point in movement.curves.get(ON_DEMAND, {}).items()
                if (pattern == "stride" or place == 100) and (other := movement.at(WHOLE_COPIES[0], place))
            }
