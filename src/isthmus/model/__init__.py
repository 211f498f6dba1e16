"""What the measurements mean: rate curves, how they settle, how they compare, and conclusions in sentences."""

from isthmus.model.allocation import PHASES, AllocationCosts, CostCurve, CostPoint, Phase, SizedCost, allocation_costs
from isthmus.model.allocation_words import how_many_times
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
from isthmus.model.batching_words import cell_words, count_words, layout_words, method_words
from isthmus.model.breakeven_comparison import (
    AgreementShare,
    BreakevenAnalysis,
    ThresholdComparison,
    analyse_breakeven,
    share_of,
)
from isthmus.model.breakeven_findings import ALLOCATED_WAYS
from isthmus.model.breakeven_measured import BREAKEVEN_CASES, BREAKEVEN_USES, BREAKEVEN_WAYS
from isthmus.model.breakeven_price import reference_size
from isthmus.model.breakeven_seed import SEED_ANSWERS, seed_threshold, seed_words
from isthmus.model.breakeven_thresholds import Contest
from isthmus.model.breakeven_words import PLAIN_CASES, about_uses, case_words, size_words, spans_words, uses_words
from isthmus.model.conclusions import findings, verdict
from isthmus.model.contrast import Contrast, contrast, ratio
from isthmus.model.cost_fit import TOLERANCE, CostFit, CostPiece, fit_cost
from isthmus.model.cost_ratio import CostRatio, cost_ratio
from isthmus.model.curve import ONE_WAY, Curve, Point, bandwidth_curves, find
from isthmus.model.finding import Finding, Severity
from isthmus.model.granularity import Mechanism, mechanisms
from isthmus.model.granularity_counts import Counted, counted_passes
from isthmus.model.granularity_findings import unit_words
from isthmus.model.granularity_timing import Touches, Unit, touches
from isthmus.model.managed import MANAGED_WAYS, ManagedPoint, ManagedWay, Movement, Pattern, movements
from isthmus.model.managed_comparison import PaperFigure, paper_figures
from isthmus.model.managed_published import PAPER_BOTH_RATIO, PAPER_PERCENT, PAPER_STRIDE, PAPER_WHOLE_RATIO
from isthmus.model.managed_thresholds import WHOLE_COPIES, Overtaking, overtakings
from isthmus.model.managed_words import managed_answer, phases_words
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
    MEMORY_NAMES,
    about_bytes,
    capitalised,
    describe_device,
    link_rate,
    memory_name,
)
from isthmus.model.pinned_ways import EXISTING, NEW_WAYS, PinnedChoice, pinned_choices, pinned_crossovers
from isthmus.model.published_costs import PublishedCost, published_costs
from isthmus.model.shape import (
    LARGE_BYTES,
    SMALL_BYTES,
    HalfSize,
    Plateau,
    Steadiness,
    half_size,
    latency,
    peak,
    plateau,
    steadiness,
    trend,
)
from isthmus.model.stencil import STENCIL_PHASES, Stencil, StencilPoint, StencilWay, stencils
from isthmus.model.stencil_published import PUBLISHED_PAIRS, PUBLISHED_SIDES, PublishedPair
from isthmus.model.stencil_words import phase_words, setting_words, stencil_words, way_label
from isthmus.model.strided import STRIDED_METHODS, StridedCell, strided_cells
from isthmus.model.strided_grid import StridedGrid, strided_grids
from isthmus.model.strided_grid_findings import STRIDED_CHALLENGERS
from isthmus.model.strided_padding import paddings
from isthmus.model.strided_thresholds import StridedThreshold, row_cost, row_thresholds, width_thresholds
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

__all__ = [
    "ALLOCATED_WAYS",
    "BREAKEVEN_CASES",
    "BREAKEVEN_USES",
    "BREAKEVEN_WAYS",
    "EXISTING",
    "LARGE_BYTES",
    "MANAGED_WAYS",
    "MEMORY_NAMES",
    "NEW_WAYS",
    "ONE_WAY",
    "OPENACC_WAYS",
    "PAPER_BOTH_RATIO",
    "PAPER_PERCENT",
    "PAPER_STRIDE",
    "PAPER_WHOLE_RATIO",
    "PHASES",
    "PIECE_METHODS",
    "PLAIN_CASES",
    "PUBLISHED_PAIRS",
    "PUBLISHED_RATES",
    "PUBLISHED_SIDES",
    "PUBLISHED_STENCIL_RATIOS",
    "PUBLISHED_WAY_RATIOS",
    "REFERENCE_BYTES",
    "SEED_ANSWERS",
    "SMALL_BYTES",
    "STENCIL_PHASES",
    "STRIDED_CHALLENGERS",
    "STRIDED_METHODS",
    "TOLERANCE",
    "TYPICAL_PIECES",
    "WHOLE_COPIES",
    "AgreementShare",
    "AllocationCosts",
    "BatchingCell",
    "BatchingSurface",
    "BatchingThreshold",
    "BothWays",
    "BreakevenAnalysis",
    "Choice",
    "Cliff",
    "CliffLook",
    "Contest",
    "Contrast",
    "CostCurve",
    "CostFit",
    "CostPiece",
    "CostPoint",
    "CostRatio",
    "Counted",
    "Curve",
    "Exchange",
    "Finding",
    "HalfSize",
    "HeldOut",
    "ManagedPoint",
    "ManagedWay",
    "Mechanism",
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
    "PipelinePoint",
    "Plateau",
    "Point",
    "PublishedCost",
    "PublishedPair",
    "Severity",
    "SizedCost",
    "SpawnCost",
    "Steadiness",
    "Stencil",
    "StencilPoint",
    "StencilWay",
    "StridedCell",
    "StridedGrid",
    "StridedThreshold",
    "ThreadCurve",
    "Threshold",
    "ThresholdComparison",
    "Together",
    "Touches",
    "TransferSetting",
    "Unit",
    "about_bytes",
    "about_uses",
    "allocation_costs",
    "analyse_breakeven",
    "bandwidth_curves",
    "batch_cliff",
    "batching_surfaces",
    "batching_tables",
    "batching_thresholds",
    "capitalised",
    "case_words",
    "cell_words",
    "contrast",
    "cost_ratio",
    "count_words",
    "counted_passes",
    "describe_device",
    "device_groups",
    "enough_threads",
    "exchanges",
    "find",
    "findings",
    "fit_cost",
    "grid_words",
    "half_size",
    "held_out",
    "how_many_times",
    "larger_overlaps",
    "latency",
    "layout_words",
    "link_rate",
    "main_overlaps",
    "managed_answer",
    "mechanisms",
    "memory_name",
    "method_words",
    "most_complete",
    "movements",
    "multiple_digits",
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
    "plainest_surfaces",
    "plateau",
    "published_costs",
    "published_share",
    "ratio",
    "reference_size",
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
    "spans_words",
    "spawn_costs",
    "spawn_fit",
    "steadiness",
    "stencil_words",
    "stencils",
    "strided_cells",
    "strided_grids",
    "thread_curves",
    "threads_both_ways",
    "touches",
    "traced",
    "trend",
    "unit_words",
    "uses_words",
    "verdict",
    "way_label",
    "way_words",
    "whole_arrays",
    "width_thresholds",
    "width_words",
]
