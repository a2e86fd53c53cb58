#!/usr/bin/env python3
"""Compares a card with the processor, model by model, and prints one table: bits, then speeds.

    scripts/device_check [MODEL ...]      GGUF files, or names of the hub; without any the default model

For each model: logits of 512 tokens, alone, in steps of 1, 7 and 512 tokens, with no layer, half of them and all on the card; 32
requests together that begin alike, half of which have two choices, with room for a few of them only, so that prefixes are found,
sequences fork and are preempted. Each must have the processor's bits. Then one stream, eight streams and a prompt by `octavo
bench` on both devices. Exit code 1 if anything differs. Numbers of layers come from `octavo info`.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOKENS = [(7 * i * i + 3 * i + 11) % 480 + 20 for i in range(512)]
CUDA = ("--device", "cuda")


class Failed(Exception):
    """A run of the program that ended with an error."""


def run(*args):
    """The standard output of the program."""
    program = os.environ.get("OCTAVO", "build/release/octavo")
    result = subprocess.run([program, *map(str, args)], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Failed(result.stderr.strip().splitlines()[-1] if result.stderr.strip() else f"exit code {result.returncode}")
    return result.stdout


def logits(model, tokens, *args):
    """The bytes of all logits."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "logits.npy")
        run("logits", *model, "--ids", ",".join(map(str, tokens)), "--out", out, *args)
        return out.read_bytes()


def storm(model, count, *args):
    """Texts and log-probabilities of requests that are computed together."""
    beginning = "A long beginning that all of them have. " * 12
    lines = []
    for i in range(count):
        body = {"prompt": f"{beginning}Number {i}:", "max_tokens": 24, "temperature": 0.8, "seed": i, "logprobs": 1,
                "n": 1 + i % 2}
        lines.append(json.dumps({"custom_id": str(i), "method": "POST", "url": "/v1/completions", "body": body}))
    with tempfile.TemporaryDirectory() as folder:
        requests, answers = pathlib.Path(folder, "requests.jsonl"), pathlib.Path(folder, "answers.jsonl")
        requests.write_text("\n".join(lines) + "\n", encoding="utf-8")
        run("run", *model, "--batch", requests, "--output", answers, *args)
        found = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    return sorted((a["custom_id"], json.dumps(a["response"]["body"]["choices"], sort_keys=True)) for a in found)


def differing(model, tokens, requests, num_layers):
    """What differs from the processor, and what was compared."""
    cases = [(chunk, layers) for chunk in (1, 7, 512) for layers in ("all",)]
    cases += [(512, layers) for layers in (0, max(1, num_layers // 2), num_layers)]
    expected = logits(model, tokens)
    wrong = [f"steps of {chunk}, {layers} layers" for chunk, layers in cases
             if logits(model, tokens, "--chunk", chunk, *CUDA, "--gpu-layers", layers) != expected]
    small = ("--kv-memory", "8MiB", "-c", "512")
    if storm(model, requests, *small) != storm(model, requests, *small, *CUDA):
        wrong.append(f"{requests} requests together")
    return wrong, len(cases) + 1


def speeds(model, *args):
    """Tokens a second of one stream, of eight together, and of a prompt of 512."""
    report = json.loads(run("bench", *model, "--format", "json", "--prompt", 512, "--gen", 128, "--batch", "1,8", "--repeat", 3,
                            *args))
    rates = {}
    for result in report["results"]:
        rates["prompt" if result["test"] == "prefill" else result["batch"]] = result["tokens_per_s"]
    return rates


def check(name, arguments):
    """The row of a model."""
    model = ("-m", name) if name else ()
    layers = json.loads(run("info", *model, "--json"))["shape"]["num_layers"]
    wrong, count = differing(model, TOKENS[:arguments.tokens], arguments.requests, layers)
    row = {"model": name or "default", "bits": f"{count} of {count} alike" if not wrong else "differ: " + "; ".join(wrong)}
    if not arguments.no_speeds:
        here, there = speeds(model), speeds(model, *CUDA)
        for key in here:
            row[f"{key} tokens/s" if key == "prompt" else f"{key} streams, tokens/s"] = f"{here[key]:.0f} -> {there[key]:.0f}"
    return row, not wrong


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Compares a card with the processor.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a GGUF file, or a name of the hub; default: the default model")
    parser.add_argument("--tokens", type=int, default=len(TOKENS), help="whose logits are compared; default 512")
    parser.add_argument("--requests", type=int, default=32, help="that are computed together; default 32")
    parser.add_argument("--no-speeds", action="store_true", help="compare bits alone")
    arguments = parser.parse_args()
    rows, passed = [], True
    for name in arguments.models or [None]:
        try:
            row, same = check(name, arguments)
        except Failed as error:
            row, same = {"model": name or "default", "bits": f"failed: {error}"}, False
        rows.append(row)
        passed = passed and same
    columns = list(dict.fromkeys(key for row in rows for key in row))
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))
    for row in rows:
        print("| " + " | ".join(row.get(column, "") for column in columns) + " |")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
