"""The tensors of a GGUF file as the original checkpoint has them: llama.cpp's conversion, undone. Names are those of
transformers 5, whose experts lie in one tensor."""
import gguf
import numpy as np

PARTS = {  # of a layer: GGUF's stem -> the original's
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
    "ffn_norm": "post_attention_layernorm", "post_attention_norm": "post_attention_layernorm",
    # qwen35
    "attn_qkv": "linear_attn.in_proj_qkv", "attn_gate": "linear_attn.in_proj_z", "ssm_alpha": "linear_attn.in_proj_a",
    "ssm_beta": "linear_attn.in_proj_b", "ssm_norm": "linear_attn.norm", "ssm_out": "linear_attn.out_proj",
    "ssm_conv1d": "linear_attn.conv1d",
    # mixtures
    "ffn_gate_inp": "mlp.gate", "ffn_gate_inp_shexp": "mlp.shared_expert_gate",
    "ffn_gate_shexp": "mlp.shared_expert.gate_proj", "ffn_up_shexp": "mlp.shared_expert.up_proj",
    "ffn_down_shexp": "mlp.shared_expert.down_proj",
}
PARTS_OF_GEMMA = {
    "ffn_norm": "pre_feedforward_layernorm", "post_ffw_norm": "post_feedforward_layernorm",
    "pre_ffw_norm_2": "pre_feedforward_layernorm_2", "post_ffw_norm_1": "post_feedforward_layernorm_1",
    "post_ffw_norm_2": "post_feedforward_layernorm_2", "inp_gate": "per_layer_input_gate",
    "proj": "per_layer_projection", "post_norm": "post_per_layer_input_norm", "ffn_gate_inp": "router.proj",
}
SHARED_EXPERTS = {f"ffn_{part}_shexp": f"mlp.shared_experts.{part}_proj" for part in ("gate", "up", "down")}
PARTS_OF_LFM = {"attn_norm": "operator_norm", "ffn_norm": "ffn_norm", "shortconv.in_proj": "conv.in_proj",
                "shortconv.conv": "conv.conv", "shortconv.out_proj": "conv.out_proj", "ffn_gate": "feed_forward.w1",
                "ffn_up": "feed_forward.w3", "ffn_down": "feed_forward.w2"}
LFM2 = PARTS_OF_LFM | {"attn_output": "self_attn.out_proj", "attn_q_norm": "self_attn.q_layernorm",
                       "attn_k_norm": "self_attn.k_layernorm"}
MAMBA = {f"ssm_{part}": f"mamba.{name}" for part, name in
         {"in": "in_proj", "out": "out_proj", "conv1d": "conv1d", "norm": "norm"}.items()}
NEMOTRON = {"attn_norm": "norm", **{stem: name.replace("mamba", "mixer") for stem, name in MAMBA.items()},
            **{f"attn_{c}": f"mixer.{c[0]}_proj" for c in ("q", "k", "v", "output")},
            "ffn_up": "mixer.up_proj", "ffn_down": "mixer.down_proj"}
LATENT = SHARED_EXPERTS | {
    "attn_q_a": "self_attn.q_a_proj", "attn_q_a_norm": "self_attn.q_a_layernorm", "attn_q_b": "self_attn.q_b_proj",
    "attn_kv_a_mqa": "self_attn.kv_a_proj_with_mqa", "attn_kv_a_norm": "self_attn.kv_a_layernorm",
    "attn_kv_b": "self_attn.kv_b_proj", "exp_probs_b": "mlp.gate.e_score_correction"}
