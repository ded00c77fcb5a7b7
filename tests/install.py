#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `make install` puts in place, used as a stranger would use it.

    python3 tests/install.py --build build

Installs into a folder of its own, then: every example builds with the flags of pkg-config alone and runs against the shared library; a C++ program links the
static one; the header compiles in C11 and C++17 without a warning; the shared library exports what the header declares, and nothing else; CMake
finds the package, where there is CMake; the shared library stays small; command and library find the compiler for kernels, from wherever they are called. Prints "ok NAME" or "FAIL NAME" and why; the exit code is 1 if anything failed.
"""
import argparse
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPP = r"""
#include <ctsc.h>
#include <cstdio>
int main() {
    ctsc_value *v = ctsc_int_new(41);
    std::printf("%d %s\n", static_cast<int>(ctsc_value_int(v)) + 1, ctsc_compatible(CTSC_VERSION_STRING, CTSC_ABI_VERSION) ? "yes" : "no");
    ctsc_value_free(v);
    ctsc_module *m = nullptr;
    ctsc_error *e = ctsc_error_new();
    const ctsc_status s = ctsc_module_load("models/digits_cnn.pt", &m, e);
    if (s != CTSC_OK) std::puts(ctsc_error_message(e));
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}
"""
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(stranger C)
find_package(ctsc 0.2 REQUIRED)
add_executable(shared "%s/examples/run.c")
target_link_libraries(shared ctsc::ctsc)
add_executable(static "%s/examples/run.c")
target_link_libraries(static ctsc::static)
"""
# Leaves the folder that the loader found the library from, then needs a kernel; prints what is missing.
FAR = r"""
#include <ctsc.h>
#include <stdio.h>
#include <unistd.h>
static void tell(void *ctx, ctsc_log_level level, const char *text) { (void)ctx; (void)level; puts(text); }
int main(int argc, char **argv) {
    ctsc_module *m = NULL;
    ctsc_value *x = NULL, *y = NULL;
    ctsc_error *e = ctsc_error_new();
    const int64_t size = 4;
    ctsc_set_log(CTSC_LOG_ALERT, tell, NULL);
    ctsc_set_compiling(CTSC_COMPILE_IN_CALLS);
    int failed = argc < 2 || chdir("/") != 0 || ctsc_module_compile(argv[1], NULL, &m, e) != CTSC_OK || ctsc_tensor_new(CTSC_FLOAT32, 1, &size, &x, e) != CTSC_OK;
    for (int i = 0; i < 3 && !failed; i++) {
        failed = ctsc_module_run(m, "forward", 1, &x, NULL, &y, e) != CTSC_OK;
        ctsc_value_free(y);
    }
    puts(failed ? ctsc_error_message(e) : "done");
    ctsc_value_free(x);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return failed;
}
"""
# Opens the library, runs a model with threads and kernels, runs it in a child, and closes the library; again and again.
OPENED = r"""
#include <ctsc.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#define GET(name) __typeof__(&name) my_##name = (__typeof__(&name))dlsym(h, #name)
static const char *once(const char *library, int opt) {
    void *h = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    ctsc_module *m = NULL;
    ctsc_value *in = NULL, *x, *y = NULL;
    int status = 0;
    if (!h) return dlerror();
    GET(ctsc_set_threads); GET(ctsc_module_load); GET(ctsc_module_set_opt); GET(ctsc_value_load); GET(ctsc_value_item); GET(ctsc_module_run); GET(ctsc_value_free);
    GET(ctsc_module_free);
    my_ctsc_set_threads(2);
    if (my_ctsc_module_load("models/digits_cnn.pt", &m, NULL) || my_ctsc_value_load("models/digits_test.pt", &in, NULL)) return "nothing loads";
    my_ctsc_module_set_opt(m, opt, NULL);
    x = my_ctsc_value_item(in, 0);
    for (int i = 0; i < 4; i++) {
        if (my_ctsc_module_run(m, "forward", 1, &x, NULL, &y, NULL)) return "it does not run";
        my_ctsc_value_free(y);
    }
    pid_t child = fork();
    if (!child) _exit(my_ctsc_module_run(m, "forward", 1, &x, NULL, &y, NULL) != 0);
    if (child < 0 || waitpid(child, &status, 0) != child || status) return "it does not run in a child";
    my_ctsc_value_free(x);
    my_ctsc_value_free(in);
    my_ctsc_module_free(m);
    return dlclose(h) ? dlerror() : NULL;
}
int main(int argc, char **argv) {
    const char *why = argc < 2 ? "no library" : NULL;
    for (int i = 0; i < 24 && !why; i++) why = once(argv[1], i % 4);
    puts(why ? why : "done");
    return why != NULL;
}
"""
LARGEST = 5_085_000  # bytes of the stripped shared library: what it has, and what another compiler may need
LIBC = (2, 35)  # the oldest glibc that they run with, where they are built with Debian 12's
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


