"""How far predictions of a run are off: by kind of memory and in all, transfers and pipelines."""

from collections.abc import Sequence

from isthmus.analysis.labels import kind_label, run_title
from isthmus.analysis.prediction.check import CurveCheck, PredictionErrors, prediction_errors
from isthmus.analysis.prediction.pipeline_check import PipelineCheck, pipeline_errors
from isthmus.document.grid import Cell, Column, Grid, Group, Row
from isthmus.language import say
from isthmus.record import Run, kind_rank

__all__ = ["errors_grid"]


def errors_grid(
    runs: Sequence[Run], index: int, transfers: Sequence[CurveCheck], pipelines: Sequence[PipelineCheck]
) -> Grid:
    """A row for each kind of memory of one run, and one for all transfers together."""
    columns = tuple(Column(say(heading), say(name)) for heading, name in _COLUMNS)
    kinds = sorted({check.curve.host_memory for check in transfers}, key=kind_rank)
    rows = [
        (kind_label(kind), prediction_errors([check for check in transfers if check.curve.host_memory == kind]))
        for kind in kinds
    ]
    rows.append((say("prediction_report.all"), prediction_errors(transfers)))
    groups = [Group(say("prediction_report.errors_copies"), _rows(rows))]
    kinds = sorted({check.overlap.host_memory for check in pipelines}, key=kind_rank)
    if kinds:
        rows = [
            (kind_label(kind), pipeline_errors([check for check in pipelines if check.overlap.host_memory == kind]))
            for kind in kinds
        ]
        groups.append(Group(say("prediction_report.errors_pipelines"), _rows(rows)))
    title = say("prediction_report.errors_part") if len(runs) == 1 else run_title(runs, index)
    return Grid(title, columns, tuple(groups), corner=say("prediction_report.memory"))


_COLUMNS = (
    ("prediction_report.count", "prediction_report.count"),
    ("prediction_report.median_heading", "prediction_report.median"),
    ("prediction_report.high_heading", "prediction_report.high"),
    ("prediction_report.enclosed_heading", "prediction_report.enclosed"),
    ("prediction_report.unresolved_heading", "prediction_report.unresolved"),
)


def _rows(found: Sequence[tuple[str, PredictionErrors | None]]) -> tuple[Row, ...]:
    return tuple(Row(name, _cells(errors)) for name, errors in found if errors)


def _cells(errors: PredictionErrors) -> tuple[Cell, ...]:
    return (
        Cell(str(errors.count)),
        Cell(f"{100 * errors.median:.1f}"),
        Cell(f"{100 * errors.high:.1f}"),
        Cell(f"{100 * errors.enclosed:.0f}"),
        Cell(f"{100 * errors.unresolved:.0f}"),
    )
