#!/usr/bin/env python3
"""Packs the sources into a source distribution, from which pip makes the wheel (PEP 517).

    make_sdist.py --root ROOT --to FOLDER

Writes octavo-VERSION.tar.gz: a folder octavo-VERSION with the files that git tracks in ROOT, as they are there, with
PKG-INFO, and with SOURCE_DATE_EPOCH, the date of the sources, which the wheel's files have. The date is the
environment's SOURCE_DATE_EPOCH, or 1980. The same files and date give the same bytes.

Errors: ROOT is no git repository; a tracked file is missing, or is a link.
"""
import argparse
import gzip
import io
import os
import pathlib
import re
import subprocess
import sys
import tarfile

import make_wheel

FIRST_DATE = 315532800  # 1980, as of a zip file


def fail(message: str) -> None:
    sys.exit(f"make_sdist.py: {message}")


def found_once(pattern: str, path: pathlib.Path) -> str:
    found = re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    if len(found) != 1:
        fail(f"{path}: found {len(found)} times {pattern}, expected it once")
    return found[0]


def version_of(root: pathlib.Path) -> str:
    header, parts = root / "include/octavo/version.h", ("MAJOR", "MINOR", "PATCH")
    return ".".join(found_once(rf"^#define OCTAVO_VERSION_{part} (\d+)$", header) for part in parts)


def tracked_files(root: pathlib.Path) -> list[str]:
    if not (root / ".git").exists():
        fail(f"{root}: found no git repository, expected one that says which files are the sources")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    return sorted(name for name in listed.split("\0") if name)


def read(root: pathlib.Path, name: str) -> tuple[bytes, bool]:
    """The bytes of a tracked file, and whether it is a program."""
    path = root / name
    if path.is_symlink() or not path.is_file():
        fail(f"{path}: found {'a link' if path.is_symlink() else 'no file'}, expected a file, as git tracks it")
    return path.read_bytes(), os.access(path, os.X_OK)


def pack(folder: str, files: dict[str, tuple[bytes, bool]], date: int) -> bytes:
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, (content, is_program) in sorted(files.items()):
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), date, 0o755 if is_program else 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def make(root: pathlib.Path, to: pathlib.Path) -> pathlib.Path:
    date = int(os.environ.get("SOURCE_DATE_EPOCH") or FIRST_DATE)
    tracked = tracked_files(root)
    version = version_of(root)
    summary = found_once(r'^project\(.* DESCRIPTION "(.+)"\)$', root / "CMakeLists.txt")
    files = {name: read(root, name) for name in tracked}
    files["PKG-INFO"] = make_wheel.metadata(version, summary), False
    files["SOURCE_DATE_EPOCH"] = f"{date}\n".encode(), False
    to.mkdir(parents=True, exist_ok=True)
    out = to / f"octavo-{version}.tar.gz"
    out.write_bytes(pack(f"octavo-{version}", files, date))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--to", type=pathlib.Path, required=True)
    args = parser.parse_args()
    print(make(args.root, args.to))


if __name__ == "__main__":
    main()
