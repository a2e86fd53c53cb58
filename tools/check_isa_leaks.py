#!/usr/bin/env python3
"""Checks that the kernel objects of one instruction set can leak no code into the rest of the program.

    check_isa_leaks.py [--nm NM] OBJECT...        exit code 1 and a line for each symbol that should not be there

The linker keeps one copy of an inline function that several objects define. If an object compiled for AVX-512 held
such a copy, a processor without it could be handed AVX-512 code. So an object compiled with instruction-set flags
exports exactly one symbol (its kernel table) and defines no weak, unique or common one; all else is local.
"""
import argparse
import subprocess
import sys

LOCAL = set("abdnprstgN")  # nm's letters for symbols that stay inside the object ("u", unique, does not)
NOT_DEFINED = set("Uvw")  # references, strong and weak
# Sanitizers add bookkeeping symbols to every object; they hold no code that another object could call.
SANITIZER_PREFIXES = ("__asan_", "__odr_asan", "__tsan_", "__ubsan_", "__sanitizer_", "DW.ref.__gxx_personality")


def defined_symbols(nm, path):
    """(letter, name) of every symbol that the object defines."""
    out = subprocess.run([nm, "--format=posix", path], check=True, capture_output=True, text=True).stdout
    symbols = []
    for line in out.splitlines():
        fields = line.split(" ")
        if len(fields) >= 2 and fields[1] not in NOT_DEFINED:
            symbols.append((fields[1], fields[0]))
    return [s for s in symbols if not s[1].startswith(SANITIZER_PREFIXES)]


def check_object(nm, path):
    """Messages about one object."""
    problems, exported = [], []
    for letter, name in defined_symbols(nm, path):
        if letter in LOCAL:
            continue
        if letter in "TDRBGS":
            exported.append(name)
        else:
            problems.append(f"{path}: shared definition ({letter}) of {name}: give it internal linkage")
    if len(exported) != 1:
        names = ", ".join(exported) or "none"
        problems.append(f"{path}: exports {len(exported)} symbols, expected one: {names}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nm", default="nm")
    parser.add_argument("objects", nargs="+")
    args = parser.parse_args()
    problems = []
    for path in args.objects:
        try:
            problems += check_object(args.nm, path)
        except (OSError, subprocess.CalledProcessError) as error:
            detail = (getattr(error, "stderr", None) or str(error)).strip()
            problems.append(f"{path}: cannot be read: {detail}")
    print("\n".join(problems) if problems else f"{len(args.objects)} objects, one exported symbol each, nothing shared")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
