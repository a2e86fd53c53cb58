#!/usr/bin/env python3
"""Compares Octavo's token ids with those of Hugging Face `tokenizers`, set up as each family's makers did.

    tools/tokenizer_truth.py --program build/release/tokenizer_ids --vocabs FOLDER [--family NAME] [--texts N] [--markdown]

FAMILIES lists, for each pre-tokenizer, the pre_tokenizer and normalizer of the family's own tokenizer.json and where
they were read. Its vocabulary is a real one where FOLDER has it (tools/fetch_models.py test); else a small one is
trained here with that pre-tokenizer. Texts come from a fixed seed: 5000 varied ones, and adversarial ones: one thing
over and over, combining marks, broken UTF-8. With --texts N a family has N of the varied texts, each family others, and
of families with one normalizer only the first has all texts that are about it. Every id must be equal, but for texts with characters that KNOWN lists;
once with the vocabulary as GGUF, and once with the tokenizer.json that `tokenizers` saves. Then these ids, and random
ones, are decoded, and every text must be equal, but for the reasons of reason_to_differ().
Exit code 1 if one differs. --markdown prints the table of docs/tokenizers.md.
"""
import argparse
import base64
import collections
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
import unicodedata
from typing import NamedTuple

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE

from gguf_file import GgufFile
from make_tokenizer_golden import SENTENCES
from tokenizer_compare_hf import merges_by_score, repaired

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

CL100K = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
QWEN2 = CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN35 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+"
          r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*"
          r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
