"""The run files of a launch's ranks: phases that belong together, ranks that share a device, launches that repeat."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from isthmus.fleet.gathering import Gathered, gathered
from isthmus.fleet.survey import fleet_rows, survey
from isthmus.record import Launch, Phase, Run
from tests.synthetic import runs as synthetic

PHASES: tuple[Phase, ...] = ("alone", "together")


@pytest.fixture
def run() -> Run:
    found: Run = synthetic.run(synthetic.cases({("copy", "h2d", "pinned"): synthetic.Truth(8e-6, 50e9)}))
    host = msgspec.structs.replace(found.fingerprint.host, name="node17")
    return msgspec.structs.replace(found, fingerprint=msgspec.structs.replace(found.fingerprint, host=host))


def save(folder: Path, run: Run, fleet: str, rank: int, phase: Phase, created: str = "2026-01-01T00:00:00Z") -> None:
    launch = Launch(fleet=fleet, phase=phase, rank=rank, ranks=2, local_rank=rank, node=0)
    changed = msgspec.structs.replace(run, launch=launch, created=created)
    (folder / f"{fleet}-rank{rank}-{phase}.json").write_bytes(msgspec.json.encode(changed))


def known(found: Gathered) -> list[tuple[str, int | None, set[str]]]:
    """Launch, rank and phases of each device."""
    return [
        (
            device.fleet,
            device.rank,
            {point.phase for row, point in enumerate(found.points) if np.isfinite(found.medians[row, place])},
        )
        for place, device in enumerate(found.devices)
    ]


def test_ranks_that_share_a_device_are_two_with_two_phases_each(tmp_path: Path, run: Run) -> None:
    for rank in (0, 1):
        for phase in PHASES:
            save(tmp_path, run, "first", rank, phase)
    found = gathered([tmp_path])
    assert known(found) == [("first", 0, set(PHASES)), ("first", 1, set(PHASES))]
    assert not found.duplicates
    rows = {(row["rank"], row["phase"]) for row in fleet_rows(survey([tmp_path]))}
    assert rows == {(rank, phase) for rank in (0, 1) for phase in PHASES}


@pytest.mark.parametrize("newer", ["first", "second"])
def test_of_two_launches_the_newer_counts_whole(tmp_path: Path, run: Run, newer: str) -> None:
    """Whichever comes first in the folder, and though the older one has a phase more."""
    for fleet in ("first", "second"):
        for phase in PHASES if fleet != newer else PHASES[:1]:
            save(tmp_path, run, fleet, 0, phase, f"2026-01-0{2 if fleet == newer else 1}T00:00:00Z")
    found = gathered([tmp_path])
    assert known(found) == [(newer, 0, {"alone"})]
    assert {device.fleet for device in found.duplicates} == {"first", "second"} - {newer}


def test_a_run_by_itself_was_measured_alone(tmp_path: Path, run: Run) -> None:
    (tmp_path / "run.json").write_bytes(msgspec.json.encode(run))
    assert known(gathered([tmp_path])) == [("", None, {"alone"})]
