#!/usr/bin/env python3
"""How often a drafter's token is the one that is drawn at temperature 1: its likeliest one, or one that it draws itself
with the position's own random number, in the sampler's order of tokens (that of ids).

    draft_draws.py --octavo build/release/octavo MODEL.gguf DRAFTER.gguf TEXT [--tokens 256] [--sees N]
                   [--temperature 1]

Both files have one vocabulary; the drafter's rows stand for those of a head that guesses as well. With --sees it reads
the N / 2 to N last tokens alone, which makes a worse one. Chances are exact: over all random numbers, not drawn ones.
Needs: numpy."""
import argparse
import pathlib
import subprocess
import tempfile

import numpy as np


def rows_of(octavo, model, ids):
    """float64 [len(ids), vocab_size] logits."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "logits.npy")
        subprocess.run([octavo, "logits", "-m", model, "--ids", ",".join(map(str, ids)), "--out", path], check=True,
                       stdout=subprocess.DEVNULL)
        return np.load(path).astype(np.float64)


def rows_of_pieces(octavo, model, ids, sees):
    """The same; of each piece of `sees` tokens the first half is there to be read."""
    if not sees:
        return rows_of(octavo, model, ids)
    half = sees // 2
    rows = [rows_of(octavo, model, ids[:half])]
    rows += [rows_of(octavo, model, ids[begin:begin + sees])[half:] for begin in range(0, len(ids) - half, half)]
    return np.concatenate(rows)


def probabilities(logits, temperature, keep):
    """The same of the `keep` likeliest tokens, or of all (0)."""
    p = np.exp((logits - logits.max()) / temperature)
    if keep:
        p[np.argsort(-p, kind="stable")[keep:]] = 0
    return p / p.sum()


def agreement_of_draws(p, q):
    """The measure of random numbers at which both cumulative sums, in the order of ids, give the same token."""
    p_end, q_end = np.cumsum(p), np.cumsum(q)
    return np.maximum(0, np.minimum(p_end, q_end) - np.maximum(p_end - p, q_end - q)).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("drafter")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("--octavo", default="octavo")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--sees", type=int, default=0)
    parser.add_argument("--temperature", type=float, default=1)
    args = parser.parse_args()
    text = args.text.read_text()[:8 * args.tokens]
    words = subprocess.run([args.octavo, "tokenize", "-m", args.model, "--ids", text], check=True, capture_output=True,
                           text=True).stdout.split()
    ids = [int(word) for word in words][: args.tokens]
    model, drafter = rows_of(args.octavo, args.model, ids), rows_of_pieces(args.octavo, args.drafter, ids, args.sees)
    print("| the drafter looks at | its likeliest is drawn | its own draw is the same | most that is possible |")
    print("|---|--:|--:|--:|")
    for keep, name in ((0, "all words"), (40, "the 40 likeliest"), (10, "the 10 likeliest")):
        sums = np.zeros(3)
        for row, guess in zip(model, drafter, strict=True):
            p, q = probabilities(row, args.temperature, 0), probabilities(guess, args.temperature, keep)
            sums += p[q.argmax()], agreement_of_draws(p, q), np.minimum(p, q).sum()
        likeliest, drawn, most = sums / len(ids)
        print(f"| {name} | {likeliest:.3f} | {drawn:.3f} | {most:.3f} |")


if __name__ == "__main__":
    main()