DEEPSEEK_V3 = (r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
               r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPARK = DEEPSEEK_V3.replace(r"[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+", r"[\p{P}\p{S}]+|[\r\n]")
LING = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+")
DEEPSEEK_LETTERS = (
    "\\s?[A-Za-z\u00b5\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u01ba\u01bc-\u01bf\u01c4-\u0293\u0295-\u02af\u0370-\u0373"
    "\u0376\u0377\u037b-\u037d\u037f\u0386\u0388-\u038a\u038c\u038e-\u03a1\u03a3-\u03f5\u03f7-\u0481\u048a-\u052f"
    "\u0531-\u0556\u10a0-\u10c5\u13a0-\u13f5\u13f8-\u13fd\u1c90-\u1cba\u1cbd-\u1cbf\u1d00-\u1d2b\u1d6b-\u1d77"
    "\u1d79-\u1d9a\u1e00-\u1f15\u1f18-\u1f1d\u1f20-\u1f45\u1f48-\u1f4d\u1f50-\u1f57\u1f59\u1f5b\u1f5d\u1f5f-\u1f7d"
    "\u1f80-\u1fb4\u1fb6-\u1fbc\u1fbe\u1fc2-\u1fc4\u1fc6-\u1fcc\u1fd0-\u1fd3\u1fd6-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ff4"
    "\u1ff6-\u1ffc\u2102\u2107\u210a-\u2113\u2115\u2119-\u211d\u2124\u2126\u2128\u212a-\u212d\u212f-\u2134\u2139"
    "\u213c-\u213f\u2145-\u2149\u214e\u2183\u2184\u2c00-\u2c7b\u2c7e-\u2ce4\u2ceb-\u2cee\u2cf2\u2cf3\ua640-\ua66d"
    "\ua680-\ua69b\ua722-\ua76f\ua771-\ua787\ua78b-\ua78e\uab70-\uabbf\ufb00-\ufb06\ufb13-\ufb17\uff21-\uff3a"
    "\uff41-\uff5a\U00010400-\U0001044f\U000104b0-\U000104d3\U000104d8-\U000104fb\U00010c80-\U00010cb2"
    "\U00010cc0-\U00010cf2\U000118a0-\U000118df\U0001e900-\U0001e943]+")
DEEPSEEK_HAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"


def split(pattern, behavior="isolated"):
    return pre_tokenizers.Split(Regex(pattern), behavior)


def byte_level(use_regex=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=use_regex)


def splits(*patterns):
    return lambda: [split(p) for p in patterns] + [byte_level()]


def gpt2(*before):
    return lambda: [make() for make in before] + [byte_level(True)]


def one_digit():
    return pre_tokenizers.Digits(individual_digits=True)


def punctuation():
    return pre_tokenizers.Punctuation("contiguous")


class Family(NamedTuple):
    pre_tokenizers: object  # makes the list of them; None: SentencePiece, no cut
    source: str  # where the original was read
    file: str = ""  # a real vocabulary; "": one is trained
    normalizer: object = None
    ignore_merges: bool = False


FAMILIES = {
    "gpt-2": Family(gpt2(), "`tokenizers`, ByteLevel", "ggml-vocab-gpt-2.gguf"),
    "phi-2": Family(gpt2(), "`transformers`, models/codegen"),
    "olmo": Family(gpt2(), "`transformers`, models/gpt_neox", normalizer=normalizers.NFC),
    "smollm": Family(gpt2(one_digit), "HuggingFaceTB/SmolLM-135M", "SmolLM2-135M-Instruct.Q4_1.gguf"),
    "starcoder": Family(gpt2(one_digit), "bigcode/starcoder2-7b", "ggml-vocab-starcoder.gguf"),
    "refact": Family(gpt2(one_digit), "smallcloudai/Refact-1_6B-fim", "ggml-vocab-refact.gguf"),
    "command-r": Family(gpt2(one_digit), "`transformers`, models/cohere", "ggml-vocab-command-r.gguf", normalizers.NFC),
    "exaone": Family(gpt2(one_digit), "LGAI-EXAONE/EXAONE-3.5-7.8B-Instruct", normalizer=normalizers.NFKC),
    "falcon": Family(lambda: [punctuation(), byte_level(True), pre_tokenizers.Digits(individual_digits=False),
                              split("[0-9][0-9][0-9]")], "tiiuae/falcon-7b", "ggml-vocab-falcon.gguf"),
    "falcon3": Family(lambda: [punctuation(), byte_level(True), one_digit()], "tiiuae/Falcon3-7B-Base",
                      ignore_merges=True),
    "llama-bpe": Family(splits(CL100K), "meta-llama/Meta-Llama-3-8B", "ggml-vocab-llama-bpe.gguf", ignore_merges=True),
    "lfm2": Family(splits(CL100K), "LiquidAI/LFM2.5-350M", ignore_merges=True),
    "glm4": Family(splits(CL100K), "zai-org/glm-4-9b-chat-hf", ignore_merges=True),
    "dbrx": Family(splits(CL100K), "`tiktoken`, cl100k_base, as Xenova/gpt-4 writes it"),
    "qwen2": Family(splits(QWEN2), "`transformers`, models/qwen2", "ggml-vocab-qwen2.gguf", normalizers.NFC),
    "deepseek-r1-qwen": Family(splits(QWEN2), "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B", normalizer=normalizers.NFC),
    "qwen35": Family(splits(QWEN35), "`transformers`, models/qwen3_5", "ggml-vocab-qwen35.gguf", normalizers.NFC),
    "laguna": Family(lambda: [split(r"(?:\r?\n)+(?!\r?\n)", "merged_with_next"), split(QWEN2), byte_level()],
                     "poolside/Laguna-XS.2"),
    "gpt-4o": Family(splits(O200K), "`tiktoken`, o200k_base", ignore_merges=True),
    "tekken": Family(splits(TEKKEN), "`mistral-common`, tekken_240911.json", "tekken_240911.json", ignore_merges=True),
    "pixtral": Family(splits(TEKKEN), "`mistral-common`, tekken_240911.json", ignore_merges=True),
    "deepseek-v3": Family(splits(r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", DEEPSEEK_V3),
                          "deepseek-ai/DeepSeek-V3"),
    "spark2_5": Family(lambda: [split(p) for p in (
        r"\p{N}{1,3}", "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+", SPARK)] + [one_digit(), byte_level()],
                       "XHToken/Spark-X2.5-4B"),
    "bailingmoe2": Family(splits(LING), "inclusionAI/Ling-mini-2.0"),
    "cohere2moe": Family(splits(r"\d{1,3}(?=(?:\d{3})*\b)", O200K), "CohereLabs/tiny-aya-base"),
    "deepseek-llm": Family(lambda: [split(p) for p in (
        "[\r\n]", DEEPSEEK_LETTERS, "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+", r"\s+$",
        DEEPSEEK_HAN)] + [one_digit(), byte_level()], "deepseek-ai/deepseek-llm-7b-base",
                           "ggml-vocab-deepseek-llm.gguf"),
    "deepseek-coder": Family(lambda: [split(p) for p in ("[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", DEEPSEEK_HAN)] + [
        one_digit(), byte_level()], "deepseek-ai/deepseek-coder-6.7b-base", "ggml-vocab-deepseek-coder.gguf"),
    "minicpm5": Family(splits(r"\p{N}{1,3}", CL100K.replace(r"\p{N}{1,3}", r"\p{N}+")), "openbmb/MiniCPM5-1B"),
    "llama (SentencePiece)": Family(None, "`transformers`, convert_slow_tokenizer.py", "ggml-vocab-llama-spm.gguf"),
    "phi-3 (SentencePiece)": Family(None, "`transformers`, convert_slow_tokenizer.py", "ggml-vocab-phi-3.gguf"),
    "gemma3 (SentencePiece)": Family(None, "`transformers`, models/gemma", "gemma-3-270m-q4_k_m.gguf"),
    "gemma4 (SentencePiece)": Family(None, "`transformers`, models/gemma", "ggml-vocab-gemma-4.gguf"),
}

# Characters of which `tokenizers` has another opinion than Unicode 16.0: its Punctuation is that of Unicode 8.
KNOWN = {"falcon": "punctuation that came after Unicode 8", "falcon3": "punctuation that came after Unicode 8"}


class Vocabulary(NamedTuple):
    tokens: list
    types: list
    merges: list  # of (left, right)
    scores: list = ()
    model: str = "gpt2"
    adds_space: bool = False


def read_gguf(path):
    fields = GgufFile(path).fields

    def ggml(key, default=None):
        return fields["tokenizer.ggml." + key].contents() if "tokenizer.ggml." + key in fields else default

    tokens = [t or f"[EMPTY_{i}]" for i, t in enumerate(ggml("tokens"))]
    return Vocabulary(tokens, ggml("token_type"), [tuple(split_merge(m)) for m in ggml("merges", [])],
                      ggml("scores", []), ggml("model"), ggml("add_space_prefix", True))


def split_merge(merge):
    """The two texts of a merge; each may be a space itself, so the first byte is never the separator."""
    at = merge.index(" ", 1)
    return merge[:at], merge[at + 1:]


def read_tekken(path):
    """tekken.json of mistral-common: its ranks as merges, as `transformers` makes them of any tiktoken file."""
    known = json.loads(path.read_text())
    config = known["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    alphabet = byte_alphabet()
    ranks = {base64.b64decode(v["token_bytes"]): v["rank"] for v in known["vocab"][:size]}
    merges = []
    for token, rank in ranks.items():
        ways = [(ranks[token[:i]], ranks[token[i:]], token[:i], token[i:]) for i in range(1, len(token))
                if token[:i] in ranks and token[i:] in ranks]
        merges += [(rank, left, right) for _, _, left, right in sorted(ways)]
    merges.sort(key=lambda merge: merge[0])
    write = lambda token: "".join(alphabet[b] for b in token)
    tokens = [f"<SPECIAL_{i}>" for i in range(config["default_num_special_tokens"])]
    types = [CONTROL] * len(tokens) + [NORMAL] * size
    tokens += [write(token) for token, _ in sorted(ranks.items(), key=lambda item: item[1])]
    return Vocabulary(tokens, types, [(write(left), write(right)) for _, left, right in merges])


def byte_alphabet():
    """The character that stands for each byte."""
    itself = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = iter(range(0x100, 0x200))
    return [chr(b) if b in itself else chr(next(others)) for b in range(256)]


def train(family, texts):
    """A vocabulary of 3000 tokens for a family's pre-tokenizer, and 40 words that no merge makes."""
    tokenizer = Tokenizer(BPE())
    if family.normalizer:
        tokenizer.normalizer = family.normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(family.pre_tokenizers())
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(tokenizer.to_str())["model"]
    tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda item: item[1])]
    if family.ignore_merges:
        words = collections.Counter(w for t in texts for w, _ in tokenizer.pre_tokenizer.pre_tokenize_str(t))
        known = set(tokens)
        tokens += [w for w, _ in words.most_common() if w not in known][:40]
    merges = [tuple(m) if isinstance(m, list) else split_merge(m) for m in model["merges"]]
    return Vocabulary(tokens, [NORMAL] * len(tokens), merges)


def write_gguf(vocabulary, pre, path):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(vocabulary.tokens + ["<s>"])
    writer.add_token_types(list(vocabulary.types) + [CONTROL])
    writer.add_token_merges([f"{left} {right}" for left, right in vocabulary.merges])
    writer.add_bos_token_id(len(vocabulary.tokens))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def reference(family, vocabulary):
    """The tokenizer of `tokenizers` for a family; control tokens in a text are text."""
    ids = {token: i for i, token in enumerate(vocabulary.tokens)}
    is_spm = family.pre_tokenizers is None
    merges = vocabulary.merges
    if is_spm and vocabulary.model == "llama":
        pieces = {t: i for t, i in ids.items() if vocabulary.types[i] not in (CONTROL, UNKNOWN)}
        merges = merges_by_score(pieces, vocabulary.scores)
    tokenizer = Tokenizer(BPE(vocab=ids, merges=merges, byte_fallback=is_spm, fuse_unk=is_spm,
                              ignore_merges=family.ignore_merges))
    if is_spm:
        steps = [normalizers.Prepend("▁")] if vocabulary.adds_space else []
        tokenizer.normalizer = normalizers.Sequence(steps + [normalizers.Replace(" ", "▁")])
        tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
                                              + ([decoders.Strip(" ", 1, 0)] if vocabulary.adds_space else []))
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(family.pre_tokenizers())
        tokenizer.decoder = decoders.ByteLevel()
        if family.normalizer:
            tokenizer.normalizer = family.normalizer()
    user = [t for t, kind in zip(vocabulary.tokens, vocabulary.types) if kind == USER_DEFINED and t != "</s>"]
    tokenizer.add_tokens([AddedToken(t, normalized=False) for t in user])
    return tokenizer


ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "äöüßéèêñçøåæœſǅǆ", "абвгдежзийклмнопрстуфхцчшщъыьэюя",
    "АБВГДЕЖЗИЙ", "αβγδεζηθικλμνξοπρστυφχψωΑΒΓΔΩάέή", "אבגדהוזחטיכלמנסעפצקרשת", "ابتثجحخدذرزسشصضطظعغفقكلمنهوي", "अआइईउऊएऐओऔकखगघङचछजझ",
    "กขคงจฉชซฌญฎฏฐ", "中文字符測試統一漢字視野無限廣窗外有藍天", "あいうえおかきくけこさしすせそ", "アイウエオカキクケコｶﾀｶﾅ", "가나다라마바사아자차카타파하", "ሀለሐመሠረሰ", "ᎠᎡᎢꭰꭱ",
]
MARKS = "\u0301\u0300\u0302\u0308\u0323\u0327\u0338\u0345\u064b\u0651\u05b0\u05bc\u093c\u094d\u0e31\u0e34\u20e3\u3099\ufe0f"
SPACES = " \t\n\r\x0b\x0c\x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u3000"
MISC = "\x00\x07\x1b\x7f\xad\u200b\u200d\u2060\ufeff\ufffd\ue000\U0001f600\U0001f468\U0001f3fd\U0001f1e9\u2122\u20ac"
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "'Re", "'\u017f", "\u2019s", "'x", "''s", "' s"]
DIGITS = "0123456789٠١٢٣०१२๑๒½¾²³¹①②Ⅷ一二𝟎𝟏"
CODE = ["for (int i = 0; i < n; ++i) {\n", "    return x;\n", "def f(a, b):\n\treturn a / b  # 1/2\n", "https://a.b/c?d=e&f",
        "</s>", "<|im_start|>", "<b>x</b>", "{\"k\": [1, 2.5e-10]}", "C:\\dir\\n", "\r\n\r\n", "a/b//c/\n/\n", "snake_case_Name",
        "camelCaseName", "HTTPServer2Go", "$1,234.56", "100%", "#include <x>\n", "... !!! ???", "-----", "=>", "```py\n"]


