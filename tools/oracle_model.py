"""The arithmetic of the oracle (oracle.py): dequantized weights, and the layers of all architectures but gemma4, whose
own stand in oracle_gemma4.py. Needs: numpy, gguf.
"""
import functools
import math

import gguf
import numpy as np
from gguf.quants import dequantize

import oracle_latent
from gguf_file import GgufFile

ARCHITECTURES = ("llama", "mistral3", "deci", "qwen2", "qwen3", "qwen3moe", "qwen35", "qwen35moe", "gemma2", "gemma3",
                 "gemma4", "gemma4-assistant", "gpt-oss", "seed_oss", "ernie4_5", "hunyuan-dense", "olmo2", "exaone4",
                 "command-r", "cohere2", "glm4", "granite", "granitemoe", "smollm3", "minicpm", "arcee", "qwen2vl",
                 "muse-glimmer", "phi3", "starcoder2", "stablelm", "apertus", "qwen3next", "glm4moe", "mellum",
                 "ernie4_5-moe", "hy_v3", "llama4", "step35", "lfm2", "lfm2moe",
                 "lfm3", "nanbeige", "laguna", "spark2_5", "cohere2moe", "bailingmoe2",
                 "granitehybrid", "nemotron_h", "nemotron_h_moe", "falcon-h1", *oracle_latent.ARCHITECTURES)
SHORT_CONVS = ("lfm2", "lfm2moe", "lfm3")
NEMOTRONS = ("nemotron_h", "nemotron_h_moe")  # of whose layers each has one part
MAMBAS = ("granitehybrid", *NEMOTRONS)  # whose layers without KV heads are Mamba-2
HYBRIDS = ("qwen35", "qwen35moe", "qwen3next")
# Where the file does not say.
SIGMOID_ROUTERS = ("glm4moe", "hy_v3", "lfm2moe", "llama4", "step35", "laguna", "cohere2moe", "nemotron_h_moe")
# Weights of experts; those of others always.
NORMED_BY_KEY = ("glm4moe", "hy_v3", "llama4", "step35", "laguna", "cohere2moe", "bailingmoe2", "nemotron_h_moe",
                 "deepseek2", "mistral4")
SCALED = ("granite", "granitemoe", "granitehybrid", "minicpm")  # whose files divide logits by a number, and multiply other rows
# Whose files pair neighbouring dimensions for RoPE.
NEIGHBOURS = ("llama", "mistral3", "deci", "ernie4_5", "ernie4_5-moe", "command-r", "cohere2", "glm4", "smollm3", "arcee",
              "muse-glimmer", "nanbeige", "llama4", "cohere2moe", "deepseek2", "mistral4", *SCALED)
UNROTATED_EVERY = {"smollm3": 4}  # layers 3, 7, ... have no RoPE (no_rope_layers of SmolLM3Config)
# Whose feed-forwards have no factors in llama.cpp.
UNFACTORED = ("qwen2", "qwen2vl", "gemma2", "gemma3", "gpt-oss", "smollm3", "arcee", "muse-glimmer", "starcoder2", "stablelm",
              "apertus", "deci", "qwen3vl", "qwen3vlmoe", "command-r", "exaone4", "glm4", "phi3", "seed_oss", "olmo2",
              "hunyuan-dense", "ernie4_5", "ernie4_5-moe", "glm4moe", "llama4", "step35", "laguna", "spark2_5",
              "bailingmoe2", "falcon-h1", *oracle_latent.ARCHITECTURES, *SHORT_CONVS, *SCALED)
GEMMA2_27B_LAYERS = 46  # whose query_pre_attn_scalar is the width over the heads, not the head's dimensions
GEMMA3_LOCAL_ROPE_BASE = 10000.0
# Layers 5, 11, ... of gemma3 see all, the others a window.
GLOBAL_EVERY = {"gemma2": 2, "gemma3": 6, "gpt-oss": 2, "olmo2": 4, "exaone4": 4, "cohere2": 4,
                "muse-glimmer": 4, "mellum": 4, "llama4": 4, "step35": 4, "laguna": 4, "spark2_5": 4, "cohere2moe": 4,
                "lfm2": 0, "lfm2moe": 0, "lfm3": 0}  # of these none sees all where there is a window
FIRST_IS_GLOBAL = ("laguna", "cohere2moe")  # of each four layers; of others the last
PLAIN_WINDOWS = ("olmo2", "mellum", "laguna")  # whose windowed layers' positions are not stretched
UNROTATED_GLOBALS = ("exaone4", "cohere2", "muse-glimmer", "llama4")  # whose layers that see all know no positions
NORMS_RESULTS = ("gemma2", "gemma3", "glm4", "olmo2", "exaone4", "muse-glimmer", "lfm3")  # of the parts, before they are added
POST_ATTENTION_IS_FFN = (*HYBRIDS, "gpt-oss", "seed_oss", "glm4moe")  # post_attention_norm is of the feed-forward's input
COHERES = ("command-r", "cohere2", "cohere2moe")  # LayerNorm, and a feed-forward that reads what attention reads
LAYER_NORMS = (*COHERES, "starcoder2", "stablelm")
GATE_IN_UP = ("glm4", "phi3")
QKV_IN_ONE = ("phi3", "bailingmoe2", "spark2_5")
GATED_RESULTS = ("muse-glimmer", "laguna", "spark2_5", "step35", "lfm3")  # a gate with a matrix of its own behind attention
GLIMMER_POST_EPSILON = 1e-8  # post_norm_eps of MuseGlimmerTextConfig
SWIGLU_SLOPE, SWIGLU_LIMIT = 1.702, 7.0  # alpha and limit of GptOssExperts


