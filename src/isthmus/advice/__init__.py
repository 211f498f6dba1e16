"""From a trace and a run of the machine to what to change, and what that would gain."""

from isthmus.advice.advise import advise
from isthmus.advice.code import ADVICE_LANGUAGES
from isthmus.advice.finding import Abstention, Advice, Evidence, Finding, Steps, parse_gain_gate
from isthmus.advice.lines import lines_for
from isthmus.advice.links import generation_of
from isthmus.advice.machines import are_alike
from isthmus.advice.rates import has_library, prices_by_itself
from isthmus.advice.records import interface_of_all, library_of, other_vendor
