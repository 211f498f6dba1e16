"""Many ranks measure a device each, alone on their node and then together; rank 0 writes what all of them measured."""

import os
import platform
import re
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple

import isthmus
from isthmus.errors import IsthmusError, RunFileError, UsageError
from isthmus.experiment.engine.options import Options
from isthmus.experiment.engine.rounds import hard_limit
from isthmus.experiment.fleet.lead import Ended, FleetLead, Joined
from isthmus.experiment.fleet.member import Task
from isthmus.experiment.fleet.rank import MISSED_BEATS, FleetRank, beat_seconds
from isthmus.experiment.mpi.ranks import Ranks
from isthmus.record import FLEET_FORMAT, FLEET_SCHEMA_VERSION, Fleet, Launch, Phase

# Between two looks at what has come: a device starts so much later than its neighbours at most.
_NAP_SECONDS = 0.01
# What ranks that were interrupted have to report what they have.
_LAST_WORDS_SECONDS = 4.5
# Starting Python, the driver and the device, and allocating; on a machine with much to do.
_START_SECONDS = 60.0
# Between two writes of the fleet file, as a multiple of what one takes: rank 0 may be beside a device that is measured.
_WRITES_APART = 50
_ORDERS, _REPORTS = 0, 1
_RANK_FILE = re.compile(r"rank(\d+)-.+-(?:alone|together)\.json(?:\.gz)?")


class Plan(NamedTuple):
    """What every rank is asked; `path` is the fleet file, which rank 0's alone counts of."""

    spec: str | None
    experiments: list[str]
    options: Options
    path: Path
    command: list[str]
    limit_seconds: float


class _Start(NamedTuple):
    """What rank 0 tells all others before anything begins."""

    trouble: IsthmusError | None
    fleet: str
    path: str


def default_limit(budgets_seconds: Sequence[float]) -> float:
    """Seconds that a phase may take: twice what experiments of these budgets take where everything is slow."""
    return _START_SECONDS + 2 * sum(map(hard_limit, budgets_seconds))


def folder_of(path: Path) -> Path:
    """Where the ranks' own run files go: beside the fleet file."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".json") + "-ranks")


def _clear(folder: Path, ranks: Ranks) -> None:
    """Make the folder, or remove what an earlier run left there: it must not pass for this one's.

    Every rank removes its share, as not all of them may see the same folder.
    """
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        match = _RANK_FILE.fullmatch(path.name)
        if match and int(match[1]) % ranks.count == ranks.rank:
            path.unlink(missing_ok=True)


def safe_name(text: str) -> str:
    """A part of a file's name, whatever a host calls itself."""
    return re.sub(r"[^A-Za-z0-9._-]+", "_", text)[:64] or "_"


def measure_fleet(
    ranks: Ranks, plan: Plan | None, trouble: IsthmusError | None, tell: Callable[[str], object]
) -> Ended | IsthmusError | None:
    """Take part as one of the ranks; gives rank 0 what came of it and None to the others.

    What keeps all from beginning is given to all, for each to raise when it needs no other rank any more: the `trouble`
    of one that has no plan, or that they were not asked the same. Raises RanksBroken on ranks that have lost rank 0.
    After an interruption the fleet file holds what was measured, and the exception goes on.
    """
    joined, start = _join(ranks, plan, trouble)
    if start.trouble is not None:
        return start.trouble
    assert plan is not None
    path = Path(start.path)
    with suppress(OSError):  # The measuring process says it, of the file that it cannot write.
        _clear(folder_of(path), ranks)
    every = beat_seconds(ranks.count)
    orders, reports = ranks.mailbox(_ORDERS), ranks.mailbox(_REPORTS)
    own = FleetRank(orders, reports, lambda phase: _task(ranks, plan, start, phase), plan.limit_seconds, every)
    try:
        if not ranks.leads:
            try:
                while own.step():
                    time.sleep(_NAP_SECONDS)
                own.leave()
            except KeyboardInterrupt:
                own.interrupt()
                raise
            return None
        return _lead(FleetLead(joined, orders, reports, MISSED_BEATS * every, tell), own, plan, start)
    finally:
        own.kill()


