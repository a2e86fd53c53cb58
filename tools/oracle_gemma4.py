"""The truth for gemma4, after models/gemma4/modeling_gemma4.py of transformers: oracle.open_model() gives it.

Layers differ in more than weights here, so that little of the other architectures' arithmetic is left: heads of two
shapes, norms of V, layers without keys and values, an embedding of each token for each layer. Names of classes and
functions in comments are those of transformers.
"""
import numpy as np

import oracle_model


class Gemma4(oracle_model.Model):
    def __init__(self, path):
        super().__init__(path)
        self.windowed = [bool(flag) for flag in self.key("attention.sliding_window_pattern")]
        self.window = self.key("attention.sliding_window")
        self.first_shared = self.layers - self.key("attention.shared_kv_layers", 0)
        self.per_layer = self.key("embedding_length_per_layer_input", 0)
        self.shared = {}  # of layers with a window (True) and without: keys and values of the last that has its own

    def of_layer(self, name, layer):
        """A key that has one value for all layers, or a list."""
        value = self.key(name)
        return value[layer] if isinstance(value, list) else value

    def unit(self, x):
        """Gemma4RMSNorm(with_scale=False)."""
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps)

    def turn(self, x, windowed):
        """x: [heads, tokens, head_dim], at positions from 0 on."""
        suffix = "_swa" if windowed else ""
        rotated = self.key("rope.dimension_count" + suffix, x.shape[-1])
        freq = self.key("rope.freq_base" + suffix, 10000.0) ** (-2 * np.arange(rotated // 2) / rotated)
        if not windowed:  # "proportional": the frequencies of all but the first pairs are 0
            freq = np.where(self.rope_factors > 1e20, 0, freq / self.rope_factors)
        c, s = (f(np.arange(x.shape[1])[:, None] * freq) for f in (np.cos, np.sin))
        a, b, rest = x[..., :rotated // 2], x[..., rotated // 2:rotated], x[..., rotated:]
        return np.concatenate([a * c - b * s, a * s + b * c, rest], -1).astype(np.float32)

    def keys_and_values(self, h, layer, head_dim):
        """[kv_heads, tokens, head_dim] each."""
        w, p, windowed = self.weights, f"blk.{layer}.", self.windowed[layer]
        if layer >= self.first_shared:
            return self.shared[windowed]
        shape = (len(h), self.of_layer("attention.head_count_kv", layer), head_dim)
        k = (h @ w[p + "attn_k.weight"].T).reshape(shape).transpose(1, 0, 2)
        v = k  # attention_k_eq_v
        if p + "attn_v.weight" in w:
            v = (h @ w[p + "attn_v.weight"].T).reshape(shape).transpose(1, 0, 2)
        self.shared[windowed] = self.turn(self.norm(k, p + "attn_k_norm.weight"), windowed), self.unit(v)
        return self.shared[windowed]

    def attention(self, h, layer):
        """Gemma4TextAttention: normed rows [tokens, width] -> [tokens, width]."""
        w, p, n, windowed = self.weights, f"blk.{layer}.", len(h), self.windowed[layer]
        head_dim = self.key("attention.key_length_swa" if windowed else "attention.key_length")
        q = (h @ w[p + "attn_q.weight"].T).reshape(n, self.heads, head_dim).transpose(1, 0, 2)
        q = self.turn(self.norm(q, p + "attn_q_norm.weight"), windowed)
        k, v = (np.repeat(x, self.heads // len(x), 0) for x in self.keys_and_values(h, layer, head_dim))
        scores = q @ k.transpose(0, 2, 1)  # scaling = 1
        ahead = np.arange(n)[None, :] - np.arange(n)[:, None]
        hidden = (ahead > 0) | (windowed & (-ahead >= self.window))
        out = oracle_model.softmax(np.where(hidden, np.float32(-np.inf), scores)) @ v
        return out.transpose(1, 0, 2).reshape(n, -1) @ w[p + "attn_output.weight"].T

    def feed_forward(self, h, layer):
        """Gemma4TextMLP"""
        w, p = self.weights, f"blk.{layer}."
        gate, up = h @ w[p + "ffn_gate.weight"].T, h @ w[p + "ffn_up.weight"].T
        return (oracle_model.gelu_tanh(gate) * up) @ w[p + "ffn_down.weight"].T

    def experts(self, x, p):
        """Gemma4TextRouter and Gemma4TextExperts, and the norm between them: x [tokens, width], not normed."""
        w = self.weights
        routed = self.unit(x) * w[p + "ffn_gate_inp.scale"] * np.float32(self.width ** -0.5)
        probabilities = oracle_model.softmax(routed @ w[p + "ffn_gate_inp.weight"].T)
        chosen = self.choose(probabilities)
        weights = np.take_along_axis(probabilities, chosen, -1)
        weights = weights / weights.sum(-1, keepdims=True)
        if p + "ffn_down_exps.scale" not in self.scaled:  # per_expert_scale, which is a part of weights in NVFP4
            weights = weights * w[p + "ffn_down_exps.scale"][chosen]
        h, out = self.norm(x, p + "pre_ffw_norm_2.weight"), np.zeros_like(x)
        for row, rank in np.ndindex(*chosen.shape):
            expert = chosen[row, rank]
            if p + "ffn_gate_up_exps.weight" in w:
                gate, up = np.split(w[p + "ffn_gate_up_exps.weight"][expert] @ h[row], 2)
            else:
                gate, up = (w[p + f"ffn_{name}_exps.weight"][expert] @ h[row] for name in ("gate", "up"))
            result = w[p + "ffn_down_exps.weight"][expert] @ (oracle_model.gelu_tanh(gate) * up)
            out[row] += weights[row, rank] * result
        return out

    def per_layer_inputs(self, ids, x):
        """get_per_layer_inputs and project_per_layer_inputs of Gemma4TextModel: [tokens, layers, per_layer]."""
        w = self.weights
        shape = (len(ids), self.layers, self.per_layer)
        own = w["per_layer_token_embd.weight"][ids].reshape(shape) * np.float32(np.sqrt(self.per_layer))
        projected = (x @ w["per_layer_model_proj.weight"].T * np.float32(self.width ** -0.5)).reshape(shape)
        return (self.norm(projected, "per_layer_proj_norm.weight") + own) * np.float32(2 ** -0.5)

    def behind_layer(self, x, layer, per_layer_input=None):
        """Gemma4TextDecoderLayer"""
        w, p = self.weights, f"blk.{layer}."
        out = self.attention(self.norm(x, p + "attn_norm.weight"), layer)
        x = x + self.norm(out, p + "post_attention_norm.weight")
        out = self.feed_forward(self.norm(x, p + "ffn_norm.weight"), layer)
        if p + "ffn_gate_inp.weight" in w:  # enable_moe_block
            out = (self.norm(out, p + "post_ffw_norm_1.weight") +
                   self.norm(self.experts(x, p), p + "post_ffw_norm_2.weight"))
        x = x + self.norm(out, p + "post_ffw_norm.weight")
        if per_layer_input is not None:
            out = oracle_model.gelu_tanh(x @ w[p + "inp_gate.weight"].T) * per_layer_input
            x = x + self.norm(out @ w[p + "proj.weight"].T, p + "post_norm.weight")
        return x * w[p + "layer_output_scale.weight"]

    def hidden(self, ids):
        w = self.weights
        x = w["token_embd.weight"][ids] * np.float32(np.sqrt(self.width))
        inputs = self.per_layer_inputs(ids, x) if self.per_layer else None
        for i in range(self.layers):
            x = self.behind_layer(x, i, None if inputs is None else inputs[:, i])
        return self.norm(x, "output_norm.weight")

    def assist(self, assistant):
        """Takes an `Assistant` as what head_logits() guesses by."""
        self.assistant = assistant

    def head_logits(self, ids, guessed=()):
        """Logits of the assistant behind `ids` and behind each of the tokens that were guessed then, float32
        [1 + len(guessed), vocab_size], as SinglePositionMultiTokenCandidateGenerator of transformers asks for them: the
        last token has no keys yet, and all guesses stand at its position."""
        hidden, scale = self.hidden(ids[:-1])[-1:], np.float32(np.sqrt(self.width))
        rows = []
        for token in (ids[-1], *guessed):
            pair = np.concatenate([self.weights["token_embd.weight"][[token]] * scale, hidden], -1)
            logits, hidden = self.assistant.guess(pair, len(ids) - 1, self.shared)
            rows.append(logits)
        return np.concatenate(rows)


class Assistant(Gemma4):
    """Gemma4AssistantForCausalLM, without the clusters of its words, which llama.cpp's converter leaves out."""

    def attention(self, h, layer):
        """One query behind all keys that are given, of which a window holds one less than of a row with its own."""
        w, p, windowed = self.weights, f"blk.{layer}.", self.windowed[layer]
        head_dim = self.key("attention.key_length_swa" if windowed else "attention.key_length")
        q = (h @ w[p + "attn_q.weight"].T).reshape(1, self.heads, head_dim).transpose(1, 0, 2)
        q = self.norm(q, p + "attn_q_norm.weight")
        q = self.turn(np.concatenate([np.zeros((self.heads, self.position, head_dim), np.float32), q], 1), windowed)
        keys = [x[:, max(0, self.position - self.window + 1):] if windowed else x for x in self.given[windowed]]
        k, v = (np.repeat(x, self.heads // len(x), 0) for x in keys)
        out = oracle_model.softmax(q[:, -1:] @ k.transpose(0, 2, 1)) @ v
        return out.transpose(1, 0, 2).reshape(1, -1) @ w[p + "attn_output.weight"].T

    def guess(self, pair, position, keys_and_values):
        """Logits [1, vocab_size] and the next hidden row [1, width of the model] of a pair of an embedding and a hidden
        row, at a position behind all keys."""
        w, self.position, self.given = self.weights, position, keys_and_values
        x = pair @ w["nextn.pre_projection.weight"].T
        for i in range(self.layers):
            x = self.behind_layer(x, i)
        x = self.norm(x, "output_norm.weight")
        return x @ w["token_embd.weight"].T, x @ w["nextn.post_projection.weight"].T
