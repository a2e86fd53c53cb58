#!/usr/bin/env python3
"""How far quantized copies of a model are from it: those that `octavo quantize` makes beside those of llama.cpp.

    quantize_quality.py --octavo build/release/octavo --llama-quantize FILE MODEL.gguf [MODEL.gguf ...] [--types Q4_0,...]
                        [--text FILE ...] [--tokens N] [--imatrix FILE]

The models have float weights. Each type's two copies run in the same program on the same text, so that all that
differs is the choice of the weights. llama-quantize is that of llama.cpp (tools/build_llama_cpp.sh builds it).

Prints a Markdown table. KL: mean divergence from the float model in nats; bytes: of the file.
Needs: numpy, gguf.
"""
import argparse
import pathlib
import subprocess
import tempfile

import compare_logits
import kv_quality

TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K_S", "Q4_K_M", "Q5_K_M", "Q6_K")


def make_copies(args, model, name, folder):
    """The paths of both copies, by who made them."""
    ours, theirs = folder / "ours.gguf", folder / "theirs.gguf"
    extra = ["--imatrix", args.imatrix] if args.imatrix else []
    for command in ([args.octavo, "quantize", model, ours, name, "--force", *extra],
                    [args.llama_quantize, *extra, model, theirs, name]):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return ours, theirs


def rows(args, model, folder):
    ids = kv_quality.token_ids(args.octavo, model, args.text or kv_quality.TEXTS, args.tokens)
    reference = compare_logits.SavedLogits(
        kv_quality.write_logits(args.octavo, model, ids, folder / "reference.npy", ()))
    for name in args.types.split(","):
        kls, sizes = [], []
        for copy in make_copies(args, model, name, folder):
            logits = kv_quality.write_logits(args.octavo, copy, ids, folder / "copy.npy", ())
            kls.append(compare_logits.compare(reference, logits, ids)["mean_kl"])
            sizes.append(copy.stat().st_size)
        yield (f"| {name} | {kls[0]:.3e} | {kls[1]:.3e} | {kls[0] / kls[1]:.3f} | {sizes[0]:,} | {sizes[1]:,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--octavo", required=True, help="the program")
    parser.add_argument("--llama-quantize", required=True, metavar="FILE", help="llama.cpp's program")
    parser.add_argument("--types", default=",".join(TYPES), help="separated by commas")
    parser.add_argument("--text", action="append", metavar="FILE", help="a text to read; may be repeated")
    parser.add_argument("--tokens", type=int, metavar="N", help="only the first N tokens; default: all")
    parser.add_argument("--imatrix", metavar="FILE", help="a file of importance, for both")
    args = parser.parse_args()
    for model in args.models:
        print(f"\n{kv_quality.model_info(args.octavo, model)['name']}\n", flush=True)
        print("| type | KL, octavo | KL, llama.cpp | ratio | bytes | bytes, llama.cpp |\n|---|--:|--:|--:|--:|--:|")
        with tempfile.TemporaryDirectory() as folder:
            for row in rows(args, model, pathlib.Path(folder)):
                print(row, flush=True)


if __name__ == "__main__":
    main()
