#!/usr/bin/env python3
"""The shared libraries that a program needs, and those that these need.

    needed_libraries.py PROGRAM --triplet TRIPLET [--root FOLDER] (--copy-to FOLDER | --owners FILE)

They are looked for where Debian has them for an architecture, named as in /usr/lib/x86_64-linux-gnu, under --root. --copy-to
copies them there, with the C library and its loader. --owners prints the packages of those that the program itself names,
as Depends of a Debian package has them; FILE says which library is whose, a line each: "libcurl.so.4 libcurl4 7.88". An error: a
library is missing. Needs readelf.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys

OF_SANITIZERS = ("libasan.", "libubsan.", "libtsan.")  # of builds that are no packages


def needed(file):
    listed = subprocess.run(["readelf", "-dW", file], capture_output=True, text=True, check=True).stdout
    return [name for name in re.findall(r"\(NEEDED\).*\[(.+)\]", listed) if not name.startswith(OF_SANITIZERS)]


def find(name, folders):
    for folder in folders:
        if (folder / name).exists():
            return folder / name
    sys.exit(f"needed_libraries.py: {name} is in none of {', '.join(map(str, folders))}")


def library_folders(root, triplet):
    return [root / place for place in (f"lib/{triplet}", f"usr/lib/{triplet}", "lib64", "lib", "usr/lib64", "usr/lib",
                                       "usr/local/lib")]


def all_needed(program, folders):
    """{name: file}"""
    found, waiting = {}, needed(program)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = find(name, folders)
            waiting += needed(found[name])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--triplet", required=True)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path("/"))
    parser.add_argument("--copy-to", type=pathlib.Path)
    parser.add_argument("--owners", type=pathlib.Path)
    args = parser.parse_args()
    if args.owners:
        owner = dict(line.split()[:2] for line in args.owners.read_text(encoding="utf-8").splitlines())
        print(", ".join(sorted({owner[name] for name in needed(args.program)})))
    if args.copy_to:
        args.copy_to.mkdir(parents=True, exist_ok=True)
        for name, file in all_needed(args.program, library_folders(args.root, args.triplet)).items():
            copy = args.copy_to / name
            shutil.copyfile(file, copy)
            copy.chmod(0o755)


if __name__ == "__main__":
    main()
