"""Multi-head latent attention in synth_model.py: its keys and tensors, in both forms of files.

The products of the heads lie in two tensors, attn_k_b (turned) and attn_v_b, or in one, attn_kv_b. Of float weights
both forms of a shape are the same model.
"""
from typing import NamedTuple

import gguf
import numpy as np

Q = gguf.GGMLQuantizationType


class Latent(NamedTuple):
    rank: int
    q_rank: int  # 0: Q is made of the stream
    plain: int  # dimensions of a head of Q that are not rotated
    rotated: int
    value: int  # of a head's result
    is_joint: bool = False
    growth: float = 1.0  # mscale_all_dim, of a context that YaRN has stretched
    temperature: float = 0.0  # growth of scores with the position
    has_factors: bool = False  # of frequencies, for short and for long contexts

    def head(self):
        return self.plain + self.rotated


LATENTS = {
    "tiny-deepseek2": Latent(256, 0, 96, 32, 64, growth=0.707),
    "tiny-deepseek2-joint": Latent(256, 0, 96, 32, 64, is_joint=True, growth=0.707),
    "tiny-deepseek2-v3": Latent(256, 256, 96, 32, 64),
    "tiny-mistral4": Latent(256, 256, 96, 32, 64, temperature=0.5),
    "tiny-minicpm3": Latent(256, 256, 64, 32, 64, is_joint=True, has_factors=True),
    "deepseek-v2-lite": Latent(512, 0, 128, 64, 128, growth=0.707),
    "glm-4.7-flash": Latent(512, 768, 192, 64, 256),
}


def add_metadata(writer, name, heads):
    latent = LATENTS[name]
    if latent.q_rank:
        writer.add_q_lora_rank(latent.q_rank)
    writer.add_kv_lora_rank(latent.rank)
    writer.add_rope_dimension_count(latent.rotated)
    if latent.is_joint:
        writer.add_head_count_kv(heads)
        writer.add_key_length(latent.head())
        writer.add_value_length(latent.value)
        return
    writer.add_head_count_kv(1)
    writer.add_key_length(latent.rank + latent.rotated)
    writer.add_value_length(latent.rank)
    writer.add_key_length_mla(latent.head())
    writer.add_value_length_mla(latent.value)


def add_yarn(writer, name):
    """llama.cpp's converter writes a tenth of mscale_all_dim."""
    latent = LATENTS[name]
    writer.add_rope_scaling_yarn_log_mul(0.1 * latent.growth)
    if latent.temperature:
        writer.add_attn_temperature_scale(latent.temperature)
        writer.add_attn_temperature_length(8)


def fitting(qtype, cols, sizes):
    """A type for rows of `cols`, as llama.cpp's tools take another where blocks do not fit."""
    return qtype if cols % sizes[qtype][0] == 0 else Q.Q8_0


def add_attention(tensors, prefix, name, width, heads, types, sizes):
    latent = LATENTS[name]
    q_width, of_input = latent.q_rank or width, width**-0.5
    if latent.q_rank:
        tensors.matrix(prefix + "attn_q_a.weight", latent.q_rank, width, next(types), of_input)
        tensors.vector(prefix + "attn_q_a_norm.weight", latent.q_rank, 1)
    tensors.matrix(prefix + ("attn_q_b.weight" if latent.q_rank else "attn_q.weight"), heads * latent.head(), q_width,
                   next(types), q_width**-0.5)
    tensors.matrix(prefix + "attn_kv_a_mqa.weight", latent.rank + latent.rotated, width, next(types), of_input)
    tensors.vector(prefix + "attn_kv_a_norm.weight", latent.rank, 1)
    add_products(tensors, prefix, latent, heads, next(types), sizes)
    tensors.matrix(prefix + "attn_output.weight", width, heads * latent.value, next(types), (heads * latent.value)**-0.5)


def add_products(tensors, prefix, latent, heads, qtype, sizes):
    rows, std = heads * (latent.plain + latent.value), latent.rank**-0.5
    if latent.is_joint:
        return tensors.matrix(prefix + "attn_kv_b.weight", rows, latent.rank, qtype, std)
    if qtype not in (Q.F32, Q.F16):
        keys = fitting(qtype, latent.plain, sizes)
        tensors.matrix(prefix + "attn_k_b.weight", latent.rank, latent.plain, keys, std, (heads,))
        return tensors.matrix(prefix + "attn_v_b.weight", latent.value, latent.rank, qtype, std, (heads,))
    joint = tensors.rng.standard_normal((rows, latent.rank), dtype=np.float32) * np.float32(std)
    joint = joint.astype(np.float32 if qtype == Q.F32 else np.float16).reshape(heads, -1, latent.rank)
    keys, values = joint[:, :latent.plain].swapaxes(1, 2), joint[:, latent.plain:]
    tensors.writer.add_tensor(prefix + "attn_k_b.weight", np.ascontiguousarray(keys))
    tensors.writer.add_tensor(prefix + "attn_v_b.weight", np.ascontiguousarray(values))
