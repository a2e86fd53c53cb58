#!/usr/bin/env python3
"""What the element type of the KV memory costs in quality: each type's logits against those with f32 KV.

    kv_quality.py --octavo build/release/octavo MODEL.gguf [MODEL.gguf ...] [--float-weights] [--other-isa avx2]
                  [--text FILE ...] [--tokens N]

The texts, one after the other, are read as one prompt; without --text, the English text of the tests and then
the license. Everything but the KV type is equal: weights, arithmetic, instruction set.

Activations are rounded to int8 before they meet quantized weights, and there the smallest difference can round the
other way. So two runs that differ in anything at all, be it the order of a sum, end up as far apart as that rounding
makes them. --other-isa adds a row that shows how far: f32 KV again, with another instruction set. --float-weights
measures a copy of the model whose weights are f16; then only the KV memory is rounded, and the differences are its own.

Prints a Markdown table. KL: divergence from f32 KV in nats, its mean and 99th percentile over tokens; NLL: mean
negative log-likelihood of the text; same top: share of tokens after which the most likely next token is the same.
The logits lie in temporary files: 4 bytes x vocabulary x tokens, two at a time.
Needs: numpy, gguf. As a module: `measure(octavo, model, ids, variants)`.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy as np

import compare_logits
import dequantize_model

REFERENCE = "f32"
KV_TYPES = ("i16", "f16", "bf16", "q8_0")
ROOT = pathlib.Path(__file__).resolve().parent.parent
TEXTS = (ROOT / "tests" / "data" / "text" / "english.txt", ROOT / "LICENSE")


def run(octavo, *args):
    """The program's standard output; what it says on standard error is passed on."""
    return subprocess.run([octavo, *map(str, args)], stdout=subprocess.PIPE, text=True, check=True).stdout


def token_ids(octavo, model, texts, count=None):
    text = "\n\n".join(pathlib.Path(path).read_text(encoding="utf-8") for path in texts)
    ids = [int(i) for i in run(octavo, "tokenize", "-m", model, "--ids", "--", text).split()]
    if count is not None and len(ids) < count:
        raise SystemExit(f"the texts have {len(ids)} tokens, expected at least {count}")
    return ids[:count]


def model_info(octavo, model, kv_type=REFERENCE):
    """What is in the file, and the memory it needs."""
    return json.loads(run(octavo, "info", model, "--kv-type", kv_type, "--json"))


def write_logits(octavo, model, ids, path, args):
    """float32 [len(ids), vocab_size], read from the file as it is needed."""
    run(octavo, "logits", "-m", model, "--ids", ",".join(map(str, ids)), "--out", path, *args)
    return np.load(path, mmap_mode="r")


def measure(octavo, model, ids, variants):
    """Yields compare_logits.compare() against f32 KV for each variant, a sequence of arguments of the program."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "reference.npy")
        reference = compare_logits.SavedLogits(write_logits(octavo, model, ids, path, ("--kv-type", REFERENCE)))
        for args in variants:
            ours = write_logits(octavo, model, ids, path.with_name("ours.npy"), args)
            yield compare_logits.compare(reference, ours, ids)


def table(octavo, model, ids, other_isa=None):
    """Lines of the table of one model, in Markdown."""
    variants = {f"{REFERENCE}, {other_isa}": (REFERENCE, "--isa", other_isa)} if other_isa else {}
    variants.update({kv_type: (kv_type,) for kv_type in KV_TYPES})
    lines = ["| KV type | bytes a token | mean KL | 99 % of KL below | NLL | change | same top |",
             "|---|--:|--:|--:|--:|--:|--:|", ""]
    results = measure(octavo, model, ids, [("--kv-type", *args) for args in variants.values()])
    for (name, (kv_type, *_)), result in zip(variants.items(), results, strict=True):
        num_bytes = model_info(octavo, model, kv_type)["memory"]["kv_bytes_per_token"]
        nll, reference_nll = result["mean_nll"], result["mean_nll_reference"]
        lines.append(f"| {name} | {num_bytes:,} | {result['mean_kl']:.1e} | {result['p99_kl']:.1e} | {nll:.5f} "
                     f"| {100 * (nll / reference_nll - 1):+.3f} % | {100 * result['top1_agreement']:.2f} % |")
    num_bytes = model_info(octavo, model)["memory"]["kv_bytes_per_token"]
    lines[2] = f"| {REFERENCE} | {num_bytes:,} | 0 | 0 | {reference_nll:.5f} | 0 | 100 % |"
    return lines


def report(args, model):
    with tempfile.TemporaryDirectory() as folder:
        title = model_info(args.octavo, model)["name"]
        if args.float_weights:
            source, model, title = model, pathlib.Path(folder, "float.gguf"), f"{title}, float weights"
            dequantize_model.dequantize_model(source, model)
        ids = token_ids(args.octavo, model, args.text or TEXTS, args.tokens)
        print(f"\n{title}, {len(ids)} tokens\n", *table(args.octavo, model, ids, args.other_isa), sep="\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", metavar="MODEL.gguf")
    parser.add_argument("--octavo", required=True, help="the program")
    parser.add_argument("--text", action="append", metavar="FILE", help="a text to read; may be repeated")
    parser.add_argument("--tokens", type=int, metavar="N", help="only the first N tokens; default: all")
    parser.add_argument("--float-weights", action="store_true", help="measure a copy with f16 weights")
    parser.add_argument("--other-isa", metavar="NAME", help="add a row: f32 KV with this instruction set")
    args = parser.parse_args()
    for model in args.models:
        report(args, model)


if __name__ == "__main__":
    main()
