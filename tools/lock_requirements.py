#!/usr/bin/env python3
"""Writes tools/requirements.txt: what tools/requirements.in needs, with the SHA-256 of every file.

    lock_requirements.py        resolves requirements.in anew with this Python's pip; needs the package index

Packages are pinned for the Python that runs this (Debian 12's) on 64-bit x86 and 64-bit ARM, wheels only: nothing of a
package runs before its checksum was compared, and nothing is built.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent
MACHINES = ("x86_64", "aarch64")
# Tags of systems no newer than Debian 12, glibc 2.36.
TAGS = ("manylinux2014", "manylinux_2_17", "manylinux_2_24", "manylinux_2_27", "manylinux_2_28", "manylinux_2_34")
HEADER = """\
# The exact list of scripts/setup --test: requirements.in and all that it needs, each file by its SHA-256. Written by
# tools/lock_requirements.py.
"""


def resolve(requirements, options):
    """What pip would install, as {name: (version, SHA-256)}."""
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run",
                        "--ignore-installed", "--only-binary", ":all:", "--report", str(report), *options,
                        "-r", str(requirements)], check=True)
        packages = json.loads(report.read_text())["install"]
    found = {}
    for package in packages:
        name = re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()
        found[name] = (package["metadata"]["version"], package["download_info"]["archive_info"]["hashes"]["sha256"])
    return found


def lock():
    """The text of requirements.txt."""
    here = resolve(TOOLS / "requirements.in", [])
    hashes = {name: set() for name in here}
    with tempfile.TemporaryDirectory() as folder:
        pins = pathlib.Path(folder, "pins.txt")
        pins.write_text("".join(f"{name}=={version}\n" for name, (version, _) in here.items()))
        for machine in MACHINES:
            options = ["--no-deps", "--target", folder, "--python-version", "%d.%d" % sys.version_info[:2]]
            for tag in TAGS:
                options += ["--platform", f"{tag}_{machine}"]
            for name, (_, sha256) in resolve(pins, options).items():
                hashes[name].add(sha256)
    text = HEADER
    for name, (version, _) in sorted(here.items()):
        text += f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{sha256}" for sha256 in sorted(hashes[name])) + "\n"
    return text


if __name__ == "__main__":
    (TOOLS / "requirements.txt").write_text(lock())
