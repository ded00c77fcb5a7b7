# SPDX-License-Identifier: Apache-2.0
"""torch.distributed: programs of tests/distributed on 2 and 4 processes against what PyTorch 2.15 printed with gloo (NAME.2.txt), and what is said when a process fails."""
import concurrent.futures
import contextlib
import datetime
import glob
import os
import re
import shutil
import socket
import subprocess
import sys

import pytest

import ctsc

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "distributed")
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
EXPECTED = sorted(glob.glob(os.path.join(HERE, "*.txt")))


def lacking():
    """Why programs cannot run here; None if they can."""
    from ctsc.distributed import _library
    why = _library.has_engine("gloo")
    if why:
        return why
    try:
        ctsc.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    except RuntimeError as e:
        return str(e) if "libzmq" in str(e) else None
    return None


LACKS = lacking()
pytestmark = pytest.mark.skipif(LACKS is not None, reason=LACKS or "")


def start(program, size, *args):
    """What the ranks print, in their order."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(size), OMP_NUM_THREADS="1")
    env["PYTHONPATH"] = os.pathsep.join([os.path.dirname(os.path.dirname(ctsc.__file__))] + [p for p in (env.get("PYTHONPATH"),) if p])
    started = [subprocess.Popen([sys.executable, "-m", "ctsc", os.path.join(HERE, program + ".py")] + list(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=dict(env, RANK=str(r), LOCAL_RANK=str(r))) for r in range(size)]
    try:
        outputs = [p.communicate(timeout=90) for p in started]
    finally:
        for p in started:
            p.kill()
    return [line for out, _ in outputs for line in out.splitlines()], "".join(err for _, err in outputs)


def same(a, b):
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    return all(abs(float(x) - float(y)) <= 1e-4 * (1 + abs(float(y))) for x, y in zip(NUMBER.findall(a), NUMBER.findall(b)))


@pytest.mark.parametrize("expected", EXPECTED, ids=[os.path.basename(e)[:-len(".txt")] for e in EXPECTED])
def test_as_pytorch(expected):
    name, size, _ = os.path.basename(expected).split(".")
    with open(expected) as f:
        want = f.read().splitlines()
    got, errors = start(name, int(size))
    for line, wanted in zip(got, want):
        assert same(line, wanted), (line, wanted)
    assert len(got) == len(want), errors[-3000:]


def test_torchrun():
    """torchrun has a store of PyTorch's at MASTER_PORT: ranks meet elsewhere."""
    with socket.socket() as agent:
        agent.bind(("127.0.0.1", 0))
        agent.listen()
        env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(agent.getsockname()[1]), WORLD_SIZE="2", OMP_NUM_THREADS="1", TORCHELASTIC_USE_AGENT_STORE="True",
                   TORCHELASTIC_RESTART_COUNT="1", PYTHONPATH=os.path.dirname(os.path.dirname(ctsc.__file__)))
        started = [subprocess.Popen([sys.executable, "-m", "ctsc", os.path.join(HERE, "messages.py")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    env=dict(env, RANK=str(r), LOCAL_RANK=str(r))) for r in range(2)]
        try:
            outputs = [p.communicate(timeout=90) for p in started]
        finally:
            for p in started:
                p.kill()
    with open(os.path.join(HERE, "messages.2.txt")) as f:
        want = f.read().splitlines()
    got = [line for out, _ in outputs for line in out.splitlines()]
    assert len(got) == len(want) and all(same(a, b) for a, b in zip(got, want)), outputs


def mpirun(launcher, program, **variables):
    """What the ranks print under mpirun, in their order, against what is expected of two."""
    if not shutil.which(launcher):
        pytest.skip("there is no " + launcher)
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONUNBUFFERED", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}
    env.update(variables, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", PYTHONPATH=os.path.dirname(os.path.dirname(ctsc.__file__)))
    command = [launcher] + (["--oversubscribe"] if "openmpi" in launcher else []) + ["-n", "2", sys.executable, "-m", "ctsc", os.path.join(HERE, program + ".py")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=90)
    with open(os.path.join(HERE, program + ".2.txt")) as f:
        want = f.read().splitlines()
    got = sorted(done.stdout.splitlines(), key=lambda line: line[:2])
    assert len(got) == len(want) and all(same(a, b) for a, b in zip(got, want)), (done.stdout, done.stderr[-2000:])


@pytest.mark.parametrize("variables", [{}, {"CTSC_DIST_NEAR": "0"}, {"CTSC_DIST_NEAR": "0", "CTSC_MPI_THREADS": "funneled"}], ids=["near", "messages", "funneled"])
@pytest.mark.parametrize("launcher", ["mpirun.openmpi", "mpirun.mpich"])
def test_mpi(launcher, variables):
    """The lines of gloo, by either MPI."""
    mpirun(launcher, "messages", BACKEND="mpi", **variables)


@pytest.mark.parametrize("program", ["messages", "remote"])
@pytest.mark.parametrize("launcher", ["mpirun.openmpi", "mpirun.mpich"])
def test_started_by_mpirun(launcher, program):
    """Programs that know nothing of MPI find the variables of torchrun."""
    mpirun(launcher, program)


def test_variables_of_launchers():
    from ctsc._launcher import variables
    found = variables({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": "7"})
    assert found == {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "2"} # on several machines: where they meet is not known
    jobs = [variables({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_SIZE": "2", "PMIX_NAMESPACE": job}) for job in ("7", "7", "8")]
    assert jobs[0] == jobs[1] != jobs[2] and jobs[0]["MASTER_ADDR"] == "127.0.0.1"
    slurm = {"SLURM_PROCID": "3", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "4", "SLURM_JOB_ID": "5", "SLURM_STEP_NODELIST": "node[01-04,07]b,other"}
    assert variables(slurm)["MASTER_ADDR"] == "node01b" and variables(slurm)["RANK"] == "3" and variables(slurm)["LOCAL_RANK"] == "1"
    del slurm["SLURM_STEP_NUM_TASKS"] # a batch script
    assert variables(slurm) == {} == variables({})


FAULTS = [
    ("killed", 4, [r"rank \d, all_reduce number 1 of group default_pg \(float32 \[5\]\): lost rank \d"]),
    ("hangs", 2, [r"rank 0, all_reduce number 1 .*Timed out waiting 2000ms for rank 1"]),
    ("other shape", 2, [r"rank 0, all_reduce .*\(float32 \[5\]\).*; rank 1: rank 1, all_reduce number 1 .*\(float32 \[6\]\)", r"rank 1, .*\[6\]"]),
    ("other call", 2, [r"rank 0, all_reduce .*; rank 1: rank 1, broadcast", r"rank 1, broadcast number 1 "]),
    ("other model", 2, [r"params\[0\] in this process with sizes \[2, 2\]", r"params\[0\] in this process with sizes \[3, 2\]"]),
    ("absent", 2, [r"rank 0 of 2 waits for rank 1"]),
]


@pytest.fixture(scope="module")
def faults():
    """What was printed for each kind: they wait for time-outs, so they run beside one another."""
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        return dict(zip([kind for kind, _, _ in FAULTS], pool.map(lambda f: start("faults", f[1], f[0])[0], FAULTS)))


@pytest.mark.parametrize("kind,size,said", FAULTS, ids=[kind.replace(" ", "-") for kind, _, _ in FAULTS])
def test_fault(faults, kind, size, said):
    got = faults[kind]
    wrong = [line for line in got if " within " not in line and not (kind == "hangs" and line.startswith("1 "))]
    assert not wrong and len(got) >= len(said), got
    for pattern in said:
        assert any(re.search(pattern, line) for line in got), got


def test_another_secret():
    with ctsc_secret("1" * 64):
        store = ctsc.distributed.TCPStore("127.0.0.1", 0, is_master=True)
    with ctsc_secret("2" * 64), pytest.raises(ctsc.distributed.DistStoreError, match="has another secret"):
        ctsc.distributed.TCPStore("127.0.0.1", store.port, timeout=datetime.timedelta(milliseconds=300))
    with ctsc_secret("1" * 64):
        assert ctsc.distributed.TCPStore("127.0.0.1", store.port).num_keys() == 0
    with ctsc_secret("short"), pytest.raises(RuntimeError, match="64 hexadecimal digits"):
        ctsc.distributed.TCPStore("127.0.0.1", 0, is_master=True)


@contextlib.contextmanager
def ctsc_secret(text):
    before = os.environ.get("CTSC_DIST_SECRET")
    os.environ["CTSC_DIST_SECRET"] = text
    try:
        yield
    finally:
        if before is None:
            del os.environ["CTSC_DIST_SECRET"]
        else:
            os.environ["CTSC_DIST_SECRET"] = before


def test_a_file_of_keys(tmp_path):
    a = ctsc.distributed.FileStore(str(tmp_path / "keys"), 2)
    b = ctsc.distributed.FileStore(str(tmp_path / "keys"), 2)
    a.set("x", "1")
    assert b.get("x") == b"1" and b.add("n", 3) == 3 and a.add("n", 4) == 7 and a.num_keys() == 2 and b.delete_key("x") and not a.check(["x"])
    with open(str(tmp_path / "keys"), "ab") as f: # a process that was killed while it wrote
        f.write(b"\x01\x00\x00\x00\x00\x00\x00\x00\x10")
    b.set("y", "2")
    assert a.get("y") == b"2"
    del a, b
    assert not (tmp_path / "keys").exists()