def dequantize_tensor(tensor):
    """float32 weights of one tensor, in numpy's order of dimensions (the row is last)."""
    shape = [int(n) for n in reversed(tensor.shape)]
    if tensor.tensor_type.name == "Q1_0":
        # 128 weights in 18 bytes: an f16 scale, then 128 sign bits, least significant first, 1 is +scale.
        blocks = tensor.data.reshape(-1, 18)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        bits = np.unpackbits(blocks[:, 2:], axis=1, bitorder="little").astype(np.float32)
        return (scale * (2 * bits - 1)).reshape(shape)
    if tensor.tensor_type.name == "Q2_0":
        # 64 weights in 18 bytes: an f16 scale, then 64 pairs of bits, least significant first, of value + 1.
        blocks = tensor.data.reshape(-1, 18)
        scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
        values = (blocks[:, 2:, None] >> np.array([0, 2, 4, 6], np.uint8) & 3).reshape(-1, 64).astype(np.float32) - 1
        return (scale * values).reshape(shape)
    return dequantize(tensor.data, tensor.tensor_type).reshape(shape).astype(np.float32)


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def log_softmax(x):
    """Log-probabilities of float64 [.., vocab_size] logits."""
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def silu(x):
    with np.errstate(over="ignore"):  # exp(-x) = inf gives the right limit, 0
        return x / (1 + np.exp(-x))


def sigmoid(x):
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def gelu(x):
    erf = np.vectorize(math.erf, otypes=[np.float32])
    return (0.5 * x * (1 + erf(x / np.float32(math.sqrt(2))))).astype(np.float32)


def soft_cap(x, cap):
    return np.float32(cap) * np.tanh(x / np.float32(cap)) if cap else x


def logits_of(hidden, output_matrix, cap=0, bias=0):
    """float32 [rows, vocab_size] of rows that meet the output matrix. `cap`: the model's final_logit_softcapping."""
    return soft_cap(hidden @ output_matrix.T + bias, cap)


