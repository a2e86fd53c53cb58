#!/usr/bin/env python3
"""Times masks of JSON schemas against llguidance's, and compares them token by token.

    masks.py --program build/release/bench_masks -m MODEL.gguf --data maskbench/data [--schemas 300] [--compare 60]

The data is that of guidance-ai/jsonschemabench, of which every n-th schema is taken that both take, with its first valid
instance. One schema is a turn: Octavo, then llguidance, along the same tokens, so that a machine that slows down slows
both. Each is asked within its own process or library, by one thread; of llguidance a call from Python is counted too
(about 0.3 us). Printed are the medians and the 99th percentiles of compiling, of the first mask, and of all that follow,
and the sum of a whole text. Of --compare schemas masks are compared: tokens that one allows and the other does not.
Needs: numpy, gguf, tokenizers, llguidance (1.9 when it was written).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import llguidance
import llguidance.numpy
import numpy as np
import tokenizers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tools"))
import tokenizer_compare_hf  # noqa: E402


class Octavo:
    def __init__(self, program, model, dump):
        self.process = subprocess.Popen([program, "-m", model, "--dump", dump], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.dump_path, self.dump = dump, None

    def ask(self, schema, text):
        self.process.stdin.write(json.dumps({"schema": schema, "text": text}) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"bench_masks ended: {self.process.wait()}")
        return json.loads(line)

    def masks(self, answer, num_tokens):
        """bool [masks][tokens] of the last answer."""
        if self.dump is None:
            self.dump = open(self.dump_path, "rb")
        words = -(-num_tokens // 32)
        count = 1 + len(answer["mask_us"])
        data = np.frombuffer(self.dump.read(count * words * 4), np.uint8).reshape(count, words * 4)
        return np.unpackbits(data, axis=1, bitorder="little")[:, :num_tokens].astype(bool)


class Llguidance:
    def __init__(self, model):
        reference = tokenizer_compare_hf.HuggingFace(model)
        self.num_tokens = len(reference.tokens)
        self.end = reference.vocab.get("<|im_end|>", 0)
        reference.parsing.decoder = tokenizers.decoders.ByteLevel()
        reference.parsing.add_special_tokens([t for t, kind in zip(reference.tokens, reference.types) if kind == 3])
        self.tokenizer = llguidance.LLTokenizer(reference.parsing.to_str(), n_vocab=self.num_tokens, eos_token=self.end)
        self.bits = llguidance.numpy.allocate_token_bitmask(1, self.num_tokens)

    def ask(self, schema, tokens, keep):
        begin = time.perf_counter()
        grammar = llguidance.LLMatcher.grammar_from_json_schema(
            json.dumps(schema), overrides={"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "})
        matcher = llguidance.LLMatcher(self.tokenizer, grammar)
        if matcher.is_error():
            return {"error": matcher.get_error()}
        answer = {"compile_us": 1e6 * (time.perf_counter() - begin), "mask_us": [], "masks": []}
        for i in range(len(tokens) + 1):
            begin = time.perf_counter()
            if i > 0 and not matcher.consume_token(tokens[i - 1]):
                break
            llguidance.numpy.fill_next_token_bitmask(matcher, self.bits, 0)
            answer["mask_us"].append(1e6 * (time.perf_counter() - begin))
            if keep:
                bits = np.unpackbits(self.bits[0].view(np.uint8), bitorder="little")[:self.num_tokens]
                answer["masks"].append(bits.astype(bool))
        answer["first_us"] = answer["mask_us"].pop(0)
        return answer


def chosen(folder, count):
    """Pairs (name, schema, a valid instance's text), spread over the files."""
    files = sorted(folder.glob("*.json"))
    for path in files[::max(1, len(files) // (2 * count))]:
        case = json.loads(path.read_text(encoding="utf-8"))
        valid = [test["data"] for test in case["tests"] if test["valid"]]
        if valid:
            yield path.stem, case["schema"], json.dumps(valid[0], ensure_ascii=False)


def quantiles(values):
    return f"{np.percentile(values, 50):9.1f} {np.percentile(values, 99):9.1f} {np.max(values):10.1f}"


def differences(name, text, tokens, ours, theirs, reference):
    """Prints where masks differ first; True if they do."""
    for i, (a, b) in enumerate(zip(ours, theirs)):
        if (a == b).all():
            continue
        words = [f"{'octavo' if a[t] else 'llguidance'} allows {reference.tokens[t]!r}" for t in np.flatnonzero(a != b)[:4]]
        print(f"{name}: behind token {i} of {len(tokens)} of {text[:60]!r}, {np.count_nonzero(a & ~b)} more and "
              f"{np.count_nonzero(b & ~a)} fewer: {'; '.join(words)}")
        return True
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", type=pathlib.Path, required=True)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--schemas", type=int, default=300)
    parser.add_argument("--compare", type=int, default=0)
    args = parser.parse_args()
    figures = {name: {"compile_us": [], "first_us": [], "mask_us": [], "whole_us": []} for name in ("octavo", "llguidance")}
    taken, differing, ended, reference = 0, 0, 0, tokenizer_compare_hf.HuggingFace(args.model)
    with tempfile.TemporaryDirectory() as folder:
        ours, theirs = Octavo(args.program, args.model, f"{folder}/masks"), Llguidance(args.model)
        for name, schema, text in chosen(args.data, args.schemas):
            if taken == args.schemas:
                break
            answer = ours.ask(schema, text)
            if "error" in answer:
                continue
            masks = ours.masks(answer, theirs.num_tokens)
            keep = taken < args.compare
            other = theirs.ask(schema, answer["tokens"], keep)
            if "error" in other or answer["accepted"] < len(answer["tokens"]) or len(other["mask_us"]) < len(answer["mask_us"]):
                ended += 1
                continue
            taken += 1
            if keep:
                differing += differences(name, text, answer["tokens"], masks, other["masks"], reference)
            for program, result in (("octavo", answer), ("llguidance", other)):
                kept = figures[program]
                kept["compile_us"].append(result["compile_us"])
                kept["first_us"].append(result["first_us"])
                kept["mask_us"] += result["mask_us"]
                kept["whole_us"].append(result["compile_us"] + result["first_us"] + sum(result["mask_us"]))
    print(f"{taken} schemas, {len(figures['octavo']['mask_us'])} masks; {ended} whose text one of the two did not take")
    if args.compare:
        print(f"masks differ in {differing} of {min(args.compare, taken)} schemas")
    print(f"{'us':22} {'p50':>9} {'p99':>9} {'greatest':>10}")
    for kind in ("compile_us", "first_us", "mask_us", "whole_us"):
        for program in figures:
            print(f"{kind.removesuffix('_us'):8} {program:13} {quantiles(figures[program][kind])}")


if __name__ == "__main__":
    main()
