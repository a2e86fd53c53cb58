#!/usr/bin/env python3
"""Times octavo and llama.cpp in turn on one file and prints how many times faster octavo is.

    compare_llama_cpp.py --octavo build/release/octavo --llama-bench bin/llama-bench MODEL.gguf
                         [--prompt 512] [--gen 64] [--rounds 5] [--threads 2] [--json]

One round is one prefill and one decode of each program, one after the other, so that a machine that slows down
slows both; the medians are compared. Times are only comparable within one run on one machine. Prefill is --prompt
tokens from an empty cache; decode is --gen tokens, each alone (llama-bench starts from an empty cache, octavo from a
prompt of one token).
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def run_json(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:300]}: exit code {done.returncode}\n{done.stderr[-1000:]}")
    return json.loads(done.stdout)


def llama_bench(args):
    """(prefill, decode) in tokens/s."""
    rows = run_json([args.llama_bench, "-m", args.model, "-t", str(args.threads), "-fa", "1", "-r", "1",
                     "-p", str(args.prompt), "-n", str(args.gen), "-o", "json"])
    return tuple(next(r["avg_ts"] for r in rows if r[key]) for key in ("n_prompt", "n_gen"))


def octavo_run(args, prompt, gen):
    return run_json([args.octavo, "run", "-m", args.model, "--raw", "--temp", "0", "--json",
                     "--threads", str(args.threads), "-n", str(gen), "-p", prompt])


def prompt_of(args, num_tokens):
    """A text of exactly this many tokens."""
    words = " the" * num_tokens
    while True:
        ids = subprocess.run([args.octavo, "tokenize", "-m", args.model, "--ids", words], capture_output=True, text=True,
                             check=True).stdout.split()
        if len(ids) <= num_tokens:
            break
        words = words.removesuffix(" the")
    if len(ids) != num_tokens:
        sys.exit(f"no prompt of {num_tokens} tokens: \" the\" is not one token of this vocabulary")
    return words


def octavo(args, prompt):
    prefill = octavo_run(args, prompt, 1)
    decode = octavo_run(args, " the", args.gen + 1)
    if decode["generated_tokens"] < 2:
        sys.exit("octavo: the model ended its answer at once; decode cannot be timed")
    seconds = decode["timings"]["total_s"] - decode["timings"]["time_to_first_token_s"]
    prefill_rate = prefill["prompt_tokens"] / prefill["timings"]["time_to_first_token_s"]
    return prefill_rate, (decode["generated_tokens"] - 1) / seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--llama-bench", required=True)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--gen", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    prompt = prompt_of(args, args.prompt)
    ours, theirs = [], []
    for _ in range(args.rounds):
        ours.append(octavo(args, prompt))
        theirs.append(llama_bench(args))
    result = {}
    for i, what in enumerate((f"prefill {args.prompt}", f"decode {args.gen}")):
        a, b = (statistics.median(row[i] for row in rows) for rows in (ours, theirs))
        result[what] = {"octavo": round(a, 1), "llama.cpp": round(b, 1), "ratio": round(a / b, 3)}
    if args.json:
        print(json.dumps(result))
        return
    print("tokens/s       octavo  llama.cpp  ratio")
    for what, row in result.items():
        print(f"{what:<12}{row['octavo']:>9.1f}{row['llama.cpp']:>11.1f}{row['ratio']:>7.2f}")


if __name__ == "__main__":
    main()
