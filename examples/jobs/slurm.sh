#!/bin/bash
# Measures every GPU of the nodes of a Slurm job, alone and together, and reports those that are slow among their like.
#SBATCH --job-name=isthmus
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=8
#SBATCH --time=00:15:00
set -uo pipefail

# In a folder that all nodes see. Each rank keeps its own samples beside the fleet file.
runs=${SLURM_SUBMIT_DIR:-.}/isthmus-${SLURM_JOB_ID:-0}
mkdir -p "$runs"

# One task a device; --mpi=pmix or pmi2, whichever the cluster's MPI was built with (srun --mpi=list). A rank that dies
# must not end the others; --cpu-bind=none, since every rank binds itself to its device's NUMA node.
srun --mpi=pmix --kill-on-bad-exit=0 --cpu-bind=none isthmus measure bandwidth -o "$runs/fleet.json" "$@"
measured=$?

# Where the job was cut short the files of the ranks say more than the fleet file.
if [ "$measured" -le 1 ]; then found=$runs/fleet.json; else found=$runs/fleet-ranks; fi
isthmus fleet "$found" --fail-if outliers && exit "$measured"
