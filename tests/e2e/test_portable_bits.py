#!/usr/bin/env python3
"""`--bits portable`: logits and sampled tokens are those of portable_hashes.tsv, with every instruction set.

    test_portable_bits.py --write        writes the file anew, by the levels of this machine, which must agree

Machines that are never side by side agree by comparing themselves with the same file. It has a line for each model and
type of KV cache: the model's own digest, that of the logits, and with two of the types that of sampled tokens with their
log-probabilities.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import sys
import unittest

import numpy as np
import support

HASHES = pathlib.Path(__file__).resolve().with_name("portable_hashes.tsv")
KV_TYPES = ("i16", "f16", "bf16", "q8_0", "f32")
IDS = [(7 * i * i + 3 * i + 11) % 480 for i in range(90)]
MODELS = {
    "llama": ("tiny-llama", {"types": ("Q4_K", "Q6_K", "Q8_0", "F16"), "rope_freqs": True}),
    "qwen2": ("tiny-qwen2", {"types": ("Q2_K", "Q3_K", "Q5_K", "F32", "BF16")}),
    "qwen3": ("tiny-qwen3", {"types": ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "IQ4_XS")}),
    "qwen3 by codebooks": ("tiny-qwen3", {"types": ("IQ2_XXS", "IQ3_S", "IQ1_M", "TQ1_0", "Q1_0")}),
    "qwen3 of few bits": ("tiny-qwen3", {"types": ("Q2_0", "TQ2_0", "MXFP4")}),
    "mistral3": ("tiny-mistral3", {"types": ("Q4_K",), "yarn": 256.0}),
    "gemma2": ("tiny-gemma2", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "gemma3": ("tiny-gemma3", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "gemma4": ("tiny-gemma4", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "qwen3moe": ("tiny-qwen3moe", {"types": ("Q8_0", "Q4_K", "F16")}),
    "gpt-oss": ("tiny-gpt-oss", {"types": ("Q8_0", "MXFP4"), "window": 19, "yarn": 4.0}),
    "qwen35moe": ("tiny-qwen35moe", {"types": ("Q8_0", "Q4_K", "F16")}),
    "qwen3next": ("tiny-qwen3next", {"types": ("Q8_0", "Q4_K", "F16")}),
    "glm4moe": ("tiny-glm4moe", {"types": ("Q8_0", "Q4_K")}),
    "glm4moe with groups": ("tiny-glm4moe-groups", {"types": ("Q8_0", "Q4_K")}),
    "mellum": ("tiny-mellum", {"types": ("Q8_0", "Q4_K"), "window": 19, "yarn": 8.0}),
    "ernie4_5-moe": ("tiny-ernie-moe", {"types": ("Q8_0", "Q4_K")}),
    "hy_v3": ("tiny-hy-v3", {"types": ("Q8_0", "Q4_K")}),
    "llama4": ("tiny-llama4", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "llama4 with dense layers": ("tiny-llama4-dense", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "step35": ("tiny-step35", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "seed_oss": ("tiny-seed-oss", {"types": ("Q4_K", "Q6_K")}),
    "ernie4_5": ("tiny-ernie", {"types": ("Q4_K", "Q6_K"), "biases": True}),
    "hunyuan-dense": ("tiny-hunyuan", {"types": ("Q4_K", "Q6_K")}),
    "olmo2": ("tiny-olmo2", {"types": ("Q4_K", "Q6_K"), "window": 19, "yarn": 8.0}),
    "exaone4": ("tiny-exaone4", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "command-r": ("tiny-command-r", {"types": ("Q4_K", "Q6_K")}),
    "cohere2": ("tiny-cohere2", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "glm4": ("tiny-glm4", {"types": ("Q4_K", "Q6_K")}),
    "granite": ("tiny-granite", {"types": ("Q4_K", "Q6_K")}),
    "granitemoe": ("tiny-granitemoe-shared", {"types": ("Q8_0", "Q4_K")}),
    "arcee": ("tiny-arcee", {"types": ("Q4_K", "Q8_0")}),
    "smollm3": ("tiny-smollm3", {"types": ("Q4_K", "Q8_0")}),
    "nanbeige": ("tiny-nanbeige", {"types": ("Q4_K", "Q6_K")}),
    "minicpm": ("tiny-minicpm-longrope", {"types": ("Q8_0", "Q6_K")}),
    "qwen2vl": ("tiny-qwen2vl", {"types": ("Q4_K", "Q6_K")}),
    "muse-glimmer": ("tiny-muse-glimmer", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "phi3": ("tiny-phi3", {"types": ("Q4_K", "Q6_K")}),
    "starcoder2": ("tiny-starcoder2", {"types": ("Q4_K", "Q6_K")}),
    "stablelm": ("tiny-stablelm-12b", {"types": ("Q4_K", "Q6_K")}),
    "apertus": ("tiny-apertus", {"types": ("Q4_K", "Q6_K")}),
    "lfm2": ("tiny-lfm2", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "lfm3": ("tiny-lfm3", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "laguna": ("tiny-laguna", {"types": ("Q8_0", "Q4_K"), "window": 19, "yarn": 8.0}),
    "spark2_5": ("tiny-spark", {"types": ("Q4_K", "Q6_K"), "window": 19}),
    "cohere2moe": ("tiny-north", {"types": ("Q8_0", "Q4_K"), "window": 19}),
    "bailingmoe2": ("tiny-ling", {"types": ("Q8_0", "Q4_K")}),
    "granitehybrid": ("tiny-granite-hybrid", {"types": ("Q4_K", "Q6_K")}),
    "granitehybrid with experts": ("tiny-granite-hybrid-experts", {"types": ("Q8_0", "Q4_K")}),
    "nemotron_h": ("tiny-nemotron-h", {"types": ("Q4_K", "Q6_K")}),
    "nemotron_h_moe": ("tiny-nemotron-h-experts", {"types": ("Q8_0", "Q4_K")}),
    "nemotron_h_moe with latents": ("tiny-nemotron-h-latent", {"types": ("Q8_0", "Q4_K")}),
    "falcon-h1": ("tiny-falcon-h1", {"types": ("Q4_K", "Q6_K")}),
    "deepseek2": ("tiny-deepseek2", {"types": ("Q8_0", "Q4_K"), "yarn": 4.0}),
    "deepseek2 with groups": ("tiny-deepseek2-v3", {"types": ("Q8_0", "Q4_K")}),
    "mistral4": ("tiny-mistral4", {"types": ("Q8_0", "Q4_K"), "yarn": 256.0}),
    "minicpm3": ("tiny-minicpm3", {"types": ("Q4_K", "Q6_K")}),
    "lfm2moe": ("tiny-lfm2moe", {"types": ("Q8_0", "Q4_K"), "window": 0}),
}
# Those that every type of KV cache is tried with. What the others add has nothing to do with it.
EVERY_TYPE = ("llama", "qwen2", "qwen3", "qwen3 by codebooks", "mistral3", "gemma2", "gemma3", "gemma4", "qwen3moe",
              "gpt-oss", "qwen35moe", "granite", "granitemoe", "arcee", "smollm3", "minicpm")
# Every cut and temperature that computes logarithms or powers, so that they count in what is drawn.
SAMPLING = ("-n", "24", "--seed", "11", "--temp", "1.3", "--dynatemp-range", "0.4", "--typical", "0.95", "--top-p",
            "0.97", "--min-p", "0.001", "--dry-multiplier", "0.7", "--dry-allowed-length", "1")
CASES = [(name, kv_type) for name in MODELS for kv_type in (KV_TYPES if name in EVERY_TYPE else ("i16", "q8_0"))]
MIROSTAT = ("-n", "24", "--seed", "12", "--temp", "1.1", "--mirostat", "1")
DRAWS = {"i16": SAMPLING, "q8_0": MIROSTAT}
WORKERS = os.cpu_count()


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


def sampled(model, *args):
    answer = json.loads(support.octavo_ok("run", "-m", model, "-p", "The first of them", "--raw", "--json", *args))
    return answer, json.dumps([answer["tokens"], answer["logprobs"]]).encode()


def model_of(name):
    shape, options = MODELS[name]
    return support.few_words_model(shape, **options)


def line_of(name, kv_type, level):
    """The name, the type, and the digests of one case."""
    model = model_of(name)
    profile = ("--bits", "portable", "--isa", level, "--kv-type", kv_type, "--threads", "1")
    logits = support.logits(model, IDS, *profile)
    if not np.isfinite(logits).all():
        raise AssertionError(f"{name}: logits are not finite")
    line = [name, kv_type, digest(model.read_bytes()), digest(logits.tobytes())]
    if kv_type in DRAWS:
        line.append(digest(sampled(model, *profile, *DRAWS[kv_type])[1]))
    return "\t".join(line)


def lines_of(cases):
    """The lines of (name, type, level), each computed by one thread."""
    for name in MODELS:
        model_of(name)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as workers:
        return list(workers.map(lambda case: line_of(*case), cases))


class PortableBits(unittest.TestCase):
    def test_every_level_has_the_hashes_of_the_file(self):
        known = {tuple(line.split("\t")[:2]): line for line in HASHES.read_text(encoding="ascii").splitlines()}
        self.assertEqual(list(known), CASES)
        cases = [(*case, level) for level in support.supported_isa_levels() for case in CASES]
        for case, found in zip(cases, lines_of(cases)):
            with self.subTest(case=case):
                self.assertEqual(found, known[case[:2]])

    def test_the_fingerprint_is_that_of_no_level(self):
        model = support.few_words_model("tiny-llama", types=("Q4_1",))
        prints = set()
        for level in support.supported_isa_levels():
            prints.add(sampled(model, "-n", "1", "--isa", level, "--bits", "portable")[0]["system_fingerprint"])
        self.assertEqual(len(prints), 1, prints)
        self.assertRegex(prints.pop(), "^fp_portable_[0-9a-f]{16}$")


def write():
    levels = support.supported_isa_levels()
    found = lines_of([(*case, level) for case in CASES for level in levels])
    lines = [set(found[i:i + len(levels)]) for i in range(0, len(found), len(levels))]
    if differing := [sorted(line) for line in lines if len(line) > 1]:
        sys.exit(f"levels differ: {differing}")
    HASHES.write_text("".join(f"{line.pop()}\n" for line in lines), encoding="ascii")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write()
    else:
        unittest.main()
