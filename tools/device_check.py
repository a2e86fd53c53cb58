#!/usr/bin/env python3
"""Compares a card with the processor, model by model, and prints one table: bits, then speeds.

    scripts/device_check [MODEL ...]      GGUF files, or names of the hub; without any the default model

For each model: logits of 512 tokens, alone, in steps of 1, 7 and 512 tokens, with no layer, half of them and all on the card; 32
requests together that begin alike, half of which have two choices, with room for a few of them only, so that prefixes are found,
sequences fork and are preempted. Each must have the processor's bits. Then one stream, eight streams and a prompt by `octavo
bench` on both devices, with the card's rates and the share of its read rate that one stream has; and the time between tokens of 16
streams through the server, whose 99th percentile is to be at most 1.5 times the median. Exit code 1 if bits differ. Numbers
of layers come from `octavo info`.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

from model_server import Failure, ModelServer

TOKENS = [(7 * i * i + 3 * i + 11) % 480 + 20 for i in range(512)]
CUDA = ("--device", "cuda")


class Failed(Exception):
    """A run of the program that ended with an error."""


def program():
    return os.environ.get("OCTAVO", "build/release/octavo")


def run(*args):
    """The standard output of the program."""
    result = subprocess.run([program(), *map(str, args)], capture_output=True, text=True, check=False)
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
    """Tokens a second of one stream, of eight together, and of a prompt of 512; and the report."""
    report = json.loads(run("bench", *model, "--format", "json", "--prompt", 512, "--gen", 128, "--batch", "1,8", "--repeat", 3,
                            *args))
    rates = {}
    for result in report["results"]:
        rates["prompt" if result["test"] == "prefill" else result["batch"]] = result["tokens_per_s"]
    return rates, report


def card_columns(report):
    """The card's rates, and the share of one stream in them."""
    device, columns = report["device"], {}
    columns["card reads, copies, GB/s"] = f"{device['read_gb_per_s']:.0f}, {device['copy_gb_per_s']:.0f}"
    for result in report["results"]:
        if result["test"] == "decode" and result["batch"] == 1 and "device_memory_share" in result:
            columns["one stream of the read rate"] = f"{100 * result['device_memory_share']:.0f} %"
    return columns


def gaps_of_stream(server, number, num_tokens):
    """Seconds from one token of a streamed answer to the next."""
    body = {"prompt": f"Story {number}:", "max_tokens": num_tokens, "temperature": 1, "seed": number, "stream": True,
            "ignore_eos": True}
    request = urllib.request.Request(server.url("/v1/completions"), json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    times = []
    with urllib.request.urlopen(request) as answer:
        for line in answer:
            if line.startswith(b"data: {"):
                times.append(time.monotonic())
    return [after - before for before, after in zip(times, times[1:])]


def between_tokens(model, count, num_tokens):
    """The median and the 99th percentile of the times between tokens of streams through the server."""
    gaps = []
    with ModelServer([program(), "serve", *model, *CUDA]) as server:
        def stream(number):
            gaps.extend(gaps_of_stream(server, number, num_tokens))
        gaps_of_stream(server, count, num_tokens)  # what is compiled at first use is compiled then
        threads = [threading.Thread(target=stream, args=(i,)) for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    if len(gaps) < count:
        raise Failed("streams through the server gave no tokens")
    return statistics.median(gaps), statistics.quantiles(gaps, n=100)[98]


def check(name, arguments):
    """The row of a model."""
    model = ("-m", name) if name else ()
    layers = json.loads(run("info", *model, "--json"))["shape"]["num_layers"]
    wrong, count = differing(model, TOKENS[:arguments.tokens], arguments.requests, layers)
    row = {"model": name or "default", "bits": f"{count} of {count} alike" if not wrong else "differ: " + "; ".join(wrong)}
    median, p99 = between_tokens(model, arguments.streams, arguments.stream_tokens)
    row[f"{arguments.streams} streams, ms between tokens"] = f"{1000 * median:.2f}, p99 {1000 * p99:.2f} ({p99 / median:.2f} x)"
    if not arguments.no_speeds:
        (here, _), (there, report) = speeds(model), speeds(model, *CUDA)
        row |= card_columns(report)
        for key in here:
            row[f"{key} tokens/s" if key == "prompt" else f"{key} streams, tokens/s"] = f"{here[key]:.0f} -> {there[key]:.0f}"
    return row, not wrong


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser(description="Compares a card with the processor.")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a GGUF file, or a name of the hub; default: the default model")
    parser.add_argument("--tokens", type=int, default=len(TOKENS), help="whose logits are compared; default 512")
    parser.add_argument("--requests", type=int, default=32, help="that are computed together; default 32")
    parser.add_argument("--streams", type=int, default=16, help="through the server; default 16")
    parser.add_argument("--stream-tokens", type=int, default=128, help="of each of these; default 128")
    parser.add_argument("--no-speeds", action="store_true", help="leave `octavo bench` out")
    arguments = parser.parse_args()
    rows, passed = [], True
    for name in arguments.models or [None]:
        try:
            row, same = check(name, arguments)
        except (Failed, Failure) as error:
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
