#!/usr/bin/env python3
"""Checks that a shared library exports the functions of a C header and no other name.

    check_exports.py [--nm NM] LIBRARY HEADER.h

Functions are declared with a macro that ends in _API. Prints each name that only one of them has, exit code 1 then.
"""
import argparse
import pathlib
import re
import subprocess
import sys

DECLARED = re.compile(r"^[A-Z]+_API\s[^;{]*?\b(\w+)\(", re.MULTILINE)


def declared(header):
    return set(DECLARED.findall(pathlib.Path(header).read_text(encoding="utf-8")))


def exported(library, nm="nm"):
    """The names, without those of versions, which are absolute symbols."""
    listed = subprocess.run([nm, "-D", "--defined-only", "--without-symbol-versions", library], check=True,
                            capture_output=True, text=True).stdout
    fields = [line.split() for line in listed.splitlines()]
    return {line[-1] for line in fields if line[-2] != "A"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("library")
    parser.add_argument("header")
    args = parser.parse_args()
    names, symbols = declared(args.header), exported(args.library, args.nm)
    problems = [f"{args.library}: lacks {name}, which {args.header} declares" for name in sorted(names - symbols)]
    problems += [f"{args.library}: has {name}, which {args.header} does not declare"
                 for name in sorted(symbols - names)]
    print("\n".join(problems) if problems else f"{len(names)} functions, and no other name")
    return 1 if problems or not names else 0


if __name__ == "__main__":
    sys.exit(main())
