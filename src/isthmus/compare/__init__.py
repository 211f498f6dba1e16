"""Two runs, or a reference and a run: what got slower or faster, and what probably made the difference."""

from isthmus.compare.causes import Cause, Difference, differences, facts, likely_causes
from isthmus.compare.checkup import Checkup, FigureResult, check
from isthmus.compare.comparison import Comparison, Gate, compare, parse_gate
from isthmus.compare.health import Health, judge, judge_all, judge_together
from isthmus.compare.levels import VERDICTS, Verdict
from isthmus.compare.rates import Normal, Rate
from isthmus.compare.reference import PREFIX, Reference, known_references, made_reference, read_reference, reference_for
from isthmus.compare.spread import GroupKey, corrected, group_key, robust_variance
from isthmus.compare.verdicts import CaseResult, GroupResult, WholeResult
