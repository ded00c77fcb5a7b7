#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README.md and docs/*.md: every command on them is run, in the order of the page, in a fresh folder that has the repository's files.

    python3 tests/pages.py --build build [--only training,README] [-v]

A page's commands are in fenced blocks, and one shell runs all blocks of a page:

  ```sh        commands; each has to succeed
  ```console   the same after "$ ", with what they print below them, which is compared: "..." is anything, alone on a line any number of lines; numbers
               have to be equal to three digits. A command with nothing below it has to print nothing.
  "`net.py`:"  as the end of the line above a block of Python, C or JSON makes that block a file

A line ends with "\" where its command goes on. A command that ends with "&" is a server: ports 8000 are replaced by a free one, and the next command waits for it.
What cannot be run in a test begins with a line "# needs NAME" (NEEDS), which readers see as well; BOUND says how many there may be. Blocks without a language,
and commands that are merely indented, are faults: nothing would run them.

Besides: links lead to files and headings that are there, `make NAME` is a target, and `ctsc NAME --option` in prose is a command with that option.
"""
import argparse
import concurrent.futures
import contextlib
import glob
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = r"-?(?:\d+\.\d+|\d+)"
NEEDS = ("a network", "root", "PyTorch", "minutes", "a GPU", "a browser", "a terminal")
WIDTH = 120 # of a line of text; tables, blocks and what benchmarks write may be wider
LONGEST = 300 # seconds for a page
BOUND = 30 # blocks of all pages that are not run
GENERATED = ("docs/operators.md",)
# Waits for what was started in the background.
AWAIT = r"""for i in $(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/%d) 2>/dev/null && break; sleep 0.05; done"""
COMMANDS = r"(\$ |(?:[A-Z_]+=\S* )*(?:ctsc|make|cc|c\+\+|cmake|pip|python3?|curl|docker|sudo|git|mkdir|cp|export|cd|build/\S+) )"
QUIET = r"(make|cc|c\+\+|cmake|pip) " # builds say what they do


def open_quote(command):
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False


class Page:
    """steps: (line, "run", command, [lines printed] or None), (line, "file", name, text); faults: (line, text)."""

    def __init__(self, name, text):
        self.name, self.text, self.steps, self.faults, self.skipped = name, text, [], [], []
        lines, n, title = text.split("\n"), 0, None
        while n < len(lines):
            line = lines[n]
            named = re.search(r"`([\w.-]+)`:$", line)
            title = named.group(1) if named else title if not line.strip() or line.startswith("```") else None
            if line.startswith("```"):
                end = next((i for i in range(n + 1, len(lines)) if lines[i].rstrip() == "```"), len(lines) - 1)
                self.block(n + 1, line[3:].strip(), lines[n + 1:end], title)
                n, title = end, None
            elif len(line) > WIDTH and not line.startswith("|") and not re.match(r"\S*bench-", os.path.basename(name)) and " " in line[:WIDTH].strip():
                self.faults.append((n + 1, "a line of %d columns, more than %d" % (len(line), WIDTH)))
            elif re.match("    " + COMMANDS, line) and not lines[n - 1].strip():
                self.faults.append((n + 1, "commands are written in ```sh or ```console blocks: %s" % line.strip()))
            n += 1

    def block(self, at, language, body, title):
        if not language:
            self.faults.append((at, "a block without a language"))
        elif language in ("bash", "shell", "session"):
            self.faults.append((at, "commands are written in ```sh or ```console blocks, not ```%s" % language))
        elif language in ("python", "c", "json", "cpp", "toml", "text") and title:
            if os.path.exists(os.path.join(ROOT, title)): # the page's folder has links to what is there
                self.faults.append((at, "%s is a file of the repository: a page may not write it" % title))
            self.steps.append((at, "file", title, "\n".join(body) + "\n"))
        elif language == "python" and body and body[0] == "import ctsc":
            self.steps += [(at, "file", ".block.py", "\n".join(body) + "\n"), (at, "run", "python3 .block.py", None)]
        elif language in ("sh", "console"):
            needs = re.match(r"# needs (.*)$", body[0]) if body else None
            if needs:
                self.skipped.append((at, needs.group(1)))
                if needs.group(1) not in NEEDS:
                    self.faults.append((at, "needs %s: not one of %s" % (needs.group(1), ", ".join(NEEDS))))
            else:
                self.commands(at, language == "console", body)

    def commands(self, at, session, body):
        n = 0
        while n < len(body):
            line, first = body[n], n
            if session and not line.startswith("$ "):
                self.faults.append((at + n + 1, "a ```console block begins with a command after \"$ \""))
                return
            command = line[2:] if session else line
            while (command.endswith("\\") or open_quote(command)) and n + 1 < len(body):
                n += 1
                command += "\n" + body[n]
            n += 1
            printed = None
            if session:
                printed = []
                while n < len(body) and not body[n].startswith("$ "):
                    if body[n].strip():
                        printed.append(body[n])
                    n += 1
            if command.strip() and not command.lstrip().startswith("#"):
                self.steps.append((at + first + 1, "run", command, printed))


# ---- what is printed


def pieces(line):
    """A pattern for a line of output; each number a group."""
    words = re.sub(r"\s+", " ", line.strip())
    return "".join(r".*" if p == "..." else "(%s)" % NUMBER if re.fullmatch(NUMBER, p) else re.escape(p).replace(r"\ ", r"\s+")
                   for p in re.split(r"(\.\.\.|%s)" % NUMBER, words))


def same_line(want, got):
    m = re.fullmatch(pieces(want), got.strip())
    numbers = re.findall(NUMBER, re.sub(r"\s+", " ", want).replace("...", " "))
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


def script(page, side):
    """One shell for the whole page. Each step says its number, and its exit code after it."""
    lines, port = [], free_port()
    for n, (_, kind, what, more) in enumerate(page.steps):
        lines.append("printf '\\n@@%d@@\\n'" % n)
        if kind == "file":
            path = os.path.join(side, str(n))
            with open(path, "w") as f:
                f.write(more)
            lines.append("mkdir -p %s && cp %s %s" % (shlex.quote(os.path.dirname(what) or "."), shlex.quote(path), shlex.quote(what)))
        else:
            command = re.sub(r"(localhost|127\.0\.0\.1):8000", r"\1:%d" % port, what.rstrip())
            if command.endswith("&"):
                if re.match(r"ctsc (serve|view)\b", command) and "--port" not in command:
                    command = command[:-1] + "--port %d &" % port
                lines += ["%s </dev/null >server.log 2>&1 &" % command[:-1], AWAIT % port]
            else:
                lines.append(command)
        lines.append("printf '\\n@@=%d@@\\n' $?")
    return "\n".join(lines) + "\n"


def missing_tool(page, env):
    for tool in ("curl", "cc", "make", "pkg-config"):
        if any(kind == "run" and re.search(r"(^|[|&;(] *)%s " % re.escape(tool), what) for _, kind, what, _ in page.steps) and \
           not shutil.which(tool, path=env["PATH"]):
            return tool
    return None


def play(page, folder, env, report):
    side = os.path.join(folder, ".files")
    os.mkdir(side)
    # To a file, and with a session of its own: a server that is left over cannot keep this waiting. When this process ends, however it does, the pipe is
    # closed, and the shell kills its session: so no server survives a test that was killed.
    watched, held = os.pipe()
    with open(os.path.join(folder, ".log"), "w+b") as log, os.fdopen(held, "wb"):
        p = subprocess.Popen(["bash", "-c", "{ read -r -u %d; kill -KILL 0; } &\n" % watched + script(page, side)], cwd=os.path.join(folder, "ctsc"), env=env,
                             stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(watched,))
        os.close(watched)
        try:
            p.wait(LONGEST)
        except subprocess.TimeoutExpired:
            report(False, page.name, "takes longer than %d s" % LONGEST)
        try:
            os.killpg(p.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        p.wait()
        log.seek(0)
        printed = log.read().decode("utf-8", "replace")
    parts = re.split(r"\n@@(\d+)@@\n", printed)
    done = {int(parts[k]): parts[k + 1] for k in range(1, len(parts) - 1, 2)}
    for n, (line, kind, what, want) in enumerate(page.steps):
        where = "%s:%d: %s" % (page.name, line, what if kind == "run" else "the file " + what)
        text, found, code = done.get(n, "").rpartition("\n@@=")
        if not found:
            report(False, where, "was not run to its end:\n%s" % done.get(n, printed[-300:])[-300:])
            continue
        got, code = [x for x in text.split("\n") if x.strip()], code.split("@")[0]
        if kind == "file" or want is None:
            report(code == "0", where, "ended with %s:\n%s" % (code, text[-2000:]))
        else:
            report(re.match(QUIET, what) and code == "0" or same(want, got), where, "printed:\n%s\nthe page says:\n%s" % (text[-2000:], "\n".join(want)))


def running(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def check_killed(report):
    """A server that a page started ends with the test, even if that is killed."""
    text = "```sh\n(echo $BASHPID > pid.tmp; mv pid.tmp pid; exec sleep 600) & sleep 600\n```\n"
    code = "import sys; sys.path.insert(0, sys.argv[1]); import pages; pages.play(pages.Page('killed', sys.argv[3]), sys.argv[2], None, print)"
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "ctsc"))
        pid = os.path.join(folder, "ctsc", "pid")
        p = subprocess.Popen([sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), folder, text])
        wait = lambda done: any(done() or time.sleep(0.05) for _ in range(400))
        started = wait(lambda: os.path.exists(pid))
        p.kill()
        p.wait()
        if started:
            with open(pid) as f:
                server = int(f.read())
            started = wait(lambda: not running(server))
        report(started, "pages.py that is killed leaves no server", "it was not started, or still runs")


# ---- what the text mentions


def heading_anchor(title):
    """GitHub's."""
    title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip()).lower()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")


