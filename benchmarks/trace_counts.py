"""Up to a million copies of all kinds: whether a trace has every one of them."""

from functools import partial

from finding import Finding, decided, shown
from trace_programs import Case, Programs, counts_of, miscounted

from isthmus.errors import IsthmusError

COPIES = (1000, 100_000, 1_000_000)
BAR = "calls and bytes of every direction as the program says, exactly"


def cases() -> dict[str, Case]:
    """A case for each number of copies."""
    return {f"counts-{copies}": Case(BAR, partial(measure_counts, copies=copies), ("counts",)) for copies in COPIES}


def measure_counts(programs: Programs, copies: int) -> Finding:
    """The program, traced once."""
    finding = Finding(f"{copies} copies counted", BAR)
    try:
        said, trace = programs.traced("counts", copies)
        counts = counts_of(trace)
        wrong = miscounted("counts", said, counts)
    except IsthmusError as error:
        wrong, counts = [str(error)], {}
    else:
        finding.measured = ", ".join(f"{each.calls} {way} of {each.bytes} B" for way, each in counts.items())
        finding.measured += f", in {shown(said.seconds)} traced"
        finding.said = {
            "copies": {way: each._asdict() for way, each in counts.items()},
            "trace_bytes": trace.stat().st_size,
        }
    finding.why_not = "; ".join(wrong)
    return decided(finding, not wrong)
