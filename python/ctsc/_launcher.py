# SPDX-License-Identifier: Apache-2.0
"""_launcher.py - the variables that torchrun gives a process, for those that mpirun or srun started.

Programs read RANK and its kin, and env:// does. mpirun and srun say the same under other names. Where the ranks meet, mpirun does not say: on one machine that is here, at a port
that follows from the job; on several MASTER_ADDR has to be given. srun lists its machines, the first of which has rank 0.
"""
import os
import zlib

# rank, size, rank on the machine, ranks on the machine
_OPENMPI = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE")
_MPICH = ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
_SLURM = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", None) # a batch script has no SLURM_STEP_NUM_TASKS: it is no rank
_TORCHRUN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
_FIRST_PORT, _PORTS = 20000, 10000


def _mpich_job():
    """MPICH gives its jobs no names: the process that started the ranks of this machine is the same for all of them, whatever shells are in between."""
    pid = os.getppid()
    while pid > 1:
        try:
            with open("/proc/%d/stat" % pid) as f:
                text = f.read()
        except OSError:
            break
        name, rest = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
        if name.startswith("hydra_pmi"):
            return pid
        pid = int(rest[1])
    return os.getppid()


def _first_host(nodes):
    """node01b of "node[01-04,07]b,other"."""
    name, inside, skips = "", False, False
    for c in nodes:
        if c == "," and not inside:
            break
        if c in "[]":
            inside, skips = c == "[", False
        elif inside and c in ",-":
            skips = True
        elif not skips:
            name += c
    return name


def variables(env):
    """What torchrun would have set, as far as the launcher tells."""
    for names in (_OPENMPI, _MPICH, _SLURM):
        if env.get(names[0], "").isdigit() and env.get(names[1], "").isdigit():
            break
    else:
        return {}
    found = {ours: env[theirs] for ours, theirs in zip(_TORCHRUN, names) if theirs in env}
    if names is _SLURM:
        host = _first_host(env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST") or "")
        job = "%s.%s" % (env.get("SLURM_JOB_ID"), env.get("SLURM_STEP_ID"))
    else:
        host = "127.0.0.1" if found.get("LOCAL_WORLD_SIZE") == found["WORLD_SIZE"] else ""
        job = env.get("PMIX_NAMESPACE") or env.get("OMPI_MCA_ess_base_jobid") if names is _OPENMPI else _mpich_job()
    if host:
        found.update(MASTER_ADDR=host, MASTER_PORT=str(_FIRST_PORT + zlib.crc32(str(job).encode()) % _PORTS))
    return found


def apply():
    """Sets those that are not set, unless torchrun or another launcher of its kind began."""
    if "RANK" not in os.environ:
        for name, value in variables(os.environ).items():
            os.environ.setdefault(name, value)
