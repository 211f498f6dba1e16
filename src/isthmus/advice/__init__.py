"""From a trace and a run of the machine to what to change, and what that would gain."""

from isthmus.advice.advise import advise
from isthmus.advice.finding import Abstention, Advice, Evidence, Finding, Severity
from isthmus.advice.gates import GainGate, parse_gain_gate

__all__ = ["Abstention", "Advice", "Evidence", "Finding", "GainGate", "Severity", "advise", "parse_gain_gate"]
