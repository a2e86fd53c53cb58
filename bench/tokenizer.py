#!/usr/bin/env python3
"""How fast texts become token ids: Octavo and Hugging Face `tokenizers`, by turns, one thread each.

    bench/tokenizer.py --program build/release/tokenizer_ids --vocabs FOLDER [--family NAME ...] [--rounds 3] [--kib 64]
                       [--growth-kib 1024] [--write]

For each family of tools/tokenizer_truth.py whose real vocabulary is in FOLDER: texts of six kinds, and for each the
rate of both, in MB/s of the processor's time, the best of the rounds. `tokenizers` is asked in its fastest way,
encode_batch_fast, and keeps its cache of words from round to round; Octavo has none between texts. Growth: the time of
a text of --growth-kib over that of its first half, the largest of the kinds.
Prints a Markdown table; --write puts it into bench/results/tokenizer.md. Exit code 1 if a rate is below that of
`tokenizers` or a growth above 2.5. Needs: gguf, tokenizers.
"""
import argparse
import os
import pathlib
import platform
import random
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import tokenizer_truth  # noqa: E402
from make_tokenizer_golden import SENTENCES  # noqa: E402

MAX_GROWTH = 2.5


def filled(pieces, num_bytes, seed):
    """Pieces in a random order, until the text has so many bytes."""
    rng = random.Random(seed)
    text, size = [], 0
    while size < num_bytes:
        text.append(rng.choice(pieces))
        size += len(text[-1].encode())
    return "".join(text).encode()[:num_bytes].decode(errors="ignore")


def han(line):
    return sum(0x3000 <= ord(c) < 0xFB00 for c in line) * 2 > len(line)


def texts(num_bytes):
    """Kind -> text. English and code go on from their beginning: no sentence is there twice before all are."""
    english = (ROOT / "tests/data/text/english.txt").read_text()
    english += "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
    code = "\n".join(path.read_text() for path in sorted((ROOT / "src").rglob("*.cc")))
    repeated = lambda text: (text * (num_bytes // len(text.encode()) + 1)).encode()[:num_bytes].decode(errors="ignore")
    return {
        "English": repeated(english),
        "code": repeated(code),
        "CJK": filled([line for line in SENTENCES if han(line)], num_bytes, 1),
        "digits": filled([f"{n} " for n in range(10)] + [str(n) for n in range(0, 10**6, 7919)], num_bytes, 2),
        "white space": filled([" ", "  ", "    ", "\n", "\n\n", "\t", "\r\n"], num_bytes, 3),
        "one letter": "a" * num_bytes,
    }


def seconds_octavo(program, vocabulary, cases, times):
    data = b"".join(struct.pack("<I", len(case)) + case for case in (text.encode() for text in cases))
    done = subprocess.run([program, vocabulary, "--times", str(times)], input=data, stdout=subprocess.PIPE, check=True)
    return struct.unpack(f"<{len(cases)}d", done.stdout)


def seconds_peer(tokenizer, cases, times):
    least = []
    for text in cases:
        best = float("inf")
        for _ in range(times):
            begin = time.process_time()
            tokenizer.encode_batch_fast([text], add_special_tokens=False)
            best = min(best, time.process_time() - begin)
        least.append(best)
    return least


class Family:
    """A vocabulary in both programs, and the least time of each for each text."""

    def __init__(self, name, args, folder):
        family = tokenizer_truth.FAMILIES[name]
        self.path = args.vocabs / family.file
        if family.file.endswith(".gguf"):
            vocabulary = tokenizer_truth.read_gguf(self.path)
        else:
            vocabulary = tokenizer_truth.read_tekken(self.path)
            self.path = folder / f"{name}.gguf"
            tokenizer_truth.write_gguf(vocabulary, name, self.path)
        self.peer = tokenizer_truth.reference(family, vocabulary)

    def run(self, args, cases):
        """(Octavo, `tokenizers`), each a list of seconds."""
        ours, theirs = [[float("inf")] * len(cases)] * 2
        for _ in range(args.rounds):
            ours = list(map(min, ours, seconds_octavo(args.program, self.path, cases, 3)))
            theirs = list(map(min, theirs, seconds_peer(self.peer, cases, 3)))
        return ours, theirs

    def growth(self, args, whole):
        """Time of each text over that of its first half."""
        halves = [text[:len(text) // 2] for text in whole]
        both = seconds_octavo(args.program, self.path, whole + halves, 3)
        return [long / short for long, short in zip(both, both[len(whole):])]


def row(name, cases, ours, theirs, growth):
    """A line of the table, and the lowest ratio."""
    sizes = [len(text.encode()) for text in cases.values()]
    ratios = [b / a for a, b in zip(ours, theirs)]
    cells = [f"{size / a / 1e6:.1f} ({ratio:.1f} ×)" for size, a, ratio in zip(sizes, ours, ratios)]
    return f"| {name} | " + " | ".join(cells) + f" | {max(growth):.2f} |", min(ratios)


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def write_page(args, lines):
    head = (f"# Tokenizers: speed\n\nMade by `bench/tokenizer.py`: MB/s of Octavo on one thread of {processor()}, and in "
            f"brackets its ratio to `tokenizers`, for texts of {args.kib} KiB, the best of {3 * args.rounds} times each. "
            f"Growth: the time of {args.growth_kib} KiB over that of its first half, the largest of the six.\n\n")
    (ROOT / "bench/results/tokenizer.md").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--vocabs", required=True, type=pathlib.Path)
    with_files = [name for name, family in tokenizer_truth.FAMILIES.items() if family.file]
    parser.add_argument("--family", choices=with_files, action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kib", type=int, default=64)
    parser.add_argument("--growth-kib", type=int, default=1024)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    cases, whole = texts(args.kib << 10), list(texts(args.growth_kib << 10).values())
    lines = ["| family | " + " | ".join(cases) + " | growth |", "|---|" + "---|" * (len(cases) + 1)]
    print("\n".join(lines), flush=True)
    is_reached = True
    with tempfile.TemporaryDirectory() as folder:
        for name in args.family or with_files:
            family = Family(name, args, pathlib.Path(folder))
            growth = family.growth(args, whole)
            line, lowest = row(name, cases, *family.run(args, list(cases.values())), growth)
            is_reached = is_reached and lowest >= 1 and max(growth) < MAX_GROWTH
            print(line, flush=True)
            lines.append(line)
            if args.write:
                write_page(args, lines)
    return 0 if is_reached else 1


if __name__ == "__main__":
    sys.exit(main())
