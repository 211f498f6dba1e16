#!/bin/bash
# Slurm's Prolog (slurm.conf: Prolog=/etc/slurm/prolog.d/isthmus.sh): by its exit code alone Slurm drains the node and requeues
# the job. It runs no command of Slurm, which Slurm's page on prologs forbids.
[ -n "$SLURM_JOB_GPUS" ] || exit 0
# The job's own devices: those of other jobs on the node are busy, and would be disturbed.
line=$(CUDA_VISIBLE_DEVICES=$SLURM_JOB_GPUS timeout 60 isthmus-check --style plain 2>/dev/null)
code=$?
case $code:$line in
  1:?*) ;;                                                 # FAULT
  3:*"did not answer"*) ;;                                 # a driver that hangs
  124:*) line="isthmus-check did not end in 60 s" ;;
  [0-3]:?*) exit 0 ;;                                      # right, or nothing that could be judged
  *)                                                       # absent (127), or crashed: no fault of the node's link
    logger -t isthmus-prolog -- "isthmus-check gave no verdict: exit code $code" 2>/dev/null
    exit 0
    ;;
esac
logger -t isthmus-prolog -- "$line" 2>/dev/null
echo "$line"
exit 1
