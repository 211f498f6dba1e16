"""Whether a launcher of MPI programs started this process as one of several, as its environment variables say."""

from collections.abc import Mapping
from typing import NamedTuple

# Size and rank: MPICH and Intel MPI, Open MPI, MVAPICH, Cray and others over PMIx; Slurm's step. SLURM_NTASKS will not
# do: a batch script has it too, and a program that it starts without srun is alone.
_VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMI_SIZE", "PMI_RANK"),
    ("MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_RANK"),
    ("PALS_SIZE", "PALS_RANKID"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
# MPICH and Intel MPI name theirs unlike the rest.
_LOCAL_VARIABLES = (
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "MPI_LOCALRANKID",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "PALS_LOCAL_RANKID",
    "SLURM_LOCALID",
)


class Launched(NamedTuple):
    """This process's rank, how many there are, and its place on the machine; 0 of 1 without a launcher."""

    rank: int = 0
    ranks: int = 1
    # Among those on this machine.
    local_rank: int = 0


def launched(environment: Mapping[str, str]) -> Launched:
    """What the first launcher that left both of its variables says.

    A launcher inside another, such as mpirun in an interactive Slurm step, is found first.
    """
    for size, rank in _VARIABLES:
        count, own = environment.get(size, ""), environment.get(rank, "")
        if count.isdecimal() and own.isdecimal() and int(own) < int(count):
            locals_ = (environment.get(name, "") for name in _LOCAL_VARIABLES)
            local = next((text for text in locals_ if text.isdecimal()), "0")
            return Launched(int(own), int(count), int(local))
    return Launched()
