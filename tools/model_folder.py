#!/usr/bin/env python3
"""Writes a GGUF model with float weights as Hugging Face's tools save one: a folder with config.json and safetensors.

    model_folder.py MODEL.gguf FOLDER [--dtype F32|F16|BF16] [--files N] [--old-rope]

Undoes what llama.cpp's converter does: names, the order of the rows of Q and K, norms. For llama (also with experts),
qwen2, qwen3, qwen3moe, gemma2 and gemma3, each dense or with experts as the family has them. With --old-rope the
rotation is written as transformers 4 does. Needs: numpy, gguf. As a module: `write_folder(model, folder, ...)`.
"""
import argparse
import json
import pathlib

import gguf
import numpy as np

import original_names

MODELS = {"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM", "qwen3": "Qwen3ForCausalLM",
          "qwen3moe": "Qwen3MoeForCausalLM", "gemma2": "Gemma2ForCausalLM", "gemma3": "Gemma3ForCausalLM"}
SIZES = {"hidden_size": "embedding_length", "num_hidden_layers": "block_count", "vocab_size": "vocab_size",
         "num_attention_heads": "attention.head_count", "num_key_value_heads": "attention.head_count_kv",
         "head_dim": "attention.key_length", "intermediate_size": "feed_forward_length",
         "max_position_embeddings": "context_length", "rms_norm_eps": "attention.layer_norm_rms_epsilon",
         "sliding_window": "attention.sliding_window", "attn_logit_softcapping": "attn_logit_softcapping",
         "final_logit_softcapping": "final_logit_softcapping", "num_experts_per_tok": "expert_used_count"}
EXPERTS = {"ffn_gate_exps.weight": ("gate_proj", "w1"), "ffn_up_exps.weight": ("up_proj", "w3"),
           "ffn_down_exps.weight": ("down_proj", "w2")}


class Keys:
    def __init__(self, reader):
        self.reader = reader
        self.arch = reader.get_field("general.architecture").contents()

    def get(self, suffix):
        field = self.reader.get_field(f"{self.arch}.{suffix}")
        return field.contents() if field else None


def rope_members(keys, old):
    base = keys.get("rope.freq_base")
    if keys.arch == "gemma3":
        if old:
            return {"rope_theta": base, "rope_local_base_freq": 10000.0}
        return {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": base},
                                    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}}}
    return {"rope_theta": base} if old else {"rope_parameters": {"rope_type": "default", "rope_theta": base}}


def config_of(keys, is_tied, old_rope):
    experts = keys.get("expert_count")
    config = {name: keys.get(suffix) for name, suffix in SIZES.items()}
    config = {name: value for name, value in config.items() if value is not None}
    config |= {"architectures": [MODELS[keys.arch]], "tie_word_embeddings": is_tied, **rope_members(keys, old_rope)}
    if experts and keys.arch == "llama":
        config |= {"architectures": ["MixtralForCausalLM"], "num_local_experts": experts}
    elif experts:
        config |= {"num_experts": experts, "norm_topk_prob": True,
                   "moe_intermediate_size": keys.get("expert_feed_forward_length")}
    return config


def part_name(keys, name):
    if keys.arch == "llama" and name == "ffn_gate_inp.weight":
        return "block_sparse_moe.gate.weight"
    return original_names.layer_name(keys.arch, name)


def original_tensors(keys):
    """(name, array) as the checkpoint has them."""
    heads = {"attn_q": keys.get("attention.head_count"), "attn_k": keys.get("attention.head_count_kv")}
    is_shifted = keys.arch in original_names.SHIFTED_NORMS
    for tensor in keys.reader.tensors:
        data = np.array(tensor.data)
        if is_shifted and tensor.name.endswith("norm.weight"):
            data = data - 1
        if not tensor.name.startswith("blk."):
            yield original_names.WHOLE[tensor.name], data
            continue
        _, number, name = tensor.name.split(".", 2)
        prefix, stem = f"model.layers.{number}.", name.split(".")[0]
        if name in EXPERTS:
            place, names = ("block_sparse_moe", EXPERTS[name][1]) if keys.arch == "llama" else ("mlp", EXPERTS[name][0])
            yield from ((f"{prefix}{place}.experts.{e}.{names}.weight", matrix) for e, matrix in enumerate(data))
            continue
        if keys.arch == "llama" and stem in heads:
            data = original_names.halves_of_heads(data, heads[stem])
        yield prefix + part_name(keys, name), data


def encoded(array, dtype):
    array = np.ascontiguousarray(array)
    if dtype == "BF16":
        return gguf.quants.quantize(array.astype(np.float32), gguf.GGMLQuantizationType.BF16).tobytes()
    return array.astype({"F32": np.float32, "F16": np.float16}[dtype]).tobytes()


def write_safetensors(path, tensors):
    """tensors: {name: (dtype, shape, bytes)}"""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            out.write(data)


def write_folder(model, folder, dtype="F32", files=1, old_rope=False):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    keys = Keys(gguf.GGUFReader(model))
    tensors = {name: (dtype, data.shape, encoded(data, dtype)) for name, data in original_tensors(keys)}
    is_tied = "lm_head.weight" not in tensors
    (folder / "config.json").write_text(json.dumps(config_of(keys, is_tied, old_rope)), encoding="utf-8")
    if files == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return
    names, weight_map = list(tensors), {}
    for i in range(files):
        part = names[i::files]
        file = f"model-{i + 1:05}-of-{files:05}.safetensors"
        write_safetensors(folder / file, {name: tensors[name] for name in part})
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=["F32", "F16", "BF16"], default="F32")
    parser.add_argument("--files", type=int, default=1)
    parser.add_argument("--old-rope", action="store_true")
    args = parser.parse_args()
    write_folder(args.model, args.folder, args.dtype, args.files, args.old_rope)


if __name__ == "__main__":
    main()
