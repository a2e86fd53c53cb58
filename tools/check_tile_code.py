#!/usr/bin/env python3
"""Checks by disassembly what a unit of kernels does with matrix tiles.

    check_tile_code.py [--objdump OBJDUMP] OBJECT        exit code 1 and a line for each fault

A function that configures tiles releases them, and neither calls nor jumps to another: whatever ran between would meet
the tiles, and the system would save them at a switch. Tiles are used in such functions alone, and some of these use
products of bytes or of bf16.
"""
import argparse
import re
import subprocess
import sys

HEAD = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LINE = re.compile(r"^\s+[0-9a-f]+:\s+(?:notrack |bnd )*(\w+)\s*(.*)$")
TARGET = re.compile(r"<(.*)>")
PRODUCTS = {"tdpbssd", "tdpbf16ps"}
TILES = PRODUCTS | {"tileloadd", "tileloaddt1", "tilestored", "tilezero", "tdpbsud", "tdpbusd", "tdpbuud"}


def functions(listing):
    """{name: [(mnemonic, operands)]} of objdump's listing."""
    found, lines = {}, None
    for line in listing.splitlines():
        if head := HEAD.match(line):
            lines = found.setdefault(head[1], [])
        elif (match := LINE.match(line)) and lines is not None:
            lines.append((match[1], match[2]))
    return found


def leaves(name, mnemonic, operands):
    """Whether an instruction goes on elsewhere than in its own function."""
    if mnemonic.startswith("call") or "syscall" in mnemonic:
        return True
    if not mnemonic.startswith("j"):
        return False
    target = TARGET.search(operands)
    return target is None or re.sub(r"\+0x[0-9a-f]+$", "", target[1]) != name


def check(listing):
    problems, products = [], 0
    for name, lines in functions(listing).items():
        mnemonics = {mnemonic for mnemonic, _ in lines}
        if not mnemonics & (TILES | {"ldtilecfg", "tilerelease"}):
            continue
        for needed in ("ldtilecfg", "tilerelease"):
            if needed not in mnemonics:
                problems.append(f"{name}: uses tiles without {needed}")
        problems += [f"{name}: leaves by {mnemonic} {operands} while tiles are configured"
                     for mnemonic, operands in lines if leaves(name, mnemonic, operands)]
        products += sum(mnemonic in PRODUCTS for mnemonic, _ in lines)
    if not products:
        problems.append(f"found no product of tiles, expected {' or '.join(sorted(PRODUCTS))}")
    return problems, products


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objdump", default="objdump")
    parser.add_argument("object")
    args = parser.parse_args()
    listing = subprocess.run([args.objdump, "--disassemble", "--no-show-raw-insn", args.object], check=True,
                             capture_output=True, text=True).stdout
    problems, products = check(listing)
    print("\n".join(problems) if problems else f"{products} products of tiles, between which nothing else is called")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
