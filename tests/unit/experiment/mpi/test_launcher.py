"""What the environment of a process says about ranks: every launcher's words, and those that mean nothing."""

import pytest

from isthmus.experiment.mpi.launcher import Launched, launched


@pytest.mark.parametrize(
    ("size", "rank"),
    [
        ("PMI_SIZE", "PMI_RANK"),
        ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
        ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
        ("PALS_SIZE", "PALS_RANKID"),
        ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ],
)
def test_a_launcher_says_how_many_ranks_there_are(size: str, rank: str) -> None:
    assert launched({size: "4", rank: "3"}) == Launched(3, 4)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PMI_SIZE": "2"},
        {"PMI_RANK": "0"},
        {"PMI_SIZE": "two", "PMI_RANK": "0"},
        {"PMI_SIZE": "2", "PMI_RANK": "2"},
        # A batch script, which Slurm tells of the tasks that srun may start in it.
        {"SLURM_NTASKS": "8", "SLURM_PROCID": "0"},
    ],
)
def test_a_process_without_a_launcher_is_alone(environment: dict[str, str]) -> None:
    assert launched(environment) == Launched(0, 1)


def test_mpirun_inside_a_step_of_slurm_counts() -> None:
    step = {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}
    assert launched(step | {"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "1"}) == Launched(1, 2)


@pytest.mark.parametrize(
    "name", ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"]
)
def test_the_place_on_the_machine_is_found(name: str) -> None:
    assert launched({"PMI_SIZE": "16", "PMI_RANK": "11", name: "3"}) == Launched(11, 16, 3)
    assert launched({"PMI_SIZE": "16", "PMI_RANK": "11", name: "x"}) == Launched(11, 16, 0)
