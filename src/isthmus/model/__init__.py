"""What the measurements mean: rate curves, how they settle, how they compare, and conclusions in sentences."""

from isthmus.model.alignment import AlignmentPair, alignment_pairs, alignment_unit, natural_unit
from isthmus.model.allocation import PHASES, AllocationCosts, CostCurve, CostPoint, Phase, SizedCost, allocation_costs
from isthmus.model.allocation_words import factor_words
from isthmus.model.bandwidth_published import PublishedRates, published_rates
from isthmus.model.batching import (
    PIECE_METHODS,
    TYPICAL_PIECES,
    BatchingCell,
    BatchingSurface,
    batching_surfaces,
    batching_tables,
    plainest_surfaces,
)
from isthmus.model.batching_thresholds import BatchingThreshold, Cliff, CliffLook, batch_cliff, batching_thresholds
from isthmus.model.batching_words import cell_words, count_words, layout_words, method_words, within_words
from isthmus.model.breakeven_comparison import (
    AgreementShare,
    BreakevenAnalysis,
    ThresholdComparison,
    analyse_breakeven,
    share_of,
)
from isthmus.model.breakeven_costs import CostTable, Term
from isthmus.model.breakeven_derived import missing_words
from isthmus.model.breakeven_findings import ALLOCATED_WAYS
from isthmus.model.breakeven_measured import BREAKEVEN_CASES, BREAKEVEN_USES, BREAKEVEN_WAYS, measured_totals
from isthmus.model.breakeven_price import reference_size
from isthmus.model.breakeven_seed import SEED_ANSWERS, seed_threshold, seed_words
from isthmus.model.breakeven_thresholds import Contest
from isthmus.model.breakeven_words import (
    PLAIN_CASES,
    about_uses,
    case_words,
    plain_size_words,
    size_words,
    spans_words,
    uses_count,
    uses_words,
)
from isthmus.model.conclusions import Conclusion, Conclusions, conclude, findings, verdict
from isthmus.model.contrast import MATTERS, Contrast, contrast, ratio
from isthmus.model.cost_fit import TOLERANCE, CostFit, CostPiece, fit_cost
from isthmus.model.cost_ratio import CostRatio, cost_ratio
from isthmus.model.cost_surface import CostSurface, Spot, cost_surface
from isthmus.model.curve import ONE_WAY, Curve, Point, bandwidth_curves, find
from isthmus.model.finding import Finding, Severity, Takeaway
from isthmus.model.granularity import Mechanism, mechanisms
from isthmus.model.granularity_counts import Counted, counted_passes
from isthmus.model.granularity_findings import unit_words
from isthmus.model.granularity_timing import Touches, Unit, touches
from isthmus.model.managed import MANAGED_WAYS, ManagedPoint, ManagedWay, Movement, Pattern, movements, why_no_migration
from isthmus.model.managed_comparison import PaperFigure, paper_figures
from isthmus.model.managed_published import PAPER_BOTH_RATIO, PAPER_PERCENT, PAPER_STRIDE, PAPER_WHOLE_RATIO
from isthmus.model.managed_thresholds import ON_DEMAND, WHOLE_COPIES, Overtaking, overtakings
from isthmus.model.managed_words import managed_answer, phases_words
from isthmus.model.method_cell import MethodCell
from isthmus.model.method_table import Choice, HeldOut, MethodTable, held_out, share_within
from isthmus.model.openacc import (
    OPENACC_WAYS,
    PUBLISHED_STENCIL_RATIOS,
    PUBLISHED_WAY_RATIOS,
    OpenaccTime,
    OpenaccWork,
    openacc_works,
    whole_arrays,
)
from isthmus.model.openacc_words import openacc_part_label
from isthmus.model.overlap import Overlap, PipelinePoint, larger_overlaps, main_overlaps, overlaps, traced
from isthmus.model.overlap_exchange import Exchange, exchanges
from isthmus.model.overlap_words import multiple_digits, way_words
from isthmus.model.phrases import (
    MEMORY_KINDS,
    about_bytes,
    describe_device,
    link_rate,
    memory_label,
    memory_name,
    range_text,
    spanned,
    times,
    way_name,
)
from isthmus.model.pinned_ways import EXISTING, NEW_WAYS, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.model.pipeline import PipelineModel, pipeline_seconds
from isthmus.model.pipeline_check import PipelineCheck, checked_pipeline_model, pipeline_checks, pipeline_errors
from isthmus.model.prediction import Prediction, Predictor, crossover, curve_predictor
from isthmus.model.prediction_check import (
    PREDICTED_FROM,
    CurveCheck,
    PredictionErrors,
    prediction_checks,
    prediction_errors,
)
from isthmus.model.published_costs import PublishedCost, published_costs
from isthmus.model.resample import DRAWS, Draws, interval_of, resampled_medians
from isthmus.model.segments import Segment, breakpoints, fit_segments
from isthmus.model.shape import (
    LARGE_BYTES,
    SMALL_BYTES,
    HalfSize,
    Plateau,
    Steadiness,
    half_size,
    largest,
    latency,
    peak,
    plateau,
    steadiness,
    trend,
)
from isthmus.model.stencil import STENCIL_METHODS, STENCIL_PHASES, Stencil, StencilPoint, StencilWay, stencils
from isthmus.model.stencil_published import PUBLISHED_PAIRS, PUBLISHED_SIDES, PublishedPair
from isthmus.model.stencil_scaling import StencilCurve, stencil_curves
from isthmus.model.stencil_words import cut_words, phase_words, setting_words, stencil_words, way_label
from isthmus.model.strided import STRIDED_METHODS, StridedCell, strided_cells
from isthmus.model.strided_grid import StridedGrid, strided_grids
from isthmus.model.strided_grid_findings import STRIDED_CHALLENGERS
from isthmus.model.strided_padding import paddings
from isthmus.model.strided_thresholds import RowCost, StridedThreshold, row_cost, row_thresholds, width_thresholds
from isthmus.model.strided_words import grid_words, rows_words, section_kind, section_words, sides_words, width_words
from isthmus.model.threads import REFERENCE_BYTES, ThreadCurve, most_complete, thread_curves
from isthmus.model.threads_gain import enough_threads
from isthmus.model.threads_modes import BothWays, threads_both_ways
from isthmus.model.threads_places import (
    NodeRates,
    PeerRate,
    Together,
    TransferSetting,
    device_groups,
    node_rates,
    peer_rates,
)
from isthmus.model.threads_published import PUBLISHED_RATES, published_share
from isthmus.model.threads_spawn import SpawnCost, spawn_costs, spawn_fit
from isthmus.model.threshold import Threshold
from isthmus.model.two_ways import TwoWays, two_ways