OWN_PARTS = {
    "deepseek2": LATENT, "mistral4": LATENT, "minicpm3": LATENT,
    "hunyuan-dense": {"attn_q_norm": "self_attn.query_layernorm", "attn_k_norm": "self_attn.key_layernorm"},
    "olmo2": {"post_ffw_norm": "post_feedforward_layernorm"},
    "granitemoe": {"ffn_gate_inp": "block_sparse_moe.router", "ffn_down_shexp": "shared_mlp.output_linear",
                   "ffn_gate_up_shexp": "shared_mlp.input_linear"},
    "granitehybrid": MAMBA | {"ffn_gate_inp": "block_sparse_moe.router", "ffn_down_shexp": "shared_mlp.output_linear",
                              "ffn_gate_up_shexp": "shared_mlp.input_linear"},
    "falcon-h1": MAMBA | {f"ffn_{part}": f"feed_forward.{part}_proj" for part in ("gate", "up", "down")},
    "nemotron_h": NEMOTRON,
    "nemotron_h_moe": NEMOTRON | {"ffn_gate_inp": "mixer.gate", "exp_probs_b": "mixer.gate.e_score_correction",
                                  "ffn_latent_down": "mixer.fc1_latent_proj", "ffn_latent_up": "mixer.fc2_latent_proj",
                                  "ffn_up_shexp": "mixer.shared_experts.up_proj",
                                  "ffn_down_shexp": "mixer.shared_experts.down_proj"},
    "muse-glimmer": {"post_ffw_norm": "post_feedforward_layernorm", "ffn_norm": "pre_feedforward_layernorm",
                     "attn_gate": "self_attn.gate_proj"},
    "phi3": {"attn_qkv": "self_attn.qkv_proj", "ffn_up": "mlp.gate_up_proj"},
    "starcoder2": {"ffn_up": "mlp.c_fc", "ffn_down": "mlp.c_proj"},
    "apertus": {"attn_norm": "attention_layernorm", "ffn_norm": "feedforward_layernorm"},
    "exaone4": {"post_ffw_norm": "post_feedforward_layernorm"},
    "glm4moe": SHARED_EXPERTS | {"exp_probs_b": "mlp.gate.e_score_correction"},
    "ernie4_5-moe": SHARED_EXPERTS | {"exp_probs_b": "mlp.gate.moe_statics.e_score_correction"},
    "hy_v3": SHARED_EXPERTS | {"exp_probs_b": "mlp.e_score_correction"},
    "laguna": SHARED_EXPERTS | {"exp_probs_b": "mlp.gate.e_score_correction", "attn_gate": "self_attn.g_proj"},
    "cohere2moe": SHARED_EXPERTS,
    "bailingmoe2": SHARED_EXPERTS | {"attn_qkv": "attention.query_key_value", "attn_output": "attention.dense",
                                     "attn_q_norm": "attention.query_layernorm", "attn_k_norm": "attention.key_layernorm",
                                     "exp_probs_b": "mlp.gate.expert"},
    "spark2_5": {"attn_qkv": "self_attn.q_k_v_proj", "attn_output": "self_attn.out_proj",
                 "attn_gate": "self_attn.g_proj"},
    "llama4": {f"ffn_{part}{end}": f"feed_forward.{place}{part}_proj" for part in ("gate", "up", "down")
               for end, place in (("", ""), ("_shexp", "shared_expert."))} | {"ffn_gate_inp": "feed_forward.router"},
    "step35": SHARED_EXPERTS | {"exp_probs_b": "mlp.gate.e_score_correction", "attn_gate": "self_attn.g_proj"},
    "qwen3next": {"ssm_ba": "linear_attn.in_proj_ba", "attn_qkvz": "linear_attn.in_proj_qkvz"},
    "lfm2moe": LFM2 | {"ffn_gate_inp": "feed_forward.gate", "exp_probs_b": "feed_forward.expert"},
    "lfm2": LFM2,
    "lfm3": PARTS_OF_LFM | {"attn_gate": "self_attn.g_proj", "post_attention_norm": "post_operator_norm",
                            "post_ffw_norm": "post_ffn_norm"},
    "glm4": {"post_attention_norm": "post_self_attn_layernorm", "post_ffw_norm": "post_mlp_layernorm",
             "ffn_up": "mlp.gate_up_proj"},
}
WHOLE = {
    "token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight",
    "output_norm.bias": "model.norm.bias", "output.weight": "lm_head.weight", "per_layer_token_embd.weight": "model.embed_tokens_per_layer.weight",
    "per_layer_model_proj.weight": "model.per_layer_model_projection.weight",
    "per_layer_proj_norm.weight": "model.per_layer_projection_norm.weight",
    "token_embd_norm.weight": "model.embedding_norm.weight",
    "nextn.pre_projection.weight": "pre_projection.weight", "nextn.post_projection.weight": "post_projection.weight",
}
OWN_WHOLE = {"bailingmoe2": {"token_embd.weight": "model.word_embeddings.weight"},
             "spark2_5": {"token_embd.weight": "model.embedding.weight"},
             "falcon-h1": {"output_norm.weight": "model.final_layernorm.weight"},
             **dict.fromkeys(("nemotron_h", "nemotron_h_moe"), {"token_embd.weight": "model.embeddings.weight",
                                                                "output_norm.weight": "model.norm_f.weight"})}
