#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls and allocations that fail: the command ends with an error that says so or with the right result, and leaves whole files.

    python3 tests/faults/syscalls.py --ctsc build/ctsc [--at-most 12] [--only run,save] [--calls write,fsync] [-v]    (make test-syscalls)

strace lets the n-th call of one kind fail with one error, once and from then on. Each scenario first runs without faults: that run says what it prints, and how
many calls of each kind every thread makes once the dynamic loader is done (what fails before that is the loader's affair). At most --at-most of them fail, spread
evenly; 0 means all. Allocations ("malloc" among --calls) fail by a preloaded library (tests/faults/malloc.c), those of the libraries below ctsc too. After each
run:

- the process was not ended by a signal and did not hang;
- if it ended with 0, it printed what the first run printed, and what it wrote is the new file;
- else standard error has a message, and what it would have overwritten is the old file or the new one;
- no temporary file is left, unless unlink itself failed.

The server must besides answer the request after the one that met a fault, and end when it is told to.
"""
import argparse
import collections
import glob
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# What fails, with which errors.
ERRORS = {
    "openat": ("EMFILE", "EACCES", "EINTR"),
    "read": ("EIO", "EINTR"),
    "pread64": ("EIO",),
    "write": ("ENOSPC", "EIO", "EINTR"),
    "pwrite64": ("ENOSPC",),
    "writev": ("ENOSPC",),
    "close": ("EIO",),
    "newfstatat": ("EACCES",),
    "statx": ("EACCES",),
    "lseek": ("EINVAL",),
    "ftruncate": ("ENOSPC",),
    "fallocate": ("ENOSPC",),
    "mmap": ("ENOMEM",),
    "mremap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
    "madvise": ("EINVAL",),
    "fsync": ("EIO",),
    "fdatasync": ("EIO",),
    "rename": ("ENOSPC", "EACCES"),
    "renameat2": ("ENOSPC",),
    "linkat": ("EPERM", "ENOSPC"),
    "unlink": ("EACCES",),
    "mkdir": ("EACCES", "ENOSPC"),
    "getdents64": ("EIO",),
    "clone3": ("EAGAIN",),
    "getrandom": ("ENOSYS",),
    "sched_getaffinity": ("EPERM",),
    "flock": ("ENOLCK",),
    "fcntl": ("EINVAL",),
    "memfd_create": ("EMFILE",),
    "socket": ("EMFILE",),
    "bind": ("EADDRINUSE",),
    "listen": ("EADDRINUSE",),
    "setsockopt": ("ENOPROTOOPT",),
    "accept4": ("EMFILE", "ECONNABORTED", "EINTR", "ENOMEM"),
    "recvfrom": ("ECONNRESET", "EAGAIN", "EINTR"),
    "sendto": ("EPIPE", "EAGAIN", "EINTR"),
    "sendmsg": ("EPIPE", "EAGAIN", "EINTR"),
    "sendfile": ("EPIPE",),
    "epoll_create1": ("EMFILE",),
    "epoll_ctl": ("ENOMEM",),
    "epoll_wait": ("EINTR",),
    "poll": ("EINTR",),
    "eventfd2": ("EMFILE",),
    "pipe2": ("EMFILE",),
    "malloc": ("ENOMEM",),
}
NET = "import torch\n\nclass Net(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = torch.nn.Linear(8, %d)\n\n" \
      "    def forward(self, x):\n        return (self.a(x) * 2 + 1).tanh()\n"
LOOP = "import torch\n\ndef forward(x, n: int):\n    for i in range(n):\n        x = ((x * 1.5 + 0.25).tanh() * x + i).sigmoid()\n    return x.sum()\n"
SECONDS = 60
# -D: strace is a grandchild, so that the process that is started is the command itself, with its status and signals.
STRACE = ["strace", "-D", "-f"]
MALLOC = None  # the library that lets allocations fail


class Run:
    """What one run of a command left: its status (None: it hung), what it printed."""

    def __init__(self, status, out, err):
        self.status, self.out, self.err = status, out, err


class Scenario:
    """A command. arguments() after prepare(), which sets up its files; written() tells what they are afterwards."""

    # Calls that do not fail here.
    spared = ()

    def __init__(self, ctsc, folder):
        self.ctsc, self.folder = ctsc, folder
        self.environment = dict(os.environ, CTSC_CACHE=os.path.join(folder, "cache"), OPENBLAS_NUM_THREADS="1", LC_ALL="C")

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)

    def plain(self, *arguments):
        return subprocess.run([self.ctsc, *arguments], env=self.environment, capture_output=True, text=True, timeout=SECONDS)

    def setup(self):
        """Once, without faults."""
        for width in 4, 5:
            self.write("net%d.py" % width, NET % width)
            self.plain("compile", self.path("net%d.py" % width), "-o", self.path("net%d.pt" % width)).check_returncode()

    def prepare(self):
        pass

    def written(self):
        """A description of the file that is written, None if there is none; must not depend on its time."""
        return None

    def excused(self, run, for_good):
        """Whether another result than the good one says that there was a fault."""
        return False

    def execute(self, prefix):
        try:
            r = subprocess.run(prefix + [self.ctsc, *self.arguments()], env=self.environment, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired as e:
            return Run(None, str(e.stdout), str(e.stderr))
        # Times differ.
        return Run(r.returncode, re.sub(r"[\d.]+ (m?s|samples/s)\b", "TIME", r.stdout), r.stderr)


class Load(Scenario):
    """An archive is loaded and called."""

    def arguments(self):
        return ["run", self.path("net4.pt"), "--input", "float32[2,8]:ones"]


class Kernels(Scenario):
    """Kernels are compiled and kept on disk."""

    def setup(self):
        self.write("loop.py", LOOP)

    def prepare(self):
        shutil.rmtree(self.path("cache"), ignore_errors=True)

    def arguments(self):
        return ["run", self.path("loop.py"), "--input", "float32[1000]:ones", "--input", "40", "--threads", "2"]


class Save(Scenario):
    """One archive is overwritten by another."""

    def prepare(self):
        shutil.copy(self.path("net5.pt"), self.path("out.pt"))

    def arguments(self):
        return ["compile", self.path("net4.py"), "-o", self.path("out.pt")]

    def written(self):
        r = self.plain("inspect", self.path("out.pt"))
        return r.stdout + r.stderr if r.returncode else re.sub("out.pt|net[45]", "net", r.stdout)


class Convert(Save):
    """The same in another format."""

    def setup(self):
        super().setup()
        self.plain("convert", self.path("net5.pt"), self.path("net5.safetensors")).check_returncode()

    def prepare(self):
        shutil.copy(self.path("net5.safetensors"), self.path("out.safetensors"))

    def arguments(self):
        return ["convert", self.path("net4.pt"), self.path("out.safetensors"), "--force"]

    def written(self):
        with open(self.path("out.safetensors"), "rb") as f:
            return f.read().hex()


class Train(Scenario):
    """Batches are read, checkpoints and weights written."""

    def setup(self):
        self.write("net.py", NET % 3)
        rows = ["%s,%d" % (",".join(str((row * 7 + i * 3) % 11) for i in range(8)), row % 3) for row in range(12)]
        self.write("train.csv", "\n".join([",".join("x%d" % i for i in range(8)) + ",y"] + rows) + "\n")

    def prepare(self):
        for name in glob.glob(self.path("out*")):
            os.unlink(name)

    def arguments(self):
        return ["train", self.path("net.py"), "--data", self.path("train.csv"), "--target", "y", "--loss", "cross_entropy", "--epochs", "2", "--batch", "6", "--seed", "1",
                "--checkpoint", self.path("out.ckpt"), "-o", self.path("out.pt")]

    def written(self):
        found = []
        for name in "out.pt", "out.ckpt":
            r = self.plain("convert", self.path(name), self.path("check.safetensors"), "--force") if os.path.exists(self.path(name)) else None
            found.append("none" if r is None else "whole" if r.returncode == 0 else r.stderr)
        return found


class Serve(Scenario):
    """A server starts, answers three requests and ends."""
    # Its threads wake each other by writing to event descriptors, which cannot fail.
    spared = ("write",)
    BODY = json.dumps({"inputs": [{"name": "x", "shape": [1, 8], "datatype": "FP32", "data": [1] * 8}]})

    def setup(self):
        super().setup()
        os.mkdir(self.path("models"))
        os.rename(self.path("net4.pt"), self.path("models", "net4.pt"))

    def arguments(self):
        return ["serve", self.path("models"), "--port", "0"]

    def ask(self, port):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST", "/v2/models/net4/infer", self.BODY, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return "%d %s" % (answer.status, answer.read().decode())
        except (OSError, http.client.HTTPException) as e:
            return repr(e)
        finally:
            connection.close()

    def excused(self, run, for_good):
        # A model that could not be loaded is reported to each request; connections that cannot be made or answered are not.
        unseen = run.out.startswith("404") and "cannot be read whole" in run.err
        return for_good or unseen or run.out.startswith("503") and "is not ready" in run.out and "not loaded" in run.err

    def execute(self, prefix):
        with open(self.path("out.txt"), "w+") as out, open(self.path("err.txt"), "w+") as err:
            process = subprocess.Popen(prefix + [self.ctsc, *self.arguments()], env=self.environment, stdout=out, stderr=err, start_new_session=True)
            try:
                answers = self.talk(process)
                process.terminate()
                status = process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                status, answers = None, []
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            err.seek(0)
            # A request may meet the fault, the others may not.
            text, n = (collections.Counter(answers).most_common(1) or [("", 0)])[0]
            return Run(status, text if n >= len(answers) - 1 else "\n".join(answers), err.read())

    def talk(self, process):
        """Three requests as soon as it says that it listens. It may end before, or be unable to say so; then there are no answers."""
        end = time.monotonic() + 5
        while time.monotonic() < end and process.poll() is None:
            with open(self.path("out.txt")) as f, open(self.path("err.txt")) as g:
                found = re.search(r"127\.0\.0\.1:(\d+)", f.read() + g.read())
            if found:
                return [self.ask(int(found.group(1))) for _ in range(3)]
            time.sleep(0.01)
        return []


SCENARIOS = {"run": Load, "kernels": Kernels, "save": Save, "convert": Convert, "train": Train, "serve": Serve}


def count(log):
    """From a log of strace: how many calls of each kind the dynamic loader makes, and how many the thread with the most makes after that."""
    with open(log, errors="replace") as f:
        lines = f.read().splitlines()
    loader, cache, first, threads = collections.Counter(), None, None, collections.defaultdict(collections.Counter)
    opened = None
    for line in lines:
        found = re.match(r"(\d+) +(\w+)\((.*)", line)
        if not found:
            continue
        thread, name, rest = found.groups()
        first = first or thread
        threads[thread][name] += 1
        # The loader's last act is to unmap the list of libraries.
        if cache != "done" and thread == first:
            loader[name] += 1
            if name == "openat" and "ld.so.cache" in rest:
                opened = rest.rsplit("= ", 1)[-1]
            elif name == "mmap" and opened and cache is None and re.search(r", %s, 0\)" % opened, rest):
                cache = rest.rsplit("= ", 1)[-1]
            elif name == "munmap" and cache and rest.startswith(cache):
                cache = "done"
    if cache != "done":
        loader = collections.Counter()
    most = collections.Counter()
    for calls in threads.values():
        for name, n in calls.items():
            most[name] = max(most[name], n)
    return loader, most


def spread(first, last, at_most):
    n = last - first + 1
    if n <= 0:
        return []
    if not at_most or n <= at_most:
        return list(range(first, last + 1))
    return sorted({first + i * (n - 1) // (at_most - 1) for i in range(at_most)} if at_most > 1 else {first})


def judge(run, good, before, call, scenario, for_good):
    """What is wrong with a run, or None."""
    mute = call == "write" and for_good
    if run.status is None:
        return "hangs"
    if run.status < 0 or run.status > 128 and run.status != 255:
        return "ended by a signal (%d)" % run.status
    if run.status == 0 and run.out != good.out and not scenario.excused(run, for_good):
        return "status 0, but it printed %r instead of %r" % (run.out[:200], good.out[:200])
    if run.status and not run.err.strip() and not mute:
        return "status %d without a message" % run.status
    after = scenario.written()
    if run.status == 0 and after != good.written:
        return "status 0, but the file is not the new one"
    if after not in (before, good.written) and not isinstance(after, list):
        return "the file is neither the old one nor the new one"
    if isinstance(after, list) and not set(after) <= {"none", "whole"}:
        return "damaged: %s" % after
    left = [f for f in os.listdir(scenario.folder) if ".tmp" in f]
    for f in left:
        os.unlink(scenario.path(f))
    if left and call != "unlink":
        return "leaves %s" % ", ".join(left)
    return None


def attempt(scenario, good, call, error, n, for_good):
    scenario.prepare()
    before = scenario.written()
    if call == "malloc":
        inject = "MALLOC_FAULT=%d%s" % (n, "+" if for_good else "")
        prefix = ["env", "LD_PRELOAD=" + MALLOC, inject]
    else:
        inject = "inject=%s:error=%s:when=%d%s" % (call, error, n, "+" if for_good else "")
        prefix = STRACE + ["--seccomp-bpf", "-qqq", "-o", "/dev/null", "-e", "trace=" + call, "-e", inject]
    run = scenario.execute(prefix)
    wrong = judge(run, good, before, call, scenario, for_good)
    return (inject, wrong, run) if wrong else None


def allocations(scenario):
    """How many there are."""
    scenario.prepare()
    path = scenario.path("allocations")
    scenario.execute(["env", "LD_PRELOAD=" + MALLOC, "MALLOC_COUNT=" + path])
    with open(path) as f:
        return int(f.read())


def campaign(name, scenario, options):
    scenario.setup()
    scenario.prepare()
    log = scenario.path("strace.log")
    good = scenario.execute(STRACE + ["-o", log])
    time.sleep(0.5)  # strace may end after what it traces
    if good.status != 0:
        return 0, [("without faults", "status %s" % good.status, good)]
    good.written = scenario.written()
    loader, most = count(log)
    if MALLOC:
        most["malloc"] = allocations(scenario)
    tried, wrong = 0, []
    for call, errors in ERRORS.items():
        if options.calls and call not in options.calls or call in scenario.spared:
            continue
        for n in spread(loader[call] + 1, most[call], options.at_most * 8 if call == "malloc" else options.at_most):
            for error in errors:
                # After these a call is made again, as often as they come.
                for for_good in (False,) if error in ("EINTR", "ECONNABORTED") else (False, True):
                    tried += 1
                    found = attempt(scenario, good, call, error, n, for_good)
                    if found:
                        wrong.append(found)
                        print("%s: %s: %s\n%s" % (name, found[0], found[1], found[2].err[-600 if not options.verbose else -6000:]), flush=True)
    return tried, wrong


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--ctsc", required=True)
    p.add_argument("--at-most", type=int, default=12, help="calls of one kind that fail, per scenario; 0: all")
    p.add_argument("--only", default=",".join(SCENARIOS))
    p.add_argument("--malloc", help="the library made of tests/faults/malloc.c")
    p.add_argument("--calls", type=lambda s: s.split(","))
    p.add_argument("-v", "--verbose", action="store_true")
    options = p.parse_args()
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 0
    global MALLOC
    MALLOC = options.malloc and os.path.abspath(options.malloc)
    failed = 0
    for name in options.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            tried, wrong = campaign(name, SCENARIOS[name](os.path.abspath(options.ctsc), folder), options)
            print("%s: %d runs with a fault, %d wrong, %.0f s" % (name, tried, len(wrong), time.monotonic() - start), flush=True)
            failed += len(wrong)
            if not tried:
                failed += 1
                print("%s: nothing was tried" % name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
