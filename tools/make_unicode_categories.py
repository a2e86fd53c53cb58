#!/usr/bin/env python3
"""Writes src/tokenizer/text/unicode_categories.inc: the general category of every code point, as runs.

    tools/make_unicode_categories.py > src/tokenizer/text/unicode_categories.inc

The source is the regular expression engine inside Hugging Face `tokenizers` (Oniguruma), which cut the texts that the
vocabularies were trained on: each property is asked for by a pattern. The version of `tokenizers` is checked, so that
the table changes only on purpose; its tables are those of Unicode 16.0.
"""
import sys

import tokenizers
from tokenizers import Regex, pre_tokenizers

VERSION = "0.23.3"
NAMES = ("Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po",
         "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Co")
LIMIT = 0x110000
CHUNK = 0x1000
REST = "Cn"  # unassigned, and surrogates, which no text has


def members(name):
    """The code points of one category."""
    keep = pre_tokenizers.Split(Regex(rf"\p{{{name}}}"), "removed", invert=True)
    for begin in range(0, LIMIT, CHUNK):
        text = "".join(chr(c) for c in range(begin, begin + CHUNK) if not 0xD800 <= c < 0xE000)
        for piece, _ in keep.pre_tokenize_str(text):
            yield from map(ord, piece)


def main():
    if tokenizers.__version__ != VERSION:
        sys.exit(f"found tokenizers {tokenizers.__version__}, expected {VERSION}")
    categories = [REST] * LIMIT
    for name in NAMES:
        for code_point in members(name):
            categories[code_point] = name
    runs = []
    begin = 0
    for i in range(1, LIMIT + 1):
        if i == LIMIT or categories[i] != categories[begin]:
            runs.append(f"{categories[begin]}{i - begin}")
            begin = i
    print("// Written by tools/make_unicode_categories.py from tokenizers 0.23.3 (Unicode 16.0): runs of code points, each")
    print("// as its general category and its length.")
    line = ""
    for run in runs + [""]:
        if not run or len(line) + len(run) > 110:
            print(f'"{line}"')
            line = ""
        line += run


if __name__ == "__main__":
    main()
