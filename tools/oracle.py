#!/usr/bin/env python3
"""The truth for logits: a GGUF model run in plain float32 numpy, every weight dequantized first.

Slow and simple on purpose; it shares no code with the engine. Architectures: llama (with experts too), mistral3, deci,
qwen2, qwen3, qwen3moe, qwen35, qwen35moe, gemma2, gemma3, gemma4, gpt-oss, seed_oss, ernie4_5, hunyuan-dense, olmo2,
exaone4, command-r, cohere2, glm4, granite, granitemoe, smollm3, minicpm, arcee, qwen2vl, muse-glimmer,
phi3, starcoder2, stablelm, apertus, lfm2, lfm3, granitehybrid, nemotron_h,
nemotron_h_moe, falcon-h1. Vision encoders have oracle_tower.py.

    oracle.py MODEL.gguf --ids 1,2,3 [--greedy 16] [--guesses 4 [--draft ASSISTANT.gguf]] [--top 20] [--save logits.npy]

Prints JSON: mean negative log-likelihood of the given ids, the top log-probabilities after the last one,
and the greedy continuation with, for each step, the gap in logits between the best and the second-best token
(where that gap is small, a correct engine may choose the other one); and what the file's draft head, or the assistant,
guesses behind the ids, each with its probability.
Needs: numpy, gguf. As a module: `open_model(path).logits(ids)` -> float32 [len(ids), vocab_size], and `head_logits(ids)`.
"""
import argparse
import json
import sys

import numpy as np

import oracle_gemma4
import oracle_model
from gguf_file import GgufFile


def open_model(path):
    """The oracle of a file's architecture."""
    field = GgufFile(path).get_field("general.architecture")
    return (oracle_gemma4.Gemma4 if field and field.contents() == "gemma4" else oracle_model.Model)(path)


def greedy(model, ids, steps):
    """The continuation, and the gap between its best and second-best logits at each step."""
    ids, out = list(ids), []
    for _ in range(steps):
        last = model.logits(ids)[-1]
        second, first = np.argsort(last)[-2:]
        out.append([int(first), round(float(last[first] - last[second]), 4)])
        ids.append(int(first))
    return out


def guesses(model, ids, steps):
    """The likeliest tokens of the draft head, each behind those before it, and their probabilities."""
    out = []
    for _ in range(steps):
        last = model.head_logits(ids, [token for token, _ in out])[-1]
        probabilities = oracle_model.softmax(last.astype(np.float64))
        out.append([int(probabilities.argmax()), round(float(probabilities.max()), 5)])
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--ids", required=True)
    parser.add_argument("--greedy", type=int, default=0)
    parser.add_argument("--guesses", type=int, default=0)
    parser.add_argument("--draft", help="an assistant of gemma4, which guesses")
    parser.add_argument("--top", type=int, default=20)
    parser.add_argument("--save")
    args = parser.parse_args()
    try:
        model = open_model(args.model)
        if args.draft:
            model.assist(oracle_gemma4.Assistant(args.draft))
    except (ValueError, OSError) as error:
        sys.exit(f"oracle: {error}")
    ids = [int(i) for i in args.ids.split(",")]
    logits = model.logits(ids)
    if args.save:
        np.save(args.save, logits)
    logprobs = oracle_model.log_softmax(logits.astype(np.float64))
    out = {"top": [[int(i), round(float(logprobs[-1, i]), 5)] for i in np.argsort(-logprobs[-1])[: args.top]]}
    if len(ids) > 1:
        out["mean_nll"] = round(float(-logprobs[np.arange(len(ids) - 1), ids[1:]].mean()), 6)
    if args.greedy:
        out["greedy"] = greedy(model, ids, args.greedy)
    if args.guesses:
        out["guesses"] = guesses(model, ids, args.guesses)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
