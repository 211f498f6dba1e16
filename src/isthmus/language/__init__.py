"""What Isthmus says, in the languages it speaks: every text of conclusions and reports by its key."""

from isthmus.language.catalogue import (
    LANGUAGES,
    Language,
    Quoted,
    can_say,
    capitalised,
    clauses,
    enumerated,
    first_few,
    in_brackets,
    say,
    sentences,
    speaking,
    spoken,
)
