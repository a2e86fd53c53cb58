#!/usr/bin/env python3
"""Computes what tiny models that see answer to two pictures by their original implementations, in `transformers`.

    original_pictures.py --vocab-from ggml-vocab-qwen35.gguf [--write tests/data/original_pictures.npz]

A prompt has texts before, between and behind two pictures of tiny_tower.py, whose sides need no resize. Kept are its
tokens, the likeliest token of each of STEPS steps, and the log-probabilities of the TOP likeliest tokens then.
tests/e2e/test_server_pictures.py compares with them.
Needs: numpy, gguf, torch, transformers (5.24 wrote the file). No network.
"""
import argparse
import pathlib
import tempfile
from typing import NamedTuple

import numpy as np

import original_names
import synth_model
import tiny_tower
from gguf_file import GgufFile

WORDS = 2000  # of the vocabulary, and its control tokens
GRIDS = ((4, 6), (8, 4))  # patches of the two pictures, rows first
TEXTS = ("A", "B", "C")  # before, between and behind them
STEPS, TOP = 6, 40


class Case(NamedTuple):
    model: str
    config: str
    text_config: str
    vision_config: str
    text_settings: dict


def rope(theta, sections, **more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, "mrope_section": sections,
                                "mrope_interleaved": True, **more}}


CASES = {
    "tiny-qwen35": Case("Qwen3_5ForConditionalGeneration", "Qwen3_5Config", "Qwen3_5TextConfig", "Qwen3_5VisionConfig", {
        **rope(1e7, [3, 3, 2], partial_rotary_factor=0.25), "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4}),
    "tiny-qwen3vl": Case("Qwen3VLForConditionalGeneration", "Qwen3VLConfig", "Qwen3VLTextConfig", "Qwen3VLVisionConfig",
                         rope(1e6, [12, 10, 10])),
}


def original_model(name, vocab_from):
    """The model with its tower, and the ids of tokens by their texts."""
    import torch
    import transformers
    import original_towers
    case, dims, tower = CASES[name], synth_model.SHAPES[name], tiny_tower.SEEING[name]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.gguf")
        synth_model.write_model(path, name, vocab_from, ("F32",), words=WORDS, sees=True)
        file = GgufFile(path)
        ids = {text: i for i, text in enumerate(file.fields["tokenizer.ggml.tokens"].contents())}
        weights = original_names.original_weights(file, dims)
    state = {"model.language_model." + key.removeprefix("model."): np.array(data, np.float32)
             for key, data in weights.items()}
    state |= {"model.visual." + key: data.numpy() for key, data in original_towers.make_model(tower).state_dict().items()}
    text = getattr(transformers, case.text_config)(
        vocab_size=len(ids), hidden_size=dims.width, num_hidden_layers=dims.layers, num_attention_heads=dims.heads,
        num_key_value_heads=dims.kv_heads, head_dim=dims.head_dim, intermediate_size=dims.ffn,
        max_position_embeddings=dims.context, rms_norm_eps=1e-6, tie_word_embeddings=True, pad_token_id=None,
        bos_token_id=None, eos_token_id=None, **case.text_settings)
    config = getattr(transformers, case.config)(
        text_config=text.to_dict(), vision_config=tiny_tower.vision_settings(tower), image_token_id=ids["<|image_pad|>"],
        video_token_id=ids["<|video_pad|>"], vision_start_token_id=ids["<|vision_start|>"],
        vision_end_token_id=ids["<|vision_end|>"], tie_word_embeddings=True)
    config._attn_implementation = "eager"
    model = getattr(transformers, case.model)(config).to(torch.float32).eval()
    lacking, unknown = model.load_state_dict({k: torch.from_numpy(v) for k, v in state.items()}, strict=False)
    if set(lacking) - {"lm_head.weight"} or unknown:
        raise SystemExit(f"{name}: lacking {lacking}, unknown {unknown}")
    model.tie_weights()
    return model, ids


def prompt_of(name, ids):
    tower = tiny_tower.SEEING[name]
    prompt = [ids[TEXTS[0]]]
    for grid, text in zip(GRIDS, TEXTS[1:], strict=True):
        count = grid[0] * grid[1] // tower.merge ** 2
        prompt += [ids["<|vision_start|>"], *count * [ids["<|image_pad|>"]], ids["<|vision_end|>"], ids[text]]
    return prompt


def answer(name, vocab_from):
    import torch
    import original_towers
    model, ids = original_model(name, vocab_from)
    tower = tiny_tower.SEEING[name]
    pixels = torch.cat([original_towers.pixel_values(tower, tiny_tower.picture(tower, grid)) for grid in GRIDS])
    grids = torch.tensor([[1, *grid] for grid in GRIDS])
    prompt = prompt_of(name, ids)
    tokens, kept = list(prompt), []
    for _ in range(STEPS):
        given = torch.tensor([tokens])
        with torch.no_grad():
            logits = model(input_ids=given, pixel_values=pixels, image_grid_thw=grids,
                           mm_token_type_ids=(given == ids["<|image_pad|>"]).int()).logits[0, -1].double()
        logprobs = torch.log_softmax(logits, -1)
        best = torch.topk(logprobs, TOP)
        kept.append((best.indices.numpy(), best.values.numpy()))
        tokens.append(int(best.indices[0]))
    print(f"{name}: {len(prompt)} tokens, answer {tokens[len(prompt):]}, logits' deviation {float(logits.std()):.2f}")
    return prompt, np.stack([k[0] for k in kept]), np.stack([k[1] for k in kept])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab-from", required=True)
    parser.add_argument("--write", type=pathlib.Path)
    args = parser.parse_args()
    kept = {}
    for name in CASES:
        prompt, tokens, logprobs = answer(name, args.vocab_from)
        kept |= {f"{name}: prompt": np.array(prompt, np.int32), f"{name}: tokens": tokens.astype(np.int32),
                 f"{name}: logprobs": logprobs.astype(np.float32)}
    if args.write:
        np.savez_compressed(args.write, **kept)


if __name__ == "__main__":
    main()
