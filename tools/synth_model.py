#!/usr/bin/env python3
"""Write a GGUF model with random weights, of any shape and quantization, for tests and benchmarks.

The weights are noise, so the text that comes out is noise too; the cost of every step is that of
a real model of the same shape, and any two engines must agree on its logits.

    synth_model.py OUT.gguf --shape qwen3-0.6b --type Q4_K --vocab-from REAL.gguf [--seed 1]
                   [--embd-type Q8_0] [--mix Q4_K,Q6_K] [--window 32] [--untied] [--rope-freqs] [--layers 4]
                   [--linear 4 | --yarn 4] [--biases] [--factors] [--pattern 1,1,0] [--head] [--words 2000] [--sees]

Needs: numpy, gguf. The tokenizer is copied from REAL.gguf; the embedding has as many rows as that vocabulary has
tokens. `--type` is the type of the 2-d layer weights (where its blocks do not divide a matrix's rows, the one that
llama.cpp's quantize falls back to), `--mix` gives them several types in turn; embeddings and
output are `--embd-type` (default: F32 where the layers are not quantized, else Q6_K where the width is a multiple of
256, else Q8_0); norms are F32. `--window` sets the sliding window of gemma2, gemma3, gemma4, gpt-oss, olmo2, exaone4, cohere2,
muse-glimmer, mellum, laguna, spark2_5, cohere2moe, step35 and lfm2 (0: none), and the size of llama4's chunks;
`--rope-freqs`
adds Llama 3's per-frequency factors (those with Llama's layers); `--linear` stretches the context by a factor, `--yarn` as YaRN does, and
rotates three quarters of a head (gpt-oss: all of it; mistral3 too, and scores grow with the position). `--biases` adds
those that files of an architecture may have, `--factors` a number beside each matrix of a layer; `--pattern` says which layers have a window: a number n, of which each n-th
has none, or a flag for each layer (gemma2, gemma3, gpt-oss); `--head` adds a draft head (qwen35, qwen35moe).
`--words` copies only the first of the vocabulary's words, and its control tokens; `--sees` adds those that stand for
pictures. The same arguments give the same file. As a module: `write_model(out, shape, ...)`.
"""
import argparse
import functools
import itertools
import sys
from typing import NamedTuple

import gguf
import numpy as np

import synth_gemma4
import synth_latent
from gguf_file import GgufFile


# The tokens that stand for pictures in prompts: Qwen's, and those of other architectures.
PICTURE_MARKS = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
OWN_PICTURE_MARKS = {
    "gemma3": ["<start_of_image>", "<image_soft_token>", "<end_of_image>"],
    "gemma4": ["<|image>", "<|image|>", "<image|>"], "muse-glimmer": ["<|image_start|>", "<|patch|>", "<|image_end|>"],
    "tiny-minicpmv": ["<|image_pad|>", "<|video_pad|>", "<image_id>", "</image_id>", "<image>", "</image>", "<slice>",
                      "</slice>"], "mistral3": ["[IMG]", "[IMG_BREAK]", "[IMG_END]"],
    "llama": ["<image>", "<fake_token_around_image>", "<global-img>",
              *(f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2))],
    "lfm2": ["<image>", "<|image_start|>", "<|image_end|>", "<|img_thumbnail|>",
             *(f"<|img_row_1_col_{column}|>" for column in (1, 2, 3))]}


class Shape(NamedTuple):
    arch: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn: int
    context: int
    rope_base: float
    tied: bool
    experts: int = 0  # of width ffn each
    chosen: int = 0
    shared: int = 0  # the width of an expert for all rows, or of the dense feed-forward beside a mixture (gemma4)
    value_dim: int = 0  # of heads; 0: head_dim
    norms_by_head: bool = False  # of Q and K (command-r, stablelm)
    windowed_heads: int = 0  # of layers with a window, where they have others; 0: heads
    gates_of_elements: bool = False  # a gate behind attention has a number for each element, not for each head (laguna)
    rms: bool = False  # norms are RMSNorm, of a family whose files may have either (cohere2moe)

    def v_dim(self):
        return self.value_dim or self.head_dim