class Model:
    """One model with all its weights as float32: four times the size of an 8-bit file in memory."""

    def __init__(self, path):
        reader = GgufFile(path)
        self.meta = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("tokenizer.ggml.")}
        self.arch = self.meta["general.architecture"]
        if self.arch not in ARCHITECTURES:
            raise ValueError(f"{path}: no oracle for architecture {self.arch}; there is one for {ARCHITECTURES}")
        self.gemma = self.arch in ("gemma2", "gemma3")
        self.weights = {t.name: dequantize_tensor(t) for t in reader.tensors}
        self.scaled = {t.name.removesuffix("weight") + "scale" for t in reader.tensors
                       if t.tensor_type.name == "NVFP4" or self.may_be_scaled(t.name)}
        for name, factor in self.weights.items():  # of a whole matrix, of experts one each
            if name in self.scaled:
                weights = self.weights[name.removesuffix("scale") + "weight"]
                weights *= factor.reshape(-1, *(1,) * (weights.ndim - 1))
                bias = self.weights.get(name.removesuffix("scale") + "bias")
                if bias is not None and name.split(".")[-2] in ("ffn_gate", "ffn_up", "ffn_down"):
                    bias *= factor  # llama.cpp adds these before it multiplies
        for name in [name for name in self.weights if name.endswith("ffn_gate_up_exps.weight") and self.arch != "gemma4"]:
            for half, part in zip(("gate", "up"), np.split(self.weights[name], 2, axis=1), strict=True):
                self.weights[name.replace("gate_up", half)] = part
        if self.arch in GATE_IN_UP:
            for name in [name for name in self.weights if name.endswith("ffn_up.weight")]:
                gate, self.weights[name] = np.split(self.weights[name], 2)
                self.weights[name.replace("ffn_up", "ffn_gate")] = gate
        self.layers = self.key("block_count")
        if self.arch != "gemma4-assistant":  # of which all layers are there for predictions
            self.layers -= self.key("nextn_predict_layers", 0)
        self.width = self.key("embedding_length")
        self.heads = int(np.max(self.key("attention.head_count")))  # of the layers that attend
        self.head_dim = self.key("attention.key_length", self.width // self.heads)
        self.value_dim = self.key("attention.value_length", self.head_dim)
        # Cohere2MoeDecoderLayer: RMSNorm where there is an epsilon of it.
        self.is_layer_norm = self.arch in LAYER_NORMS and not (
            self.arch == "cohere2moe" and "cohere2moe.attention.layer_norm_rms_epsilon" in self.meta)
        of_layer_norm = self.key("attention.layer_norm_epsilon", 0)  # which early files of Nemotron-H alone have
        self.eps = of_layer_norm if self.is_layer_norm else self.key("attention.layer_norm_rms_epsilon",
                                                                     of_layer_norm or None)
        self.eps_of_results = GLIMMER_POST_EPSILON if self.arch == "muse-glimmer" else self.eps
        self.split_qkv()
        self.split_by_key_head()
        self.rope_base = self.key("rope.freq_base", 10000.0)
        self.window = self.key("attention.sliding_window", 0) if self.arch in GLOBAL_EVERY else 0
        if self.arch == "llama4":  # attention_chunk_size of Llama4TextConfig
            self.window = self.key("attention.chunk_size", 8192)
        self.score_cap = self.key("attn_logit_softcapping", 0)
        self.logit_cap = self.key("final_logit_softcapping", 0)
        # Llama 3's scaling, if the file has it, or that of LongRoPE for the model's whole context.
        self.rope_factors = self.weights.get("rope_freqs.weight", self.weights.get(f"rope_factors_{self.context_kind()}.weight"))
        self.residual_scale, self.embedding_scale, self.logit_scale = self.scales()
        self.choices = []  # of experts, by the layers in which rows chose: [rows, chosen]

    def split_qkv(self):
        """Phi3Attention: the rows of Q, of K and of V lie in one matrix."""
        if self.arch not in QKV_IN_ONE:
            return
        ends = np.cumsum([self.heads * self.head_dim, self.key("attention.head_count_kv") * self.head_dim])
        for name in [name for name in self.weights if name.endswith("attn_qkv.weight")]:
            for part, rows in zip("qkv", np.split(self.weights[name], ends), strict=True):
                self.weights[name.replace("qkv", part)] = rows

    def split_by_key_head(self):
        """fix_query_key_value_ordering of Qwen3NextGatedDeltaNet: each key head has its rows of Q and K, then those of V
        and of the gate of its value heads."""
        for name in [name for name in self.weights if self.arch == "qwen3next" and name.endswith("ssm_in.weight")]:
            key_heads, key_dim = self.key("ssm.group_count"), self.key("ssm.state_size")
            rows = self.weights[name].reshape(key_heads, -1, self.width)
            values = self.key("ssm.inner_size") // key_heads
            parts = np.split(rows, np.cumsum([key_dim, key_dim, values]), axis=1)
            q, k, v, gate = (part.reshape(-1, self.width) for part in parts)
            self.weights[name.replace("ssm_in", "attn_qkv")] = np.concatenate([q, k, v])
            self.weights[name.replace("ssm_in", "attn_gate")] = gate

    def context_kind(self):
        context = self.key("context_length")
        return "long" if context > self.key("rope.scaling.original_context_length", context) else "short"

    def may_be_scaled(self, name):
        """Whether a number beside a matrix that is not in NVFP4 multiplies its products. gemma4's routers and experts have
        others of that name; where llama.cpp's graph has none of the feed-forward, or of recurrent layers, they are numbers
        that nothing reads."""
        if not name.startswith("blk.") or self.arch == "gemma4":
            return False
        if self.arch in GATED_RESULTS and ".attn_gate." in name:
            return False
        if self.arch in oracle_latent.ARCHITECTURES and ".attn_output." not in name:
            return False
        if self.arch == "qwen3next" and name.split(".")[2] in ("attn_qkv", "attn_gate", "ssm_ba", "ssm_out"):
            return False
        return ".ffn_" not in name or self.arch not in UNFACTORED

    def key(self, name, default=None):
        value = self.meta.get(f"{self.arch}.{name}", default)
        if value is None:
            raise ValueError(f"metadata lacks {self.arch}.{name}")
        return value

    def scales(self):
        """What results, embeddings and logits are multiplied by: residual_multiplier and embedding_multiplier of
        Granite, whose logits_scaling divides; scale_depth, scale_emb and dim_model_base of MiniCPM, with their
        defaults; logit_scale of Cohere multiplies."""
        if self.arch == "minicpm3":  # constants of its config.json
            return 1.4 / self.layers ** 0.5, 12.0, 256 / self.width
        if self.arch not in SCALED:
            multiplies = self.arch in (*COHERES, "muse-glimmer")
            return 1, float(np.sqrt(self.width)) if self.gemma else 1, self.key("logit_scale") if multiplies else 1
        first = (1.4 / self.layers ** 0.5, 12.0, self.width / 256) if self.arch == "minicpm" else (1, 1, 1)
        residual, embedding, logits = (self.key(f"{name}_scale", value) for name, value in
                                       zip(("residual", "embedding", "logit"), first, strict=True))
        return residual, embedding, 1 / logits

    def is_rotated(self, layer):
        if self.arch == "cohere2moe":  # Cohere2MoeAttention: windowed layers, and the dense ones in front
            return self.is_local(layer) or layer < self.key("leading_dense_block_count", 0)
        if self.arch in NEMOTRONS:
            return False
        if self.arch.startswith("granite"):
            return self.key("rope.scaling.finetuned", True)
        return (layer + 1) % UNROTATED_EVERY.get(self.arch, layer + 2) != 0

    def of_layer(self, name, layer, default=None):
        """A number that all layers have alike, or each its own."""
        value = self.key(name, default)
        return value[layer] if isinstance(value, list) else value

    def norm(self, x, name, eps=None):
        """RMSNorm, or for rows of the stream LayerNorm; the row itself where the file has no such norm."""
        if name not in self.weights:
            return x
        if self.is_layer_norm:
            x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + (eps or self.eps)) * self.norm_weights(name)
        return x + self.weights.get(name.removesuffix("weight") + "bias", 0)

    def norm_weights(self, name):
        """Of one norm, or of one for each head."""
        weights = self.weights[name]
        return weights if weights.ndim == 1 else weights[:, None, :]

    def rope(self, x, positions, local):
        """x: [heads, tokens, head_dim]. llama files pair neighbours, the others pair the two halves."""
        if self.window and not local and self.arch in UNROTATED_GLOBALS:
            return x
        rotated = self.key("rope.dimension_count", self.head_dim)
        if self.arch in ("laguna", "spark2_5") and local and self.window:  # of these Laguna's alone are not stretched
            return self.rotate(x, positions, self.key("rope.dimension_count_swa"), self.key("rope.freq_base_swa"),
                               self.arch in PLAIN_WINDOWS)
        if self.arch in PLAIN_WINDOWS:
            local = local and self.window > 0
            return self.rotate(x, positions, rotated, self.rope_base, local)
        if self.arch == "lfm3":  # the divisors are those of layers that see all
            return self.rotate(x, positions, rotated, self.key("rope.freq_base_swa") if local else self.rope_base, local)
        if self.arch == "step35":  # partial_rotary_factors
            base = self.key("rope.freq_base_swa") if local else self.rope_base
            return self.rotate(x, positions, rotated if local else rotated // 2, base, local)
        local = local and self.arch == "gemma3"
        base = GEMMA3_LOCAL_ROPE_BASE if local else self.rope_base
        return self.rotate(x, positions, rotated, base, local)

    def rotate(self, x, positions, rotated, base, is_plain):
        """`is_plain`: the context is not stretched."""
        freq = base ** (-2 * np.arange(rotated // 2) / rotated)
        if self.rope_factors is not None and not (is_plain and self.arch in ("lfm3", "step35")):
            freq = freq / self.rope_factors[:len(freq)]
        freq, magnitude = (freq, 1) if is_plain else self.scale_rope(freq, base)
        magnitude = magnitude * self.key("rope.scaling.attn_factor", 1.0)
        c, s = (magnitude * f(positions[:, None] * freq) for f in (np.cos, np.sin))
        x, rest = x[..., :rotated], x[..., rotated:]
        if self.arch in NEIGHBOURS:
            a, b = x[..., 0::2], x[..., 1::2]
            x = np.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)
        else:
            a, b = x[..., :rotated // 2], x[..., rotated // 2:]
            x = np.concatenate([a * c - b * s, a * s + b * c], -1)
        return np.concatenate([x, rest], -1).astype(np.float32)

    def scale_rope(self, freq, base):
        """Frequencies of a stretched context, and what cosines and sines are multiplied by. YaRN: arXiv 2309.00071, 3."""
        kind = self.key("rope.scaling.type", "linear")
        factor = self.key("rope.scaling.factor", 1.0) or 1.0
        if kind == "none":
            return freq, 1
        if kind in ("linear", "longrope"):
            return freq / factor, 1
        assert kind == "yarn", kind
        turns = self.key("rope.scaling.original_context_length", self.key("context_length")) / (2 * np.pi)
        pairs = len(freq) * np.log(turns / np.array([32, 1])) / np.log(base)  # those that turn 32 times, and once
        if self.arch != "gpt-oss":  # whose rope_scaling has "truncate": false
            pairs = np.floor(pairs[0]), np.ceil(pairs[1])
        low, high = max(pairs[0], 0), min(pairs[1], 2 * len(freq) - 1)
        slowed = np.clip((np.arange(len(freq)) - low) / max(high - low, 0.001), 0, 1)
        # The growth of scores; all of it may be a part of the model already (mscale_all_dim of transformers).
        magnitude = 0.1 * np.log(factor) + 1
        if self.arch in oracle_latent.ARCHITECTURES:  # mscale and mscale_all_dim are equal
            return freq / factor * slowed + freq * (1 - slowed), 1
        magnitude /= 0.1 * self.key("rope.scaling.yarn_log_multiplier", 0.0) * np.log(factor) + 1
        return freq / factor * slowed + freq * (1 - slowed), magnitude

    def score_scale(self, positions, local):
        """What each query's scores are multiplied by, [tokens, 1]."""
        if self.arch == "llama4":  # Llama4TextAttention: attn_scale and floor_scale of the layers that see all
            slope, floor = self.key("attention.temperature_scale", 0.1), self.key("attention.temperature_length", 8192)
            grown = 1 + (0 if local else slope) * np.log1p((positions + 1) // floor)
            return (grown[:, None] * self.head_dim ** -0.5).astype(np.float32)
        scalar = self.head_dim  # query_pre_attn_scalar
        if self.arch == "gemma2" and self.layers == GEMMA2_27B_LAYERS:
            scalar = self.width // self.heads
        scale = np.full((len(positions), 1), scalar ** -0.5)
        if self.arch in SCALED:  # attention_multiplier of Granite
            scale[:] = self.key("attention.scale", scalar ** -0.5)
        slope = self.key("attention.temperature_scale", 0.0)
        if slope:  # Ministral 3: 1 + beta log(1 + floor(position / original_max_position_embeddings))
            scale *= 1 + slope * np.log(1 + positions[:, None] // self.key("rope.scaling.original_context_length"))
        return scale.astype(np.float32)

    def is_local(self, layer):
        """Whether a layer has a window: of a number n each n-th has none, else there is a flag for each."""
        pattern = self.key("attention.sliding_window_pattern", GLOBAL_EVERY.get(self.arch, 1))
        if self.arch not in GLOBAL_EVERY:
            return False
        place = layer if self.arch in FIRST_IS_GLOBAL else layer + 1
        return bool(pattern[layer]) if isinstance(pattern, list) else pattern == 0 or place % pattern != 0

    def attention(self, h, layer):
        """h: normed rows [tokens, width] -> [tokens, width]."""
        w, p, n = self.weights, f"blk.{layer}.", len(h)
        heads = self.of_layer("attention.head_count", layer)
        kv_heads = self.of_layer("attention.head_count_kv", layer, heads)
        q, k, v = (h @ w[p + f"attn_{c}.weight"].T + w.get(p + f"attn_{c}.bias", 0) for c in "qkv")
        if self.arch == "olmo2":  # over all heads at once
            q, k = self.norm(q, p + "attn_q_norm.weight"), self.norm(k, p + "attn_k_norm.weight")
        gate = None
        if self.arch in HYBRIDS:  # each head's q, then its gate
            q, gate = np.split(q.reshape(n, heads, 2 * self.head_dim), 2, axis=-1)
            gate = gate.transpose(1, 0, 2)
        q = q.reshape(n, heads, self.head_dim).transpose(1, 0, 2)
        k, v = (x.reshape(n, kv_heads, dim).transpose(1, 0, 2) for x, dim in ((k, self.head_dim), (v, self.value_dim)))
        local = self.is_local(layer)
        positions = np.arange(n)
        if self.arch == "hunyuan-dense":  # norms behind the rotation
            q, k = self.rope(q, positions, local), self.rope(k, positions, local)
        if self.arch != "olmo2":
            q, k = self.norm(q, p + "attn_q_norm.weight"), self.norm(k, p + "attn_k_norm.weight")
        if self.arch != "hunyuan-dense" and self.is_rotated(layer):
            q, k = self.rope(q, positions, local), self.rope(k, positions, local)
        if self.arch == "llama4" and local and self.key("use_qk_norm", self.key("expert_count") != 128):
            q, k = (x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) for x in (q, k))  # Llama4TextL2Norm
        k, v = np.repeat(k, heads // kv_heads, 0), np.repeat(v, heads // kv_heads, 0)
        scores = soft_cap((q * self.score_scale(positions, local)) @ k.transpose(0, 2, 1), self.score_cap)
        hidden = positions[None, :] > positions[:, None]
        if local and self.arch == "llama4":  # of other chunks
            hidden |= positions[:, None] // self.window != positions[None, :] // self.window
        elif local and self.window:
            hidden |= positions[:, None] - positions[None, :] >= self.window
        scores = np.where(hidden, np.float32(-np.inf), scores)
        if p + "attn_sinks.weight" in w:  # a logit more for each head, without a value
            sinks = np.broadcast_to(w[p + "attn_sinks.weight"][:, None, None], (heads, n, 1))
            out = softmax(np.concatenate([scores, sinks], -1))[..., :-1] @ v
        else:
            out = softmax(scores) @ v
        if gate is not None:
            out = out * sigmoid(gate)
        out = out.transpose(1, 0, 2).reshape(n, -1)
        if self.arch in GATED_RESULTS:  # a number for each head, as Lfm3Attention, or for each element
            gate = h @ w[p + "attn_gate.weight"].T
            gate = np.logaddexp(0, gate) if self.arch == "laguna" else sigmoid(gate)  # LagunaAttention: softplus
            out = out * np.repeat(gate, out.shape[1] // gate.shape[1], 1)
        return out @ w[p + "attn_output.weight"].T + w.get(p + "attn_output.bias", 0)

    def is_recurrent(self, layer):
        if self.arch not in HYBRIDS:
            return False
        every = self.key("full_attention_interval", 4)
        flags = self.key("attention.recurrent_layers", [(i + 1) % every != 0 for i in range(layer + 1)])
        return bool(flags[layer])

    def delta_net(self, h, layer):
        """A gated delta net (arXiv 2412.06464, section 3) behind a causal convolution: h [tokens, width] -> the same.

        The order of heads is the file's: value head i reads with key head i % key heads; in Qwen3-Next's, as in
        Qwen3NextGatedDeltaNet of transformers, the value heads of a key head lie together.
        """
        w, p, n = self.weights, f"blk.{layer}.", len(h)
        key_heads, value_heads = self.key("ssm.group_count"), self.key("ssm.time_step_rank")
        key_dim, value_dim = self.key("ssm.state_size"), self.key("ssm.inner_size") // value_heads
        taps = w[p + "ssm_conv1d.weight"]  # [channels, taps]
        num_taps = taps.shape[1]
        x = np.concatenate([np.zeros((num_taps - 1, len(taps)), np.float32), h @ w[p + "attn_qkv.weight"].T])
        x = silu(sum(x[j:j + n] * taps[:, j] for j in range(num_taps)))
        q, k, v = np.split(x, [key_heads * key_dim, 2 * key_heads * key_dim], axis=1)
        q, k = (a.reshape(n, key_heads, key_dim) for a in (q, k))
        q, k = (a / np.sqrt((a * a).sum(-1, keepdims=True) + 1e-6) for a in (q, k))
        is_next, share = self.arch == "qwen3next", value_heads // key_heads
        order = np.arange(value_heads) // share if is_next else np.arange(value_heads) % key_heads
        q, k, v = q[:, order] / np.sqrt(np.float32(key_dim)), k[:, order], v.reshape(n, value_heads, value_dim)
        if is_next:  # of each key head the betas, then the alphas
            both = (h @ w[p + "ssm_ba.weight"].T).reshape(n, key_heads, 2, share)
            beta, alpha = (both[:, :, i].reshape(n, value_heads) for i in range(2))
        else:
            beta, alpha = (h @ w[p + f"ssm_{name}.weight"].T for name in ("beta", "alpha"))
        beta = sigmoid(beta)
        step = np.logaddexp(0, alpha + w[p + "ssm_dt.bias"])
        decay = np.exp(w[p + "ssm_a"] * step)
        state = np.zeros((value_heads, key_dim, value_dim), np.float32)
        out = np.empty((n, value_heads, value_dim), np.float32)
        for t in range(n):
            state = state * decay[t][:, None, None]
            change = (v[t] - np.einsum("hkv,hk->hv", state, k[t])) * beta[t][:, None]
            state = state + k[t][:, :, None] * change[:, None, :]
            out[t] = np.einsum("hkv,hk->hv", state, q[t])
        out = self.norm(out, p + "ssm_norm.weight").reshape(n, -1) * silu(h @ w[p + "attn_gate.weight"].T)
        return out @ w[p + "ssm_out.weight"].T

    def short_conv(self, h, layer):
        """Lfm2ShortConv of transformers: a causal convolution of each channel between two gates, h [tokens, width] -> the
        same. The last tap is that of the token itself."""
        w, p, n = self.weights, f"blk.{layer}.", len(h)
        b, c, x = np.split(h @ w[p + "shortconv.in_proj.weight"].T, 3, axis=1)
        taps = w[p + "shortconv.conv.weight"]  # [channels, taps]
        num_taps = taps.shape[1]
        x = np.concatenate([np.zeros((num_taps - 1, len(taps)), np.float32), b * x])
        return (c * sum(x[j:j + n] * taps[:, j] for j in range(num_taps))) @ w[p + "shortconv.out_proj.weight"].T

    def mamba2(self, h, layer):
        """Mamba-2 (arXiv 2405.21060, listing 1, as a recurrence) behind a causal convolution: h [tokens, width] -> the
        same. Head i reads the B and C of group i div (heads / groups); the gate comes before the norm of each group."""
        w, p, n = self.weights, f"blk.{layer}.", len(h)
        heads, groups, size = (self.key(f"ssm.{name}") for name in ("time_step_rank", "group_count", "state_size"))
        inner = self.key("ssm.inner_size")
        rows = h @ w[p + "ssm_in.weight"].T
        z, x, dt = np.split(rows, [inner, rows.shape[1] - heads], axis=1)
        taps = w[p + "ssm_conv1d.weight"]  # [channels, taps]
        num_taps = taps.shape[1]
        x = np.concatenate([np.zeros((num_taps - 1, len(taps)), np.float32), x])
        x = silu(sum(x[j:j + n] * taps[:, j] for j in range(num_taps)) + w.get(p + "ssm_conv1d.bias", 0))
        x, b, c = np.split(x, [inner, inner + groups * size], axis=1)
        x, skip = x.reshape(n, heads, inner // heads), w[p + "ssm_d"].reshape(heads, 1)
        b, c = (np.repeat(a.reshape(n, groups, size), heads // groups, axis=1) for a in (b, c))
        dt = np.logaddexp(0, dt + w[p + "ssm_dt.bias"])
        decay = np.exp(dt * w[p + "ssm_a"].reshape(heads))
        state, y = np.zeros((heads, inner // heads, size), np.float32), np.empty_like(x)
        for t in range(n):
            state = state * decay[t][:, None, None] + (dt[t][:, None] * x[t])[:, :, None] * b[t][:, None, :]
            y[t] = np.einsum("hpn,hn->hp", state, c[t]) + skip * x[t]
        y = (y.reshape(n, inner) * silu(z)).reshape(n, groups, -1).transpose(1, 0, 2)
        y = self.norm(y, p + "ssm_norm.weight").transpose(1, 0, 2).reshape(n, inner)
        return y @ w[p + "ssm_out.weight"].T

    def mixer(self, layer):
        """The function that mixes the rows of a layer."""
        if self.arch in MAMBAS and not self.of_layer("attention.head_count_kv", layer):
            return self.mamba2
        if self.arch in SHORT_CONVS and not self.of_layer("attention.head_count_kv", layer):
            return self.short_conv
        if self.arch in oracle_latent.ARCHITECTURES:
            return functools.partial(oracle_latent.attention, self)
        return self.delta_net if self.is_recurrent(layer) else self.attention

    def feed_forward(self, h, layer):
        w, p = self.weights, f"blk.{layer}."
        if p + "ffn_gate_inp.weight" in w:
            result = self.mixture(h, p) + self.shared_expert(h, p)
            is_mean = self.arch == "cohere2moe" and p + "ffn_gate_shexp.weight" in w  # Cohere2MoeSparseMoeBlock: average
            return result / 2 if is_mean else result
        if self.arch in ("arcee", *NEMOTRONS):  # ArceeMLP and NemotronHMLP of transformers
            up = h @ w[p + "ffn_up.weight"].T + w.get(p + "ffn_up.bias", 0)
            return np.maximum(up, 0)**2 @ w[p + "ffn_down.weight"].T + w.get(p + "ffn_down.bias", 0)
        if self.arch == "starcoder2":
            up = gelu_tanh(h @ w[p + "ffn_up.weight"].T + w[p + "ffn_up.bias"])
            return up @ w[p + "ffn_down.weight"].T + w[p + "ffn_down.bias"]
        if self.arch == "apertus":
            return self.xielu(h @ w[p + "ffn_up.weight"].T, layer) @ w[p + "ffn_down.weight"].T
        gate, up = (h @ w[p + f"ffn_{name}.weight"].T + w.get(p + f"ffn_{name}.bias", 0) for name in ("gate", "up"))
        if self.arch == "step35":
            return self.limited(silu(gate), up, layer, "shexp") @ w[p + "ffn_down.weight"].T
        gated = (gelu_tanh if self.gemma else gelu if self.arch == "spark2_5" else silu)(gate) * up
        return gated @ w[p + "ffn_down.weight"].T + w.get(p + "ffn_down.bias", 0)

    def limited(self, gate, up, layer, kind):
        """Step3p7MLP and Step3p7Experts of transformers: swiglu_limits_shared ("shexp") and swiglu_limits ("exp")."""
        limit = self.of_layer(f"swiglu_clamp_{kind}", layer, 0) or np.inf
        return np.minimum(gate, limit) * np.clip(up, -limit, limit)

    def xielu(self, x, layer):
        """XIELUActivation of transformers (arXiv 2411.13010)."""
        numbers = (self.meta[f"xielu.{name}"] for name in ("alpha_p", "alpha_n", "beta", "eps"))
        alpha_p, alpha_n, beta, eps = (n[layer] if isinstance(n, list) else n for n in numbers)
        curve = (beta + np.logaddexp(0, alpha_n)) * (np.expm1(np.minimum(x, eps)) - x)
        return np.where(x > 0, np.logaddexp(0, alpha_p) * x * x, curve).astype(np.float32) + np.float32(beta) * x

    def mixture(self, h, p):
        """As Qwen3MoeSparseMoeBlock and MixtralSparseMoeBlock of transformers: a softmax of all scores, the largest
        probabilities divided by their sum (norm_topk_prob), each times its expert's result. GptOssTopKRouter: a softmax
        of the largest scores. Glm4MoeTopkRouter: sigmoids; a bias counts for the choice alone."""
        w = self.weights
        scores = h @ w[p + "ffn_gate_inp.weight"].T + w.get(p + "ffn_gate_inp.bias", 0)
        gate = self.key("expert_gating_func", 0) or (2 if self.arch in SIGMOID_ROUTERS else 1)
        shares = sigmoid(scores) if gate == 2 else softmax(scores)
        bias = w.get(p + "exp_probs_b.bias", w.get(p + "exp_probs_b"))
        chosen = self.choose(scores if bias is None else self.within_groups(shares + bias))
        if self.arch == "gpt-oss":
            weights = softmax(np.take_along_axis(scores, chosen, -1))
        else:
            weights = np.take_along_axis(shares, chosen, -1)
            if self.arch not in NORMED_BY_KEY or self.key("expert_weights_norm", False):
                weights = weights / weights.sum(-1, keepdims=True)
            weights = weights * (self.key("expert_weights_scale", 0) or 1)
        latent_down, latent_up = (self.weights.get(p + f"ffn_latent_{name}.weight") for name in ("down", "up"))
        if latent_down is not None:  # NemotronHMoE: fc1_latent_proj and fc2_latent_proj around the experts
            h = h @ latent_down.T
        out = np.zeros_like(h)
        for row, rank in np.ndindex(*chosen.shape):
            weight, number = weights[row, rank], chosen[row, rank]
            if self.arch == "llama4":  # Llama4TextMoe: of what the expert reads
                out[row] += self.expert(weight * h[row], p, number)
            else:
                out[row] += weight * self.expert(h[row], p, number)
        return out if latent_up is None else out @ latent_up.T

    def within_groups(self, worths):
        """DeepseekV3TopkRouter: of the best groups alone, each as good as its two best experts together."""
        count, used = (self.key(f"expert_group{name}_count", 0) or 1 for name in ("", "_used"))  # 0 is none
        groups = worths.reshape(len(worths), count, -1)
        best = np.argsort(-np.sort(groups, -1)[..., -2:].sum(-1), -1, kind="stable")[:, :used]
        is_used = (np.arange(count) == best[..., None]).any(1)
        return np.where(is_used[..., None], groups, -np.inf).reshape(worths.shape)

    def choose(self, scores):
        """The experts of each row, the highest score first, of equal ones the lower index."""
        self.choices.append(np.argsort(-scores, -1, kind="stable")[:, : self.key("expert_used_count")])
        return self.choices[-1]

    def expert(self, x, p, number):
        """An expert's result for one row."""
        def product(y, name):
            bias = self.weights.get(p + f"ffn_{name}_exps.bias")
            y = y @ self.weights[p + f"ffn_{name}_exps.weight"][number].T
            return y if bias is None else y + bias[number]

        if self.arch in NEMOTRONS:  # NemotronHExperts
            return product(np.maximum(product(x, "up"), 0)**2, "down")
        gate, up = product(x, "gate"), product(x, "up")
        if self.arch == "gpt-oss":  # _apply_gate of GptOssExperts
            gate, up = np.minimum(gate, SWIGLU_LIMIT), np.clip(up, -SWIGLU_LIMIT, SWIGLU_LIMIT)
            return product(gate * sigmoid(SWIGLU_SLOPE * gate) * (up + 1), "down")
        if self.arch == "step35":
            return product(self.limited(silu(gate), up, int(p.split(".")[1]), "exp"), "down")
        return product(silu(gate) * up, "down")

    def shared_expert(self, h, p):
        """An expert for all rows. Qwen3_5MoeSparseMoeBlock of transformers: times the sigmoid of a gate of its own;
        GraniteMoeSharedDecoderLayer: as it is."""
        w = self.weights
        if self.arch in NEMOTRONS:
            return np.maximum(h @ w[p + "ffn_up_shexp.weight"].T, 0)**2 @ w[p + "ffn_down_shexp.weight"].T
        if p + "ffn_gate_shexp.weight" not in w:
            return 0
        gate, up, down = (w[p + f"ffn_{name}_shexp.weight"].T for name in ("gate", "up", "down"))
        gate, up = silu(h @ gate), h @ up
        if self.arch == "step35":
            return self.limited(gate, up, int(p.split(".")[1]), "shexp") @ down
        result = (gate * up) @ down
        own_gate = w.get(p + "ffn_gate_inp_shexp.weight")
        return result if own_gate is None else sigmoid(h @ own_gate)[:, None] * result

    def norm_result(self, out, name):
        return self.norm(out, name, self.eps_of_results) if self.arch in NORMS_RESULTS else out

    def layer(self, x, layer, mixer):
        """The residual stream behind a layer."""
        p = f"blk.{layer}."
        if self.arch in NEMOTRONS:
            part = self.feed_forward if self.of_layer("feed_forward_length", layer) else mixer
            return x + part(self.norm(x, p + "attn_norm.weight"), layer)
        if self.arch == "falcon-h1":  # FalconH1DecoderLayer
            h = self.norm(x, p + "attn_norm.weight")
            x = x + self.attention(h, layer) + self.mamba2(h, layer)
            return x + self.feed_forward(self.norm(x, p + "ffn_norm"), layer)
        if self.arch in COHERES or (self.arch == "stablelm" and p + "ffn_norm.weight" not in self.weights):
            h = self.norm(x, p + "attn_norm.weight")
            return x + mixer(h, layer) + self.feed_forward(h, layer)
        if self.arch in SHORT_CONVS or self.of_layer("attention.head_count", layer):
            out = mixer(self.norm(x, p + "attn_norm.weight"), layer)
            x = x + self.residual_scale * (self.norm_result(out, p + "post_attention_norm.weight"))
        if not self.of_layer("feed_forward_length", layer, 1):  # mixtures need not have the key
            return x
        ffn_norm = "post_attention_norm" if self.arch in POST_ATTENTION_IS_FFN else "ffn_norm"
        out = self.feed_forward(self.norm(x, p + ffn_norm + ".weight"), layer)
        return x + self.residual_scale * (self.norm_result(out, p + "post_ffw_norm.weight"))

    def hidden(self, ids):
        """Rows that meet the output matrix, times the scale of logits: float32 [len(ids), width]."""
        x = self.weights["token_embd.weight"][ids] * np.float32(self.embedding_scale)
        if self.arch == "muse-glimmer":
            x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)
        passes = self.meta.get("nanbeige.num_loops", 1) if self.arch == "nanbeige" else 1
        for turn in range(passes):
            if turn > 0 and not self.meta.get("nanbeige.skip_loop_final_norm", False):
                x = self.norm(x, "output_norm.weight")
            for i in range(self.layers):
                x = self.layer(x, i, self.mixer(i))
        norm = "token_embd_norm.weight" if self.arch in SHORT_CONVS else "output_norm.weight"
        return self.norm(x, norm) * np.float32(self.logit_scale)

    def head_logits(self, ids, guessed=()):
        """Logits of the draft head behind `ids` and behind each of the tokens that were guessed then, float32
        [1 + len(guessed), vocab_size]. A row is made of a token's embedding and the hidden row in front of it: the
        model's, or behind a guess the head's own; zeros in front of the first (common/speculative.cpp of llama.cpp)."""
        w, p = self.weights, f"blk.{self.layers}."
        embeddings = w.get(p + "nextn.embed_tokens.weight", w["token_embd.weight"])
        norm = p + "nextn.shared_head_norm.weight"
        before = np.concatenate([np.zeros((1, self.width), np.float32), self.hidden(ids)[:-1]])
        ids, rows = list(ids), []
        for token in (*guessed, None):
            pairs = np.concatenate([self.norm(embeddings[ids], p + "nextn.enorm.weight"),
                                    self.norm(before, p + "nextn.hnorm.weight")], -1)
            x = self.layer(pairs @ w[p + "nextn.eh_proj.weight"].T, self.layers, self.attention)
            rows.append(self.norm(x[-1:], norm if norm in w else "output_norm.weight"))
            ids, before = [*ids, token], np.concatenate([before, rows[-1]])
        matrix = w.get(p + "nextn.shared_head_head.weight", self.output_matrix())
        return logits_of(np.concatenate(rows), matrix)

    def output_matrix(self):
        """float32 [vocab_size, width]; the embedding's own where the model ties them."""
        return self.weights.get("output.weight", self.weights["token_embd.weight"])

    def output_bias(self):
        return self.weights.get("output.bias", 0)

    def logits(self, ids):
        return logits_of(self.hidden(ids), self.output_matrix(), self.logit_cap, self.output_bias())