def some(rng, letters, low, high):
    return "".join(rng.choice(letters) for _ in range(rng.randint(low, high)))


def any_character(rng):
    while True:
        c = chr(rng.choice((rng.randrange(0x20, 0x3000), rng.randrange(0x20, 0x20000))))
        if unicodedata.category(c) not in ("Cn", "Cs"):
            return c


def piece(rng):
    kind = rng.randrange(13)
    if kind < 3:
        word = some(rng, rng.choice(ALPHABETS), 1, 8)
        return rng.choice((word, " " + word, word.title(), word.upper(), word + rng.choice(CONTRACTIONS)))
    if kind == 3:
        return some(rng, "".join(rng.sample(ALPHABETS, 2)), 1, 8)
    if kind == 4:
        return some(rng, "0123456789", 1, 12)
    if kind == 5:
        return some(rng, DIGITS, 1, 5)
    if kind == 6:
        return rng.choice(("", "a")) + " " * rng.randint(1, 9)
    if kind == 7:
        return some(rng, SPACES, 1, 6)
    if kind == 8:
        return some(rng, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~«»、。！？…—“”·", 1, 5)
    if kind == 9:
        return "".join(rng.choice(rng.choice(ALPHABETS)) + some(rng, MARKS, 0, 3) for _ in range(rng.randint(1, 4)))
    if kind == 10:
        return rng.choice(CODE)
    if kind == 11:
        return some(rng, MISC, 1, 3) + rng.choice(CONTRACTIONS)
    return "".join(any_character(rng) for _ in range(rng.randint(1, 4)))


def varied_texts(seed, count):
    rng = random.Random(seed)
    texts = ["".join(piece(rng) for _ in range(rng.randint(1, 9))) for _ in range(count)]
    return texts


def adversarial_texts():
    units = ["a", "A", "aA", "Aa", "é", "\u0301", "a\u0301", "\u0301\u0323", " ", "  a", "\n", " \n", "\r\n", "\t", "1", "12 ", "½",
             "²", "'", "'s", "'S ", "!", "! ", "/", "/\n", "中", "あ", "中a", "가", "ǅ", "ʰ", "\u200d", "\x00", "\xa0", "\u3000", "😀",
             "👨‍👩‍👧", "`", "$", "a.", ".a", "_", "\ufffd", "\u0345\u0301", "ｶﾞ", "\ue000", "#x", "3.14"]
    return [unit * n for unit in units for n in (1, 2, 3, 7, 400)] + [c for c in map(chr, range(0x250))]


def normalization_texts():
    """Each mark before and behind marks of the highest and the lowest class, and each character with a decomposition."""
    for c in map(chr, range(0x300, 0x20000)):
        if unicodedata.category(c)[0] == "M":
            yield from ("a\u0345" + c, "a" + c + "\u0334")
        elif unicodedata.decomposition(c):
            yield c


def broken_texts(seed, texts):
    """Texts with bytes changed, left out and put in."""
    rng = random.Random(seed)
    result = []
    for text in texts:
        data = bytearray(text.encode())
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data) + 1)
            data[at:at + rng.randint(0, 2)] = bytes(rng.randrange(256) for _ in range(rng.randint(0, 2)))
        result.append(bytes(data))
    return result


