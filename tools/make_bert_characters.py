#!/usr/bin/env python3
"""Writes src/tokenizer/text/bert_characters.inc: the characters that BertNormalizer, StripAccents and Lowercase change.

    tools/make_bert_characters.py > src/tokenizer/text/bert_characters.inc

The source is Hugging Face `tokenizers`, asked about each code point: its tables are of several versions of Unicode. The
version is checked, so that the file changes only on purpose.
"""
import sys

import tokenizers
from tokenizers import normalizers

VERSION = "0.23.3"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def bert(**parts):
    steps = {"clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    return normalizers.BertNormalizer(**(steps | parts))


def becoming(normalizer, text):
    """The code points that become `text` between two letters."""
    return [c for c in CODE_POINTS if normalizer.normalize_str(f"x{chr(c)}x") == f"x{text}x"]


def ranges(code_points):
    """[begin, end) of neighbours."""
    found = []
    for c in code_points:
        if found and found[-1][1] == c:
            found[-1][1] = c + 1
        else:
            found.append([c, c + 1])
    return found


def lower_case_runs():
    """(first, last, step, difference) of the letters that become one other character."""
    runs = []
    lower = normalizers.Lowercase()
    for c in CODE_POINTS:
        small = lower.normalize_str(chr(c))
        if len(small) != 1 or small == chr(c):
            continue
        difference = ord(small) - c
        last = runs[-1] if runs else None
        step = c - last[1] if last else 0
        if last and last[3] == difference and step <= 2 and (last[0] == last[1] or last[2] == step):
            last[1], last[2] = c, step
        else:
            runs.append([c, c, 1, difference])
    return runs


def print_rows(name, rows):
    print(f"constexpr {name}[] = {{")
    line = "   "
    for row in rows:
        text = " {" + ", ".join(f"0x{n:X}" if i < 2 else str(n) for i, n in enumerate(row)) + "},"
        if len(line + text) > 118:
            print(line)
            line = "   "
        line += text
    print(line)
    print("};")


def main():
    if tokenizers.__version__ != VERSION:
        sys.exit(f"found tokenizers {tokenizers.__version__}, expected {VERSION}")
    print("// Written by tools/make_bert_characters.py from tokenizers 0.23.3: characters that clean_text of BertNormalizer")
    print("// leaves out, the marks that its strip_accents leaves out, those of StripAccents, and letters with the small ones")
    print("// that Lowercase makes of them (first, last, step, difference).")
    print_rows("CodePointSet::Range kUnclean", ranges(becoming(bert(clean_text=True), "")))
    print_rows("CodePointSet::Range kAccents", ranges(becoming(bert(strip_accents=True), "")))
    print_rows("CodePointSet::Range kMarks", ranges(becoming(normalizers.StripAccents(), "")))
    print_rows("LowerCaseRun kLowerCase", lower_case_runs())


if __name__ == "__main__":
    main()
