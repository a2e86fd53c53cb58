"""What models of gemma4 with random weights have that others lack: synth_model.py writes them with it."""
from typing import NamedTuple

import gguf
import numpy as np

Q = gguf.GGMLQuantizationType


class Layers(NamedTuple):
    """Layers that see all, one in every `global_every`, have heads of their own; the last `borrowing` layers have no keys
    and values, and perhaps a feed-forward twice as wide."""
    global_every: int
    global_head_dim: int
    global_kv_heads: int
    borrowing: int = 0
    wide_borrowers: bool = False
    per_layer: int = 0  # of the embedding that each layer has of its own
    v_is_k: bool = False  # where a layer sees all

    def is_global(self, layer):
        return (layer + 1) % self.global_every == 0

    def borrows(self, layer, num_layers):
        return layer >= num_layers - self.borrowing


LAYERS = {
    "tiny-gemma4": Layers(3, 512, 1, borrowing=3, wide_borrowers=True, per_layer=64),
    "tiny-gemma4-dense": Layers(3, 512, 1, v_is_k=True),
    "tiny-gemma4-experts": Layers(3, 512, 1, v_is_k=True),
    "tiny-gemma4-assistant": Layers(3, 512, 1, borrowing=3),
    "gemma-4-e2b": Layers(5, 512, 1, borrowing=20, wide_borrowers=True, per_layer=256),
}


MODEL_WIDTHS = {"tiny-gemma4-assistant": 256}  # of the models that assistants draft for


def dense_width(shape):
    """Of the feed-forward that each layer has, beside a mixture or alone."""
    return shape.shared or shape.ffn


def add_metadata(writer, name, shape, num_layers, window):
    layers = LAYERS[name]
    if name in MODEL_WIDTHS:
        writer.add_embedding_length_out(MODEL_WIDTHS[name])
        writer.add_uint32(f"{shape.arch}.nextn_predict_layers", num_layers)
    writer.add_feed_forward_length([dense_width(shape) * (1 + (layers.wide_borrowers and layers.borrows(i, num_layers)))
                                    for i in range(num_layers)])
    writer.add_head_count_kv([layers.global_kv_heads if layers.is_global(i) else shape.kv_heads
                              for i in range(num_layers)])
    writer.add_key_length(layers.global_head_dim)
    writer.add_value_length(layers.global_head_dim)
    writer.add_key_length_swa(shape.head_dim)
    writer.add_value_length_swa(shape.head_dim)
    writer.add_rope_dimension_count(layers.global_head_dim)
    writer.add_rope_dimension_count_swa(shape.head_dim)
    writer.add_rope_freq_base_swa(10000.0)
    writer.add_sliding_window(window)
    writer.add_sliding_window_pattern([not layers.is_global(i) for i in range(num_layers)])
    writer.add_shared_kv_layers(layers.borrowing)
    writer.add_embedding_length_per_layer_input(layers.per_layer)
    writer.add_final_logit_softcapping(3.0)  # so low that these weights meet it


def fitting(qtype, cols):
    """The type itself, or Q8_0 where rows do not divide into its blocks."""
    return qtype if cols % gguf.GGML_QUANT_SIZES[qtype][0] == 0 else Q.Q8_0


def add_projections(tensors, width, model_width, qtype):
    """The projections of an assistant: from a pair of the model's rows, and back."""
    tensors.matrix("nextn.pre_projection.weight", width, 2 * model_width, qtype, 0.5 * (2 * model_width)**-0.5)
    tensors.matrix("nextn.post_projection.weight", model_width, width, qtype, width**-0.5)