def octavo_ids(program, vocabulary, texts):
    data = b"".join(struct.pack("<I", len(t)) + t for t in texts)
    output = subprocess.run([program, vocabulary], input=data, stdout=subprocess.PIPE, check=True).stdout
    ids, place = [], 0
    for _ in texts:
        count = struct.unpack_from("<I", output, place)[0]
        ids.append(list(struct.unpack_from(f"<{count}i", output, place + 4)))
        place += 4 + 4 * count
    return ids


def octavo_texts(program, vocabulary, lists):
    """The bytes that each list of ids is decoded to."""
    data = b"".join(struct.pack(f"<I{len(ids)}i", len(ids), *ids) for ids in lists)
    output = subprocess.run([program, vocabulary, "--decode"], input=data, stdout=subprocess.PIPE, check=True).stdout
    texts, place = [], 0
    for _ in lists:
        count = struct.unpack_from("<I", output, place)[0]
        texts.append(output[place + 4:place + 4 + count])
        place += 4 + count
    return texts


def random_ids(seed, size, count):
    rng = random.Random(seed)
    return [[rng.randrange(size) for _ in range(rng.randint(1, 20))] for _ in range(count)]


def reason_to_differ(family, vocabulary, ids, text):
    """Why Octavo's text of these ids may be another than that of `tokenizers`, or None; docs/tokenizers.md lists them."""
    is_spm = family.pre_tokenizers is None
    if is_spm and "\ufffd" in text:
        return "bytes"  # of a run that is no text `tokenizers` writes U+FFFD for each, Octavo for each that is no character
    if is_spm and vocabulary.adds_space and any(vocabulary.types[i] in (CONTROL, USER_DEFINED, UNKNOWN) for i in ids):
        return "space"  # behind a special token Octavo leaves the space out that encoding puts there
    if not is_spm and any(vocabulary.types[i] == USER_DEFINED and not vocabulary.tokens[i].isascii() for i in ids):
        return "added"  # `tokenizers` takes the letters of an added token for those that stand for bytes
    return None


