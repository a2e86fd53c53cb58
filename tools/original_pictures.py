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

import original_logits
import original_names
import synth_model
import tiny_tower
from gguf_file import GgufFile

WORDS = 2000  # of the vocabulary, and its control tokens
TEXTS = ("A", "B", "C")  # before, between and behind the pictures
STEPS, TOP = 6, 40
JOINED_WINDOW, SHORT_WINDOW = 19, 7  # where rows see each other: fewer tokens than a picture has
TYPED = {"qwen3vl_merger": "mm_token_type_ids", "gemma4v": "mm_token_type_ids",  # whose models ask which tokens are rows
         "gemma4uv": "mm_token_type_ids", "qwen2.5vl_merger": "mm_token_type_ids", "gemma3": "token_type_ids"}


def around(begin, end):
    """The tokens of a picture between two marks."""
    return lambda shape, grid, row: [begin, *grid[0] * grid[1] // shape.merge ** 2 * [row], end]


def between_lines(shape, grid, row):
    """The tokens of Gemma 3's pictures, with an empty line on both sides."""
    return ["ĊĊ", "<start_of_image>", *grid[0] * grid[1] // shape.merge ** 2 * [row], "<end_of_image>", "ĊĊ"]


def in_tiles(shape, grid, row):
    """The tokens of SmolVLM's tiles, row by row, and of the overview."""
    fake, rows = "<fake_token_around_image>", (shape.grid // shape.merge) ** 2 * [row]
    tokens = []
    for y in range(grid[0] // shape.grid):
        tokens += ["Ċ"] if y else []
        for x in range(grid[1] // shape.grid):
            tokens += [fake, f"<row_{y + 1}_col_{x + 1}>", *rows]
    return [*tokens, "ĊĊ", fake, "<global-img>", *rows, fake]


def in_large_tiles(shape, grid, row):
    """The tokens of LFM2-VL's pictures: one of three tiles has an overview of 9 x 27 tokens, another is whole."""
    count = grid[0] * grid[1] // shape.merge ** 2
    parts = count * [row]
    if count == 3 * 256:
        parts = [token for column in (1, 2, 3) for token in (f"<|img_row_1_col_{column}|>", *256 * [row])]
        parts += ["<|img_thumbnail|>", *9 * 27 * [row]]
    return ["<|image_start|>", *parts, "<|image_end|>"]


def in_rows(shape, grid, row):
    """The tokens of Pixtral's rows, each with its end."""
    tokens = []
    for _ in range(grid[0] // shape.merge):
        tokens += [*grid[1] // shape.merge * [row], "[IMG_BREAK]"]
    return [*tokens[:-1], "[IMG_END]"]


def in_slices(shape, grid, row, number):
    """The tokens of MiniCPM-V's squares: the number, an overview, and slices row by row, all as large as a slice."""
    side = shape.edge // shape.patch
    rows = (side // shape.merge) ** 2 * [row]
    tokens = ["<image_id>", str(number), "</image_id>", "<image>", *rows, "</image>"]
    for y in range(grid[0] // side if grid[0] * grid[1] > side * side else 0):
        tokens += ["Ċ"] if y else []
        tokens += (grid[1] // side) * ["<slice>", *rows, "</slice>"]
    return tokens


class Case(NamedTuple):
    model: str
    config: str
    text_config: str
    text_settings: dict
    row: str  # the token that stands for a row
    tokens: object  # of a picture, texts: (shape of the encoder, grid, row) -> list; with the number if it is numbered
    settings: object  # of the whole, by the ids of tokens
    tower: str = "model.visual."  # in front of the names of the encoder's weights
    grids: tuple = ((4, 6), (8, 4))  # patches of the two pictures, rows first
    language: str = "model.language_model."  # in front of the names of the text model's weights
    options: dict = {}  # of the text model (synth_model.write_model)
    is_numbered: bool = False
    shape: str = ""  # of the text model, where another has the name of this
    masks_of_generate: bool = False  # the model's masks are those that generate() makes, as forward() makes others
    renamed: dict = {}  # names that the model has otherwise than its checkpoints


def rope(theta, sections, **more):
    return {"rope_parameters": {"rope_type": "default", "rope_theta": theta, "mrope_section": sections,
                                "mrope_interleaved": True, **more}}


def qwen_settings(ids):
    return {"image_token_id": ids["<|image_pad|>"], "video_token_id": ids["<|video_pad|>"],
            "vision_start_token_id": ids["<|vision_start|>"], "vision_end_token_id": ids["<|vision_end|>"]}


def gemma4_settings(ids):
    return {"image_token_id": ids["<|image|>"], "video_token_id": None, "audio_token_id": None, "audio_config": None,
            "boi_token_id": ids["<|image>"], "eoi_token_id": ids["<image|>"]}


def image_settings(token):
    return lambda ids: {"image_token_id": ids[token]}


QWEN_MARKS = ("<|image_pad|>", around("<|vision_start|>", "<|vision_end|>"))
CASES = {
    "tiny-qwen35": Case("Qwen3_5ForConditionalGeneration", "Qwen3_5Config", "Qwen3_5TextConfig", {
        **rope(1e7, [3, 3, 2], partial_rotary_factor=0.25), "linear_num_key_heads": 2, "linear_num_value_heads": 4,
        "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4}, *QWEN_MARKS, qwen_settings),
    "tiny-qwen3vl": Case("Qwen3VLForConditionalGeneration", "Qwen3VLConfig", "Qwen3VLTextConfig",
                         rope(1e6, [12, 10, 10]), *QWEN_MARKS, qwen_settings),
    "tiny-gemma3": Case(
        "Gemma3ForConditionalGeneration", "Gemma3Config", "Gemma3TextConfig",
        {**original_logits.CASES["gemma3"].settings, "sliding_window": JOINED_WINDOW}, "<image_soft_token>", between_lines,
        lambda ids: {"image_token_id": ids["<image_soft_token>"], "boi_token_id": ids["<start_of_image>"],
                     "eoi_token_id": ids["<end_of_image>"]},
        "model.vision_tower.", ((24, 24), (24, 24)), options={"window": JOINED_WINDOW}),
    "tiny-gemma4": Case(
        "Gemma4ForConditionalGeneration", "Gemma4Config", "Gemma4TextConfig",
        {**original_logits.CASES["gemma4"].settings, "sliding_window": 512, "pad_token_id": 0},
        "<|image|>", around("<|image>", "<image|>"), gemma4_settings, "model.vision_tower.", ((9, 12), (18, 6))),
    "tiny-gemma4-dense": Case(
        "Gemma4ForConditionalGeneration", "Gemma4Config", "Gemma4TextConfig",
        {**original_logits.CASES["gemma4 dense"].settings, "sliding_window": SHORT_WINDOW, "pad_token_id": 0,
         "use_bidirectional_attention": "vision"},
        "<|image|>", around("<|image>", "<image|>"), gemma4_settings, "model.vision_tower.", ((9, 12), (18, 6)),
        options={"window": SHORT_WINDOW}),
    "tiny-gemma4-experts": Case(
        "Gemma4ForConditionalGeneration", "Gemma4Config", "Gemma4TextConfig",
        {**original_logits.CASES["gemma4 with experts"].settings, "sliding_window": SHORT_WINDOW, "pad_token_id": 0,
         "use_bidirectional_attention": "vision"},
        "<|image|>", around("<|image>", "<image|>"), gemma4_settings, "model.vision_tower.", ((9, 12), (18, 6)),
        options={"window": SHORT_WINDOW}),
    "tiny-gemma4-unified": Case(
        "Gemma4UnifiedForConditionalGeneration", "Gemma4UnifiedConfig", "Gemma4UnifiedTextConfig",
        {**original_logits.CASES["gemma4 dense"].settings, "sliding_window": SHORT_WINDOW, "pad_token_id": 0,
         "use_bidirectional_attention": "vision"},
        "<|image|>", around("<|image>", "<image|>"), gemma4_settings, "model.embed_vision.", ((9, 12), (18, 6)),
        options={"window": SHORT_WINDOW}, shape="tiny-gemma4-dense", masks_of_generate=True,
        renamed={"embed_vision.embedding_projection": "embed_vision.multimodal_embedder.embedding_projection"}),
    "tiny-llama": Case(
        "SmolVLMForConditionalGeneration", "SmolVLMConfig", "LlamaConfig", {}, "<image>", in_tiles,
        image_settings("<image>"), "model.vision_model.", ((8, 8), (4, 8)), "model.text_model."),
    "tiny-lfm2": Case(
        "Lfm2VlForConditionalGeneration", "Lfm2VlConfig", "Lfm2Config", original_logits.CASES["lfm2"].settings, "<image>",
        in_large_tiles, image_settings("<image>"), "model.vision_tower.", ((32, 96), (16, 16)), options={"window": 0}),
    "tiny-mistral3": Case(
        "Mistral3ForConditionalGeneration", "Mistral3Config", "MistralConfig", {"sliding_window": None}, "[IMG]", in_rows,
        lambda ids: {"image_token_index": ids["[IMG]"]}, "model.vision_tower.", ((6, 10), (8, 4))),
    "tiny-qwen2vl": Case(
        "Qwen2_5_VLForConditionalGeneration", "Qwen2_5_VLConfig", "Qwen2_5_VLTextConfig",
        {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [8, 12, 12]}}, *QWEN_MARKS,
        qwen_settings, grids=((4, 6), (20, 12))),
    "tiny-minicpmv": Case(
        "MiniCPMV4_6ForConditionalGeneration", "MiniCPMV4_6Config", "Qwen3_5TextConfig", {
            **rope(1e7, [3, 3, 2], partial_rotary_factor=0.25), "linear_num_key_heads": 2, "linear_num_value_heads": 4,
            "linear_key_head_dim": 64, "linear_value_head_dim": 64, "linear_conv_kernel_dim": 4}, "<|image_pad|>",
        in_slices,
        image_settings("<|image_pad|>"), "model.vision_tower.", ((16, 16), (8, 8)), is_numbered=True),
    "tiny-muse-glimmer": Case(
        "MuseGlimmerForConditionalGeneration", "MuseGlimmerConfig", "MuseGlimmerTextConfig",
        {**original_logits.CASES["muse-glimmer"].settings, "sliding_window": 512}, "<|patch|>",
        around("<|image_start|>", "<|image_end|>"), image_settings("<|patch|>"), "model.vision_tower.", ((4, 6), (10, 6))),
}


def original_model(name, vocab_from):
    """The model with its tower, and the ids of tokens by their texts."""
    import torch
    import transformers
    case, tower = CASES[name], tiny_tower.SEEING[name]
    dims = synth_model.SHAPES[case.shape or name]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.gguf")
        synth_model.write_model(path, case.shape or name, vocab_from, ("F32",), words=WORDS, sees=True, **case.options)
        file = GgufFile(path)
        ids = {text: i for i, text in enumerate(file.fields["tokenizer.ggml.tokens"].contents())}
        weights = original_names.original_weights(file, dims)
    state = {key if key == "lm_head.weight" else case.language + key.removeprefix("model."): np.array(data, np.float32)
             for key, data in weights.items()}
    state |= {case.tower + key: np.array(data) for key, data in tiny_tower.original_tensors(tower).items()}
    state |= tiny_tower.other_tensors(tower)
    for theirs, own in case.renamed.items():
        state = {key.replace(theirs, own): data for key, data in state.items()}
    settings = {"vocab_size": len(ids), "hidden_size": dims.width, "num_hidden_layers": dims.layers,
                "num_attention_heads": dims.heads, "num_key_value_heads": dims.kv_heads, "head_dim": dims.head_dim,
                "intermediate_size": dims.ffn, "max_position_embeddings": dims.context, "rms_norm_eps": 1e-6,
                "rope_parameters": {"rope_type": "default", "rope_theta": dims.rope_base},
                "tie_word_embeddings": dims.tied, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None,
                **case.text_settings}
    if dims.arch == "gemma4":
        settings["vocab_size_per_layer_input"] = len(ids)
    text = getattr(transformers, case.text_config)(**settings)
    config = getattr(transformers, case.config)(
        text_config=text.to_dict(), vision_config=tiny_tower.vision_settings(tower), tie_word_embeddings=dims.tied,
        **tiny_tower.family_of(tower).whole_settings(tower), **case.settings(ids))
    config._attn_implementation = "eager"
    model = getattr(transformers, case.model)(config).to(torch.float32).eval()
    lacking, unknown = model.load_state_dict(
        {k: torch.from_numpy(np.ascontiguousarray(v)) for k, v in state.items()}, strict=False)
    if set(lacking) - ({"lm_head.weight"} if dims.tied else set()) or unknown:
        raise SystemExit(f"{name}: lacking {lacking}, unknown {unknown}")
    model.tie_weights()
    return model, ids


def prompt_of(name, ids):
    tower, case = tiny_tower.SEEING[name], CASES[name]
    prompt = [ids[TEXTS[0]]]
    for number, (grid, text) in enumerate(zip(case.grids, TEXTS[1:], strict=True)):
        more = {"number": number} if case.is_numbered else {}
        prompt += [ids[token] for token in case.tokens(tower, grid, case.row, **more)] + [ids[text]]
    return prompt


def masks_of_generate(model, given, types):
    import torch
    return model.create_masks_for_generate(
        config=model.config, inputs_embeds=model.get_input_embeddings()(given), attention_mask=torch.ones_like(given),
        cache=None, position_ids=torch.arange(given.shape[1])[None], is_first_iteration=True, **types)


def answer(name, vocab_from):
    import torch
    import original_towers
    model, ids = original_model(name, vocab_from)
    tower, case = tiny_tower.SEEING[name], CASES[name]
    pictures = tiny_tower.pictures(tower, case.grids)
    inputs = original_towers.FAMILIES[tower.family].inputs_of(tower, pictures)
    prompt = prompt_of(name, ids)
    tokens, kept = list(prompt), []
    for _ in range(STEPS):
        given = torch.tensor([tokens])
        with torch.no_grad():
            types = {TYPED[tower.family]: (given == ids[case.row]).int()} if tower.family in TYPED else {}
            masks = {"attention_mask": masks_of_generate(model, given, types)} if case.masks_of_generate else {}
            logits = model(input_ids=given, **types, **masks, **inputs).logits[0, -1].double()
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