NAMES = {  # of a layer, whole
    "ssm_dt.bias": "linear_attn.dt_bias", "ssm_a": "linear_attn.A_log", "attn_sinks.weight": "self_attn.sinks",
    "layer_output_scale.weight": "layer_scalar", "ffn_gate_inp.scale": "router.scale",
    "ffn_down_exps.scale": "router.per_expert_scale",
}
# Architectures whose norms multiply by one more than the original's weight.
SHIFTED_NORMS = ("gemma2", "gemma3", "qwen35", "qwen35moe", "qwen3next", "step35")
SHIFTED_LAYER_NORMS = (*SHIFTED_NORMS, "muse-glimmer")  # those of layers
# llama.cpp rotates neighbours there, the original the halves of a head.
PERMUTED = ("llama", "mistral3", "granite", "granitemoe", "granitehybrid", "smollm3", "minicpm", "nanbeige", "arcee", "muse-glimmer")
QWEN35_HEADS = (2, 4, 64, 64)  # of the tiny shapes: key heads, value heads, and their sizes


def halves_of_heads(rows, heads):
    """Rows whose neighbours make a pair become rows whose pairs are half a head apart."""
    dim = len(rows) // heads
    return rows.reshape(heads, dim // 2, 2, -1).swapaxes(1, 2).reshape(rows.shape)


def grouped(rows, size):
    """Value heads by their key head, as the original has them, from turns over key heads."""
    key_heads, value_heads, _, _ = QWEN35_HEADS
    return rows.reshape(value_heads // key_heads, key_heads, size, -1).swapaxes(0, 1).reshape(rows.shape)


def grouped_channels(rows):
    key_heads, _, key_dim, value_dim = QWEN35_HEADS
    keys = 2 * key_heads * key_dim
    return np.concatenate([rows[:keys], grouped(rows[keys:], value_dim)])


def delta_net(stem, data):
    value_dim = QWEN35_HEADS[3]
    if stem == "attn_qkv":
        return grouped_channels(data)
    if stem == "ssm_conv1d":
        return grouped_channels(data)[:, None, :]
    if stem == "attn_gate":
        return grouped(data, value_dim)
    if stem == "ssm_out":
        return np.ascontiguousarray(grouped(np.ascontiguousarray(data.T), value_dim).T)
    if stem in ("ssm_alpha", "ssm_beta", "ssm_dt", "ssm_a"):
        data = grouped(data, 1)
        return np.log(-data) if stem == "ssm_a" else data
    return data


NEMOTRONS = ("nemotron_h", "nemotron_h_moe")  # whose layers have one part, which is called mixer
MAMBAS = ("granitehybrid", "falcon-h1", *NEMOTRONS)
NAMES_OF_MAMBA = {"ssm_dt.bias": "dt_bias", "ssm_a": "A_log", "ssm_d": "D"}
# What the original multiplies rows by, and llama.cpp's converter the weights: powers of 2, so that nothing is rounded.
FALCON_MULTIPLIERS = {"attention_in_multiplier": 2.0, "attention_out_multiplier": 0.5, "key_multiplier": 0.25,
                      "ssm_in_multiplier": 0.5, "ssm_out_multiplier": 2.0, "mlp_multipliers": [0.5, 2.0],
                      "ssm_multipliers": [2.0, 0.25, 4.0, 0.5, 2.0], "embedding_multiplier": 4.0,
                      "lm_head_multiplier": 0.125}


def falcon_tensor(name, data, mamba_sizes):
    """A matrix without the multipliers of FALCON_MULTIPLIERS. `mamba_sizes`: the width of all heads, and of all groups."""
    of = FALCON_MULTIPLIERS
    inner, states = mamba_sizes
    whole = {"attn_q.weight": of["attention_in_multiplier"], "attn_v.weight": of["attention_in_multiplier"],
             "attn_k.weight": of["attention_in_multiplier"] * of["key_multiplier"], "attn_k.bias": of["key_multiplier"],
             "attn_output.weight": of["attention_out_multiplier"], "ssm_out.weight": of["ssm_out_multiplier"],
             "ffn_gate.weight": of["mlp_multipliers"][0], "ffn_down.weight": of["mlp_multipliers"][1],
             "token_embd.weight": of["embedding_multiplier"], "output.weight": of["lm_head_multiplier"]}
    if name == "ssm_in.weight":
        sizes = [inner, inner, states, states, len(data) - 2 * inner - 2 * states]
        return data / np.repeat(np.float32(of["ssm_multipliers"]) * of["ssm_in_multiplier"], sizes)[:, None]
    return data / np.float32(whole.get(name, 1))


def mamba(stem, data):
    if stem == "ssm_conv1d":
        return data[:, None, :] if data.ndim == 2 else data
    if stem == "ssm_a":
        return np.log(-data).reshape(-1)
    return data.reshape(-1) if stem in ("ssm_d", "ssm_norm") else data


def layer_name(arch, name):
    if arch in MAMBAS and name in NAMES_OF_MAMBA:
        return f"{'mixer' if arch in NEMOTRONS else 'mamba'}.{NAMES_OF_MAMBA[name]}"
    if name == "ffn_norm":
        return "pre_ff_layernorm.weight"
    if name in NAMES:
        return NAMES[name]
    if name.startswith("exp_probs_b"):
        return OWN_PARTS[arch]["exp_probs_b"] + "_bias"
    stem, kind = name.rsplit(".", 1)
    if arch == "gpt-oss" and stem == "ffn_gate_inp":
        return f"mlp.router.{kind}"
    parts = PARTS | (PARTS_OF_GEMMA if arch.startswith("gemma") else OWN_PARTS.get(arch, {}))
    return f"{parts[stem]}.{kind}"


def layer_tensor(shape, name, data):
    stem = name.split(".")[0]
    if shape.arch in PERMUTED and stem in ("attn_q", "attn_k"):
        return halves_of_heads(data, shape.heads if stem == "attn_q" else shape.kv_heads)
    if stem == "ffn_gate_inp_shexp" or (shape.arch == "ernie4_5-moe" and stem == "exp_probs_b"):
        return data.reshape(1, -1)
    if shape.arch == "qwen3next":
        data = {"ssm_a": lambda: np.log(-data), "ssm_conv1d": lambda: data[:, None, :]}.get(stem, lambda: data)()
    if shape.arch in MAMBAS:
        return mamba(stem, data)
    if name == "shortconv.conv.weight":
        return data[:, None, :]
    if shape.arch in SHIFTED_LAYER_NORMS and name.endswith("norm.weight") and stem != "ssm_norm":
        return data - 1
    return delta_net(stem, data) if shape.arch.startswith("qwen35") else data


def fused_by_key_head(layer):
    """in_proj_qkvz of Qwen3NextGatedDeltaNet: for each key head its rows of Q and K, then those of V and of the gate of its
    value heads."""
    key_heads, value_heads, key_dim, value_dim = QWEN35_HEADS
    ends = np.cumsum([key_heads * key_dim, key_heads * key_dim])
    parts = [*np.split(layer.pop("attn_qkv.weight"), ends), layer.pop("attn_gate.weight")]
    width = parts[0].shape[1]
    return np.concatenate([part.reshape(key_heads, -1, width) for part in parts], 1).reshape(-1, width)


def fused_experts(arch, layer):
    """Takes gate, up and down of the experts out of a layer's tensors and gives the original's."""
    place = {"gemma4": "experts", "granitemoe": "block_sparse_moe.experts",
             "granitehybrid": "block_sparse_moe.experts", "lfm2moe": "feed_forward.experts",
             "llama4": "feed_forward.experts"}.get(arch, "mlp.experts")
    if arch in NEMOTRONS:
        return {f"mixer.experts.{part}_proj": layer.pop(f"ffn_{part}_exps.weight") for part in ("up", "down")}
    gate_up = layer.pop("ffn_gate_up_exps.weight", None)
    if gate_up is None:
        gate, up = layer.pop("ffn_gate_exps.weight"), layer.pop("ffn_up_exps.weight")
        if arch == "gpt-oss":  # in turns
            gate_up = np.stack([gate, up], 2).reshape(len(gate), -1, gate.shape[2])
        else:
            gate_up = np.concatenate([gate, up], 1)
    down = layer.pop("ffn_down_exps.weight")
    if arch == "llama4":
        return {f"{place}.gate_up_proj": gate_up.swapaxes(1, 2), f"{place}.down_proj": down.swapaxes(1, 2)}
    if arch != "gpt-oss":
        return {f"{place}.gate_up_proj": gate_up, f"{place}.down_proj": down}
    biases = np.stack([layer.pop("ffn_gate_exps.bias"), layer.pop("ffn_up_exps.bias")], 2)
    return {f"{place}.gate_up_proj": gate_up.swapaxes(1, 2), f"{place}.down_proj": down.swapaxes(1, 2),
            f"{place}.gate_up_proj_bias": biases.reshape(len(biases), -1),
            f"{place}.down_proj_bias": layer.pop("ffn_down_exps.bias")}


def joint_products(layer):
    """kv_b_proj: for each head the rows that make its keys, then those that make its values."""
    both = np.concatenate([layer.pop("attn_k_b.weight").swapaxes(1, 2), layer.pop("attn_v_b.weight")], 1)
    return both.reshape(-1, both.shape[-1])


def norms_of_heads(layer):
    """{name: array} of StableLmLayerNormPerHead, taken out of a layer's tensors."""
    return {f"self_attn.{c}_layernorm.norms.{i}.weight": weights
            for c in "qk" for i, weights in enumerate(layer.pop(f"attn_{c}_norm.weight", ()))}


def numbers_of_xielu(reader, layer):
    """{name: array} of XIELUActivation, whose numbers are keys of the file."""
    numbers = {name: reader.get_field(f"xielu.{name}").contents()[layer] for name in ("alpha_p", "alpha_n", "beta", "eps")}
    return {f"mlp.act_fn.{name}": np.array([number] if name.startswith("alpha") else number, np.float32)
            for name, number in numbers.items()}


def original_weights(reader, shape):
    """{name: array} of a GGUFReader of a file with float32 weights."""
    layers, weights = {}, {}
    for tensor in reader.tensors:
        data = np.array(tensor.data)
        if tensor.name.startswith("blk."):
            _, number, name = tensor.name.split(".", 2)
            layers.setdefault(int(number), {})[name] = data
        elif not tensor.name.startswith("rope_f"):  # the original computes them, or has them in its config.json
            is_shifted = tensor.name == "output_norm.weight" and shape.arch in SHIFTED_NORMS
            data = falcon_tensor(tensor.name, data, (0, 0)) if shape.arch == "falcon-h1" else data
            name = OWN_WHOLE.get(shape.arch, {}).get(tensor.name, WHOLE[tensor.name])
            weights[name] = data - 1 if is_shifted else data
    for number, layer in layers.items():
        prefix = f"model.layers.{number}."
        if shape.arch == "stablelm":
            weights |= {prefix + name: data for name, data in norms_of_heads(layer).items()}
        if shape.arch == "apertus":
            weights |= {prefix + name: data for name, data in numbers_of_xielu(reader, number).items()}
        if shape.arch == "muse-glimmer":  # its config.json has the scale of Q
            layer = {name: data for name, data in layer.items() if name not in ("attn_q_norm.weight", "attn_k_norm.weight")}
        if shape.arch == "granitehybrid" and "ffn_gate_inp.weight" not in layer:  # which has the expert for every row alone
            for part in ("gate", "up", "down"):
                layer[f"ffn_{part}_shexp.weight"] = layer.pop(f"ffn_{part}.weight")
        if shape.arch.startswith("granite") and "ffn_gate_shexp.weight" in layer:  # gate and up of it in one matrix
            halves = [layer.pop(f"ffn_{half}_shexp.weight") for half in ("gate", "up")]
            layer["ffn_gate_up_shexp.weight"] = np.concatenate(halves)
        if shape.arch == "qwen3next" and "attn_gate.weight" in layer:
            layer["attn_qkvz.weight"] = fused_by_key_head(layer)
        if shape.arch == "falcon-h1":
            heads, inner = len(layer["ssm_a"]), layer["ssm_out.weight"].shape[1]
            states = (len(layer["ssm_in.weight"]) - 2 * inner - heads) // 2
            layer = {name: falcon_tensor(name, data, (inner, states)) for name, data in layer.items()}
        if "attn_k_b.weight" in layer:
            layer["attn_kv_b.weight"] = joint_products(layer)
        if any("_exps.weight" in name for name in layer):
            weights |= {prefix + name: data for name, data in fused_experts(shape.arch, layer).items()}
        weights |= {prefix + layer_name(shape.arch, name): layer_tensor(shape, name, data)
                    for name, data in layer.items()}
    return weights