def check_decoding(name, program, vocabulary, tokenizer, sources, lists):
    """Texts of ids that are equal, that differ for a reason, and that differ."""
    family = FAMILIES[name]
    expected = tokenizer.decode_batch(lists, skip_special_tokens=False)
    equal = known = different = 0
    for ids, want, *found in zip(lists, expected, *(octavo_texts(program, path, lists) for path in sources.values())):
        got = [data.decode("utf-8", "replace") for data in found]
        if all(text == want for text in got):
            equal += 1
        elif reason_to_differ(family, vocabulary, ids, want):
            known += 1
        else:
            different += 1
            if different <= 5:
                print(f"{name}, decode: {ids[:20]}\n  expected {want[:80]!r}\n  got      {[g[:80] for g in got]!r}")
    return Result(equal, known, different)


def later_punctuation():
    """Punctuation that the Punctuation of `tokenizers` does not know, and what it takes for some."""
    known = pre_tokenizers.Punctuation("isolated")
    found = lambda c: len(known.pre_tokenize_str(f"x{c}x")) == 3
    kinds = lambda c: unicodedata.category(c)[0] == "P" or c in "$+<=>^`|~"
    return {chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000 and unicodedata.category(chr(c))[0] in "PS"
            and found(chr(c)) != kinds(chr(c))}


