#!/usr/bin/env python3
"""Prints the codebooks of src/tensor/codebooks.cc: the grids of the IQ types as the Python package `gguf` holds them.

    make_codebooks.py        the text of each codebook, cut into string literals, and the hash of its table's words

A grid is a set of groups of weights, in ascending order if each group is read as a number whose last weight is the
highest digit, in base 3 (IQ1, IQ2) or 8 (IQ3). So a character tells how far the next group lies behind the one before:
that distance less 1, from '#' on, without the backslash. An '!' before it stands for 90 more. Needs numpy and gguf.
"""
import numpy as np
from gguf import quants

BOOKS = (("kIq1", quants.IQ1_S, 3), ("kIq2Xxs", quants.IQ2_XXS, 3), ("kIq2Xs", quants.IQ2_XS, 3),
         ("kIq2S", quants.IQ2_S, 3), ("kIq3Xxs", quants.IQ3_XXS, 8), ("kIq3S", quants.IQ3_S, 8))
ALPHABET = [chr(c) for c in range(ord("#"), ord("~") + 1) if chr(c) != "\\"]
MORE = 90
LINE = 100


def digits_of(quant):
    """The groups of a grid, each weight as the place of its level."""
    quant.init_grid()
    return np.searchsorted(sorted(quant.grid_map), quant.grid.reshape(quant.grid_shape))


def hash_of(digits):
    """FNV-1a, 64 bits, of a table's words: digit c of a group in the lower nibble of byte c, digit c + 4 above it."""
    value = 0xCBF29CE484222325
    for group in digits:
        word = sum(int(d) << (i % 4 * 8 + i // 4 * 4) for i, d in enumerate(group))
        value = (value ^ word) * 0x100000001B3 % 2**64
    return value


def text_of(ascending):
    out, last = [], -1
    for number in ascending:
        steps = int(number) - last - 1
        assert steps >= 0, "not in ascending order"
        out.append("!" * (steps // MORE) + ALPHABET[steps % MORE])
        last = int(number)
    return "".join(out)


def main():
    for name, quant, base in BOOKS:
        digits = digits_of(quant)
        text = text_of(digits @ base ** np.arange(quant.grid_shape[1]))
        print(f"{name}, {quant.grid_shape[0]} groups of {quant.grid_shape[1]} in base {base}, 0x{hash_of(digits):016X}:")
        for i in range(0, len(text), LINE):
            quoted = text[i : i + LINE].replace("??", '?""?')
            print(f'    "{quoted}"')


if __name__ == "__main__":
    main()
