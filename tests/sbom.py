#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sbom.py - the bill of materials (scripts/sbom) says what the loader really maps, and its versions are those that the libraries give themselves.

    python3 tests/sbom.py --build build

Where cyclonedx-python-lib[json-validation] is installed (make test-sbom SBOM_PYTHON=), its validator and its reader must take the document as well. Prints
"ok NAME" or "FAIL NAME" and why; the exit code is 1 if anything failed.
"""
import argparse
import ctypes
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Libraries that tell their version: the package of each begins with, or has in it, that number.
TELL = {"libz.so": "zlibVersion", "libzip.so": "zip_libzip_version", "libjansson.so": "jansson_version_str", "libprotobuf-c.so": "protobuf_c_version",
        "libmicrohttpd.so": "MHD_get_version", "libpng16.so": "png_get_libpng_ver", "libopenblas.so": "openblas_get_config"}


class Failed(Exception):
    pass


def bill(build, **env):
    p = subprocess.run([sys.executable, os.path.join(ROOT, "scripts", "sbom"), "--build", build], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, **env))
    if p.returncode:
        raise Failed(p.stderr.decode())
    return p.stdout.decode()


def mapped(program):
    """{file name: path} of the libraries that the loader says it maps for the command, by its own trace rather than by ldd."""
    out = subprocess.run([program], env=dict(os.environ, LD_TRACE_LOADED_OBJECTS="1"), stdout=subprocess.PIPE, check=True).stdout.decode()
    paths = [word for line in out.split("\n") for word in line.split() if word.startswith("/")]
    return {os.path.basename(p): os.path.realpath(p) for p in paths}


def reachable(document):
    edges = {d["ref"]: d.get("dependsOn", []) for d in document["dependencies"]}
    left, seen = ["file:ctsc"], set()
    while left:
        ref = left.pop()
        if ref not in seen:
            seen.add(ref)
            left += edges[ref]
    return seen


def owner(path):
    """The package and version of a file, through the package's list of files rather than the question that scripts/sbom asks."""
    for info in (p for p in os.listdir("/var/lib/dpkg/info") if p.endswith(".list")):
        with open(os.path.join("/var/lib/dpkg/info", info), encoding="utf-8") as f:
            lines = f.read().split("\n")
        if path in lines or path.replace("/usr", "", 1) in lines:
            return info[:-len(".list")].partition(":")[0]
    return None


def test_complete(build):
    """Each library that the command maps is in the bill under its package, reached from the command."""
    if not os.path.isdir("/var/lib/dpkg/info"):
        return "skipped, there is no dpkg"
    document = json.loads(bill(build))
    by_ref = {c["bom-ref"]: c for c in document["components"]}
    names = {by_ref[r]["name"] for r in reachable(document)}
    libraries = {n: p for n, p in mapped(os.path.join(build, "ctsc")).items() if not n.startswith("ld-")}
    missing = sorted("%s (%s)" % (n, owner(p)) for n, p in libraries.items() if owner(p) not in names)
    if missing or len(libraries) < 5:
        raise Failed("of %d libraries the bill lacks %s" % (len(libraries), ", ".join(missing)))
    return "%d libraries" % len(libraries)


def test_versions(build):
    components = [c for c in json.loads(bill(build))["components"] if c.get("purl")]
    told = 0
    for name, path in mapped(os.path.join(build, "ctsc")).items():
        function = next((f for prefix, f in TELL.items() if name.startswith(prefix)), None)
        if not function:
            continue
        ask = getattr(ctypes.CDLL(path), function)
        ask.restype = ctypes.c_char_p
        if function == "png_get_libpng_ver":
            ask.argtypes = [ctypes.c_void_p]
        says = (ask(None) if function == "png_get_libpng_ver" else ask()).decode()
        version = says.split()[1] if function == "openblas_get_config" else says
        package = owner(path)
        if package and not any(c["name"] == package and version in c["version"] for c in components):
            raise Failed("%s says %s; the bill: %s" % (name, version, [c["version"] for c in components if c["name"] == package]))
        told += bool(package)
    return "%d libraries" % told


def test_same(build):
    if bill(build) != bill(build, LC_ALL="C", TZ="Asia/Kathmandu"):
        raise Failed("two bills of one build differ")
    if json.loads(bill(build, SOURCE_DATE_EPOCH="86400"))["metadata"]["timestamp"] != "1970-01-02T00:00:00Z":
        raise Failed("SOURCE_DATE_EPOCH is not its time")


def test_schema(build):
    """CycloneDX's own schema and reader."""
    try:
        from cyclonedx.model.bom import Bom
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
    except ImportError:
        return "skipped, cyclonedx-python-lib[json-validation] is not installed"
    text = bill(build)
    wrong = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if wrong:
        raise Failed(str(wrong))
    document = json.loads(text)
    if not JsonStrictValidator(SchemaVersion.V1_6).validate_str(text.replace('"application"', '"no such type"')):
        raise Failed("the validator takes everything")
    read = Bom.from_json(document)
    if {str(c.purl) for c in read.components if c.purl} != {c["purl"] for c in document["components"] if c.get("purl")}:
        raise Failed("other packages are read than were written")
    return "%d components" % len(read.components)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--build", default="build")
    build = os.path.abspath(ap.parse_args().build)
    failed = 0
    for name, test in (("complete", test_complete), ("versions", test_versions), ("same", test_same), ("schema", test_schema)):
        try:
            note = test(build)
            print("ok %s%s" % (name, ": " + note if note else ""), flush=True)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            print("FAIL %s\n%s" % (name, why), flush=True)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
