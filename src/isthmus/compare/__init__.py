"""Two runs, or a reference and a run: what got slower or faster, and what probably made the difference."""

from isthmus.compare.causes import Cause
from isthmus.compare.checkup import Checkup, FigureResult, Position, check
from isthmus.compare.comparison import MARGIN, Comparison, compare
from isthmus.compare.differences import Difference
from isthmus.compare.gates import Gate, GateResult, parse_gate
from isthmus.compare.level import VERDICTS, Verdict
from isthmus.compare.pairing import PARAMETERS, CasePair, Pairing
from isthmus.compare.reference import (
    PREFIX,
    Expected,
    Quantity,
    Reference,
    known_references,
    made_reference,
    read_reference,
)
from isthmus.compare.spread import GroupKey, SizeClass
from isthmus.compare.verdicts import CaseResult, GroupResult, WholeResult

__all__ = [
    "MARGIN",
    "PARAMETERS",
    "PREFIX",
    "VERDICTS",
    "CasePair",
    "CaseResult",
    "Cause",
    "Checkup",
    "Comparison",
    "Difference",
    "Expected",
    "FigureResult",
    "Gate",
    "GateResult",
    "GroupKey",
    "GroupResult",
    "Pairing",
    "Position",
    "Quantity",
    "Reference",
    "SizeClass",
    "Verdict",
    "WholeResult",
    "check",
    "compare",
    "known_references",
    "made_reference",
    "parse_gate",
    "read_reference",
]