def anchors(text):
    return {heading_anchor(t) for t in re.findall(r"^#+ (.*)$", re.sub(r"(?ms)^```.*?^```", "", text), re.M)}


def check_mentions(page, targets, helps, report):
    prose = re.sub(r"(?ms)^```.*?^```", "", page.text)
    prose = re.sub(r"(?m)^    .*$", "", prose)
    for target in sorted(set(re.findall(r"(?:`|^|\$ |&& )make ([a-z][a-z-]*)", page.text, re.M))):
        if re.search(r"`make %s[` ]|^(?:\$ )?make %s\b" % (target, target), page.text, re.M):
            report(target in targets, "%s: make %s" % (page.name, target), "there is no such target")
    folder = os.path.dirname(os.path.join(ROOT, page.name))
    for link in sorted(set(re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", prose)))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = os.path.normpath(os.path.join(folder, path)) if path else os.path.join(ROOT, page.name)
        ok = os.path.exists(target)
        if ok and anchor:
            with open(target, encoding="utf-8") as f:
                ok = anchor in anchors(f.read())
        report(ok, "%s: link to %s" % (page.name, link), "there is no such file or heading")
    for name in sorted(set(re.findall(r"`((?:docs|examples|bench|tests|scripts|src|include|packaging)/[\w./-]*)`", page.text))):
        if not re.search(r"[A-Z]{3}", name): # a placeholder
            report(os.path.exists(os.path.join(ROOT, name)), "%s: %s" % (page.name, name), "there is no such file")
    for code in sorted(set(re.findall(r"`ctsc ([^`\n]+)`", prose))):
        words = code.split()
        if not re.fullmatch(r"[a-z][a-z-]+", words[0]):
            continue
        known = words[0] in helps
        options = re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", code)
        bad = [o for o in options if known and o not in helps[words[0]]]
        report(known and not bad, "%s: `ctsc %s`" % (page.name, code), "there is no such command or option: %s" % (bad or words[0]))


def check_versions(report):
    """One version, in the header, the manual page, the citation and the changes."""
    read = lambda *path: open(os.path.join(ROOT, *path), encoding="utf-8").read()
    version = re.search(r'CTSC_VERSION_STRING "(.*)"', read("include", "ctsc.h")).group(1)
    for name, text in (("CITATION.cff", "\nversion: %s\n" % version), ("docs/ctsc.1", '"ctsc %s"' % version.rpartition(".")[0])):
        report(text in read(*name.split("/")), "%s: version %s" % (name, version), "it is another")
    first = re.search(r"^## (\S+)", read("CHANGELOG.md"), re.M).group(1)
    report(first == version, "CHANGELOG.md: version %s" % version, "the newest one there is %s" % first)


def make_targets():
    text = ""
    for name in ["Makefile"] + [os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "*.mk")) + glob.glob(os.path.join(ROOT, "*", "*.mk"))]:
        with open(os.path.join(ROOT, name)) as f:
            text += f.read() + "\n"
    return {t for line in re.findall(r"^([a-z][a-z -]*):(?!=)", text, re.M) for t in line.split()}


