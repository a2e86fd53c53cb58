#!/usr/bin/env python3
"""Compares the golden token ids (which the C++ tests hold Octavo to) with Hugging Face `tokenizers`.

    tools/tokenizer_compare_hf.py --vocabs FOLDER [--golden tests/data/tokenizer] [--write]

A tokenizer is built from each GGUF file's own vocabulary and merges, with the pre-tokenizer of the model's
tokenizer.json. SentencePiece vocabularies become BPE with byte fallback, their merges in the order of the scores, as
Hugging Face's converter does. `tokenizers` takes no broken text: it is asked for what Octavo makes of it.

The golden ids were llama.cpp's. Where the original differs (Qwen's texts are normalized, and a byte without a token is
left out before merging), --write puts its ids in their place. Exit code 1 if a text differs.
"""

import argparse
import pathlib
import re
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers
from tokenizers.models import BPE

from gguf_file import GgufFile
from make_tokenizer_golden import VOCABS, compact, fnv1a

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
        fields = GgufFile(path).fields
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
        model = BPE(vocab=self.vocab, merges=self.merges, byte_fallback=self.is_spm, fuse_unk=self.is_spm,
                    ignore_merges=self.pre == "llama-bpe")
        self.parsing, self.plain = self.build(model, True), self.build(model, False)

    def build(self, model, parse_special):
        tokenizer = Tokenizer(model)
        if self.is_spm:
            steps = [normalizers.Prepend("▁")] if self.space_prefix else []
            tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
        else:
            tokenizer.pre_tokenizer = PRE_TOKENIZERS[self.pre]()
            if self.pre == "qwen2":
                tokenizer.normalizer = normalizers.NFC()
        # Types as llama.cpp has them after it has looked at the texts: it takes "</s>" for a control token always.
        control = [t for t, kind in zip(self.tokens, self.types) if kind in (CONTROL, UNKNOWN) or t == "</s>"]
        user = [t for t, kind in zip(self.tokens, self.types) if kind == USER_DEFINED and t != "</s>"]
        tokenizer.add_tokens([AddedToken(t, normalized=False) for t in user + (control if parse_special else [])])
        return tokenizer

    def ids(self, text, parse_special):
        return (self.parsing if parse_special else self.plain).encode(text, add_special_tokens=False).ids


def read_corpus(folder):
    for line in (folder / "corpus.txt").read_text(encoding="utf-8").split("\n")[:-1]:
        flags, _, escaped = line.partition("\t")
        data = re.sub(rb"\\(\\|x(..))", lambda m: bytes.fromhex(m[2].decode()) if m[2] else b"\\", escaped.encode())
        yield data * int(flags.partition("*")[2] or 1), flags[0] == "p"


def repaired(data):
    """What src/tokenizer/utf8.h promises of broken text; None where that is no text for Python."""
    text, i = "", 0
    while i < len(data):
        lead = data[i]
        length = 1 if lead < 0x80 else 0 if lead < 0xC0 or lead >= 0xF8 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
        rest = data[i + 1:i + length]
        code = lead if length == 1 else lead & (0x7F >> length)
        for byte in rest:
            code = code << 6 | byte & 0x3F
        whole = length and len(rest) == length - 1 and all(b & 0xC0 == 0x80 for b in rest) and code <= 0x10FFFF
        if whole and 0xD800 <= code < 0xE000:
            return None
        text += chr(code) if whole else "\ufffd"
        i += length if whole else 1
    return text


def equals(golden, ids):
    if golden.startswith("#"):
        count, value = golden[1:].split()
        return len(ids) == int(count) and fnv1a(struct.pack(f"<{len(ids)}i", *ids)) == int(value, 16)
    expected = []
    for item in golden.split():
        token, _, times = item.partition("*")
        expected += [int(token)] * int(times or 1)
    return ids == expected


def compare(name, args, file_name, corpus):
    """Number of texts that differ."""
    hugging_face = HuggingFace(args.vocabs / file_name)
    path = args.golden / f"{name}.ids"
    golden = path.read_text(encoding="ascii").split("\n")
    num_equal = num_different = 0
    for i, (data, parse_special) in enumerate(corpus):
        text = repaired(data)
        # SentencePiece vocabularies have the bytes of broken text; `tokenizers` cannot be asked about it.
        if text is None or hugging_face.is_spm and text.encode() != data:
            continue
        ids = hugging_face.ids(text, parse_special)
        if equals(golden[i], ids):
            num_equal += 1
            continue
        num_different += 1
        if num_different <= 10:
            print(f"{name}: line {i + 1}: {text[:100]!r}\n  golden       {golden[i][:200]}\n  Hugging Face {ids[:40]}")
        golden[i] = compact(ids)
    if args.write:
        path.write_text("\n".join(golden), encoding="ascii")
    print(f"{name}: {num_equal} texts equal, {num_different} differ")
    return num_different


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocabs", required=True, type=pathlib.Path, help="folder of the vocabulary files")
    parser.add_argument("--golden", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent.parent / "tests/data/tokenizer")
    parser.add_argument("--write", action="store_true", help="put the ids of `tokenizers` where they differ")
    args = parser.parse_args()
    corpus = list(read_corpus(args.golden))
    wrong = sum(compare(name, args, file_name, corpus) for name, file_name in VOCABS.items())
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
