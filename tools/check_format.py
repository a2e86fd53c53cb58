#!/usr/bin/env python3
"""Checks that clang-format would change none of the C++ sources.

    check_format.py [--clang-format PROGRAM] [--fix] ROOT [FILE...]    exit code 1 and the places if it would
"""
import argparse
import pathlib
import subprocess
import sys

FOLDERS = ("src", "include", "tests", "fuzz", "bench", "examples")
SUFFIXES = {".h", ".cc", ".inl"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clang-format", default="clang-format-19")
    parser.add_argument("--fix", action="store_true", help="format the files instead")
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="these alone")
    args = parser.parse_args()
    files = args.files or sorted(p for top in FOLDERS for p in (args.root / top).rglob("*") if p.suffix in SUFFIXES)
    if not files:
        sys.exit(f"no C++ sources under {args.root}")
    mode = ["-i"] if args.fix else ["--dry-run", "-Werror"]
    return subprocess.run([args.clang_format, *mode, *files], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
