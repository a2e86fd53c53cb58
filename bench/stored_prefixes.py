#!/usr/bin/env python3
"""The first token of a long prompt after the server was killed, with what it had computed on disk.

    stored_prefixes.py --program build/release/octavo [-m MODEL.gguf] [--tokens 7000] [--rounds 5] [-- SERVE ARGUMENTS]

Each round: a server with an empty store answers a prompt; it is killed (SIGKILL) as soon as it has written; another one
answers the same prompt, its files being in the page cache; a third one, its files being dropped from it
(posix_fadvise); a fourth one the conversation that goes on. The table has the seconds to the first token (an answer of
one token), the share of the cold time, the tokens that were read from disk, and whether the answer of 24 tokens and its
log-probabilities are those of the first server.
"""
import argparse
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time

from served import Server, default_model

ANSWER = 24


def ask(server, tokens, count):
    body = {"prompt": tokens, "max_tokens": count, "temperature": 0.7, "seed": 5, "logprobs": 1, "ignore_eos": True}
    start = time.perf_counter()
    status, answer = server.ask("/v1/completions", body, timeout=600)
    if status != 200:
        sys.exit(f"status {status}: {answer}")
    return time.perf_counter() - start, answer


def bits_of(answer):
    found = answer["choices"][0]
    return found["text"], found["logprobs"]["token_logprobs"]


def wait_for_writes(folder, seconds=60):
    """Until no file of the store has grown for a while."""
    seen, since = None, time.monotonic()
    end = since + seconds
    while time.monotonic() < end and (seen is None or time.monotonic() - since < 1):
        now = sorted((str(path), path.stat().st_size) for path in folder.rglob("*.run"))
        if now != seen:
            seen, since = now, time.monotonic()
        time.sleep(0.05)
    return sum(size for _, size in seen)


def drop_from_page_cache(folder):
    for path in folder.rglob("*.run"):
        descriptor = os.open(path, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def run_round(args, prompt):
    """(name, seconds to the first token, tokens from disk, same bits) of each server, and the bytes of the store."""
    rows = []
    with tempfile.TemporaryDirectory(dir=args.folder) as made:
        folder = pathlib.Path(made) / "store"
        given = ["-m", args.model, "--kv-store", folder, *args.serve]
        first_bits = longer = None
        for name in ("cold", "killed", "dropped", "goes on"):
            if name == "dropped":
                drop_from_page_cache(folder)
            tokens = longer if name == "goes on" else prompt
            with Server(args.program, *given) as server:
                seconds, first = ask(server, tokens, 1)
                _, answer = ask(server, tokens, ANSWER)
                stored = first["usage"]["prompt_tokens_details"].get("stored_tokens", 0)
                if name == "cold":
                    first_bits = bits_of(answer)
                same = name == "goes on" or bits_of(answer) == first_bits
                rows.append((name, seconds, stored, same))
                longer = prompt + [random.Random(9).randrange(100, 1000) for _ in range(40)]
                size = wait_for_writes(folder)
                server.process.kill()
    return rows, size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", default=default_model())
    parser.add_argument("--tokens", type=int, default=7000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", help="where the stores lie; default: the system's folder of temporary files")
    parser.add_argument("serve", nargs="*", help="further arguments of octavo serve")
    args = parser.parse_args()
    draws = random.Random(3)
    seen = {}
    for _ in range(args.rounds):
        rows, size = run_round(args, [draws.randrange(100, 1000) for _ in range(args.tokens)])
        for name, *row in rows:
            seen.setdefault(name, []).append(row)
    cold = statistics.median(row[0] for row in seen["cold"])
    print(f"{args.tokens} tokens, {size / 1e6:.0f} MB on disk\n\n| server | first token, s | of cold | from disk | "
          "same bits |\n|---|--:|--:|--:|--:|")
    for name, rows in seen.items():
        seconds = statistics.median(row[0] for row in rows)
        print(f"| {name} | {seconds:.3f} | {seconds / cold:.3f} | {rows[0][1]} | {sum(row[2] for row in rows)} of "
              f"{len(rows)} |")


if __name__ == "__main__":
    main()
