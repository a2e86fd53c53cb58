#!/usr/bin/env python3
"""Times the masks of patterns that count behind a loop, whose sets of states never come again.

    mask_patterns.py --program build/release/bench_masks -m MODEL.gguf

Each row of PATTERNS is followed along a text of English words, made with a fixed seed, that it takes. Printed are the time
of compiling, the mean, the median and the longest of the masks (moving on by a token and the mask behind it), and the
steps that a mask counts for at most (docs/constraints.md).
"""
import argparse
import json
import random
import statistics
import subprocess

WORDS = ("the cat said yes and no one else knew why a big dog ran over Those hills in bright light until dawn came back "
         "again slowly").split()


def text_of(num_words):
    chosen = random.Random(1)
    return " ".join(chosen.choice(WORDS) for _ in range(num_words))


TEXT = text_of(60)


def schema(pattern):
    return {"schema": {"type": "string", "pattern": pattern}, "text": json.dumps(TEXT)}


PATTERNS = [
    ("`[^qz\\n]*[aeioubcd ][^qz\\n]{80}`", {"regex": r"[^qz\n]*[aeioubcd ][^qz\n]{80}", "text": TEXT}),
    ("`[^<>]*[A-Z][^<>]{8,64}$`", {"regex": r"[^<>]*[A-Z][^<>]{8,64}$", "text": TEXT}),
    ("the same in a schema", schema(r"[^<>]*[A-Z][^<>]{8,64}$")),
    ("the same in a schema, behind `^`", schema(r"^[^<>]*[A-Z][^<>]{8,64}$")),
    ("`.{0,300}(yes|no).{0,300}`", {"regex": r".{0,300}(yes|no).{0,300}", "text": TEXT}),
    ("the same in a schema, between `^` and `$`", schema(r"^.{0,300}(yes|no).{0,300}$")),
    ("`oneOf` of 22 patterns", {
        "schema": {"oneOf": [{"type": "string", "pattern": "[a-z]{%d}-[0-9]{%d}" % (2 + i, 1 + i % 5)}
                             for i in range(22)]}, "text": json.dumps(TEXT)}),
    ("`oneOf` of 22 tails, `^[a-z]*a[a-z0-9]{2}$` and on", {
        "schema": {"oneOf": [{"type": "string", "pattern": "^[a-z]*%c[a-z0-9]{%d}$" % (97 + i, 2 + i)} for i in range(22)]},
        "text": json.dumps("".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz", k=300)))}),
    ("not covered: `[^qz\\n]*[aeioubcd ][^qz\\n]{80}q`", {"regex": r"[^qz\n]*[aeioubcd ][^qz\n]{80}q", "text": TEXT}),
    ("not covered: `[^\\n]*[a-e][^\\n]{1000}q`", {"regex": r"[^\n]*[a-e][^\n]{1000}q", "text": TEXT}),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", required=True)
    options = parser.parse_args()
    print("| pattern | compile, ms | masks | mean, µs | median | longest | steps at most |\n|---|--:|--:|--:|--:|--:|--:|")
    lines = "".join(json.dumps(asked) + "\n" for _, asked in PATTERNS)
    answers = subprocess.run([options.program, "-m", options.model], input=lines, stdout=subprocess.PIPE, text=True,
                             check=True).stdout.splitlines()
    for (name, _), line in zip(PATTERNS, answers, strict=True):
        answer = json.loads(line)
        if "error" in answer:
            raise SystemExit(f"{name}: {answer['error']}")
        times = answer["mask_us"]
        print(f"| {name} | {answer['compile_us'] / 1000:.1f} | {len(times)} | {statistics.mean(times):.0f} | "
              f"{statistics.median(times):.0f} | {max(times):.0f} | {max(answer['work'])} |")


if __name__ == "__main__":
    main()
