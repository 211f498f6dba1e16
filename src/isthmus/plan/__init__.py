"""From a described need to the fastest method to meet it on a measured machine, with the time that it takes."""

from isthmus.plan.answer import Method, Plan, Step, step_name
from isthmus.plan.planner import answer, measured_plan
from isthmus.plan.prices import PriceList, Unpriced
from isthmus.plan.snippets import SNIPPET_LANGUAGES, snippet, snippet_languages
from isthmus.plan.words import (
    answer_words,
    basis_words,
    beside_words,
    need_words,
    ruled_out_words,
    warning_words,
    way_words,
    worth_words,
)
