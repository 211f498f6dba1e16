#!/bin/bash
# Measures one device a rank under plain mpirun: mpirun.sh RANKS [OPTIONS OF isthmus measure].
set -uo pipefail

ranks=${1:?how many ranks: as many as there are devices}
shift
# What keeps the others alive where a rank dies: MPICH takes -disable-auto-cleanup, Open MPI --enable-recovery; both are
# left out here, since the measuring itself is in processes of its own, whose end no launcher minds.
mpirun -n "$ranks" isthmus measure bandwidth -o fleet.json "$@"
