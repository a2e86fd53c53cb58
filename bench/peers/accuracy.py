#!/usr/bin/env python3
"""How far Octavo's and llama.cpp's logits are from the truth, on the same file and the same text.

    accuracy.py --octavo build/release/octavo --llama-cpp FOLDER MODEL.gguf ... [--tokens 768] [--isa NAME ...]
                [--text FILE] [--cache FOLDER] [--json | --write]

The truth is tools/oracle.py: every weight dequantized, everything in float32. FOLDER is what
tools/build_llama_cpp.sh built into. A row each for llama.cpp (and its AVX2 build, where FOLDER/avx2 is there) and for
Octavo on every instruction-set level that the processor has, or on those named. KL: divergence from the oracle's
distribution of the next token in nats, mean over the tokens of the text; the goal is at most 1.15 times llama.cpp's.
Prints a Markdown table; --write puts it into docs/benchmarks.md too. Exit code 1 where the goal is missed.
Needs: numpy, gguf.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import report

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import compare_logits  # noqa: E402
import kv_quality  # noqa: E402

LEVELS = ("scalar", "avx2", "avxvnni", "avx512vnni", "amx", "amxbf16", "neon")
GOAL = 1.15


def octavo_logits(octavo, model, ids, path, isa):
    """None where the processor lacks the level."""
    command = [octavo, "logits", "-m", model, "--isa", isa, "--ids", ",".join(map(str, ids)), "--out", path, "--json"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode and "is not supported" in done.stderr:
        return None
    if done.returncode:
        raise SystemExit(f"octavo logits --isa {isa}: {done.stderr}")
    return np.load(path, mmap_mode="r")


def llama_cpp_logits(binaries, model, ids, path):
    subprocess.run([binaries / "llama-logits", model, path, str(len(os.sched_getaffinity(0)))],
                   input=" ".join(map(str, ids)), text=True, check=True)
    return np.fromfile(path, np.float32).reshape(len(ids), -1)


def measure(args, model):
    """Rows (engine, result of compare) of one model, llama.cpp first."""
    ids = kv_quality.token_ids(args.octavo, model, [args.text] if args.text else kv_quality.TEXTS, args.tokens)
    oracle = compare_logits.oracle_logits(model, ids, args.cache)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "logits.npy")
        for name, binaries in (("llama.cpp", args.llama_cpp / "bin"), ("llama.cpp, AVX2", args.llama_cpp / "avx2/bin")):
            if (binaries / "llama-logits").exists():
                rows.append((name, compare_logits.compare(oracle, llama_cpp_logits(binaries, model, ids, path), ids)))
        for isa in args.isa or LEVELS:
            logits = octavo_logits(args.octavo, model, ids, path, isa)
            if logits is not None:
                rows.append((f"octavo, {isa}", compare_logits.compare(oracle, logits, ids)))
    return ids, rows


def lines_of(model, ids, rows):
    reference = rows[0][1]["mean_kl"]
    lines = [f"{pathlib.Path(model).name}, {len(ids)} tokens", "",
             "| engine | mean KL | of llama.cpp's | 99 % of KL below | NLL | same top |", "|---|--:|--:|--:|--:|--:|"]
    for name, result in rows:
        lines.append(f"| {name} | {result['mean_kl']:.3e} | {result['mean_kl'] / reference:.3f} "
                     f"| {result['p99_kl']:.2e} | {result['mean_nll']:.4f} | {100 * result['top1_agreement']:.1f} % |")
    lines.append("")
    return [*lines, "", f"The text's NLL by the oracle: {rows[0][1]['mean_nll_reference']:.4f}.", ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--octavo", required=True)
    parser.add_argument("--llama-cpp", required=True, type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--tokens", type=int, default=768, metavar="N")
    parser.add_argument("--isa", action="append", choices=LEVELS)
    parser.add_argument("--text", metavar="FILE", help="default: the English text of the tests, then the license")
    parser.add_argument("--cache", metavar="FOLDER", help="keeps the oracle's results")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true")
    output.add_argument("--write", action="store_true")
    args = parser.parse_args()
    met, lines = True, []
    for model in args.models:
        ids, rows = measure(args, model)
        met &= all(r["mean_kl"] <= GOAL * rows[0][1]["mean_kl"] for name, r in rows if name.startswith("octavo"))
        if args.json:
            print(json.dumps({"model": pathlib.Path(model).name, "tokens": len(ids), "rows": dict(rows)}), flush=True)
        else:
            lines += lines_of(model, ids, rows)
            print(*lines_of(model, ids, rows), sep="\n", flush=True)
    if args.write:
        report.replace_section(ROOT / "docs/benchmarks.md", "accuracy", lines[:-1])
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