def add_tables(tensors, shape, layers, num_layers, num_tokens, embedding, projection):
    turning = layers.global_head_dim // 8  # pairs of a quarter of the dimensions
    factors = np.full(layers.global_head_dim // 2, 1e30, np.float32)
    factors[:turning] = 1
    tensors.writer.add_tensor("rope_freqs.weight", factors)
    inputs = num_layers * layers.per_layer
    if inputs:
        tensors.matrix("per_layer_token_embd.weight", num_tokens, inputs, fitting(embedding, inputs),
                       layers.per_layer**-0.5)
        tensors.matrix("per_layer_model_proj.weight", inputs, shape.width, projection, 1)
        tensors.vector("per_layer_proj_norm.weight", layers.per_layer, 1)


def add_attention(tensors, prefix, shape, layers, layer, num_layers, types):
    is_global = layers.is_global(layer)
    dim = layers.global_head_dim if is_global else shape.head_dim
    width, q_width = shape.width, shape.heads * dim
    kv_width = dim * (layers.global_kv_heads if is_global else shape.kv_heads)
    tensors.matrix(prefix + "attn_q.weight", q_width, width, next(types), width**-0.5)
    tensors.vector(prefix + "attn_q_norm.weight", dim, dim**-0.25, 0.1 * dim**-0.25)  # scores are not scaled
    if not layers.borrows(layer, num_layers):
        tensors.matrix(prefix + "attn_k.weight", kv_width, width, next(types), width**-0.5)
        tensors.vector(prefix + "attn_k_norm.weight", dim, dim**-0.25, 0.1 * dim**-0.25)
        if not (is_global and layers.v_is_k):
            tensors.matrix(prefix + "attn_v.weight", kv_width, width, next(types), width**-0.5)
    tensors.matrix(prefix + "attn_output.weight", width, q_width, next(types), q_width**-0.5)


def add_experts(tensors, prefix, shape, types):
    """Scores of standard deviation 4, and results that are small beside the dense feed-forward's, as in
    synth_model.add_experts(): the router reads rows that are normed and divided by the root of the width."""
    width, ffn, experts = shape.width, shape.ffn, (shape.experts,)
    tensors.matrix(prefix + "ffn_gate_inp.weight", shape.experts, width, Q.F32, 1)
    tensors.vector(prefix + "ffn_gate_inp.scale", width, 4)
    tensors.matrix(prefix + "ffn_gate_up_exps.weight", 2 * ffn, width, next(types), width**-0.5, experts)
    tensors.matrix(prefix + "ffn_down_exps.weight", width, ffn, next(types), ffn**-0.5, experts)
    tensors.vector(prefix + "ffn_down_exps.scale", shape.experts, 1, 0.3)
    tensors.vector(prefix + "pre_ffw_norm_2.weight", width, 1)
    tensors.vector(prefix + "post_ffw_norm_1.weight", width, 1)
    tensors.vector(prefix + "post_ffw_norm_2.weight", width, 0.25, 0.02)


def add_layer(tensors, layer, shape, layers, num_layers, types):
    prefix, width = f"blk.{layer}.", shape.width
    ffn = dense_width(shape) * (1 + (layers.wide_borrowers and layers.borrows(layer, num_layers)))
    for norm in ("attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm"):
        tensors.vector(prefix + norm + ".weight", width, 1)
    add_attention(tensors, prefix, shape, layers, layer, num_layers, types)
    tensors.matrix(prefix + "ffn_gate.weight", ffn, width, next(types), width**-0.5)
    tensors.matrix(prefix + "ffn_up.weight", ffn, width, next(types), width**-0.5)
    tensors.matrix(prefix + "ffn_down.weight", width, ffn, next(types), ffn**-0.5)
    if shape.experts:
        add_experts(tensors, prefix, shape, types)
    tensors.vector(prefix + "layer_output_scale.weight", 1, 0.8)
    if layers.per_layer:
        tensors.matrix(prefix + "inp_gate.weight", layers.per_layer, width, next(types), width**-0.5)
        tensors.matrix(prefix + "proj.weight", width, layers.per_layer, fitting(next(types), layers.per_layer),
                       layers.per_layer**-0.5)
        tensors.vector(prefix + "post_norm.weight", width, 1)
