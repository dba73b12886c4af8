#!/usr/bin/env bash
# A job on four machines, with one process on each, and one worker for each core:
#   sbatch cluster/slurm.sh --config ddi --data /shared/data --out /shared/results
# To continue an interrupted job from its last checkpoint, append --resume to the same command.
#SBATCH --job-name=isvd-dist
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
set -euo pipefail

# The processes share a secret for the duration of the job. srun passes it on in the environment.
if [[ -z "${ISVD_CLUSTER_SECRET:-}" ]]; then
  ISVD_CLUSTER_SECRET="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
fi
export ISVD_CLUSTER_SECRET

# If one process fails, the others end by themselves, so srun need not kill them.
exec srun --distribution=block --kill-on-bad-exit=0 \
  "${ISVD_PROGRAM:-isvd-dist}" --cluster slurm --workers "${SLURM_CPUS_ON_NODE:-1}" "$@"