def command_helps(ctsc, env):
    out = subprocess.run([ctsc, "completion", "bash"], env=env, stdout=subprocess.PIPE, text=True).stdout
    names = set(re.findall(r"^    ([a-z-]+)\)", out, re.M)) | {"help", "version"}
    return {n: set(re.findall(r"--[a-z][a-z0-9-]*", subprocess.run([ctsc, n, "--help"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout))
            | {"--help", "--version", "--load-library"} for n in names}


def links_of_root(folder, build):
    for name in os.listdir(ROOT):
        if not name.startswith((".", "build-")) and name not in ("build", "dist"):
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    os.symlink(build, os.path.join(folder, "build"))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--only", default="", help="pages, without .md, comma-separated")
    ap.add_argument("--no-make", action="store_true", help="leave out pages that build (a build with sanitizers)")
    ap.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("-v", "--verbose", action="store_true")
    args = ap.parse_args()
    build, failed, passed, skipped = os.path.abspath(args.build), [], [], []

    def report(ok, what, text=""):
        (passed if ok else failed).append(what)
        if not ok:
            print("FAIL %s\n%s" % (what, text), flush=True)
        elif args.verbose:
            print("ok   %s" % what.split("\n")[0], flush=True)

    # None of the user's own settings; HOME is where the pages install.
    plain = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "SAN", "BUILD", "PREFIX", "DESTDIR", "PKG_CONFIG_PATH",
                                                              "LD_LIBRARY_PATH") and not k.startswith("CTSC_")}
    plain["PATH"] = build + os.pathsep + plain.get("PATH", "")
    package = os.path.join(build, "python")
    if os.path.exists(os.path.join(package, "ctsc", "_C.abi3.so")):
        plain["PYTHONPATH"] = package
    building = threading.Lock() # make install of one page, not of two at a time: they share the build folder
    targets, helps = make_targets(), command_helps(os.path.join(build, "ctsc"), plain)
    pages = []
    for path in ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "models/README.md"] + sorted(os.path.relpath(p, ROOT) for p in glob.glob(os.path.join(ROOT, "docs", "*.md"))):
        if path not in GENERATED and (not args.only or path[:-3] in args.only.split(",") or os.path.basename(path)[:-3] in args.only.split(",")):
            with open(os.path.join(ROOT, path), encoding="utf-8") as f:
                pages.append(Page(path, f.read()))

    if not args.only:
        check_versions(report)
        check_killed(report)

    def one(page):
        for line, text in page.faults:
            report(False, "%s:%d" % (page.name, line), text)
        check_mentions(page, targets, helps, report)
        if not page.steps or page.faults:
            return
        builds = any(kind == "run" and re.match(r"make ", what) for _, kind, what, _ in page.steps)
        why = "it builds" if args.no_make and builds else missing_tool(page, plain)
        if not why and "PYTHONPATH" not in plain and any(kind == "run" and what.startswith("python3 ") for _, kind, what, _ in page.steps):
            why = "the Python package, which is not built"
        if why:
            skipped.append(page.name)
            print("SKIP %s: %s" % (page.name, why))
            return
        with tempfile.TemporaryDirectory() as folder:
            env = dict(plain, HOME=os.path.join(folder, "home"), XDG_CACHE_HOME=os.path.join(folder, "cache"))
            os.mkdir(env["HOME"])
            os.mkdir(os.path.join(folder, "ctsc"))
            links_of_root(os.path.join(folder, "ctsc"), build)
            with building if builds else contextlib.nullcontext():
                play(page, folder, env, report)

    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for _ in pool.map(one, pages):
            pass
    unrun = [(p.name, at, why) for p in pages for at, why in p.skipped]
    report(len(unrun) <= BOUND, "blocks that are not run: %d of at most %d" % (len(unrun), BOUND), "\n".join("%s:%d: needs %s" % u for u in unrun))
    print("%d passed, %d failed" % (len(passed), len(failed)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
