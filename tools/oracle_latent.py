"""Multi-head latent attention for the oracle, as DeepseekV2Attention and DeepseekV3Attention of transformers write it:
keys and values of every head are made of the latent, and nothing is absorbed into queries or results.

Needs: numpy.
"""
import numpy as np

ARCHITECTURES = ("deepseek2", "mistral4", "minicpm3")


class Dims:
    """The dimensions of a model's heads. Files with products of heads in two tensors have keys of their own for them."""

    def __init__(self, model):
        self.rank, self.rotated = model.key("attention.kv_lora_rank"), model.key("rope.dimension_count")
        is_split = f"{model.arch}.attention.key_length_mla" in model.meta
        kind = "_mla" if is_split else ""
        self.head = model.key("attention.key_length" + kind)
        self.value = model.key("attention.value_length" + kind, model.width // model.heads)
        self.plain = self.head - self.rotated


def score_scale(model, dims):
    """yarn_apply_mscale: files have a tenth of mscale_all_dim."""
    scale = dims.head ** -0.5
    growth = model.key("rope.scaling.yarn_log_multiplier", 0.0)
    factor = model.key("rope.scaling.factor", 1.0)
    if model.key("rope.scaling.type", "none") == "yarn" and growth and factor > 1:
        scale *= (0.1 * (10 * growth) * np.log(factor) + 1) ** 2
    return scale


def products(model, p, dims):
    """[heads, plain, rank] and [heads, value, rank]"""
    w = model.weights
    if p + "attn_kv_b.weight" in w:
        both = w[p + "attn_kv_b.weight"].reshape(model.heads, -1, dims.rank)
        return both[:, :dims.plain], both[:, dims.plain:]
    return w[p + "attn_k_b.weight"].swapaxes(1, 2), w[p + "attn_v_b.weight"]


def attention(model, h, layer):
    """h: normed rows [tokens, width] -> [tokens, width]."""
    w, p, n, dims = model.weights, f"blk.{layer}.", len(h), Dims(model)
    positions = np.arange(n)
    if p + "attn_q.weight" in w:
        q = h @ w[p + "attn_q.weight"].T
    else:
        q = model.norm(h @ w[p + "attn_q_a.weight"].T, p + "attn_q_a_norm.weight") @ w[p + "attn_q_b.weight"].T
    q = q.reshape(n, model.heads, dims.head).transpose(1, 0, 2)
    latent, shared = np.split(h @ w[p + "attn_kv_a_mqa.weight"].T, [dims.rank], axis=1)
    latent = model.norm(latent, p + "attn_kv_a_norm.weight")
    keys, values = (latent @ product.swapaxes(1, 2) for product in products(model, p, dims))  # [heads, tokens, ..]
    shared = model.rotate(shared[None], positions, dims.rotated, model.rope_base, False)
    q = np.concatenate([q[..., :dims.plain], model.rotate(q[..., dims.plain:], positions, dims.rotated,
                                                          model.rope_base, False)], -1)
    k = np.concatenate([keys, np.broadcast_to(shared, (model.heads, n, dims.rotated))], -1)
    scale = np.full((n, 1), score_scale(model, dims))
    slope = model.key("attention.temperature_scale", 0.0)
    if slope:  # get_llama_4_attn_scale
        scale *= 1 + slope * np.log(1 + positions[:, None] // model.key("attention.temperature_length"))
    scores = (q * scale.astype(np.float32)) @ k.swapaxes(1, 2)
    scores = np.where(positions[None, :] > positions[:, None], np.float32(-np.inf), scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    out = weights / weights.sum(-1, keepdims=True) @ values
    return out.transpose(1, 0, 2).reshape(n, -1) @ w[p + "attn_output.weight"].T