SHAPES = {
    "tiny-llama": Shape("llama", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-llama-8k": Shape("llama", 2, 256, 4, 2, 64, 512, 8192, 100000.0, True),
    "tiny-llama-values": Shape("llama", 2, 256, 4, 2, 96, 512, 2048, 10000.0, True, value_dim=64),
    "tiny-qwen2": Shape("qwen2", 2, 256, 4, 2, 64, 512, 2048, 1000000.0, True),
    "tiny-qwen3": Shape("qwen3", 2, 256, 4, 2, 128, 512, 2048, 1000000.0, True),
    "tiny-qwen3vl": Shape("qwen3vl", 4, 256, 4, 2, 64, 512, 2048, 1000000.0, True),
    "tiny-mistral3": Shape("mistral3", 2, 256, 4, 2, 64, 512, 2048, 1000000.0, False),
    "tiny-mistral3-experts": Shape("mistral3", 2, 256, 4, 2, 64, 256, 2048, 1000000.0, False, 6, 2),
    "tiny-deci": Shape("deci", 6, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-seed-oss": Shape("seed_oss", 2, 256, 4, 2, 128, 512, 2048, 10000000.0, False),
    "tiny-ernie": Shape("ernie4_5", 2, 256, 4, 2, 64, 512, 2048, 500000.0, True),
    "tiny-hunyuan": Shape("hunyuan-dense", 2, 256, 4, 2, 64, 512, 2048, 11158840.0, True),
    "tiny-olmo2": Shape("olmo2", 4, 256, 4, 2, 64, 512, 2048, 500000.0, False),
    "tiny-exaone4": Shape("exaone4", 4, 256, 4, 2, 64, 512, 2048, 1000000.0, False),
    "tiny-command-r": Shape("command-r", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-command-r-plus": Shape("command-r", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True, norms_by_head=True),
    "tiny-cohere2": Shape("cohere2", 4, 256, 4, 2, 64, 512, 2048, 50000.0, True),
    "tiny-glm4": Shape("glm4", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-granite": Shape("granite", 2, 256, 4, 2, 64, 512, 2048, 10000000.0, True),
    "tiny-granite-unrotated": Shape("granite", 2, 256, 4, 2, 64, 512, 2048, 10000000.0, True),
    "tiny-granitemoe": Shape("granitemoe", 2, 256, 4, 2, 64, 256, 2048, 10000.0, True, 6, 2),
    "tiny-granitemoe-shared": Shape("granitemoe", 2, 256, 4, 2, 64, 256, 2048, 10000.0, True, 8, 3, 512),
    "tiny-smollm3": Shape("smollm3", 4, 256, 4, 2, 64, 512, 2048, 5000000.0, True),
    "tiny-minicpm": Shape("minicpm", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-minicpm-first": Shape("minicpm", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-minicpm-longrope": Shape("minicpm", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-arcee": Shape("arcee", 2, 256, 4, 2, 64, 512, 2048, 500000.0, False),
    "tiny-nanbeige": Shape("nanbeige", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-nanbeige-unnormed": Shape("nanbeige", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-qwen2vl": Shape("qwen2vl", 2, 256, 4, 2, 64, 512, 2048, 1000000.0, False),
    "tiny-muse-glimmer": Shape("muse-glimmer", 4, 256, 4, 2, 64, 512, 2048, 500000.0, False),
    "tiny-phi3": Shape("phi3", 2, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-phi3-short": Shape("phi3", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-starcoder2": Shape("starcoder2", 2, 256, 4, 2, 64, 512, 2048, 100000.0, True),
    "tiny-stablelm": Shape("stablelm", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False),
    "tiny-stablelm-12b": Shape("stablelm", 2, 256, 4, 2, 64, 512, 2048, 10000.0, False, norms_by_head=True),
    "tiny-apertus": Shape("apertus", 2, 256, 4, 2, 64, 512, 2048, 12000000.0, False),
    "tiny-gemma2": Shape("gemma2", 4, 256, 4, 2, 128, 512, 2048, 10000.0, True),
    "tiny-gemma3": Shape("gemma3", 6, 256, 4, 1, 256, 512, 2048, 1000000.0, True),
    "tiny-gemma4": Shape("gemma4", 6, 256, 2, 2, 256, 512, 2048, 1000000.0, True),
    "tiny-gemma4-dense": Shape("gemma4", 3, 256, 4, 2, 256, 512, 2048, 1000000.0, True),
    "tiny-gemma4-experts": Shape("gemma4", 3, 256, 4, 2, 256, 256, 2048, 1000000.0, True, 8, 3, 512),
    "tiny-gemma4-assistant": Shape("gemma4-assistant", 3, 128, 2, 2, 256, 256, 2048, 1000000.0, True),
    "tiny-qwen3moe": Shape("qwen3moe", 2, 256, 4, 2, 128, 256, 2048, 1000000.0, True, 8, 3),
    "tiny-mixtral": Shape("llama", 2, 256, 4, 2, 64, 256, 2048, 1000000.0, True, 6, 2),
    "tiny-qwen35": Shape("qwen35", 4, 256, 4, 2, 64, 512, 2048, 10000000.0, True),
    "tiny-minicpmv": Shape("qwen35", 4, 256, 4, 2, 64, 512, 2048, 10000000.0, True),
    "tiny-qwen35moe": Shape("qwen35moe", 4, 256, 4, 2, 64, 256, 2048, 10000000.0, True, 8, 3, 512),
    "tiny-qwen3next": Shape("qwen3next", 4, 256, 4, 2, 64, 256, 2048, 10000000.0, True, 8, 3, 512),
    "tiny-qwen3next-early": Shape("qwen3next", 4, 256, 4, 2, 64, 256, 2048, 10000000.0, True, 8, 3, 512),
    "tiny-glm4moe": Shape("glm4moe", 3, 256, 4, 2, 64, 256, 2048, 1000000.0, False, 8, 3, 256),
    "tiny-glm4moe-groups": Shape("glm4moe", 2, 256, 4, 2, 64, 256, 2048, 1000000.0, False, 12, 3, 512),
    "tiny-mellum": Shape("mellum", 4, 256, 4, 2, 64, 256, 2048, 500000.0, False, 8, 3),
    "tiny-ernie-moe": Shape("ernie4_5-moe", 4, 256, 4, 2, 64, 256, 2048, 500000.0, True, 8, 3, 512),
    "tiny-hy-v3": Shape("hy_v3", 3, 256, 4, 2, 64, 256, 2048, 10000.0, False, 8, 3, 256),
    "tiny-llama4": Shape("llama4", 4, 256, 4, 2, 64, 256, 2048, 500000.0, False, 8, 2, 256),
    "tiny-llama4-dense": Shape("llama4", 4, 256, 4, 2, 64, 256, 2048, 500000.0, False, 8, 2, 256),
    "tiny-step35": Shape("step35", 5, 256, 4, 2, 64, 256, 2048, 5000000.0, False, 8, 3, 512),
    "tiny-lfm2moe": Shape("lfm2moe", 4, 256, 4, 2, 64, 256, 2048, 1000000.0, True, 8, 3),
    "tiny-lfm2": Shape("lfm2", 4, 256, 4, 2, 64, 512, 2048, 1000000.0, True),
    "tiny-granite-hybrid": Shape("granitehybrid", 4, 256, 4, 2, 64, 512, 2048, 10000.0, True),
    "tiny-granite-hybrid-experts": Shape("granitehybrid", 4, 256, 4, 2, 64, 256, 2048, 10000.0, True, 8, 3, 512),
    "tiny-nemotron-h": Shape("nemotron_h", 5, 256, 4, 2, 128, 512, 2048, 10000.0, False),
    "tiny-nemotron-h-experts": Shape("nemotron_h_moe", 5, 256, 4, 2, 64, 256, 2048, 10000.0, False, 8, 3, 512),
    "tiny-nemotron-h-latent": Shape("nemotron_h_moe", 5, 256, 4, 2, 64, 256, 2048, 10000.0, False, 8, 3, 512),
    "tiny-falcon-h1": Shape("falcon-h1", 3, 256, 4, 2, 64, 512, 2048, 100000.0, False),
    "tiny-falcon-h1-normed": Shape("falcon-h1", 2, 256, 4, 2, 64, 512, 2048, 100000.0, True),
    "tiny-lfm3": Shape("lfm3", 6, 256, 4, 2, 64, 512, 2048, 1000000.0, True),
    "tiny-laguna": Shape("laguna", 5, 256, 4, 2, 64, 256, 2048, 500000.0, False, 8, 3, 256, windowed_heads=8),
    "tiny-laguna-elements": Shape("laguna", 3, 256, 4, 2, 64, 256, 2048, 500000.0, False, 8, 3, 512,
                                  gates_of_elements=True),
    "tiny-spark": Shape("spark2_5", 4, 256, 4, 2, 64, 512, 2048, 5000000.0, True),
    "tiny-north": Shape("cohere2moe", 6, 256, 4, 2, 64, 256, 2048, 50000.0, True, 8, 3, 512),
    "tiny-north-rms": Shape("cohere2moe", 2, 256, 4, 2, 64, 256, 2048, 50000.0, True, 8, 3, rms=True),
    "tiny-ling": Shape("bailingmoe2", 3, 256, 4, 2, 64, 256, 2048, 600000.0, False, 12, 3, 256),
    "tiny-deepseek2": Shape("deepseek2", 3, 256, 4, 1, 288, 256, 2048, 10000.0, False, 8, 3, 512),
    "tiny-deepseek2-joint": Shape("deepseek2", 3, 256, 4, 1, 288, 256, 2048, 10000.0, False, 8, 3, 512),
    "tiny-deepseek2-v3": Shape("deepseek2", 3, 256, 4, 1, 288, 256, 2048, 10000.0, False, 12, 3, 256),
    "tiny-mistral4": Shape("mistral4", 2, 256, 4, 1, 288, 256, 2048, 10000.0, False, 8, 3, 256),
    "tiny-minicpm3": Shape("minicpm3", 2, 256, 4, 1, 288, 512, 2048, 10000.0, False),
    "tiny-gpt-oss": Shape("gpt-oss", 4, 320, 4, 2, 64, 288, 2048, 150000.0, False, 8, 3),
    "smollm2-135m": Shape("llama", 30, 576, 9, 3, 64, 1536, 8192, 100000.0, True),
    "qwen2.5-0.5b": Shape("qwen2", 24, 896, 14, 2, 64, 4864, 32768, 1000000.0, True),
    "qwen3-0.6b": Shape("qwen3", 28, 1024, 16, 8, 128, 3072, 40960, 1000000.0, True),
    "llama-3.2-1b": Shape("llama", 16, 2048, 32, 8, 64, 8192, 131072, 500000.0, True),
    "qwen3vl-0.6b": Shape("qwen3vl", 28, 1024, 16, 8, 128, 3072, 40960, 1000000.0, True),
    "qwen3-1.7b": Shape("qwen3", 28, 2048, 16, 8, 128, 6144, 40960, 1000000.0, True),
    "llama-3.2-3b": Shape("llama", 28, 3072, 24, 8, 128, 8192, 131072, 500000.0, True),
    "qwen3-4b": Shape("qwen3", 36, 2560, 32, 8, 128, 9728, 40960, 1000000.0, True),
    "qwen3-8b": Shape("qwen3", 36, 4096, 32, 8, 128, 12288, 40960, 1000000.0, False),
    "qwen3-30b-a3b": Shape("qwen3moe", 48, 2048, 32, 4, 128, 768, 262144, 10000000.0, False, 128, 8),
    "mixtral-8x7b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 32768, 1000000.0, False, 8, 2),
    "qwen3.5-0.8b": Shape("qwen35", 24, 1024, 8, 2, 256, 3584, 262144, 10000000.0, True),
    "qwen3.5-4b": Shape("qwen35", 32, 2560, 16, 4, 256, 9216, 262144, 10000000.0, True),
    "gemma-4-e2b": Shape("gemma4", 35, 1536, 8, 1, 256, 6144, 131072, 1000000.0, True),
    "qwen3.5-35b-a3b": Shape("qwen35moe", 40, 2048, 16, 2, 256, 512, 262144, 10000000.0, False, 256, 8, 512),
    "gemma-3-1b": Shape("gemma3", 26, 1152, 4, 1, 256, 6912, 32768, 1000000.0, True),
    "gpt-oss-20b": Shape("gpt-oss", 24, 2880, 64, 8, 64, 2880, 131072, 150000.0, False, 32, 4),
    "phi-4-mini": Shape("phi3", 32, 3072, 24, 8, 128, 8192, 131072, 10000.0, True),
    "granite-4.1-3b": Shape("granite", 40, 2560, 40, 8, 64, 8192, 131072, 10000000.0, True),
    "muse-glimmer-30b": Shape("muse-glimmer", 52, 6656, 32, 2, 128, 19968, 131072, 500000.0, False),
    "qwen3-coder-next": Shape("qwen3next", 48, 2048, 16, 2, 256, 512, 262144, 10000000.0, False, 512, 10, 512),
    "glm-4.5-air": Shape("glm4moe", 46, 4096, 96, 8, 128, 1408, 131072, 1000000.0, False, 128, 8, 1408),
    "granite-4.0-h-1b": Shape("granitehybrid", 40, 1536, 12, 4, 128, 4096, 131072, 10000.0, True),
    "granite-4.0-h-tiny": Shape("granitehybrid", 40, 1536, 12, 4, 128, 512, 131072, 10000.0, True, 64, 6, 1024),
    "nemotron-3-nano-30b": Shape("nemotron_h_moe", 52, 2688, 32, 2, 128, 1856, 262144, 10000.0, False, 128, 6, 3712),
    "falcon-h1-1.5b": Shape("falcon-h1", 24, 2048, 8, 2, 128, 4096, 131072, 1e11, False),
    "lfm2-8b-a1b": Shape("lfm2moe", 24, 2048, 32, 8, 64, 1792, 128000, 1000000.0, True, 32, 4),
    "lfm2.5-1.2b": Shape("lfm2", 16, 2048, 32, 8, 64, 8192, 128000, 1000000.0, True),
    "deepseek-v2-lite": Shape("deepseek2", 27, 2048, 16, 1, 576, 1408, 163840, 10000.0, False, 64, 6, 2816),
    "glm-4.7-flash": Shape("deepseek2", 47, 2048, 20, 1, 576, 1536, 202752, 1000000.0, False, 64, 4, 1536),
    "llama-3-8b": Shape("llama", 32, 4096, 32, 8, 128, 14336, 8192, 500000.0, False),
}


class Recurrence(NamedTuple):
    """The gated delta net of a hybrid's recurrent layers."""
    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    taps: int = 4
    attention_every: int = 4  # layers 3, 7, ... attend
    is_early: bool = False  # one projection, whose rows lie by key head

    def channels(self):
        return 2 * self.key_heads * self.key_dim + self.value_heads * self.value_dim


class Mamba(NamedTuple):
    """The Mamba-2 of a hybrid's layers, and the layers that attend."""
    heads: int
    head_dim: int
    groups: int
    state: int
    attends: tuple
    ffns: tuple | None = None  # layers that have a feed-forward alone, where a layer has one part
    is_normed: bool = True
    taps: int = 4

    def inner(self):
        return self.heads * self.head_dim

    def channels(self):
        return self.inner() + 2 * self.groups * self.state


class Router(NamedTuple):
    """What files say of a router that is no plain softmax, and of the layers without one."""
    gate: int = 0  # expert_gating_func; 0: the key is left out
    bias: str = ""  # the tensor of the numbers for the choice alone
    is_normed: bool | None = None
    scale: float = 0
    groups: tuple = ()  # how many, and how many of them are chosen from
    shared_count: int = 0  # in place of the shared expert's width
    leading: int = 0  # leading_dense_block_count
    every: int = 1  # each n-th layer is a mixture
    dense: tuple = ()  # layers without a mixture
    dense_width: int = 512
    latent: int = 0  # width of the rows that experts read and give; 0: the model's


ROUTERS = {
    "tiny-glm4moe": Router(2, "exp_probs_b.bias", True, 1.5, shared_count=1, leading=1, dense=(0,)),
    "glm-4.5-air": Router(2, "exp_probs_b.bias", True, 1.0, shared_count=1, leading=1, dense=(0,), dense_width=10944),
    "tiny-glm4moe-groups": Router(1, "exp_probs_b.bias", False, 2.5, (4, 2), shared_count=2),
    "tiny-ernie-moe": Router(bias="exp_probs_b.bias", leading=1, every=2, dense=(0, 2)),
    "tiny-llama4-dense": Router(every=2, dense=(0, 2)),
    "tiny-step35": Router(bias="exp_probs_b.bias", is_normed=True, scale=1.5, leading=1, dense=(0,)),
    "tiny-lfm2moe": Router(2, "exp_probs_b.bias", leading=1, dense=(0,)),
    "lfm2-8b-a1b": Router(2, "exp_probs_b.bias", leading=2, dense=(0, 1), dense_width=7168),
    "tiny-nemotron-h-experts": Router(bias="exp_probs_b.bias", is_normed=True, scale=2.5),
    "tiny-nemotron-h-latent": Router(bias="exp_probs_b.bias", is_normed=True, scale=2.5, latent=128),
    "nemotron-3-nano-30b": Router(bias="exp_probs_b.bias", is_normed=True, scale=2.5),
    "tiny-deepseek2": Router(scale=1.5, shared_count=2, leading=1, dense=(0,)),
    "tiny-deepseek2-joint": Router(scale=1.5, shared_count=2, leading=1, dense=(0,)),
    "tiny-deepseek2-v3": Router(2, "exp_probs_b.bias", True, 2.5, (4, 2), 1, 1, dense=(0,)),
    "tiny-mistral4": Router(1, is_normed=True, scale=1.0, shared_count=1),
    "deepseek-v2-lite": Router(1, scale=1.0, shared_count=2, leading=1, dense=(0,), dense_width=10944),
    "glm-4.7-flash": Router(2, "exp_probs_b.bias", True, 1.8, shared_count=1, leading=1, dense=(0,), dense_width=10240),
    "tiny-hy-v3": Router(bias="exp_probs_b", is_normed=True, scale=2.0, dense=(0,)),
    "tiny-laguna": Router(2, "exp_probs_b.bias", True, 1.25, leading=1, dense=(0,)),
    "tiny-laguna-elements": Router(bias="exp_probs_b.bias", is_normed=True, scale=1.5, leading=2, dense=(0, 1)),
    "tiny-north": Router(is_normed=True, leading=1, dense=(0,)),
    "tiny-north-rms": Router(2, is_normed=False),
    "tiny-ling": Router(2, "exp_probs_b.bias", True, 1.25, (4, 2), leading=1, dense=(0,)),
}

RECURRENCES = {
    "tiny-qwen3next": Recurrence(2, 4, 64, 64),
    "tiny-qwen3next-early": Recurrence(2, 4, 64, 64, is_early=True),
    "tiny-qwen35": Recurrence(2, 4, 64, 64),
    "tiny-minicpmv": Recurrence(2, 4, 64, 64),
    "tiny-qwen35moe": Recurrence(2, 4, 64, 64),
    "qwen3-coder-next": Recurrence(16, 32, 128, 128),
    "qwen3.5-0.8b": Recurrence(16, 16, 128, 128),
    "qwen3.5-4b": Recurrence(16, 32, 128, 128),
    "qwen3.5-35b-a3b": Recurrence(16, 32, 128, 128),
}

MAMBAS = {
    "tiny-granite-hybrid": Mamba(8, 64, 2, 32, (2,)),
    "tiny-granite-hybrid-experts": Mamba(16, 32, 1, 48, (1,)),
    "tiny-nemotron-h": Mamba(16, 32, 4, 32, (2,), (1, 3)),
    "tiny-nemotron-h-experts": Mamba(8, 64, 2, 48, (2,), (1, 3)),
    "tiny-nemotron-h-latent": Mamba(8, 64, 2, 48, (2,), (1, 3)),
    "tiny-falcon-h1": Mamba(12, 64, 2, 32, (), is_normed=False),
    "tiny-falcon-h1-normed": Mamba(8, 64, 2, 48, ()),
    "nemotron-3-nano-30b": Mamba(64, 64, 8, 128, (5, 12, 19, 26, 33, 42), (
        1, 3, 6, 8, 10, 13, 15, 17, 20, 22, 24, 27, 29, 31, 34, 36, 38, 40, 43, 45, 47, 49, 51)),
    "falcon-h1-1.5b": Mamba(48, 64, 1, 256, (), is_normed=False),
    "granite-4.0-h-1b": Mamba(48, 64, 1, 128, (5, 15, 25, 35)),
    "granite-4.0-h-tiny": Mamba(48, 64, 1, 128, (5, 15, 25, 35)),
}

NEMOTRONS = ("nemotron_h", "nemotron_h_moe")
HYBRIDS = ("qwen35", "qwen35moe", "qwen3next")
EXPERT_WIDTHS = ("qwen3moe", "qwen35moe", "qwen3next", "gpt-oss", "glm4moe", "mellum", "ernie4_5-moe", "hy_v3",
                 "lfm2moe", "llama4", "step35", "laguna", "cohere2moe", "bailingmoe2", "nemotron_h_moe", "deepseek2", "mistral4")  # by a key
SHARED_ARE_COUNTED = ("bailingmoe2", "cohere2moe")  # beside their width; llama.cpp wants both
LLAMAS = ("llama", "mistral3", "deci", "granite", "granitemoe", "granitehybrid", "smollm3", "minicpm", "nanbeige")
PASSES = {"tiny-nanbeige": (3, False), "tiny-nanbeige-unnormed": (2, True)}  # and whether no norm stands between them
# Of embeddings, of what layers add, of scores (0: the root of the head's dimensions), and the divisor of logits.
SCALES = {"tiny-granite": (12.0, 0.22, 0.015625, 3.0), "tiny-granite-unrotated": (12.0, 0.22, 0.2, 3.0),
          "tiny-granitemoe": (12.0, 0.3, 0.015625, 3.0), "tiny-granitemoe-shared": (6.0, 0.3, 0.2, 2.0),
          "tiny-granite-hybrid": (12.0, 0.22, 0.2, 3.0), "tiny-granite-hybrid-experts": (6.0, 0.3, 0.015625, 2.0),
          "granite-4.0-h-1b": (12.0, 0.22, 0.0078125, 6.0), "granite-4.0-h-tiny": (12.0, 0.22, 0.0078125, 6.0),
          "granite-4.1-3b": (12.0, 0.22, 0.015625, 10.0),
          "tiny-minicpm": (10.0, 0.3, 0.0, 0.75), "tiny-minicpm-longrope": (12.0, 0.3, 0.0, 2.0)}
UNROTATED = ("tiny-granite-unrotated", "tiny-granite-hybrid", "granite-4.0-h-1b", "granite-4.0-h-tiny")
DECI_LAYERS = ((0, 512), (2, 256), (1, 0), (0, 0))  # KV heads and widths of feed-forwards, of each four layers in turn
LFM_TAPS = {"lfm2": 3, "lfm2moe": 3, "lfm3": 7}
SHORT_CONVS = tuple(LFM_TAPS)
LFM3_WINDOWED_BASE = 10000.0
# Of step35: heads of the layers with a window, which are all but each fourth from the first on, the base of theirs, and
# the limits of each layer's experts, and of its expert for every row or dense feed-forward.
STEP_HEADS, STEP_BASE = 6, 10000.0
STEP_LIMITS, STEP_SHARED_LIMITS = (0.0, 0.0, 0.0, 0.75, 0.5), (0.5, 0.0, 0.0, 1.0, 0.0)
LLAMA4_FLOOR = 8  # positions within which scores do not grow
LFM2_ATTENDS = (2, 5, 8, 10, 12, 14)  # these layers; the others are short convolutions
# The base of the rotation in layers with a window, and the part of a head that is rotated there.
WINDOWED_ROPES = {"laguna": (10000.0, 1), "spark2_5": (20000.0, 3 / 4)}
WINDOWED = ("gemma2", "gemma3", "gpt-oss", "olmo2", "exaone4", "cohere2", "muse-glimmer", "mellum", "step35", "laguna",
            "spark2_5", "cohere2moe", *SHORT_CONVS)
NORMS_RESULTS_ALONE = ("olmo2", "exaone4")
COHERES = ("command-r", "cohere2", "cohere2moe")
POST_ATTENTION_IS_FFN = (*HYBRIDS, "gpt-oss", "seed_oss", "glm4moe")  # the norm's name in the file
QKV_BIASES = ("qwen2", "qwen2vl", "gpt-oss", "seed_oss", "starcoder2", "glm4moe")  # in every file
NORM_BIASES = ("starcoder2", "stablelm")
LAYER_NORMS = (*COHERES, *NORM_BIASES)
LOGIT_SCALES = (*COHERES, "muse-glimmer")
GATE_IN_UP = ("glm4", "phi3")
QKV_IN_ONE = ("phi3", "bailingmoe2", "spark2_5")
UNGATED = ("arcee", "starcoder2", "apertus", *NEMOTRONS)
PARTLY_ROTATED = {"glm4": 1 / 2, "glm4moe": 1 / 2, "phi3": 3 / 4, "stablelm": 1 / 4, "laguna": 1 / 2, "spark2_5": 1 / 4,
                  "bailingmoe2": 1 / 2}  # of a head
# The context before LongRoPE stretched it, and the factor of cosines and sines, which transformers computes of both.
LONG_ROPES = {"tiny-phi3": (16, (1 + np.log(2048 / 16) / np.log(16)) ** 0.5), "tiny-phi3-short": (2048, 1.19),
              "phi-4-mini": (4096, (1 + np.log(32) / np.log(4096)) ** 0.5)}
GLIMMER_QUERY_SCALE = 1.5  # qk_scale_factor, which converters write as the weights of Q's norm
XIELU = {"alpha_p": [0.3, 0.75], "alpha_n": [-0.5, 0.25], "beta": [0.5, 0.375], "eps": [-1e-6, -0.015625]}  # by layer

Q = gguf.GGMLQuantizationType
FLOATS = (Q.F32, Q.F16, Q.BF16)
# Type -> [(offset of an f16 field in the block, its value for weights of standard deviation 1)].
F16_FIELDS = {
    Q.Q4_0: [(0, 1 / 4.6)],
    Q.Q4_1: [(0, 1 / 4.6), (2, -7.5 / 4.6)],
    Q.Q5_0: [(0, 1 / 9.2)],
    Q.Q5_1: [(0, 1 / 9.2), (2, -15.5 / 9.2)],
    Q.Q8_0: [(0, 1 / 73.9)],
    Q.Q2_K: [(80, 1 / 12.0), (82, 1.5 / 12.0)],
    Q.Q3_K: [(108, 1 / 43.0)],
    Q.Q4_K: [(0, 1 / 220.0), (2, 7.5 / 220.0)],
    Q.Q5_K: [(0, 1 / 440.0), (2, 15.5 / 440.0)],
    Q.Q6_K: [(208, 1 / 1370.0)],
    Q.TQ1_0: [(52, 1.22)],
    Q.TQ2_0: [(64, 0.8)],
    Q.IQ4_NL: [(0, 1 / 66.0)],
    Q.IQ4_XS: [(0, 1 / 1200.0)],
    Q.IQ2_XXS: [(0, 1 / 61.0)],
    Q.IQ2_XS: [(0, 1 / 61.0)],
    Q.IQ2_S: [(0, 1 / 61.0)],
    Q.IQ3_XXS: [(0, 1 / 161.0)],
    Q.IQ3_S: [(0, 1 / 161.0)],
    Q.IQ1_S: [(0, 1 / 7.5)],
    Q.Q2_0: [(0, 1.0)],
}
UNSCALED = ("ffn_gate_inp", "ssm_conv1d", "shortconv")  # matrices that have no factor beside them
# What llama.cpp's quantize writes in place of a type whose blocks do not divide the rows of a matrix.
FALLBACKS = {Q.Q2_K: Q.IQ4_NL, Q.Q3_K: Q.IQ4_NL, Q.Q4_K: Q.Q5_0, Q.Q5_K: Q.Q5_1, Q.Q6_K: Q.Q8_0, Q.TQ1_0: Q.Q4_0,
             Q.TQ2_0: Q.Q4_0, **{Q[name]: Q.IQ4_NL for name in ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S",
                                                                "IQ3_XXS", "IQ3_S", "IQ4_XS")}}
NVFP4_SCALE = 1 / 4.4  # of a matrix with weights of standard deviation 1: a tensor beside it
SIZES = dict(gguf.GGML_QUANT_SIZES)
if hasattr(Q, "Q1_0"):  # old releases of the gguf package lack it
    F16_FIELDS[Q.Q1_0] = [(0, 1.0)]


def parse_type(name):
    if name not in Q.__members__:
        raise ValueError(f"this release of the gguf package does not know the type {name}")
    return Q[name]


def type_of_rows(qtype, cols):
    """The type, or the one that takes its place for rows of so many."""
    return FALLBACKS.get(qtype, qtype) if qtype in SIZES and cols % SIZES[qtype][0] else qtype


def random_ternary_bytes(rng, num_blocks, qtype):
    """The packed ternary digits of TQ2_0 (64 bytes of four 2-bit fields) or TQ1_0 (52 bytes of five base-3 digits)."""
    if qtype == Q.TQ2_0:
        t = rng.integers(0, 3, (num_blocks, 64, 4), dtype=np.uint8)
        return t[..., 0] | t[..., 1] << 2 | t[..., 2] << 4 | t[..., 3] << 6
    digits = rng.integers(0, 3, (num_blocks, 52, 5)).astype(np.uint32)
    digits[:, 48:, 4] = 0  # the last four bytes hold four digits only
    value = digits @ np.array([81, 27, 9, 3, 1], np.uint32)
    return ((value * 256 + 242) // 243).astype(np.uint8)  # scaled from 0..242 to 0..255, rounded up


def random_halfs(rng, value, count):
    return (value * (1 + 0.1 * rng.random(count, dtype=np.float32))).astype(np.float16)


def random_tensor(rng, shape, qtype, std):
    """Random weights of this standard deviation as numpy stores them in a file; the last axis is the row."""
    rows, cols = int(np.prod(shape[:-1])), shape[-1]
    if qtype in FLOATS:
        x = rng.standard_normal(shape, dtype=np.float32) * np.float32(std)
        if qtype == Q.BF16:
            return gguf.quants.quantize(x, Q.BF16)
        return x if qtype == Q.F32 else x.astype(np.float16)
    per_block, block_bytes = SIZES[qtype]
    if cols % per_block:
        raise ValueError(f"a row of {cols} does not divide into blocks of {per_block} for {qtype.name}")
    blocks = rng.integers(0, 256, (rows * cols // per_block, block_bytes), dtype=np.uint8)
    if qtype == Q.Q2_0:  # values -1 .. 2 with a mean of 0
        q = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3], np.uint8)[rng.integers(0, 10, (len(blocks), 16, 4), dtype=np.uint8)]
        blocks[:, 2:] = q[..., 0] | q[..., 1] << 2 | q[..., 2] << 4 | q[..., 3] << 6
    if qtype in (Q.TQ1_0, Q.TQ2_0):
        digits = random_ternary_bytes(rng, len(blocks), qtype)
        blocks[:, : digits.shape[1]] = digits
    if qtype == Q.NVFP4:  # scales of 1 to 2, E4M3; their factor is NVFP4_SCALE
        blocks[:, :4] = blocks[:, :4] & 7 | 7 << 3
    if qtype == Q.MXFP4:  # one power-of-two scale (E8M0, bias 127) a block, in front
        blocks[:, 0] = round(127 + np.log2(std / 2.9))
    for offset, value in F16_FIELDS.get(qtype, []):
        blocks[:, offset : offset + 2] = random_halfs(rng, value * std, len(blocks)).view(np.uint8).reshape(-1, 2)
    if qtype == Q.IQ1_M:  # a nibble of the scale above each four of the sub-blocks' scales
        field = random_halfs(rng, std / 7.5, len(blocks))
        for i in range(4):
            odd = blocks[:, 49 + 2 * i]
            odd[:] = odd & 15 | (field.view(np.uint16) >> (4 * i) & 15).astype(np.uint8) << 4
    return blocks.reshape(*shape[:-1], cols // per_block * block_bytes)


@functools.cache  # reading takes longer than writing a tiny model, and tests write many
def read_vocabulary(path):
    """Every tokenizer key of a file as (name, value, type or None for an array)."""
    entries = []
    for name, field in GgufFile(path).fields.items():
        if name.startswith("tokenizer."):
            is_array = field.types[0] == gguf.GGUFValueType.ARRAY
            entries.append((name, field.contents(), None if is_array else field.types[0]))
    if not any(name == "tokenizer.ggml.tokens" for name, _, _ in entries):
        raise ValueError(f"{path}: no tokenizer.ggml.tokens")
    return entries


def first_words(entries, count):
    """A vocabulary's first words and, with numbers behind theirs, those of the others that are no plain text; the merges
    that make and take no other words."""
    by_name = {name: value for name, value, _ in entries}
    words, kinds = by_name["tokenizer.ggml.tokens"], by_name["tokenizer.ggml.token_type"]
    kept = [i for i, kind in enumerate(kinds) if i < count or kind not in (gguf.TokenType.NORMAL, gguf.TokenType.UNUSED)]
    numbers, known = {old: new for new, old in enumerate(kept)}, {words[i] for i in kept}
    for name, value, value_type in entries:
        if name == "tokenizer.ggml.merges":
            pairs = (merge.split(" ") for merge in value)
            value = [f"{a} {b}" for a, b in pairs if {a, b, a + b} <= known]
        elif value_type is None and len(value) == len(words):
            value = [value[i] for i in kept]
        elif name.endswith("_token_id"):
            value = numbers[value]
        yield name, value, value_type


def with_marks(entries, shape):
    """A vocabulary with the special tokens that stand for pictures; those that it lacks stand behind its own."""
    entries = list(entries)
    known = next(value for name, value, _ in entries if name == "tokenizer.ggml.tokens")
    marks = OWN_PICTURE_MARKS.get(shape, OWN_PICTURE_MARKS.get(SHAPES[shape].arch, PICTURE_MARKS))
    marks = [mark for mark in marks if mark not in known]
    # Files of Gemma 3 (gemma-3-270m) give its marks the type of a user's own word.
    kind = gguf.TokenType.USER_DEFINED if SHAPES[shape].arch == "gemma3" else gguf.TokenType.CONTROL
    more = {"tokenizer.ggml.tokens": marks, "tokenizer.ggml.scores": len(marks) * [0.0],
            "tokenizer.ggml.token_type": len(marks) * [kind]}
    for name, value, value_type in entries:
        yield name, [*value, *more[name]] if name in more else value, value_type


def add_vocabulary(writer, path, count=None, sees=None):
    """Copies the vocabulary of another file, or its first words, with the marks of pictures of the shape `sees`;
    returns the number of tokens."""
    num_tokens = 0
    entries = read_vocabulary(path)
    entries = first_words(entries, count) if count else entries
    for name, value, value_type in with_marks(entries, sees) if sees else entries:
        if value_type is None:
            writer.add_array(name, value)
        else:
            writer.add_key_value(name, value, value_type)
        if name == "tokenizer.ggml.tokens":
            num_tokens = len(value)
    return num_tokens


def is_short_conv(arch, layer):
    if arch == "lfm3":  # layers 2, 6, ... see all, layers 4, 8, ... a window
        return layer == 0 or layer % 2 == 1
    return arch in SHORT_CONVS and layer not in LFM2_ATTENDS


def is_windowed(arch, layer):
    """Of families whose windowed layers have heads or rotations of their own."""
    return (layer if arch == "laguna" else layer + 1) % 4 != 0


def shape_of_layer(shape, layer, router=None, mamba=None):
    """The heads and the feed-forward of one layer; 0: it has none. A short convolution and Mamba-2 have no KV heads."""
    if mamba and mamba.ffns is not None and layer in mamba.ffns:
        return shape._replace(heads=0, kv_heads=0)
    if mamba and mamba.ffns is not None:
        shape = shape._replace(ffn=0, experts=0)
    if mamba and shape.arch != "falcon-h1" and layer not in mamba.attends:
        shape = shape._replace(kv_heads=0)
    if router and layer in router.dense:
        shape = shape._replace(experts=0, ffn=router.dense_width)
    if shape.windowed_heads and is_windowed(shape.arch, layer):
        shape = shape._replace(heads=shape.windowed_heads)
    if is_short_conv(shape.arch, layer):
        return shape._replace(kv_heads=0)
    if shape.arch == "step35" and layer % 4:
        return shape._replace(heads=STEP_HEADS)
    if shape.arch != "deci":
        return shape
    kv_heads, ffn = DECI_LAYERS[layer % len(DECI_LAYERS)]
    return shape._replace(heads=shape.heads if kv_heads else 0, kv_heads=kv_heads, ffn=ffn)


def add_scales(writer, name):
    arch, (embedding, residual, attention, logits) = SHAPES[name].arch, SCALES[name]
    writer.add_embedding_scale(embedding)
    writer.add_residual_scale(residual)
    writer.add_logit_scale(logits)
    if attention:
        writer.add_attention_scale(attention)
    if name in UNROTATED:
        writer.add_rope_scaling_finetuned(False)
    if name == "tiny-minicpm-longrope":
        writer.add_string(f"{arch}.rope.scaling.type", "longrope")
        writer.add_rope_scaling_orig_ctx_len(SHAPES[name].context)


def add_metadata(writer, name, shape, num_layers, num_tokens, window, rotated):
    writer.add_name(f"{name} (random weights)")
    writer.add_context_length(shape.context)
    writer.add_embedding_length(shape.width)
    writer.add_block_count(num_layers)
    if shape.experts:
        writer.add_expert_count(shape.experts)
        writer.add_expert_used_count(shape.chosen)
    router = ROUTERS.get(name)
    if router:
        add_router(writer, shape.arch, router)
    if shape.arch in EXPERT_WIDTHS or (shape.arch == "gemma4" and shape.experts):
        writer.add_expert_feed_forward_length(shape.ffn)
    if shape.shared and shape.arch not in ("gemma4", "llama4") and not (router and router.shared_count):
        writer.add_expert_shared_feed_forward_length(shape.shared)
        if shape.arch in SHARED_ARE_COUNTED:
            writer.add_expert_shared_count(shape.shared // shape.ffn)
    mamba = MAMBAS.get(name)
    layers = [shape_of_layer(shape, i, mamba=mamba) for i in range(num_layers)]
    alike = shape.arch != "deci"
    same_heads = alike and shape.arch != "step35" and not shape.windowed_heads
    writer.add_head_count(shape.heads if same_heads else [layer.heads for layer in layers])
    writer.add_rope_freq_base(shape.rope_base)
    if (shape.arch in LAYER_NORMS and not shape.rms) or shape.arch in NEMOTRONS:
        writer.add_layer_norm_eps(1e-6)
    if shape.rms or shape.arch not in (*LAYER_NORMS, "nemotron_h"):
        writer.add_layer_norm_rms_eps(1e-6)
    if shape.arch in LOGIT_SCALES:
        writer.add_logit_scale(0.75)
    if name in PASSES:
        writer.add_uint32("nanbeige.num_loops", PASSES[name][0])
        writer.add_bool("nanbeige.skip_loop_final_norm", PASSES[name][1])
    writer.add_vocab_size(num_tokens)
    if name in synth_gemma4.LAYERS:
        return synth_gemma4.add_metadata(writer, name, shape, num_layers, window)
    width = router.dense_width if router else shape.ffn
    is_alike = alike and shape.arch not in NEMOTRONS
    writer.add_feed_forward_length(width if is_alike else [layer.ffn for layer in layers])
    if name in synth_latent.LATENTS:
        return synth_latent.add_metadata(writer, name, shape.heads)
    has_short_convs = shape.arch in SHORT_CONVS
    is_everywhere = shape.arch == "falcon-h1" or (alike and not has_short_convs and not mamba)
    writer.add_head_count_kv(shape.kv_heads if is_everywhere else [layer.kv_heads for layer in layers])
    if mamba:
        add_mamba_keys(writer, mamba)
    if has_short_convs:
        writer.add_shortconv_l_cache(LFM_TAPS[shape.arch])
    if shape.arch == "lfm3":
        writer.add_rope_freq_base_swa(LFM3_WINDOWED_BASE)
        writer.add_array("lfm3.attention.sliding_window_pattern", [i > 0 and i % 4 == 0 for i in range(num_layers)])
    if shape.arch in WINDOWED_ROPES and window:
        base, part = WINDOWED_ROPES[shape.arch]
        writer.add_rope_freq_base_swa(base)
        writer.add_rope_dimension_count_swa(int(part * shape.head_dim))
    if shape.arch == "spark2_5":
        writer.add_array("spark2_5.attention.sliding_window_pattern", [is_windowed(shape.arch, i) for i in range(num_layers)])
    writer.add_key_length(shape.head_dim)
    writer.add_value_length(shape.v_dim())
    if shape.arch in WINDOWED and window:
        writer.add_sliding_window(window)
    if shape.arch == "gemma2":  # so low that these weights meet them: the scores of real models are larger
        writer.add_attn_logit_softcapping(2.0)
        writer.add_final_logit_softcapping(3.0)
    if shape.arch == "muse-glimmer":
        writer.add_final_logit_softcapping(3.0)
    if name in SCALES:
        add_scales(writer, name)
    if shape.arch == "qwen3vl":
        third = rotated * 5 // 32  # as of the real ones: 24, 20, 20 of 64 pairs
        writer.add_rope_dimension_sections([rotated // 2 - 2 * third, third, third, 0])
        writer.add_uint32("qwen3vl.n_deepstack_layers", 3)
    if name in LONG_ROPES:
        original, magnitude = LONG_ROPES[name]
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(magnitude)
    if shape.arch == "qwen2vl":
        writer.add_rope_dimension_sections([8, 12, 12, 0])
    if shape.arch == "step35":
        add_step(writer, num_layers)
    if shape.arch == "llama4":
        add_chunks(writer, name, window)
    if shape.arch == "apertus":
        for number, of_layers in XIELU.items():
            writer.add_array(f"xielu.{number}", of_layers[:num_layers])
    if shape.arch == "llama" or rotated != shape.head_dim:
        writer.add_rope_dimension_count(rotated)


def add_step(writer, num_layers):
    writer.add_rope_freq_base_swa(STEP_BASE)
    writer.add_array("step35.attention.sliding_window_pattern", [i % 4 != 0 for i in range(num_layers)])
    writer.add_array("step35.swiglu_clamp_exp", list(STEP_LIMITS[:num_layers]))
    writer.add_array("step35.swiglu_clamp_shexp", list(STEP_SHARED_LIMITS[:num_layers]))


def add_chunks(writer, name, size):
    """tiny-llama4 leaves to the reader what files of llama.cpp's converter leave out; of the other one scores grow
    within a text, its heads have no norms, and every second layer is dense."""
    writer.add_uint32("llama4.attention.chunk_size", size)
    if name == "tiny-llama4":
        return writer.add_uint32("llama4.interleave_moe_layer_step", 1)
    writer.add_attn_temperature_scale(0.5)
    writer.add_attn_temperature_length(LLAMA4_FLOOR)
    writer.add_bool("llama4.use_qk_norm", False)


def add_router(writer, arch, router):
    if router.gate:
        writer.add_uint32(f"{arch}.expert_gating_func", router.gate)
    if router.is_normed is not None:
        writer.add_expert_weights_norm(router.is_normed)
    if router.scale:
        writer.add_expert_weights_scale(router.scale)
    if router.groups:
        writer.add_uint32(f"{arch}.expert_group_count", router.groups[0])
        writer.add_uint32(f"{arch}.expert_group_used_count", router.groups[1])
    if router.shared_count:
        writer.add_expert_shared_count(router.shared_count)
    if router.leading or arch == "cohere2moe":
        writer.add_leading_dense_block_count(router.leading)
    if router.latent:
        writer.add_moe_latent_size(router.latent)
    if router.every > 1:
        writer.add_uint32(f"{arch}.interleave_moe_layer_step", router.every)


def add_recurrence(writer, arch, recurrence, rotated):
    writer.add_ssm_conv_kernel(recurrence.taps)
    writer.add_ssm_state_size(recurrence.key_dim)
    writer.add_ssm_group_count(recurrence.key_heads)
    writer.add_ssm_time_step_rank(recurrence.value_heads)
    writer.add_ssm_inner_size(recurrence.value_heads * recurrence.value_dim)
    writer.add_uint32(f"{arch}.full_attention_interval", recurrence.attention_every)
    if arch == "qwen3next":
        return
    third = -(-rotated // 6)  # of the pairs: llama.cpp wants the sections, which text does not tell apart
    writer.add_rope_dimension_sections([third, third, rotated // 2 - 2 * third, 0])


def add_mamba_keys(writer, mamba):
    writer.add_ssm_conv_kernel(mamba.taps)
    writer.add_ssm_state_size(mamba.state)
    writer.add_ssm_group_count(mamba.groups)
    writer.add_ssm_time_step_rank(mamba.heads)
    writer.add_ssm_inner_size(mamba.inner())


def add_pattern(writer, arch, pattern):
    """`pattern`: a number, or a list of numbers or of bools."""
    if arch not in WINDOWED:
        raise ValueError(f"a pattern of windows belongs to {', '.join(WINDOWED)}, not to {arch}")
    key = f"{arch}.attention.sliding_window_pattern"
    if isinstance(pattern, int):
        writer.add_uint32(key, pattern)
    else:
        writer.add_array(key, pattern)


def long_rope_factors(kind, count):
    """Divisors of frequencies for contexts up to the original one ("short"), or longer ones."""
    return np.linspace({"short": 1, "long": 2}[kind], 8, count).astype(np.float32)


def add_linear(writer, factor):
    writer.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    writer.add_rope_scaling_factor(factor)


def add_yarn(writer, name, shape, factor):
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(factor)
    writer.add_rope_scaling_orig_ctx_len(int(shape.context / factor))
    if shape.arch == "mistral3":
        writer.add_rope_scaling_yarn_log_mul(1.0)
        writer.add_attn_temperature_scale(0.5)
    if name in synth_latent.LATENTS:
        synth_latent.add_yarn(writer, name)


class TensorWriter:
    def __init__(self, writer, seed, factors=False):
        self.writer, self.rng, self.factors = writer, np.random.default_rng(seed), factors

    def matrix(self, name, rows, cols, qtype, std, experts=()):
        qtype = type_of_rows(qtype, cols)
        data = random_tensor(self.rng, (*experts, rows, cols), qtype, std)
        self.writer.add_tensor(name, data, raw_dtype=None if qtype in (Q.F32, Q.F16) else qtype)
        if qtype == Q.NVFP4:
            stem = name.removesuffix("weight")
            of_each = np.linspace(0.8, 1.2, *experts) if experts else np.ones(1)
            self.writer.add_tensor(stem + "scale", (std * NVFP4_SCALE * of_each).astype(np.float32))
            self.writer.add_tensor(stem + "input_scale", np.ones(len(of_each), np.float32))
        elif self.factors and name.startswith("blk.") and name.split(".")[2] not in UNSCALED:
            of_each = np.linspace(0.7, 1.4, *(experts or (1,)), endpoint=len(experts) > 0)
            self.writer.add_tensor(name.removesuffix("weight") + "scale", of_each.astype(np.float32))

    def vector(self, name, n, mean, std=0.1):
        """`n`: a length, or the shape of several."""
        self.writer.add_tensor(name, (mean + std * self.rng.standard_normal(n)).astype(np.float32))


def add_delta_net(tensors, prefix, width, recurrence, types, by_key_head=False):
    heads, inner = recurrence.value_heads, recurrence.value_heads * recurrence.value_dim
    if recurrence.is_early:
        tensors.matrix(prefix + "ssm_in.weight", recurrence.channels() + inner, width, next(types), width**-0.5)
    else:
        tensors.matrix(prefix + "attn_qkv.weight", recurrence.channels(), width, next(types), width**-0.5)
        tensors.matrix(prefix + "attn_gate.weight", inner, width, next(types), width**-0.5)
    if by_key_head:
        tensors.matrix(prefix + "ssm_ba.weight", 2 * heads, width, next(types), width**-0.5)
    else:
        tensors.matrix(prefix + "ssm_alpha.weight", heads, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ssm_beta.weight", heads, width, next(types), width**-0.5)
    tensors.matrix(prefix + "ssm_conv1d.weight", recurrence.channels(), recurrence.taps, Q.F32, 0.5)
    tensors.vector(prefix + "ssm_dt.bias", heads, -2, 1)  # states that forget within ten to some hundred tokens
    tensors.vector(prefix + "ssm_a", heads, -0.5)
    tensors.vector(prefix + "ssm_norm.weight", recurrence.value_dim, 1)
    tensors.matrix(prefix + "ssm_out.weight", width, inner, next(types), inner**-0.5)


def add_mamba(tensors, prefix, width, mamba, types):
    """Decays as those of a delta net: states forget within ten to some hundred tokens."""
    rows = mamba.inner() + mamba.channels() + mamba.heads
    tensors.matrix(prefix + "ssm_in.weight", rows, width, next(types), width**-0.5)
    tensors.matrix(prefix + "ssm_conv1d.weight", mamba.channels(), mamba.taps, Q.F32, 0.5)
    tensors.vector(prefix + "ssm_conv1d.bias", mamba.channels(), 0, 0.3)
    tensors.vector(prefix + "ssm_dt.bias", mamba.heads, -2, 1)
    tensors.vector(prefix + "ssm_a", (mamba.heads, 1), -0.5)
    tensors.vector(prefix + "ssm_d", (mamba.heads, 1), 1, 0.3)
    if mamba.is_normed:
        tensors.vector(prefix + "ssm_norm.weight", (mamba.groups, mamba.inner() // mamba.groups), 1)
    tensors.matrix(prefix + "ssm_out.weight", width, mamba.inner(), next(types), mamba.inner()**-0.5)


def add_short_conv(tensors, prefix, width, taps, types):
    tensors.matrix(prefix + "shortconv.in_proj.weight", 3 * width, width, next(types), width**-0.5)
    tensors.matrix(prefix + "shortconv.conv.weight", width, taps, Q.F32, 0.5)
    tensors.matrix(prefix + "shortconv.out_proj.weight", width, width, next(types), width**-0.5)


def add_attention(tensors, prefix, shape, types):
    width, q_width, out_width = shape.width, shape.heads * shape.head_dim, shape.heads * shape.v_dim()
    q_rows = 2 * q_width if shape.arch in HYBRIDS else q_width  # there with a gate
    k_rows, v_rows = shape.kv_heads * shape.head_dim, shape.kv_heads * shape.v_dim()
    if shape.arch in QKV_IN_ONE:
        tensors.matrix(prefix + "attn_qkv.weight", q_rows + k_rows + v_rows, width, next(types), width**-0.5)
    else:
        tensors.matrix(prefix + "attn_q.weight", q_rows, width, next(types), width**-0.5)
        tensors.matrix(prefix + "attn_k.weight", k_rows, width, next(types), width**-0.5)
        tensors.matrix(prefix + "attn_v.weight", v_rows, width, next(types), width**-0.5)
    tensors.matrix(prefix + "attn_output.weight", width, out_width, next(types), out_width**-0.5)


def add_layer(tensors, prefix, shape, types, recurrence=None, router=None, mamba=None, name=None):
    width, ffn = shape.width, shape.ffn
    q_rows, kv_rows = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    if shape.heads and shape.arch not in NORMS_RESULTS_ALONE:
        tensors.vector(prefix + "attn_norm.weight", width, 1)
    ffn_norm = "post_attention_norm" if shape.arch in POST_ATTENTION_IS_FFN else "ffn_norm"
    if shape.arch in NEMOTRONS:
        ffn_norm = "attn_norm"
    is_parallel = shape.arch in COHERES or (shape.arch == "stablelm" and shape.norms_by_head)
    if ffn and shape.arch not in NORMS_RESULTS_ALONE and not is_parallel:
        tensors.vector(prefix + ffn_norm + ("" if shape.arch == "falcon-h1" else ".weight"), width, 1)
    if shape.arch in NORM_BIASES:
        for norm in ("attn_norm",) if is_parallel else ("attn_norm", "ffn_norm"):
            tensors.vector(prefix + norm + ".bias", width, 0)
    if recurrence:
        add_delta_net(tensors, prefix, width, recurrence, types, shape.arch == "qwen3next")
    elif mamba and shape.heads and not shape.kv_heads:
        add_mamba(tensors, prefix, width, mamba, types)
    elif shape.arch in SHORT_CONVS and not shape.kv_heads:
        add_short_conv(tensors, prefix, width, LFM_TAPS[shape.arch], types)
    elif name in synth_latent.LATENTS:
        synth_latent.add_attention(tensors, prefix, name, width, shape.heads, types, SIZES)
    elif shape.heads:
        add_attention(tensors, prefix, shape, types)
        if shape.arch == "falcon-h1":  # beside it
            add_mamba(tensors, prefix, width, mamba, types)
    if shape.experts:
        add_experts(tensors, prefix, shape, types, router.latent if router else 0)
        if router and router.bias:  # large enough to change choices
            tensors.vector(prefix + router.bias, shape.experts, 0, 0.3)
    elif shape.arch in GATE_IN_UP:
        tensors.matrix(prefix + "ffn_up.weight", 2 * ffn, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_down.weight", width, ffn, next(types), ffn**-0.5)
    elif ffn:
        if shape.arch not in UNGATED:
            tensors.matrix(prefix + "ffn_gate.weight", ffn, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_up.weight", ffn, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_down.weight", width, ffn, next(types), ffn**-0.5)
    if shape.norms_by_head:
        tensors.vector(prefix + "attn_q_norm.weight", (shape.heads, shape.head_dim), 1)
        tensors.vector(prefix + "attn_k_norm.weight", (shape.kv_heads, shape.head_dim), 1)
    if shape.arch == "olmo2":
        tensors.vector(prefix + "attn_q_norm.weight", q_rows, 1)
        tensors.vector(prefix + "attn_k_norm.weight", kv_rows, 1)
    if shape.arch == "muse-glimmer":
        tensors.matrix(prefix + "attn_gate.weight", q_rows, width, next(types), width**-0.5)
        tensors.vector(prefix + "attn_q_norm.weight", shape.head_dim, GLIMMER_QUERY_SCALE, 0)
        tensors.vector(prefix + "attn_k_norm.weight", shape.head_dim, 1, 0)
    if shape.arch in ("qwen3", "qwen3vl", "qwen3moe", "gemma3", "hunyuan-dense", "exaone4", "apertus",
                      "glm4moe", "mellum", "hy_v3", "step35", "laguna", "bailingmoe2", *SHORT_CONVS,
                      *HYBRIDS) and not recurrence and shape.kv_heads:
        tensors.vector(prefix + "attn_q_norm.weight", shape.head_dim, 1)
        tensors.vector(prefix + "attn_k_norm.weight", shape.head_dim, 1)
    if shape.arch in ("lfm3", "step35", "laguna", "spark2_5") and shape.kv_heads:
        rows = q_rows if shape.gates_of_elements else shape.heads
        tensors.matrix(prefix + "attn_gate.weight", rows, width, next(types), width**-0.5)
    if shape.arch in ("gemma2", "gemma3", "glm4", "muse-glimmer", "lfm3", *NORMS_RESULTS_ALONE):
        tensors.vector(prefix + "post_attention_norm.weight", width, 1)
        tensors.vector(prefix + "post_ffw_norm.weight", width, 1)
    if shape.arch in QKV_BIASES:
        for projection, rows in (("q", q_rows), ("k", kv_rows), ("v", kv_rows)):
            tensors.vector(prefix + f"attn_{projection}.bias", rows, 0)
    if shape.arch == "gpt-oss":
        add_biases(tensors, prefix, shape)
    if shape.arch == "starcoder2":
        for name, size in (("attn_output", width), ("ffn_up", ffn), ("ffn_down", width)):
            tensors.vector(prefix + name + ".bias", size, 0)


def add_head(tensors, prefix, shape, types):
    """A draft head behind the layers, as llama.cpp's converter writes it."""
    tensors.matrix(prefix + "nextn.eh_proj.weight", shape.width, 2 * shape.width, next(types), (2 * shape.width)**-0.5)
    for norm in ("enorm", "hnorm", "shared_head_norm"):
        tensors.vector(prefix + f"nextn.{norm}.weight", shape.width, 1)
    add_layer(tensors, prefix, shape, types)


def add_experts(tensors, prefix, shape, types, latent=0):
    """Scores of standard deviation 4, so that the last expert that is chosen is clearly ahead of the first that is not,
    or has a small weight; results small beside the residual stream, so that rounding hardly moves later routers."""
    width, ffn, experts, of_rows = shape.width, shape.ffn, (shape.experts,), latent or shape.width
    spread = 1.5 if shape.arch == "llama4" else 4  # whose weights, sigmoids, would all be 1 otherwise
    tensors.matrix(prefix + "ffn_gate_inp.weight", shape.experts, width, Q.F32, spread * width**-0.5)
    if latent:
        tensors.matrix(prefix + "ffn_latent_down.weight", latent, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_latent_up.weight", width, latent, next(types), latent**-0.5)
    if shape.arch not in UNGATED:
        tensors.matrix(prefix + "ffn_gate_exps.weight", ffn, of_rows, next(types), of_rows**-0.5, experts)
    tensors.matrix(prefix + "ffn_up_exps.weight", ffn, of_rows, next(types), of_rows**-0.5, experts)
    # The biases of gpt-oss make gated inputs large, and so do the squares of Nemotron.
    down_std = 0.05 if shape.arch in ("gpt-oss", "nemotron_h_moe") else 0.25
    tensors.matrix(prefix + "ffn_down_exps.weight", of_rows, ffn, next(types), down_std * ffn**-0.5, experts)
    if shape.shared:
        if shape.arch in HYBRIDS:
            tensors.vector(prefix + "ffn_gate_inp_shexp.weight", width, 0, width**-0.5)
        if shape.arch not in UNGATED:
            tensors.matrix(prefix + "ffn_gate_shexp.weight", shape.shared, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_up_shexp.weight", shape.shared, width, next(types), width**-0.5)
        tensors.matrix(prefix + "ffn_down_shexp.weight", width, shape.shared, next(types), 0.25 * shape.shared**-0.5)


def add_biases(tensors, prefix, shape):
    """Of gpt-oss: sinks, and biases beside those of Q, K and V. Some inputs of the activation meet its bounds."""
    tensors.vector(prefix + "attn_output.bias", shape.width, 0)
    tensors.vector(prefix + "attn_sinks.weight", shape.heads, 0, 1)
    tensors.vector(prefix + "ffn_gate_inp.bias", shape.experts, 0, 1)
    tensors.vector(prefix + "ffn_gate_exps.bias", (shape.experts, shape.ffn), 0, 3)
    tensors.vector(prefix + "ffn_up_exps.bias", (shape.experts, shape.ffn), 0, 3)
    tensors.vector(prefix + "ffn_down_exps.bias", (shape.experts, shape.width), 0)


def add_optional_biases(tensors, prefix, shape):
    """Of an architecture that has none of its own: of Q, K and V, of hybrids with the gates' among Q's, and in Llama's
    layers of all else."""
    q_width = shape.heads * shape.head_dim
    if shape.heads:
        for projection, rows in (("q", 2 * q_width if shape.arch in HYBRIDS else q_width),
                                 ("k", shape.kv_heads * shape.head_dim), ("v", shape.kv_heads * shape.v_dim())):
            tensors.vector(prefix + f"attn_{projection}.bias", rows, 0, 0.5)
    if shape.arch not in (*LLAMAS, *NEMOTRONS, "ernie4_5", "ernie4_5-moe", "falcon-h1"):
        return
    if shape.heads and shape.arch != "falcon-h1":
        tensors.vector(prefix + "attn_output.bias", shape.width, 0)
    if shape.ffn and not shape.experts and shape.arch != "ernie4_5-moe":
        if shape.arch not in UNGATED:
            tensors.vector(prefix + "ffn_gate.bias", shape.ffn, 0, 0.5)
        tensors.vector(prefix + "ffn_up.bias", shape.ffn, 0, 0.5)
        tensors.vector(prefix + "ffn_down.bias", shape.width, 0)


def add_layers(tensors, name, num_layers, num_tokens, embedding, types, biases):
    shape, recurrence = SHAPES[name], RECURRENCES.get(name)
    if name in synth_gemma4.LAYERS:
        layers = synth_gemma4.LAYERS[name]
        if name in synth_gemma4.MODEL_WIDTHS:
            synth_gemma4.add_projections(tensors, shape.width, synth_gemma4.MODEL_WIDTHS[name], next(types))
        synth_gemma4.add_tables(tensors, shape, layers, num_layers, num_tokens, embedding, next(types))
        for i in range(num_layers):
            synth_gemma4.add_layer(tensors, i, shape, layers, num_layers, types)
        return
    for i in range(num_layers):
        attends = recurrence is None or (i + 1) % recurrence.attention_every == 0
        of_layer = shape_of_layer(shape, i, ROUTERS.get(name), MAMBAS.get(name))
        add_layer(tensors, f"blk.{i}.", of_layer, types, None if attends else recurrence, ROUTERS.get(name),
                  MAMBAS.get(name), name)
        if biases and attends and (of_layer.kv_heads or not of_layer.heads) and shape.arch not in (*QKV_BIASES, *QKV_IN_ONE):
            add_optional_biases(tensors, f"blk.{i}.", of_layer)


def write_model(out, shape, vocab_from, types=("Q8_0",), embd_type=None, layers=None, window=512, untied=False,
                rope_freqs=False, seed=1, progress=False, linear=None, yarn=None, biases=False, pattern=None,
                factors=False, head=False, words=None, sees=False):
    """Writes a model of one of SHAPES to `out`. `types` are names, given to the layer weights in turn."""
    dims = SHAPES[shape]
    num_layers = layers or dims.layers
    quantized = [parse_type(t) for t in types]
    if embd_type:
        embedding = parse_type(embd_type)
    elif all(t in FLOATS for t in quantized):
        embedding = Q.F32
    else:
        embedding = Q.Q6_K if dims.width % 256 == 0 else Q.Q8_0
    if rope_freqs and dims.arch not in (*LLAMAS, "arcee", "apertus", "llama4", "step35"):
        raise ValueError(f"RoPE factors belong to {' and '.join(LLAMAS)}, not to {dims.arch}")
    if biases and dims.arch in ("gpt-oss", "gemma4"):
        raise ValueError(f"{dims.arch} has no biases beside its own")
    if head and dims.arch not in HYBRIDS:
        raise ValueError(f"a draft head belongs to {' and '.join(HYBRIDS)}, not to {dims.arch}")
    writer = gguf.GGUFWriter(out, dims.arch)
    num_tokens = add_vocabulary(writer, vocab_from, words, shape if sees else None)
    recurrence = RECURRENCES.get(shape)
    stretched = yarn and dims.arch not in ("mistral3", "gpt-oss", "olmo2", "mellum")
    rotated = dims.head_dim * 3 // 4 if stretched else dims.head_dim // 4 if recurrence else dims.head_dim
    rotated = int(dims.head_dim * PARTLY_ROTATED.get(dims.arch, rotated / dims.head_dim))
    if shape in synth_latent.LATENTS:
        rotated = synth_latent.LATENTS[shape].rotated
    add_metadata(writer, shape, dims, num_layers + head, num_tokens, window, rotated)
    if head:
        writer.add_uint32(f"{dims.arch}.nextn_predict_layers", 1)
    if recurrence:
        add_recurrence(writer, dims.arch, recurrence, rotated)
    if linear:
        add_linear(writer, linear)
    elif yarn:
        add_yarn(writer, shape, dims, yarn)
    if pattern is not None:
        add_pattern(writer, dims.arch, pattern)
    tensors = TensorWriter(writer, seed, factors)
    output_std = 2 * dims.width**-0.5  # gives logits of standard deviation 2, about that of a real model
    tensors.matrix("token_embd.weight", num_tokens, dims.width, embedding, output_std)
    tensors.vector(f"{'token_embd' if dims.arch in SHORT_CONVS else 'output'}_norm.weight", dims.width, 1)
    if dims.arch in NORM_BIASES:
        tensors.vector("output_norm.bias", dims.width, 0)
    if untied or not dims.tied:
        tensors.matrix("output.weight", num_tokens, dims.width, embedding, output_std)
    if biases and dims.arch in ("qwen2", "phi3"):
        tensors.vector("output.bias", num_tokens, 0, 1)
    if rope_freqs:
        writer.add_tensor("rope_freqs.weight", np.linspace(1, 8, dims.head_dim // 2).astype(np.float32))
    if dims.arch == "lfm3":  # half of the pairs of layers that see all are not rotated
        writer.add_tensor("rope_freqs.weight", np.repeat([1, 1e30], dims.head_dim // 4).astype(np.float32))
    has_factors = shape in synth_latent.LATENTS and synth_latent.LATENTS[shape].has_factors
    if shape == "tiny-minicpm-longrope" or shape in LONG_ROPES or has_factors:
        for kind in ("short", "long"):
            writer.add_tensor(f"rope_factors_{kind}.weight", long_rope_factors(kind, rotated // 2))
    turn = itertools.cycle(quantized)
    add_layers(tensors, shape, num_layers, num_tokens, embedding, turn, biases)
    if head:
        add_head(tensors, f"blk.{num_layers}.", dims, turn)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file(progress=progress)
    writer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--shape", choices=SHAPES, required=True)
    parser.add_argument("--type", default="Q8_0")
    parser.add_argument("--embd-type")
    parser.add_argument("--vocab-from", required=True)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--mix")
    parser.add_argument("--window", type=int, default=512)
    parser.add_argument("--untied", action="store_true")
    parser.add_argument("--rope-freqs", action="store_true")
    stretch = parser.add_mutually_exclusive_group()
    stretch.add_argument("--linear", type=float)
    stretch.add_argument("--yarn", type=float)
    parser.add_argument("--biases", action="store_true")
    parser.add_argument("--factors", action="store_true")
    parser.add_argument("--head", action="store_true")
    parser.add_argument("--pattern", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--words", type=int)
    parser.add_argument("--sees", action="store_true")
    args = parser.parse_args()
    pattern = args.pattern[0] if args.pattern and len(args.pattern) == 1 else args.pattern
    try:
        write_model(args.out, args.shape, args.vocab_from, (args.mix or args.type).split(","), args.embd_type,
                    args.layers, args.window, args.untied, args.rope_freqs, args.seed, sys.stderr.isatty(), args.linear,
                    args.yarn, args.biases, pattern, args.factors, args.head, args.words, args.sees)
    except (ValueError, KeyError, OSError) as error:
        sys.exit(f"synth_model: {error}")


if __name__ == "__main__":
    main()
