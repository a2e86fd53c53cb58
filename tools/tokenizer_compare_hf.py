#!/usr/bin/env python3
"""Compares the golden token ids (llama.cpp's, which the C++ tests hold Octavo to) with Hugging Face `tokenizers`.

    tools/tokenizer_compare_hf.py --vocabs FOLDER [--golden tests/data/tokenizer]

A tokenizer is built from each GGUF file's own vocabulary and merges, with the pre-tokenizer of the model's
tokenizer.json. SentencePiece vocabularies become BPE with byte fallback, their merges in the order of the scores, as
Hugging Face's converter does. Texts that are not UTF-8 are left out, since `tokenizers` takes none.

The two agree except where DIFFERENCES says; there llama.cpp is followed. Exit code 1 if any other text differs.
"""

import argparse
import collections
import pathlib
import re
import struct
import sys

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from make_tokenizer_golden import VOCABS, fnv1a

CONTROL, USER_DEFINED, UNKNOWN = 3, 4, 2
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")


def byte_level(use_regex):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), byte_level(False)])


PRE_TOKENIZERS = {
    "gpt-2": lambda: byte_level(True),
    "smollm": lambda: pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(True)]),
    "qwen2": lambda: split(QWEN2),
    "llama-bpe": lambda: split(LLAMA3),
}


def merges_by_score(vocab, scores):
    """Every way to make a token of two others, best score first."""
    merges = []
    for text, token in vocab.items():
        for i in range(1, len(text)):
            left, right = vocab.get(text[:i]), vocab.get(text[i:])
            if left is not None and right is not None:
                merges.append((-scores[token], left, right, text[:i], text[i:]))
    merges.sort()
    return [merge[3:] for merge in merges]


class HuggingFace:
    """The tokenizers of one GGUF file: one that parses control tokens, one that takes them for text."""

    def __init__(self, path):
        fields = gguf.GGUFReader(path).fields
        value = lambda key, default=None: fields[key].contents() if key in fields else default
        self.tokens = value("tokenizer.ggml.tokens")
        self.types = value("tokenizer.ggml.token_type")
        self.is_spm = value("tokenizer.ggml.model") == "llama"
        self.pre = value("tokenizer.ggml.pre")
        self.space_prefix = self.is_spm and value("tokenizer.ggml.add_space_prefix", True)
        self.vocab = {text: i for i, text in enumerate(self.tokens)}
        if self.is_spm:
            # Control tokens are no pieces of text, so none is made by a merge.
            pieces = {text: i for text, i in self.vocab.items() if self.types[i] not in (CONTROL, UNKNOWN)}
            self.merges = merges_by_score(pieces, value("tokenizer.ggml.scores"))
        else:
            self.merges = [tuple(merge.split(" ", 1)) for merge in value("tokenizer.ggml.merges")]
        self.parsing, self.plain = self.build(True), self.build(False)

    def build(self, parse_special):
        tokenizer = Tokenizer(BPE(vocab=self.vocab, merges=self.merges, byte_fallback=self.is_spm, fuse_unk=self.is_spm,
                                  ignore_merges=self.pre == "llama-bpe"))
        if self.is_spm:
            steps = [normalizers.Prepend("▁")] if self.space_prefix else []
            tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
        else:
            tokenizer.pre_tokenizer = PRE_TOKENIZERS[self.pre]()
        # Types as llama.cpp has them after it has looked at the texts: it takes "</s>" for a control token always.
        control = [t for t, kind in zip(self.tokens, self.types) if kind in (CONTROL, UNKNOWN) or t == "</s>"]
        user = [t for t, kind in zip(self.tokens, self.types) if kind == USER_DEFINED and t != "</s>"]
        tokenizer.add_tokens([AddedToken(t, normalized=False) for t in user + (control if parse_special else [])])
        return tokenizer

    def ids(self, text, parse_special):
        return (self.parsing if parse_special else self.plain).encode(text, add_special_tokens=False).ids


# (vocabulary, pattern that the text holds, why the ids differ)
DIFFERENCES = [
    ("smollm2", "[\x04\x06\x13\x14\x16\x1d\U00040000-\U000bffff]",
     "a byte without a token is dropped before merging by Hugging Face, so that its neighbours merge, and after it by "
     "llama.cpp"),
]


def explanation(name, text):
    for vocab, pattern, why in DIFFERENCES:
        if name == vocab and re.search(pattern, text):
            return why
    return None


def read_corpus(folder):
    for line in (folder / "corpus.txt").read_text(encoding="utf-8").split("\n")[:-1]:
        flags, _, escaped = line.partition("\t")
        data = re.sub(rb"\\(\\|x(..))", lambda m: bytes.fromhex(m[2].decode()) if m[2] else b"\\", escaped.encode())
        yield data * int(flags.partition("*")[2] or 1), flags[0] == "p"


def equals(golden, ids):
    if golden.startswith("#"):
        count, value = golden[1:].split()
        return len(ids) == int(count) and fnv1a(struct.pack(f"<{len(ids)}i", *ids)) == int(value, 16)
    expected = []
    for item in golden.split():
        token, _, times = item.partition("*")
        expected += [int(token)] * int(times or 1)
    return ids == expected


def compare(name, path, golden_folder, corpus):
    """Number of texts that differ for no known reason."""
    hugging_face = HuggingFace(path)
    golden = (golden_folder / f"{name}.ids").read_text(encoding="ascii").split("\n")
    num_equal, known, unexplained = 0, collections.Counter(), 0
    for i, (data, parse_special) in enumerate(corpus):
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        ids = hugging_face.ids(text, parse_special)
        if equals(golden[i], ids):
            num_equal += 1
        elif why := explanation(name, text):
            known[why] += 1
        else:
            unexplained += 1
            if unexplained <= 10:
                print(f"{name}: line {i + 1}: {text[:100]!r}\n  llama.cpp    {golden[i][:200]}\n  Hugging Face {ids[:40]}")
    print(f"{name}: {num_equal} texts equal, {sum(known.values())} differ as known, {unexplained} otherwise")
    for why, count in known.items():
        print(f"    {count}: {why}")
    return unexplained


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabs", required=True, type=pathlib.Path, help="folder of the vocabulary files")
    parser.add_argument("--golden", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent / "tests/data/tokenizer")
    args = parser.parse_args()
    corpus = list(read_corpus(args.golden))
    wrong = sum(compare(name, args.vocabs / file_name, args.golden, corpus) for name, file_name in VOCABS.items())
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
