#!/usr/bin/env python3
"""Checks that a program was built with protection against faults in memory, by what stands in the program itself.

    check_hardening.py [--readelf READELF] PROGRAM [OBJECT...]     exit code 1 and a line for each that is missing

In the program: position-independent, its relocated data read-only (full RELRO: with BIND_NOW), no executable stack,
stack protector, checked copies (FORTIFY) and checked accesses of the standard library. In the objects, on x86: marks
for indirect branches and shadow stacks (IBT, SHSTK). These are looked for there because the linker drops the program's
mark as soon as one library or start file of the system lacks it.
"""
import argparse
import re
import subprocess
import sys


def readelf(program, *options):
    return subprocess.run([*program, "--wide", *options], check=True, capture_output=True, text=True).stdout


def search_path(dynamic):
    """Folders that the program makes the loader look in; an empty one is the current folder."""
    paths = re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)
    return [folder for path in paths for folder in path.split(":")]


def problems_of_program(tool, path):
    header = readelf([tool], "--file-header", path)
    segments = readelf([tool], "--program-headers", path)
    dynamic = readelf([tool], "--dynamic", path)
    imports = readelf([tool], "--dyn-syms", path)
    stack = re.search(r"GNU_STACK\s.*", segments)
    checks = {
        "is not position-independent": re.search(r"Type:\s+DYN", header) and "INTERP" in segments,
        "has no GNU_RELRO segment": "GNU_RELRO" in segments,
        "binds functions late: no BIND_NOW, so their table stays writable": re.search(r"BIND_NOW|\bNOW\b", dynamic),
        "has an executable stack": stack and not re.search(r"RWE", stack.group()),
        "looks for libraries in folders that depend on where it is started":
            all(folder.startswith(("/", "$ORIGIN")) for folder in search_path(dynamic)),
        "has no stack protector: __stack_chk_fail is not imported": "__stack_chk_fail" in imports,
        "has no checked copies: no __*_chk function but the stack's is imported":
            re.search(r"\b__(?!stack)\w+_chk\b", imports),
        "has no checked accesses: __glibcxx_assert_fail is not imported": "glibcxx_assert_fail" in imports,
    }
    return [f"{path}: {what}" for what, found in checks.items() if not found]


def problems_of_object(tool, path):
    notes = readelf([tool], "--notes", path)
    machine = readelf([tool], "--file-header", path)
    if "X86-64" in machine:
        missing = [mark for mark in ("IBT", "SHSTK") if mark not in notes]
    elif "AArch64" in machine:
        missing = [mark for mark in ("BTI", "PAC") if mark not in notes]
    else:
        return [f"{path}: an object of another machine"]
    return [f"{path}: no mark {mark} of control-flow protection" for mark in missing]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readelf", default="readelf")
    parser.add_argument("program")
    parser.add_argument("objects", nargs="*")
    args = parser.parse_args()
    try:
        problems = problems_of_program(args.readelf, args.program)
        for path in args.objects:
            problems += problems_of_object(args.readelf, path)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit((getattr(error, "stderr", None) or str(error)).strip())
    print("\n".join(problems) if problems else f"{args.program} and {len(args.objects)} objects are protected")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