class Failed(Exception):
    pass


def run(command, env=None, cwd=ROOT):
    p = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
    text = p.stdout.decode("utf-8", "replace")
    if p.returncode:
        raise Failed("%s\nended with %d\n%s" % (" ".join(command), p.returncode, text[-3000:]))
    return text


class Stranger:
    def __init__(self, build, folder):
        self.folder, self.prefix = folder, os.path.join(folder, "usr")
        self.environment = dict(os.environ, PKG_CONFIG_PATH=os.path.join(self.prefix, "lib", "pkgconfig"),
                                PATH=os.environ["PATH"])
        self.environment.pop("LD_LIBRARY_PATH", None) # programs start without it
        self.build = os.path.abspath(build)
        self.make = ["make", "--no-print-directory", "BUILD=" + os.path.relpath(build, ROOT), # the way there may have a space
                      "PREFIX=" + self.prefix]

    def path(self, *parts):
        return os.path.join(self.prefix, *parts)

    def flags(self, *what):
        return run(["pkg-config", *what, "ctsc"], self.environment).split()

    def compile(self, name, source, compiler, flags, libs):
        out = os.path.join(self.folder, name)
        run(compiler + ["-o", out, source] + flags + libs, self.environment)
        return out

    # ---- the tests

    def test_files(self):
        run(self.make + ["install"])
        for name in ("bin/ctsc", "lib/libctsc.so", "lib/libctsc.so.0", "lib/libctsc.a", "include/ctsc.h", "lib/pkgconfig/ctsc.pc", "lib/pkgconfig/ctsc-static.pc",
                     "lib/cmake/ctsc/ctscConfig.cmake", "lib/ctsc-rt/avx2/libctsc-rt.a" if os.uname().machine == "x86_64" else "lib/libctsc.a", "share/man/man1/ctsc.1", "share/bash-completion/completions/ctsc",
                     "share/zsh/site-functions/_ctsc", "share/fish/vendor_completions.d/ctsc.fish"):
            if not os.path.getsize(self.path(name)):
                raise Failed("%s is empty" % name)
        text = run([self.path("bin", "ctsc"), "run", "models/digits_cnn.pt", "--inputs", "models/digits_test.pt", "--expect",
                    "models/digits_expected.pt", "--atol", "1e-4"])
        if "as expected" not in text:
            raise Failed(text)

    def library(self, command, prefix, cwd, **env):
        """Does the command open the library that was installed with it?"""
        text = run([command, "doctor", "--json"], dict(os.environ, **env), cwd)
        found = json.loads(text)["compiler"]["library"]
        if not found or os.path.realpath(found) != os.path.realpath(os.path.join(prefix, "lib", "libctsc-jit.so")):
            raise Failed("%s in %s opens %s" % (command, cwd, found))

    def test_places(self):
        """Through PATH, a link, and where all of it is moved to a folder with a space."""
        if not os.path.exists(self.path("lib", "libctsc-jit.so")):
            return "skipped, built without the compiler for kernels"
        path = lambda folder: folder + os.pathsep + os.environ["PATH"]
        links, moved = os.path.join(self.folder, "links"), os.path.join(self.folder, "two words", "usr")
        os.mkdir(links)
        os.symlink(self.path("bin", "ctsc"), os.path.join(links, "ctsc"))
        shutil.copytree(self.prefix, moved, symlinks=True)
        self.library("ctsc", self.prefix, self.folder, PATH=path(self.path("bin")))
        self.library("ctsc", self.prefix, "/", PATH=path(links))
        self.library("ctsc", moved, "/", PATH=path(os.path.join(moved, "bin")))
        shutil.rmtree(moved)

    def test_shared_places(self):
        """A program whose loader is told of a folder that is another one by the time a kernel is made."""
        if not os.path.exists(self.path("lib", "libctsc-jit.so")):
            return "skipped, built without the compiler for kernels"
        source, program = os.path.join(self.folder, "far.c"), os.path.join(self.folder, "loop.py")
        with open(source, "w") as f:
            f.write(FAR)
        with open(program, "w") as f:
            f.write("def forward(x):\n    return (x * 2.0 + 1.0).tanh()\n")
        far = self.compile("far", source, ["cc", "-std=c11", "-D_GNU_SOURCE", *STRICT], self.flags("--cflags", "--libs"), [])
        text = run([far, program], dict(self.environment, LD_LIBRARY_PATH="usr/lib", CTSC_CACHE="0"), self.folder)
        if text != "done\n":
            raise Failed(text)

    def test_opened(self):
        """Opened by dlopen and closed again, with its threads, and fork between."""
        source = os.path.join(self.folder, "opened.c")
        with open(source, "w") as f:
            f.write(OPENED)
        program = self.compile("opened", source, ["cc", "-D_GNU_SOURCE"], self.flags("--cflags"), ["-ldl"])
        said = run([program, self.path("lib", "libctsc.so.0")], self.environment)
        if said != "done\n":
            raise Failed(said)

    def test_header(self):
        source = os.path.join(self.folder, "header.c")
        with open(source, "w") as f:
            f.write("#include <ctsc.h>\nint main(void) { return 0; }\n")
        include = self.flags("--cflags")
        run(["cc", "-std=c11", "-fsyntax-only", *STRICT, source] + include)
        run(["c++", "-std=c++17", "-x", "c++", "-fsyntax-only", *STRICT, source] + include)

    def test_symbols(self):
        """Two independent readings of the header: the compiler's, and the library's."""
        text = run(["cc", "-E", "-P", "-std=c11", self.path("include", "ctsc.h")])
        text = re.sub(r"static inline[^{;]*\{.*?\}", "", text, flags=re.S)
        declared = set(re.findall(r"\b(ctsc_[a-z0-9_]+)\s*\((?!\*)", re.sub(r"typedef[^;{]*;", "", text)))
        exported = {line.split()[-1].split("@")[0] for line in run(["nm", "-D", "--defined-only", self.path("lib", "libctsc.so")]).splitlines()
                    if " A " not in line}
        if declared != exported:
            raise Failed("declared, not exported: %s\nexported, not declared: %s" % (sorted(declared - exported), sorted(exported - declared)))
        versions = run(["nm", "-D", "--with-symbol-versions", "--defined-only", self.path("lib", "libctsc.so")])
        if "ctsc_version@@CTSC_0" not in versions:
            raise Failed("the symbols have no version")

    def programs(self):
        """All programs and shared libraries that are given to others: what is installed, the Python package, the wheel, libraries of operators."""
        folders = [self.prefix, os.path.join(self.build, "python", "ctsc"), os.path.join(self.build, "python", "wheel"), os.path.join(self.build, "examples")]
        for folder in folders:
            for where, _, names in os.walk(folder):
                for path in (os.path.realpath(os.path.join(where, n)) for n in names):
                    with open(path, "rb") as f:
                        head = f.read(18)
                    if head[:4] == b"\x7fELF" and head[16] in (2, 3):  # a program or a shared object; numbers of ctsc's machines begin with the low byte
                        yield path

    def test_hardening(self):
        """The linker's and the compiler's part; sanitizers have their own."""
        command, library = self.path("bin", "ctsc"), self.path("lib", "libctsc.so")
        with open(command, "rb") as f:
            data = f.read()
            if b"__asan_init" in data or b"__tsan_init" in data:
                return "skipped, a build with sanitizers"
        gcc = b"GCC: (" in data and platform.machine() == "x86_64"
        looked = sorted(set(self.programs()))
        for path in looked:
            segments, dynamic = run(["readelf", "-lW", path]), run(["readelf", "-dW", path])
            stack = re.search(r"GNU_STACK.*? (R[W ][E ]) ", segments)
            if not stack or "E" in stack.group(1):
                raise Failed("%s: its stack is executable" % path)
            if re.search(r"LOAD .* RWE ", segments):
                raise Failed("%s: a segment is writable and executable" % path)
            if "TEXTREL" in dynamic:
                raise Failed("%s: its code is written to when it is loaded" % path)
            if "GNU_RELRO" not in segments or not re.search(r"BIND_NOW|FLAGS_1.*NOW", dynamic):
                raise Failed("%s: its tables of functions stay writable" % path)
            if not re.search(r"Type: *DYN", run(["readelf", "-hW", path])):
                raise Failed("%s: it is not position-independent" % path)
            if gcc and not re.search(r"x86 feature: .*SHSTK", run(["readelf", "-nW", path])):
                raise Failed("%s: not marked for shadow stacks (-fcf-protection)" % path)
        for path in command, library:
            symbols = run(["nm", "-D", "--undefined-only", path])
            if "__stack_chk_fail" not in symbols or "_chk@" not in symbols:
                raise Failed("%s: without canaries or checked functions of the C library" % path)
        return "%d programs and libraries" % len(looked)

    def test_size(self):
        """Of what gcc makes for x86-64 alone: sanitizers, other compilers and other processors have their own ideas."""
        library = self.path("lib", "libctsc.so")
        with open(library, "rb") as f:
            data = f.read()
        if platform.machine() != "x86_64" or b"__asan_init" in data or b"__tsan_init" in data or b"GCC: (" not in data:
            return "skipped, not a build by gcc for x86-64"
        if len(data) > LARGEST:
            raise Failed("%s has %d bytes, of %d at most; nm -S --size-sort build/libctsc.so tells which" % (library, len(data), LARGEST))

    def test_libc(self):
        """What the files ask of libc: a function of a newer one would keep them from older systems."""
        here = tuple(int(n) for n in (os.confstr("CS_GNU_LIBC_VERSION") or "glibc 99.0").split()[1].split(".")[:2])
        if here > (2, 36):
            return "skipped, this machine's libc is newer than Debian 12's"
        for path in [self.path("bin", "ctsc")] + sorted(glob.glob(self.path("lib", "libctsc*.so"))):
            asked = {(int(a), int(b)): name for name, a, b in re.findall(r" (\w+)@GLIBC_(\d+)\.(\d+)", run(["nm", "-D", "--undefined-only", path]))}
            if asked and max(asked) > LIBC:
                raise Failed("%s needs glibc %d.%d for %s" % ((path,) + max(asked) + (asked[max(asked)],)))

    def test_examples(self):
        flags = self.flags("--cflags", "--libs")
        for source in sorted(glob.glob(os.path.join(ROOT, "examples", "*.c"))):
            name = os.path.basename(source)[:-2]
            extra = ["-lmicrohttpd"] if name == "server" else []
            program = self.compile(name, source, ["cc", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror"], flags + extra, ["-lm", "-pthread"])
            arguments = {"demo": ["models"], "trace": ["models", os.path.join(self.folder, "traced.pt")],
                         "train": ["models", os.path.join(self.folder, "trained.pt")]}.get(name, [])
            if name != "server":
                run([program, *arguments], self.environment)

    def test_custom_op(self):
        library = self.compile("libwarp.so", os.path.join(ROOT, "examples", "custom_op", "warp.c"), ["cc", "-shared", "-fPIC"],
                               self.flags("--cflags", "--libs"), ["-lm"])
        text = run([self.path("bin", "ctsc"), "--load-library", library, "run", "examples/custom_op/warp.py", "--input", "float32[1,2,2]:ones",
                    "--input", "float32[3,3]:zeros"], self.environment)
        # every pixel of the result is pixel (0, 0), which is 1, times 2 and 1 more
        if text.split() != ["(1,.,.)", "=", "3", "3", "3", "3", "[", "CPUFloatType{1,2,2}", "]"]:
            raise Failed(text)

    def test_cpp_static(self):
        source = os.path.join(self.folder, "stranger.cpp")
        with open(source, "w") as f:
            f.write(CPP)
        static = [self.path("lib", "libctsc.a")] + [x for x in self.flags("--libs", "--static") if x != "-lctsc"]
        program = self.compile("stranger", source, ["c++", "-std=c++17", *STRICT], self.flags("--cflags"), static)
        if run([program]) != "42 yes\n":
            raise Failed("the C++ program printed something else")

    def test_static(self):
        """One line of pkg-config for the static library; and the shared one's private libraries link."""
        source = os.path.join(ROOT, "examples", "run.c")
        for name, flags in (("static", ["--cflags", "--libs", "ctsc-static"]), ("private", ["--static", "--cflags", "--libs", "ctsc"])):
            program = self.compile(name, source, ["cc"], run(["pkg-config", *flags], self.environment).split(), [])
            needed = "libctsc.so" in run(["ldd", program])
            if needed != (name == "private"):
                raise Failed("%s: %s libctsc.so" % (name, "needs" if needed else "does not need"))
            run([program], self.environment)

    def test_deb(self):
        """The Debian package, unpacked: its command runs, and it says what it depends on."""
        if not all(map(shutil.which, ("dpkg-deb", "dpkg-shlibdeps"))):
            return "skipped, there is no dpkg-dev"
        out = os.path.join(self.folder, "debs")
        os.mkdir(out)
        run([m for m in self.make if not m.startswith("PREFIX=")] + ["deb", "DIST=" + out])
        package, = glob.glob(os.path.join(out, "ctsc_*.deb"))
        if shutil.which("lintian"):
            said = run(["lintian", "--allow-root", "--fail-on", "error,warning", package])
            if said.strip():
                raise Failed(said)
        if "libc6" not in run(["dpkg-deb", "-f", package, "Depends"]):
            raise Failed("the package does not depend on libc6")
        unpacked = os.path.join(self.folder, "deb")
        run(["dpkg-deb", "-x", package, unpacked])
        run([os.path.join(unpacked, "usr", "bin", "ctsc"), "run", "models/digits_cnn.pt", "--inputs", "models/digits_test.pt", "--expect",
             "models/digits_expected.pt", "--atol", "1e-4"])
        text = open(os.path.join(unpacked, "usr", "lib", "pkgconfig", "ctsc.pc")).read()
        if "prefix=/usr\n" not in text or "rpath" in text:
            raise Failed(text)

    def test_cmake(self):
        if not shutil.which("cmake"):
            return "skipped, there is no cmake"
        folder = os.path.join(self.folder, "cmake")
        os.mkdir(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w") as f:
            f.write(CMAKE % (ROOT, ROOT))
        run(["cmake", "-DCMAKE_PREFIX_PATH=" + self.prefix, "-B", folder + "/out", folder])
        run(["cmake", "--build", folder + "/out"])
        for name in ("shared", "static"):
            run([folder + "/out/" + name], self.environment)

    def test_space(self):
        p = subprocess.run(self.make + ["PREFIX=" + os.path.join(self.folder, "two words"), "install"], cwd=ROOT, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if p.returncode == 0 or b"no folder with a space" not in p.stdout or os.path.exists(os.path.join(self.folder, "two")):
            raise Failed("a PREFIX with a space was taken: %s" % p.stdout.decode("utf-8", "replace"))

    def test_uninstall(self):
        run(self.make + ["uninstall"])
        left = [f for _, _, files in os.walk(self.prefix) for f in files]
        if left:
            raise Failed("left behind: %s" % left)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default="build")
    args = ap.parse_args()
    failed = 0
    # make takes no PREFIX with a space.
    with tempfile.TemporaryDirectory(dir="/tmp" if " " in tempfile.gettempdir() else None) as folder:
        s = Stranger(args.build, folder)
        for name in ("files", "places", "shared_places", "opened", "header", "symbols", "hardening", "size", "examples", "custom_op", "cpp_static", "static", "cmake", "deb", "space", "uninstall"):
            try:
                note = getattr(s, "test_" + name)()
                print("ok %s%s" % (name, ": " + note if note else ""), flush=True)
            except (Failed, OSError, subprocess.TimeoutExpired) as why:
                print("FAIL %s\n%s" % (name, why), flush=True)
                failed += 1
                if name == "files":
                    break
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