def _lead(lead: FleetLead, own: FleetRank, plan: Plan, start: _Start) -> Ended:
    path = Path(start.path)
    fleet = Fleet(
        format=FLEET_FORMAT,
        schema_version=FLEET_SCHEMA_VERSION,
        fleet=start.fleet,
        created=f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        command=plan.command,
        points=[],
        members=[],
    )
    lead.write(path, fleet)  # Where it cannot be written, that is known before anything is measured.
    next_write = 0.0
    try:
        lead.begin()
        while lead.step():
            own.step()
            began = time.monotonic()
            if lead.has_news and began >= next_write:
                # The launcher may end all ranks at any time, if one of them dies.
                with suppress(RunFileError):
                    lead.write(path, fleet)
                next_write = began + _WRITES_APART * (time.monotonic() - began)
            time.sleep(_NAP_SECONDS)
    except KeyboardInterrupt:
        lead.interrupted = True
        own.interrupt()
        deadline = time.monotonic() + _LAST_WORDS_SECONDS
        while lead.step() and time.monotonic() < deadline:
            time.sleep(_NAP_SECONDS)
        lead.write(path, fleet)
        raise
    lead.write(path, fleet)
    return lead.end(path, own.step)


def _join(ranks: Ranks, plan: Plan | None, trouble: IsthmusError | None) -> tuple[list[Joined], _Start]:
    """Who is there, on rank 0, and what all begin with."""
    # Plain data, which ranks with other versions understand.
    own: dict[str, Any] = {
        "host": platform.node(),
        "version": isthmus.__version__,
        "local_rank": ranks.local_rank,
        "node": ranks.node,
        "asked": repr(plan and (plan.spec, plan.experiments, plan.options)),
        "trouble": trouble,
    }
    answers = ranks.gather(own)
    if answers is None:
        return [], _Start(*ranks.listen())
    joined = [Joined(*(each[name] for name in Joined._fields)) for each in answers]
    now = datetime.now(timezone.utc)
    start = _Start(
        _first_trouble(answers), f"{now:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:6]}", str(plan.path) if plan else ""
    )
    ranks.tell(tuple(start))
    return joined, start


def _first_trouble(answers: Sequence[dict[str, Any]]) -> IsthmusError | None:
    """What keeps all from beginning: an error of one, or words that differ."""
    for rank, each in enumerate(answers):
        trouble = each["trouble"]
        if isinstance(trouble, IsthmusError):
            if len({str(other["trouble"]) for other in answers}) == 1:
                return trouble
            return type(trouble)(f"{Ranks.name_of(rank, str(each['host']))}: {trouble}")
        if each["asked"] != answers[0]["asked"]:
            first, other = (Ranks.name_of(one, str(answers[one]["host"])) for one in (0, rank))
            return UsageError(
                f"the ranks were asked different things: {first} {answers[0]['asked']}, {other} {each['asked']}; give "
                "all of them the same command line"
            )
    return None


def _task(ranks: Ranks, plan: Plan, start: _Start, phase: Phase) -> Task:
    path = Path(start.path)
    suffix = ".json.gz" if path.suffix == ".gz" else ".json"
    own = folder_of(path) / f"rank{ranks.rank}-{safe_name(platform.node())}-{phase}{suffix}"
    return Task(
        spec=plan.spec,
        experiments=plan.experiments,
        options=plan.options,
        path=os.fsencode(own),
        command=plan.command,
        launch=Launch(
            fleet=start.fleet,
            phase=phase,
            rank=ranks.rank,
            ranks=ranks.count,
            local_rank=ranks.local_rank,
            node=ranks.node,
        ),
        waits=phase == "together",
        has_neighbours=ranks.local_count > 1,
    )
