#!/usr/bin/env bash
# A job of four machines, one process on each, all of its cores as workers:
#   sbatch cluster/slurm.sh --config ddi --data /shared/data --out /shared/results
# A job that was cut off goes on from its last checkpoint with --resume at the end of the same command.
#SBATCH --job-name=isvd-dist
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=01:00:00
set -euo pipefail

# Processes know each other by a secret that lives as long as the job. It travels in the environment, which srun passes on.
if [[ -z "${ISVD_CLUSTER_SECRET:-}" ]]; then
  ISVD_CLUSTER_SECRET="$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')"
fi
export ISVD_CLUSTER_SECRET

# When one process ends with an error the others end by themselves; srun only makes sure of it.
exec srun --distribution=block --kill-on-bad-exit=0 \
  "${ISVD_PROGRAM:-isvd-dist}" --cluster slurm --workers "${SLURM_CPUS_ON_NODE:-1}" "$@"
