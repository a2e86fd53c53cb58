#!/usr/bin/env python3
"""Writes the seeds of fuzz/seeds that tests read too: words of encoders, as `tokenizers` saves them, and a charsmap.

    tools/make_tokenizer_seeds.py fuzz/seeds

The charsmap is one of SentencePiece's (precompiled_charsmap) with a few texts, so small that it can be read byte by byte.
"""
import json
import pathlib
import struct
import sys

from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors
from tokenizers.models import Unigram, WordPiece

CHARSMAP = {"A": "a", "\t": " ", "\n": " ", "\u00e9": "e", "e\u0301": "e", "\ufb01": "fi", "\u2460": "1", "\u200b": "",
            "\u3000": " ", "\ufdfa": "\u0635\u0644\u0649"}


def double_array(values):
    """A double array of Darts-clone: the number of each text, by its bytes."""
    units, bases = {}, set()

    def place(node, texts):
        """Puts the children of `node` where all their units are free."""
        labels = sorted({text[0] if text else 0 for text in texts})
        base = next(b for b in range(1, 1 << 20) if b not in bases and all(b ^ c not in units and b ^ c for c in labels))
        bases.add(base)
        units[node] |= (node ^ base) << 10 | (1 << 8 if labels[0] == 0 else 0)
        for label in labels:
            units[base ^ label] = label
        for label in labels:
            if label == 0:
                units[base] = texts[b""] | 1 << 31
            else:
                place(base ^ label, {t[1:]: v for t, v in texts.items() if t and t[0] == label})

    units[0] = 0
    place(0, values)
    return b"".join(struct.pack("<I", units.get(i, 0)) for i in range((max(units) | 255) + 1))


def charsmap():
    replacements, values = b"", {}
    for text, replacement in sorted(CHARSMAP.items()):
        values[text.encode()] = len(replacements)
        replacements += replacement.encode() + b"\0"
    units = double_array(values)
    return struct.pack("<I", len(units)) + units + replacements


def word_piece():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "##s", "world", ",", "!", "un", "##want", "##ed", "##é",
             "naive", "中", "a", "##a"]
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word in words[:4]]
                                 + [AddedToken("[MASK]", lstrip=True, normalized=False)])
    return tokenizer


def unigram():
    words = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -3.5), ("▁he", -4.25), ("llo", -5.5),
             ("▁hello", -10.0), ("l", -6.0), ("o", -6.1), ("a", -7.0), ("b", -7.2), ("ab", -15.0), ("▁ab", -12.0), ("fi", -8.0)]
    tokenizer = Tokenizer(Unigram(words, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(charsmap()), normalizers.Strip(left=False, right=True),
        normalizers.Replace(Regex(" {2,}"), "▁")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens([AddedToken(word, normalized=False) for word, _ in words[:4]])
    return tokenizer


def main():
    folder = pathlib.Path(sys.argv[1])
    for name, tokenizer in (("word_piece", word_piece()), ("unigram", unigram())):
        text = json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":"))
        (folder / "tokenizer_json" / f"{name}.json").write_text(text + "\n")
    (folder / "tokenizer_charsmap").mkdir(exist_ok=True)
    (folder / "tokenizer_charsmap" / "small").write_bytes(charsmap())


if __name__ == "__main__":
    main()
