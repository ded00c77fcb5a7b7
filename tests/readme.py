#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README.md says can be done: its commands are taken out of it and run, in the order they stand in.

    python3 tests/readme.py --build build [-v]

An indented block with lines that begin with "$ " is a session: the commands run in a shell, in a folder that has the repository's files, and print what
stands below them. In that, "..." stands for anything, on a line of its own for any lines, and numbers are equal to some digits. "`net.py`:" above a block
of Python is a file. make's targets and files that the text names have to be there. Ports are free ones, and an answer is awaited behind a "&".
"""
import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = r"-?(?:\d+\.\d+|\d+)"
# Waits for what was started in the background.
AWAIT = r"""for i in $(seq 100); do (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null && break; sleep 0.1; done"""


def sessions(text):
    """(number of the line, [(command, [lines it prints])]) or (number of the line, (file, contents)), as they come."""
    found, lines, n, name = [], text.split("\n"), 0, None
    while n < len(lines):
        line = lines[n]
        named = re.search(r"`([\w./-]+)`:$", line)
        name = named.group(1) if named else name if not line.strip() or line.startswith("```") else None
        if line.startswith("```"):
            end = lines.index("```", n + 1)
            if line == "```python" and name:
                found.append((n + 1, (name, "\n".join(lines[n + 1:end]) + "\n")))
            n, name = end, None
        elif line.startswith("    $ "):
            first, commands = n + 1, []
            while n < len(lines) and ((line := lines[n]).startswith("    ") or (not line and lines[n + 1:n + 2] and lines[n + 1].startswith("    "))):
                if not line:
                    pass # within a block; blank lines are not compared
                elif line.startswith("    $ "):
                    commands.append((line[6:], []))
                else:
                    commands[-1][1].append(line[4:])
                n += 1
            found.append((first, commands))
            continue
        n += 1
    return found


def pieces(line):
    """A pattern for a line of output; each number a group."""
    words = re.sub(r"\s+", " ", line.strip())
    return "".join(r".*" if p == "..." else "(%s)" % NUMBER if re.fullmatch(NUMBER, p) else re.escape(p).replace(r"\ ", r"\s+")
                   for p in re.split(r"(\.\.\.|%s)" % NUMBER, words))


def same_line(want, got):
    m = re.fullmatch(pieces(want), got.strip())
    numbers = re.findall(NUMBER, want.replace("...", " "))
    return m is not None and all(abs(float(a) - float(b)) <= 1e-3 * max(1, abs(float(b))) for a, b in zip(m.groups(), numbers))


def same(want, got):
    """Lines against lines, "..." among the wanted for any number of them."""
    if not want:
        return not got
    if want[0].strip() == "...":
        return any(same(want[1:], got[k:]) for k in range(len(got) + 1))
    return bool(got) and same_line(want[0], got[0]) and same(want[1:], got[1:])


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def script(commands, port):
    lines = []
    for n, (command, _) in enumerate(commands):
        lines.append("printf '\\n@@%d@@\\n'" % n)
        command = command.replace("localhost:8000", "localhost:%d" % port)
        command = re.sub(r"ctsc serve (\S+)", r"ctsc serve \1 --port %d" % port, command)
        if command.rstrip().endswith("&"):
            lines += [command.rstrip()[:-1] + ">/dev/null 2>&1 &", AWAIT % port]
        else:
            lines.append(command)
    return "\n".join(lines + ["pids=$(jobs -p)", "[ -z \"$pids\" ] || kill $pids", "wait"]) + "\n"


def play(commands, folder, env, report, first):
    missing = [w for w in ("curl", "cc", "make") if any(re.search(r"(^|[|&;] *)%s " % w, c) for c, _ in commands) and not shutil.which(w, path=env["PATH"])]
    if missing:
        return report(True, "line %d" % first, "skipped, there is no %s" % missing[0])
    p = subprocess.run(["bash", "-c", script(commands, free_port())], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True, timeout=600)
    parts = re.split(r"\n@@\d+@@\n", p.stdout)[1:]
    for (command, want), got in zip(commands, parts):
        lines = [line for line in got.split("\n") if line.strip()]
        quiet = re.match(r"(make|cc) ", command) # builds say what they do
        report(quiet or same(want, lines), command, "printed:\n%s\nREADME.md (line %d ...):\n%s" % (got, first, "\n".join(want)))
    report(len(parts) == len(commands), "line %d: all commands were run" % first, p.stdout)


def named_things(text, report):
    """make's targets, and files in links and between backquotes."""
    makefile = ""
    for name in ("Makefile", "packaging/install.mk", "python/python.mk"):
        with open(os.path.join(ROOT, name)) as f:
            makefile += f.read()
    for target in sorted(set(re.findall(r"(?:`|^    |\$ )make ([a-z][a-z-]*)", text, re.M))):
        report(re.search(r"^%s(?= |:).*:|^%s:" % (target, target), makefile, re.M), "make %s" % target, "there is no such target")
    prose = re.sub(r"(?m)^    .*$", "", text)
    files = set(re.findall(r"\]\(([^)#:]+)\)", prose)) | set(re.findall(r"`((?:docs|examples|models|bench|tests|scripts|src|include)/[\w./-]*)`", text))
    for name in sorted(files):
        report(os.path.exists(os.path.join(ROOT, name)), name, "there is no such file")


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--no-make", action="store_true", help="leave out what builds (a build with sanitizers)")
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    build, failed, passed = os.path.abspath(args.build), [], []

    def report(ok, what, text):
        (passed if ok else failed).append(what)
        if not ok:
            print("FAIL README.md: %s\n%s" % (what, text))
        elif args.verbose:
            print("ok   %s" % what)

    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        text = f.read()
    named_things(text, report)
    # None of the user's own settings; HOME is where the README installs.
    with tempfile.TemporaryDirectory() as folder:
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SAN", "BUILD", "PREFIX", "DESTDIR", "PKG_CONFIG_PATH")}
        env.update(HOME=os.path.join(folder, "home"), PATH=build + os.pathsep + env.get("PATH", ""), XDG_CACHE_HOME=os.path.join(folder, "cache"))
        os.mkdir(env["HOME"])
        for name in os.listdir(ROOT):
            if not name.startswith((".", "build")):
                os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
        os.symlink(build, os.path.join(folder, "build"))
        for first, what in sessions(text):
            if isinstance(what, tuple):
                with open(os.path.join(folder, what[0]), "w") as f:
                    f.write(what[1])
            elif not (args.no_make and any("make " in c for c, _ in what)):
                play(what, folder, env, report, first)
    print("%d passed, %d failed" % (len(passed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