class Result(NamedTuple):
    equal: int
    known: int
    different: int


def share_of(name, texts, count):
    """`count` of the texts, which begin where those of the family before end."""
    first = list(FAMILIES).index(name) * count % len(texts)
    return (texts + texts)[first:first + count]


def about_normalizers(name, in_part):
    """Texts that a normalizer changes; in part where another family before has the same normalizer."""
    normalizer = FAMILIES[name].normalizer
    if not normalizer:
        return []
    texts = list(normalization_texts())
    first = next(other for other in FAMILIES if FAMILIES[other].normalizer == normalizer)
    return texts[::16] if in_part and name != first else texts


def check(name, args, folder, varied, broken, training):
    family = FAMILIES[name]
    texts = (share_of(name, varied, args.texts) if args.texts else varied) + adversarial_texts()
    if family.file.endswith(".gguf"):
        path = args.vocabs / family.file
        vocabulary = read_gguf(path)
    else:
        vocabulary = read_tekken(args.vocabs / family.file) if family.file else train(family, training)
        path = folder / f"{name}.gguf"
        write_gguf(vocabulary, name, path)
    tokenizer = reference(family, vocabulary)
    # SentencePiece vocabularies have the bytes of broken text; `tokenizers` cannot be asked about it.
    cases = [(t.encode(), t) for t in texts] + (broken if family.pre_tokenizers else [])
    cases += [(t.encode(), t) for t in about_normalizers(name, args.texts)]
    expected = [e.ids for e in tokenizer.encode_batch([text for _, text in cases], add_special_tokens=False)]
    saved = folder / f"{name.split()[0]}.json"
    tokenizer.save(str(saved))
    data = [data for data, _ in cases]
    files = {"GGUF": path, "tokenizer.json": saved}
    sources = {form: octavo_ids(args.program, file, data) for form, file in files.items()}
    excused = later_punctuation() if name in KNOWN else set()
    equal = known = different = 0
    for (data, text), want, *found in zip(cases, expected, *sources.values()):
        if all(ids == want for ids in found):
            equal += 1
        elif excused.intersection(text):
            known += 1
        else:
            different += 1
            for source, ids in zip(sources, found):
                if different <= 5 and ids != want:
                    print(f"{name}, {source}: {text[:80]!r} {data[:60]!r}\n  expected {want[:30]}\n  got      {ids[:30]}")
    lists = expected + random_ids(29, len(vocabulary.tokens), args.texts or 3000)
    decoded = check_decoding(name, args.program, vocabulary, tokenizer, files, lists)
    return Result(equal, known, different), decoded


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--vocabs", required=True, type=pathlib.Path)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--texts", type=int, metavar="N")
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    varied = varied_texts(26, 5000)
    training = SENTENCES + varied_texts(27, 1500)
    broken = [(data, text) for data in broken_texts(28, varied[:500]) if (text := repaired(data)) is not None]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in args.family or FAMILIES:
            result, decoded = check(name, args, pathlib.Path(folder), varied, broken, training)
            wrong += result.different + decoded.different
            if args.markdown:
                family = FAMILIES[name]
                vocabulary = f"`{family.file}`" if family.file else "trained"
                print(f"| {name} | {family.source} | {vocabulary} | {result.equal} | {decoded.equal} |", flush=True)
            else:
                why = f", {result.known} differ: {KNOWN[name]}" if result.known else ""
                print(f"{name}: {result.equal} texts equal{why}, {result.different} wrong; of ids {decoded.equal} equal, "
                      f"{decoded.known} differ for a reason, {decoded.different} wrong", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
