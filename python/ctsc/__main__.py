# SPDX-License-Identifier: Apache-2.0
"""python -m ctsc: Python itself, with ctsc where a program imports torch.

    python -m ctsc [option] ... [-c code | -m module | program.py | folder | -] [arguments]

Without a program: an interactive session, or the program on the standard input. Options of Python may stand before or after `-m ctsc`.
"""
# Method: the program runs in a module `__main__` of its own, as Python's does, and stays there: threads and functions called at exit find their globals. (runpy.run_path
# would take the module away at the end.) Of the traceback of what it does not catch the frames before its own are left out. Options that Python reads at its start (-u, -O,
# -X, ...) need another interpreter, which takes the place of this one.
import os
import sys

_ALONE, _WITH_VALUE = "bBdEhiIOPqRsSuvVx?", "WX"


def _options(args):
    """(options that another Python needs, whether -i is among them, the rest)"""
    found, interactive, i = [], False, 0
    while i < len(args):
        a = args[i]
        if a == "--":
            return found, interactive, args[i + 1:]
        if a.startswith("--check-hash-based-pycs"):
            used = 1 if "=" in a else 2
            found += args[i:i + used]
            i += used
        elif len(a) > 1 and a[0] == "-" and a[1] in _WITH_VALUE:
            used = 1 if len(a) > 2 else 2
            found += args[i:i + used]
            i += used
        elif len(a) > 1 and a[0] == "-" and a[1] in _ALONE:
            flags = a[1:]
            at = next((k for k, c in enumerate(flags) if c not in _ALONE), len(flags))
            interactive |= "i" in flags[:at]
            others = flags[:at].replace("i", "")
            found += ["-" + others] if others else []
            if at < len(flags): # -uc CODE, -OOm MODULE
                return found, interactive, ["-" + flags[at:]] + args[i + 1:]
            i += 1
        else:
            return found, interactive, args[i:]
    return found, interactive, []


def _main_module(**attributes):
    """A new __main__."""
    import builtins
    import types
    module = types.ModuleType("__main__")
    module.__dict__.update({"__builtins__": builtins, "__annotations__": {}, "__package__": None, "__spec__": None}, **attributes)
    sys.modules["__main__"] = module
    return module.__dict__


def _path0(folder):
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = folder


def _run_text(text, name, argv):
    sys.argv = argv
    _path0("")
    exec(compile(text, name, "exec", dont_inherit=True), _main_module())


def _run_module(name, argv):
    import runpy
    sys.argv = ["-m"] + argv
    _path0(os.getcwd())
    _main_module()
    runpy._run_module_as_main(name)


def _run_file(path, argv):
    import pkgutil
    from importlib.machinery import SourceFileLoader
    sys.argv = [path] + argv
    if os.path.isdir(path) or pkgutil.get_importer(path) is not None: # a folder or a zip with a __main__.py
        import runpy
        sys.path[0:0] = [path]
        _main_module()
        return runpy._run_module_as_main("__main__", False)
    try:
        with open(path, "rb") as f:
            code = pkgutil.read_code(f) # of a .pyc
            text = None if code else open(path, "rb").read()
    except OSError as e:
        sys.stderr.write("%s: can't open file %r: [Errno %d] %s\n" % (sys.executable, os.path.abspath(path), e.errno, e.strerror))
        raise SystemExit(2) from None
    _path0(os.path.dirname(os.path.realpath(path)))
    path = os.path.join(os.getcwd(), path) # as Python makes it whole: not normalised
    main = _main_module(__file__=path, __cached__=None, __loader__=SourceFileLoader("__main__", path))
    exec(code or compile(text, path, "exec", dont_inherit=True), main)


def _interact(main, quiet):
    import code
    import re
    sys.ps1, sys.ps2 = getattr(sys, "ps1", ">>> "), getattr(sys, "ps2", "... ")
    startup = os.environ.get("PYTHONSTARTUP")
    if startup and not sys.flags.ignore_environment and not quiet:
        with open(startup, "rb") as f:
            exec(compile(f.read(), startup, "exec"), main)
    if hasattr(sys, "__interactivehook__"):
        sys.__interactivehook__()
    where = re.sub(r"\s+", " ", sys.version)
    banner = "" if quiet else 'Python %s on %s, with ctsc where programs import torch\nType "help", "copyright", "credits" or "license" for more information.' % (where, sys.platform)
    code.InteractiveConsole(main, "<stdin>").interact(banner, "")


def _run(rest, interactive):
    """What Python does with the arguments after its options."""
    if rest and rest[0][:2] in ("-c", "-m"):
        value, argv = (rest[0][2:], rest[1:]) if len(rest[0]) > 2 else (rest[1] if len(rest) > 1 else None, rest[2:])
        if value is None:
            sys.stderr.write("Argument expected for the %s option\n%s" % (rest[0], __doc__))
            raise SystemExit(2)
        if rest[0][1] == "m":
            return _run_module(value, argv)
        return _run_text(value + "\n", "<string>", ["-c"] + argv)
    if rest and rest[0] != "-":
        if rest[0].startswith("-"):
            sys.stderr.write("Unknown option: %s\n%s" % (rest[0], __doc__))
            raise SystemExit(2)
        return _run_file(rest[0], rest[1:])
    argv = rest or [""]
    if not sys.stdin.isatty() and not interactive:
        return _run_text(sys.stdin.read(), "<stdin>", argv)
    sys.argv = argv
    _path0("")
    return _interact(_main_module(), bool(sys.flags.quiet))


def _of_program(tb):
    """The traceback from the program's first frame on."""
    import runpy
    ours = (__file__, runpy.__file__, "<frozen runpy>")
    while tb is not None and tb.tb_frame.f_code.co_filename in ours:
        tb = tb.tb_next
    return tb


def _report(e):
    """As Python ends of what no one has caught; its exit status."""
    e.__traceback__ = _of_program(e.__traceback__)
    e.__suppress_context__ |= e.__context__ is None
    sys.last_exc = sys.last_value = e
    sys.last_type, sys.last_traceback = type(e), e.__traceback__
    sys.excepthook(type(e), e, e.__traceback__)
    return 130 if isinstance(e, KeyboardInterrupt) else 1


def main():
    options, interactive, rest = _options(sys.argv[1:])
    asked = "".join(o for o in options if o.startswith("-") and o[1:2] not in _WITH_VALUE)
    if sys.argv[1:2] == ["--help"] or "h" in asked or "?" in asked:
        print(__doc__)
        return 0
    if sys.argv[1:2] == ["--version"] or "V" in asked:
        from . import __version__
        print("Python %s, ctsc %s" % (sys.version.split()[0], __version__))
        return 0
    if options:
        before = ["-i"] if interactive else []
        given = getattr(sys, "orig_argv", [sys.executable, "-m"])
        at = given.index("-m") if "-m" in given else 1
        os.execv(sys.executable, given[:1] + given[1:at] + options + ["-m", "ctsc"] + before + rest)
    from . import _launcher
    from ._as_torch import install
    install()
    _launcher.apply()
    status = 0
    try:
        _run(rest, interactive)
    except SystemExit:
        if not interactive:
            raise
    except BaseException as e:
        status = _report(e)
    if interactive and (rest and rest[0] != "-"):
        _interact(sys.modules["__main__"].__dict__, True)
    return status


if __name__ == "__main__":
    sys.exit(main())
