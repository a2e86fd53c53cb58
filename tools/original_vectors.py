#!/usr/bin/env python3
"""Computes vectors and scores of tiny folders by their original implementations, `sentence-transformers`.

    original_vectors.py [--write tests/data/original_vectors.npz] [CASE ...]

The folders are those of vector_folders.py; tests/e2e/test_truth_vectors.py compares with the file that this writes.
Needs: numpy, gguf, torch, transformers (5.24 wrote the file), sentence-transformers (6.2). No network.
"""
import argparse
import pathlib
import tempfile

import numpy as np
import torch
import transformers
from sentence_transformers import SentenceTransformer

import vector_folders
from vector_folders import CASES, NO, PAIRS, TEXTS, YES


def text_model(folder):
    """The vectors of the language part of a model that has others, by the last token."""
    config = transformers.AutoConfig.from_pretrained(folder).text_config
    model = transformers.Qwen3VLTextModel(config).float().eval()
    stored = vector_folders.read_tensors(folder)
    model.load_state_dict({name.removeprefix("model.language_model."): torch.from_numpy(data)
                           for name, data in stored.items()})
    words = transformers.AutoTokenizer.from_pretrained(folder)

    def rows(texts):
        inputs = [words(text, return_tensors="pt").input_ids for text in texts]
        return np.stack([model(input_ids=ids).last_hidden_state[0, -1].numpy() for ids in inputs])
    return rows


def vectors_of(name, folder):
    """{what: array}"""
    if name == "qwen3vl":
        rows = text_model(folder)
        return {"plain": rows(TEXTS), "query": rows([vector_folders.PROMPTS["query"] + text for text in TEXTS])}
    if name == "nomic-bert-old":  # transformers knows the old names of tensors, and not those of settings
        case = CASES["nomic-bert"]
        config = {"architectures": [case.model], "model_type": case.kind, **case.config}
        vector_folders.write_json(folder / "config.json", config)
    model = SentenceTransformer(str(folder), device="cpu")
    return {"plain": model.encode(TEXTS, prompt=""), "default": model.encode(TEXTS),
            "query": model.encode(TEXTS, prompt_name="query")}


def scores_of(name, folder):
    words = transformers.AutoTokenizer.from_pretrained(folder)
    if name == "qwen3-classifier":
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
        inputs = [words(*pair, return_tensors="pt").input_ids for pair in PAIRS]
        return {"scores": np.array([model(input_ids=ids).logits[0, 0].item() for ids in inputs])}
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    template = vector_folders.RANK_TEMPLATE
    texts = [template.format(query=query, document=document) for query, document in PAIRS]
    inputs = [words(text, return_tensors="pt", add_special_tokens=False).input_ids for text in texts]
    logits = [model(input_ids=ids).logits[0, -1] for ids in inputs]
    return {"scores": np.array([(row[YES] - row[NO]).item() for row in logits])}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", type=pathlib.Path)
    parser.add_argument("cases", nargs="*", default=list(CASES))
    args = parser.parse_args()
    kept = {}
    with tempfile.TemporaryDirectory() as place, torch.no_grad():
        for name in args.cases:
            folder = pathlib.Path(place, name)
            vector_folders.write_folder(name, folder)
            made = (scores_of if CASES[name].pooling in ("score", "logit") else vectors_of)(name, folder)
            kept |= {f"{name}: {what}": np.asarray(array, np.float32) for what, array in made.items()}
            print(name, {what: array.shape for what, array in made.items()}, flush=True)
    if args.write:
        np.savez_compressed(args.write, **kept)


if __name__ == "__main__":
    main()