__all__ = [
    "ALLOCATED_WAYS",
    "BREAKEVEN_CASES",
    "BREAKEVEN_USES",
    "BREAKEVEN_WAYS",
    "DRAWS",
    "EXISTING",
    "LARGE_BYTES",
    "MANAGED_WAYS",
    "MATTERS",
    "MEMORY_KINDS",
    "NEW_WAYS",
    "ONE_WAY",
    "ON_DEMAND",
    "OPENACC_WAYS",
    "PAPER_BOTH_RATIO",
    "PAPER_PERCENT",
    "PAPER_STRIDE",
    "PAPER_WHOLE_RATIO",
    "PHASES",
    "PIECE_METHODS",
    "PLAIN_CASES",
    "PREDICTED_FROM",
    "PUBLISHED_PAIRS",
    "PUBLISHED_RATES",
    "PUBLISHED_SIDES",
    "PUBLISHED_STENCIL_RATIOS",
    "PUBLISHED_WAY_RATIOS",
    "REFERENCE_BYTES",
    "SEED_ANSWERS",
    "SMALL_BYTES",
    "STENCIL_METHODS",
    "STENCIL_PHASES",
    "STRIDED_CHALLENGERS",
    "STRIDED_METHODS",
    "TOLERANCE",
    "TYPICAL_PIECES",
    "WHOLE_COPIES",
    "AgreementShare",
    "AlignmentPair",
    "AllocationCosts",
    "BatchingCell",
    "BatchingSurface",
    "BatchingThreshold",
    "BothWays",
    "BreakevenAnalysis",
    "Choice",
    "Cliff",
    "CliffLook",
    "Conclusion",
    "Conclusions",
    "Contest",
    "Contrast",
    "CostCurve",
    "CostFit",
    "CostPiece",
    "CostPoint",
    "CostRatio",
    "CostSurface",
    "CostTable",
    "Counted",
    "Curve",
    "CurveCheck",
    "Draws",
    "Exchange",
    "Finding",
    "HalfSize",
    "HeldOut",
    "ManagedPoint",
    "ManagedWay",
    "Mechanism",
    "MethodCell",
    "MethodTable",
    "Movement",
    "NodeRates",
    "OpenaccTime",
    "OpenaccWork",
    "Overlap",
    "Overtaking",
    "PaperFigure",
    "Pattern",
    "PeerRate",
    "Phase",
    "PinnedChoice",
    "PipelineCheck",
    "PipelineModel",
    "PipelinePoint",
    "Plateau",
    "Point",
    "Prediction",
    "PredictionErrors",
    "Predictor",
    "PublishedCost",
    "PublishedPair",
    "PublishedRates",
    "RowCost",
    "Segment",
    "Severity",
    "SizedCost",
    "SpawnCost",
    "Spot",
    "Steadiness",
    "Stencil",
    "StencilCurve",
    "StencilPoint",
    "StencilWay",
    "StridedCell",
    "StridedGrid",
    "StridedThreshold",
    "Takeaway",
    "Term",
    "ThreadCurve",
    "Threshold",
    "ThresholdComparison",
    "Together",
    "Touches",
    "TransferSetting",
    "TwoWays",
    "Unit",
    "about_bytes",
    "about_uses",
    "alignment_pairs",
    "alignment_unit",
    "allocation_costs",
    "analyse_breakeven",
    "bandwidth_curves",
    "batch_cliff",
    "batching_surfaces",
    "batching_tables",
    "batching_thresholds",
    "breakpoints",
    "case_words",
    "cell_words",
    "checked_pipeline_model",
    "conclude",
    "contrast",
    "cost_ratio",
    "cost_surface",
    "count_words",
    "counted_passes",
    "crossover",
    "curve_predictor",
    "cut_words",
    "describe_device",
    "device_groups",
    "enough_threads",
    "exchanges",
    "factor_words",
    "find",
    "findings",
    "fit_cost",
    "fit_segments",
    "grid_words",
    "half_size",
    "held_out",
    "interval_of",
    "larger_overlaps",
    "largest",
    "latency",
    "layout_words",
    "link_rate",
    "main_overlaps",
    "managed_answer",
    "measured_totals",
    "mechanisms",
    "memory_label",
    "memory_name",
    "method_words",
    "missing_words",
    "most_complete",
    "movements",
    "multiple_digits",
    "natural_unit",
    "node_rates",
    "openacc_part_label",
    "openacc_works",
    "overlaps",
    "overtakings",
    "paddings",
    "paper_figures",
    "peak",
    "peer_rates",
    "phase_words",
    "phases_words",
    "pinned_choices",
    "pinned_crossovers",
    "pipeline_checks",
    "pipeline_errors",
    "pipeline_seconds",
    "plain_size_words",
    "plainest_surfaces",
    "plateau",
    "prediction_checks",
    "prediction_errors",
    "published_costs",
    "published_rates",
    "published_share",
    "range_text",
    "ratio",
    "reference_size",
    "resampled_medians",
    "row_cost",
    "row_thresholds",
    "rows_words",
    "section_kind",
    "section_words",
    "seed_threshold",
    "seed_words",
    "setting_words",
    "share_of",
    "share_within",
    "sides_words",
    "size_words",
    "spanned",
    "spans_words",
    "spawn_costs",
    "spawn_fit",
    "steadiness",
    "stencil_curves",
    "stencil_words",
    "stencils",
    "strided_cells",
    "strided_grids",
    "thread_curves",
    "threads_both_ways",
    "times",
    "touches",
    "traced",
    "trend",
    "two_ways",
    "unit_words",
    "uses_count",
    "uses_words",
    "verdict",
    "way_label",
    "way_name",
    "way_words",
    "whole_arrays",
    "why_no_migration",
    "width_thresholds",
    "width_words",
    "within_words",
]
