#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs unit tests on a processor that Bochs emulates, AMX's tile registers among its instructions: those of the library's own machine code, in a Linux
that saves them and permits their use; closes with "N passed, N failed".

    python3 tests/machines/bochs.py --bochs PATH [--build build] [--seconds N] TEST...          (make test-amx BOCHS=PATH)

The machine boots Debian's kernel from a CD whose RAM disk has busybox, the tests and the libraries they are linked with; packages are downloaded, not
installed, but for xorriso and cpio. Bochs runs some 50 million instructions a second: test_amx takes a quarter of an hour.

PATH is a Bochs 3.0 configured with --enable-x86-64 --enable-avx --enable-evex --enable-amx --with-nogui. As it was released it lacks what a Linux that
permits tile registers needs, and differs from Intel's manual in places that no other test noticed:

  * XFD (CPUID leaf 13, subleaf 1, EAX bit 4, and subleaf 18, ECX bit 2; MSRs 1C4h and 1C5h): without it Linux gives nobody tile registers, and stops
    while it boots. An AMX instruction while bit 18 of XFD is set sets that bit of XFD_ERR and raises #NM.
  * XSAVE's component 18 is 16 rows of 8 registers, is in use if any register was written, and not while XFD disables it; in component 17 bytes per row
    have 16 bits at offset 16, rows 8 bits at offset 48.
  * tdpbusd and tdpbsud extend the sign of their signed operand.

Linux is told to do without what fails elsewhere: FSRM, since "fast strings" are off in the emulated MISC_ENABLE and its memmove wants both or none; five
levels of page tables and ACPI, whose mode of system management does not come back from long mode with them.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import time

PACKAGES = ("linux-image-cloud-amd64", "busybox-static", "isolinux", "syslinux-common")
ROMS = ("BIOS-bochs-latest", "VGABIOS-lgpl-latest.bin")
OPTIONS = "console=ttyS0 rdinit=/init lpj=1000000 quiet mitigations=off nokaslr nowatchdog clearcpuid=fsrm no5lvl acpi=off"
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
/bin/busybox mount -t tmpfs none /tmp
export HOME=/tmp OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell
exec >/dev/ttyS0 2>&1
cd /tests
for t in %s; do
    ./$t
    echo "@ $t $?"
