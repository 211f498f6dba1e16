"""`isthmus measure` under mpirun or srun: a rank's device without MPI; what rank 0 says of a fleet, and where it is."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import IsthmusError
from isthmus.messages import to_stderr

if TYPE_CHECKING:
    from isthmus.experiment.fleet.lead import Ended
    from isthmus.experiment.fleet.measure import Plan
    from isthmus.experiment.mpi.ranks import Ranks
    from isthmus.machine.devices import OpenDevice

# How many lines on ranks that fail are printed; the fleet file has all.
_MOST_LINES = 20


def open_in_turn(spec: str | None, local_rank: int) -> "OpenDevice":
    """The device of a rank that knows of no other; says so where an earlier one has the same."""
    from isthmus.machine.devices import names_in_turn, open_device

    names = names_in_turn(spec)
    first = local_rank % len(names)
    if first < local_rank:
        to_stderr(
            f"isthmus: local rank {local_rank} takes {names[first]} like local rank {first}: unless the launcher gave "
            "each a device of its own, they share it, and without MPI they take no turns: each has a part of it"
        )
    return open_device(names[first], bind=True)


def measure_as_rank(
    ranks: "Ranks", plan: "Plan | None", trouble: IsthmusError | None, as_json: bool
) -> int | IsthmusError:
    """Take part as one of the ranks; gives the exit code, or what keeps all of them from measuring."""
    from isthmus.experiment.fleet.measure import folder_of, measure_fleet
    from isthmus.experiment.mpi.ranks import RanksBroken

    lines = 0

    def tell(line: str) -> None:
        nonlocal lines
        lines += 1
        if lines <= _MOST_LINES:
            to_stderr(f"isthmus: {line}")
        elif lines == _MOST_LINES + 1:
            to_stderr("isthmus: further ranks failed; the fleet file names them")

    if ranks.leads and plan is not None and trouble is None:
        to_stderr(f"measuring {ranks.count} ranks' devices, alone and together; fleet file {plan.path}")
    try:
        ended = measure_fleet(ranks, plan, trouble, tell)
    except RanksBroken as error:
        assert plan is not None
        raise RanksBroken(
            f"{error}; what this rank measured is in {folder_of(plan.path)}; isthmus fleet {folder_of(plan.path)} "
            "merges the files of all"
        ) from error
    except KeyboardInterrupt:
        if ranks.leads and plan is not None:
            to_stderr(f"isthmus: interrupted; what was measured is in {plan.path}")
        raise
    if ended is None or isinstance(ended, IsthmusError):
        return ended or 0
    code = _show(ended, folder_of(ended.path), as_json)
    if ended.gone:
        raise RanksBroken(f"no word from rank {', '.join(map(str, ended.gone))}; {ended.path} has all others' results")
    return code


def _show(ended: "Ended", folder: Path, as_json: bool) -> int:
    """What came of it, on standard output; gives the exit code."""
    for note in ended.notes:
        to_stderr(f"isthmus: {note}")
    troubles = [
        text
        for count, text in (
            (not ended.measured, "nothing was measured"),
            (ended.missing, f"{ended.missing} of {ended.ranks} ranks have not measured everything; the file says why"),
            (ended.wrong, f"{ended.wrong} of {ended.ranks} ranks moved wrong data"),
        )
        if count
    ]
    for trouble in troubles:
        to_stderr(f"isthmus: {trouble}")
    if as_json:
        from isthmus.files import read_bounded

        print(read_bounded(ended.path).decode())
    else:
        if ended.measured:
            # The first screen of `isthmus fleet`.
            from isthmus.commands._output import write_report
            from isthmus.fleet import survey
            from isthmus.report.fleet.document import fleet_document

            write_report(fleet_document(survey([ended.path])), "terminal", None)
            print()
        print(f"{ended.measured} of {ended.ranks} ranks measured their device")
        print(f"fleet {ended.path}; isthmus fleet {ended.path} shows it\nranks {folder}")
    sys.stdout.flush()
    return 1 if troubles else 0
