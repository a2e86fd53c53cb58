#!/usr/bin/env python3
"""Writes which type llama.cpp gives each tensor in each of its mixes: what the rules of `octavo quantize` are held to.

    make_type_mixes.py LLAMA_QUANTIZE VOCAB.gguf OUT        e.g. tests/data/type_mixes.txt

LLAMA_QUANTIZE is llama.cpp's program (tools/build_llama_cpp.sh builds it), VOCAB.gguf any model with words. The models
are random and small. For each there are lines

    model NAME ARCHITECTURE block_count expert_count head_count head_count_kv
    tensor NAME TYPE DIM[xDIM...] TYPE...        its type before, its dims as GGUF has them, its type in each mix

and before all, one line `mixes NAME...`. Needs numpy and gguf.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile


import synth_model
from gguf_file import GgufFile

MIXES = ("F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K_S", "Q4_K_M", "Q5_K_S", "Q5_K_M", "Q6_K", "Q2_0")
# name -> arguments of synth_model.py
MODELS = {
    "dense": ["--shape", "tiny-llama", "--layers", "17", "--untied"],
    "dense-tied": ["--shape", "tiny-qwen3", "--layers", "8"],
    "eight-experts": ["--shape", "tiny-qwen3moe", "--layers", "10", "--untied"],
    "six-experts": ["--shape", "tiny-mixtral", "--layers", "8"],
    "hybrid": ["--shape", "tiny-qwen35", "--layers", "12"],
    "hybrid-experts": ["--shape", "tiny-qwen35moe", "--layers", "8"],
    "short-convolutions": ["--shape", "tiny-lfm2", "--layers", "16"],
    "narrow": ["--shape", "tiny-gpt-oss", "--layers", "8"],
}
NUMBERS = ("block_count", "expert_count", "attention.head_count", "attention.head_count_kv")


def number_of(reader, key):
    field = reader.get_field(key)
    value = field.contents() if field else 0
    return value[0] if isinstance(value, list) else value


def tensor_types(path):
    return {t.name: t.tensor_type.name for t in GgufFile(path).tensors}


def lines_of(llama_quantize, name, model, folder):
    reader = GgufFile(model)
    arch = reader.get_field("general.architecture").contents()
    numbers = [str(number_of(reader, f"{arch}.{key}")) for key in NUMBERS]
    types = {}
    for mix in MIXES:
        out = folder / "out.gguf"
        subprocess.run([llama_quantize, model, out, mix], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        types[mix] = tensor_types(out)
    yield " ".join(["model", name, arch, *numbers])
    for tensor in reader.tensors:
        dims = "x".join(str(int(d)) for d in tensor.shape)
        yield " ".join(["tensor", tensor.name, tensor.tensor_type.name, dims, *(types[m][tensor.name] for m in MIXES)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("llama_quantize")
    parser.add_argument("vocab")
    parser.add_argument("out", type=pathlib.Path)
    args = parser.parse_args()
    lines = [" ".join(["mixes", *MIXES])]
    program = pathlib.Path(synth_model.__file__)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for model_name, options in MODELS.items():
            model = folder / "model.gguf"
            subprocess.run([sys.executable, program, model, "--type", "F32", "--vocab-from", args.vocab, *options], check=True)
            lines += lines_of(args.llama_quantize, model_name, model, folder)
    args.out.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