done
echo "@ end 0"
/bin/busybox sleep 5
/bin/busybox poweroff -f
"""
MACHINE = """megs: 2048
romimage: file={bios}/BIOS-bochs-latest
vgaromimage: file={bios}/VGABIOS-lgpl-latest.bin
cpu: model=sapphire_rapids, count=1, ips=50000000
ata0-master: type=cdrom, path={here}/machine.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={here}/serial
log: {here}/log
display_library: nogui
clock: sync=none
panic: action=fatal
error: action=ignore
info: action=ignore
"""


def run(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, **options).stdout


def packages(here):
    """Unpacks PACKAGES below `here`; the kernel is that on which its package depends."""
    names = list(PACKAGES)
    depends = run("apt-cache", "depends", names[0], text=True)
    names[0] = next(line.split()[-1] for line in depends.splitlines() if "Depends: linux-image" in line)
    run("apt-get", "download", *names, cwd=here, stderr=subprocess.DEVNULL)
    for deb in glob.glob(here + "/*.deb"):
        run("dpkg-deb", "-x", deb, here + "/packages")
    return here + "/packages"


def libraries(programs):
    """The files that the dynamic linker loads for them, itself among them."""
    found = set()
    for line in run("ldd", *programs, text=True).splitlines():
        found.update(word for word in line.split() if word.startswith("/") and ".so" in word)
    return found


def ram_disk(here, unpacked, programs, names):
    root = here + "/root"
    for folder in ("bin", "tests", "proc", "sys", "dev", "tmp", "lib64", "lib/x86_64-linux-gnu"):
        os.makedirs(os.path.join(root, folder))
    shutil.copy(unpacked + "/bin/busybox", root + "/bin/busybox")
    for name, program in zip(names, programs):
        run("strip", "-o", root + "/tests/" + name, program)
    for library in libraries(programs):
        folder = "/lib64" if "/ld-linux" in library else "/lib/x86_64-linux-gnu"
        shutil.copy(library, root + folder)
    with open(root + "/init", "w") as f:
        f.write(INIT % " ".join(names))
    os.chmod(root + "/init", 0o755)
    run("sh", "-c", "find . | cpio -o -H newc --quiet | gzip -1 > ../disc/initrd", cwd=root)


def disc(here, unpacked, programs, names):
    os.makedirs(here + "/disc")
    ram_disk(here, unpacked, programs, names)
    shutil.copy(glob.glob(unpacked + "/boot/vmlinuz-*")[0], here + "/disc/vmlinuz")
    shutil.copy(unpacked + "/usr/lib/ISOLINUX/isolinux.bin", here + "/disc")
    shutil.copy(unpacked + "/usr/lib/syslinux/modules/bios/ldlinux.c32", here + "/disc")
    with open(here + "/disc/isolinux.cfg", "w") as f:
        f.write(f"default test\nlabel test\n kernel vmlinuz\n initrd initrd\n append {OPTIONS}\n")
    run("xorriso", "-as", "mkisofs", "-quiet", "-o", here + "/machine.iso", "-b", "isolinux.bin", "-c", "catalog", "-no-emul-boot", "-boot-load-size", "4",
        "-boot-info-table", here + "/disc", stderr=subprocess.DEVNULL)


def follow(here, machine, deadline):
    """Prints what the machine prints; the exit status of each test that ended."""
    status, ended, line = {}, False, ""
    while not os.path.exists(here + "/serial") and machine.poll() is None and time.time() < deadline:
        time.sleep(1)
    if not os.path.exists(here + "/serial"):
        return status
    with open(here + "/serial", errors="replace") as serial:
        while not ended and time.time() < deadline:
            part = serial.readline()
            line += part
            if not line.endswith("\n"):
                if not part and machine.poll() is not None:
                    break
                time.sleep(1)
                continue
            words = line.split()
            if len(words) == 3 and words[0] == "@":
                ended = words[1] == "end"
                if not ended:
                    status[words[1]] = int(words[2])
            else:
                print(line.rstrip(), flush=True)
            line = ""
    return status


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bochs", required=True, help="the program, in the folder where it was built (its bios/ is beside it)")
    options.add_argument("--build", default="build")
    options.add_argument("--seconds", type=int, default=7200, help="at most so long")
    options.add_argument("tests", nargs="+", metavar="TEST")
    given = options.parse_args()
    bochs = os.path.abspath(given.bochs)
    programs = [os.path.join(given.build, "tests/unit", name) for name in given.tests]
    for file in [bochs, *(os.path.dirname(bochs) + "/bios/" + rom for rom in ROMS), *programs]:
        if not os.path.exists(file):
            sys.exit(f"bochs.py: {file} does not exist")
    with tempfile.TemporaryDirectory() as here:
        disc(here, packages(here), programs, given.tests)
        with open(here + "/machine", "w") as f:
            f.write(MACHINE.format(here=here, bios=os.path.dirname(bochs) + "/bios"))
        machine = subprocess.Popen([bochs, "-q", "-f", here + "/machine"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            status = follow(here, machine, time.time() + given.seconds)
        finally:
            machine.kill()
            machine.wait()
    for name in given.tests:
        print(f"{name:24} {'passed' if status.get(name) == 0 else 'failed' if name in status else 'did not end'}")
    passed = sum(status.get(name) == 0 for name in given.tests)
    print(f"{passed} passed, {len(given.tests) - passed} failed")
    return passed < len(given.tests)


if __name__ == "__main__":
    sys.exit(main())
