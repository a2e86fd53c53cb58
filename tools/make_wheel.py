#!/usr/bin/env python3
"""Packs the Python package, the library and its program into a wheel, and lists what is in it as an SBOM.

    make_wheel.py --package python/octavo --library liboctavo.so --version 0.1.0 --summary TEXT --license LICENSE \\
                  --libraries FOLDER --platform manylinux_2_34_x86_64 --to FOLDER

Writes octavo-VERSION-py3-none-PLATFORM.whl, and the same name with .cdx.json behind it: the software bill of materials of
tools/bill_of_materials.py, which is in the wheel, too. The library is a stripped one. --libraries is the folder of
tools/build_static_libraries.sh: its libraries.tsv names the libraries that are inside, licenses/ has their terms. The
same files give the same bytes; dates are SOURCE_DATE_EPOCH, or 1980 where the environment has none.

Errors: the library needs a newer C library than the platform's name says, or a library that not every Linux has; it
looks for libraries in a folder of the builder's; it exports other names than octavo_*; the wheel has more than 10 MB.
Needs readelf.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import time
import zipfile

import bill_of_materials

MAX_BYTES = 10_000_000
LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2",
             "libgcc_s.so.1"}
LEFT_OUT = {"__pycache__", "liboctavo.so"}  # of the package's folder
OLDEST_DATE = (1980, 1, 1, 0, 0, 0)  # that a zip file can say


def fail(message):
    sys.exit(f"make_wheel.py: {message}")


def read_elf(library, option):
    return subprocess.run(["readelf", "-W", option, library], capture_output=True, text=True, check=True).stdout


def needed_glibc(versions):
    """The newest version of the C library that `readelf -V` names among what is needed: (2, 34); (0, 0) without any."""
    needs = versions.partition("Version needs section")[2]
    found = re.findall(r"Name: GLIBC_(\d+)\.(\d+)(?:\.\d+)?\b", needs)
    return max(((int(major), int(minor)) for major, minor in found), default=(0, 0))


def check_library(library, platform):
    """Refuses a library that does not run on every machine of the platform."""
    named = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", platform)
    if not named:
        fail(f"--platform: found {platform}, expected manylinux_MAJOR_MINOR_ARCHITECTURE")
    needed, promised = needed_glibc(read_elf(library, "-V")), (int(named[1]), int(named[2]))
    if needed > promised:
        fail(f"{library}: needs glibc {needed[0]}.{needed[1]}, "
             f"but {platform} promises that {named[1]}.{named[2]} is enough")
    dynamic = read_elf(library, "-d")
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.+)\]", dynamic)
    if paths:
        fail(f"{library}: looks for libraries in {paths[0]}, a folder of the machine that built it")
    symbols = re.findall(r" (?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)", read_elf(library, "--dyn-syms"))
    foreign = [name for name in symbols if not name.startswith("octavo_")]
    if foreign or "octavo_main" not in symbols:
        found = foreign[0] if foreign else "no octavo_main"
        fail(f"{library}: exports {found}, expected octavo_main and its kin alone")
    others = set(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)) - LIBRARIES
    if others:
        fail(f"{library}: needs {', '.join(sorted(others))}, which not every Linux has")


def metadata(version, summary):
    """METADATA of the wheel, and PKG-INFO of the source distribution."""
    return (f"Metadata-Version: 2.4\nName: octavo\nVersion: {version}\nSummary: {summary}\n"
            "License-Expression: Apache-2.0\nLicense-File: LICENSE\n"
            "Classifier: Operating System :: POSIX :: Linux\nClassifier: Programming Language :: C++\n"
            "Classifier: Programming Language :: Python :: 3\nClassifier: Typing :: Typed\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\n").encode()


def package_files(folder):
    """{path in the wheel: bytes}"""
    found = {}
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if path.is_file() and not LEFT_OUT.intersection(inside.parts) and not inside.name.startswith("."):
            found[f"octavo/{inside.as_posix()}"] = path.read_bytes()
    if not {"octavo/__init__.py", "octavo/__main__.py"} <= found.keys():
        fail(f"{folder}: found no __init__.py and __main__.py in it, expected the Python package")
    return found


def bill_of_wheel(version, library, table):
    """CycloneDX's document, as bytes."""
    parts = [bill_of_materials.debian_component(*line.split("\t")) for line in table.splitlines()]
    octavo = bill_of_materials.octavo_component("library", f"pkg:pypi/octavo@{version}", version, [
        bill_of_materials.hashed_file("octavo/liboctavo.so", library)])
    return bill_of_materials.document(octavo, parts)


def record(files, name):
    """RECORD: every file with its digest and size; its own line has neither."""
    lines = []
    for path in sorted(files):
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[path]).digest()).rstrip(b"=").decode()
        lines.append(f"{path},sha256={digest},{len(files[path])}\n")
    return "".join([*lines, f"{name},,\n"]).encode()


def date():
    """The date of all files, as zip files have it."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    return max(OLDEST_DATE, time.gmtime(int(epoch))[:6]) if epoch else OLDEST_DATE


def write_wheel(out, files):
    """Writes the files in the order in which they come; refuses more than MAX_BYTES, and leaves nothing then."""
    partial = out.with_name(out.name + ".partial")
    with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, date())
            entry.create_system = 3  # Unix, whose modes follow
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    size = partial.stat().st_size
    if size > MAX_BYTES:
        partial.unlink()
        fail(f"the wheel has {size} bytes, more than {MAX_BYTES}")
    partial.replace(out)


def make(args):
    check_library(args.library, args.platform)
    library = args.library.read_bytes()
    bill = bill_of_wheel(args.version, library, (args.libraries / "libraries.tsv").read_text(encoding="ascii"))
    info = f"octavo-{args.version}.dist-info"
    files = package_files(args.package)
    files["octavo/liboctavo.so"] = library
    files[f"{info}/METADATA"] = metadata(args.version, args.summary)
    files[f"{info}/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: octavo make_wheel.py\nRoot-Is-Purelib: false\n"
                              f"Tag: py3-none-{args.platform}\n").encode()
    files[f"{info}/entry_points.txt"] = b"[console_scripts]\noctavo = octavo.__main__:main\n"
    files[f"{info}/licenses/LICENSE"] = args.license.read_bytes()
    files[f"{info}/sboms/octavo.cdx.json"] = bill
    for path in (args.libraries / "licenses").iterdir():
        files[f"{info}/licenses/{path.name}"] = path.read_bytes()
    ordered = dict(sorted(files.items()))
    ordered[f"{info}/RECORD"] = record(files, f"{info}/RECORD")
    args.to.mkdir(parents=True, exist_ok=True)
    wheel = args.to / f"octavo-{args.version}-py3-none-{args.platform}.whl"
    write_wheel(wheel, ordered)
    wheel.with_name(wheel.name + ".cdx.json").write_bytes(bill)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("package", "library", "license", "libraries", "to"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    for name in ("version", "summary", "platform"):
        parser.add_argument(f"--{name}", required=True)
    make(parser.parse_args())


if __name__ == "__main__":
    main()
