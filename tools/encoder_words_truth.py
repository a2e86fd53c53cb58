#!/usr/bin/env python3
"""Compares Octavo's words of encoders, WordPiece and Unigram, with those of Hugging Face `tokenizers`.

    tools/encoder_words_truth.py --program build/release/tokenizer_ids --vocabs FOLDER [--texts N] [--markdown]

Each of FAMILIES has a vocabulary: a real one of FOLDER (tools/fetch_models.py test), or one that is trained here. It is
compared as GGUF and as the tokenizer.json that `tokenizers` saves: the ids of 10,000 varied texts of a fixed seed, or of
N, of texts of one thing over and over, and of each character that has a decomposition and each mark; pairs of texts, cut
and whole, with their token types; and the text of these ids and of random ones. Exit code 1 if one differs. --markdown
prints the table of docs/tokenizers.md.
"""
import argparse
import functools
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from typing import NamedTuple

import gguf
from tokenizers import AddedToken, Regex, Tokenizer, decoders, normalizers, pre_tokenizers, processors, trainers
from tokenizers.models import Unigram, WordPiece

from gguf_file import GgufFile
from make_tokenizer_golden import SENTENCES
from tokenizer_truth import (CONTROL, NORMAL, UNKNOWN, UNUSED, adversarial_texts, normalization_texts, octavo_ids,
                             octavo_texts, random_ids, varied_texts)

MARK = "\u2581"
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
XLMR_TOKENS = ["<s>", "<pad>", "</s>", "<unk>"]
PAIR_TOKENS = 24  # of a pair that is cut


class Family(NamedTuple):
    source: str  # where the original was read
    make: object  # of the folders of real and of made files: the tokenizer of `tokenizers`, its GGUF, and its control ids
    file: str = ""  # the real vocabulary; "": one is trained
    lacks: frozenset = frozenset()  # characters of which its two forms have other opinions


class Words(NamedTuple):
    tokenizer: Tokenizer  # as it is saved
    reference: Tokenizer  # the same, where control tokens in a text are text
    path: pathlib.Path  # the GGUF file
    control: set  # ids


@functools.cache
def read_fields(path):
    keys = {key: field for key, field in GgufFile(path).fields.items() if key.startswith("tokenizer.ggml.")}
    return {key.removeprefix("tokenizer.ggml."): field.contents() for key, field in keys.items()}


def bert_tokenizer(words, first, separator, unknown, control, lowercase):
    """BERT's tokenizer: `words` are as vocab.txt has them."""
    tokenizer = Tokenizer(WordPiece({word: i for i, word in enumerate(words)}, unk_token=words[unknown]))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(cleanup=False)
    name = words[first], words[separator]
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{name[0]} $A {name[1]}", pair=f"{name[0]} $A {name[1]} $B:1 {name[1]}:1",
        special_tokens=[(name[0], first), (name[1], separator)])
    saved = Tokenizer.from_str(tokenizer.to_str())
    saved.add_special_tokens([AddedToken(words[i], normalized=False) for i in sorted(control)])
    return saved, tokenizer


def bert_uncased(vocabs, _):
    path = vocabs / "ggml-vocab-bert-bge.gguf"
    fields = read_fields(path)
    control = {i for i, kind in enumerate(fields["token_type"]) if kind == CONTROL}
    words = [t if i in control else t.removeprefix(MARK) if t.startswith(MARK) else "##" + t
             for i, t in enumerate(fields["tokens"])]
    saved, reference = bert_tokenizer(words, fields["cls_token_id"], fields["seperator_token_id"],
                                      fields["unknown_token_id"], control, True)
    return Words(saved, reference, path, control)


def bert_cased(_, folder):
    """A trained one; its file says nothing of letters, as those of before 2026 do."""
    trained = Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.BertNormalizer(lowercase=False)
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.train_from_iterator(SENTENCES + varied_texts(27, 1500), trainers.WordPieceTrainer(
        vocab_size=4000, show_progress=False, special_tokens=BERT_TOKENS))
    vocab = trained.get_vocab()
    words = sorted(vocab, key=vocab.get)
    control = set(range(len(BERT_TOKENS)))
    saved, reference = bert_tokenizer(words, 2, 3, 1, control, False)
    path = folder / "bert_cased.gguf"
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_tokenizer_model("bert")
    writer.add_token_list([w if i in control else w[2:] if w.startswith("##") else MARK + w for i, w in enumerate(words)])
    writer.add_token_types([CONTROL if i in control else NORMAL for i in range(len(words))])
    writer.add_unk_token_id(1)
    writer.add_sep_token_id(3)
    writer.add_uint32("tokenizer.ggml.cls_token_id", 2)
    finish(writer)
    return Words(saved, reference, path, control)


def finish(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def unigram_tokenizer(pieces, types, charsmap, normal, cuts):
    """XLM-RoBERTa's tokenizer. Special pieces are hidden from texts behind characters of private use in the second one."""
    hidden = [(piece if kind not in (CONTROL, UNKNOWN) else chr(0x10F000 + i % 4096), score)
              for i, ((piece, score), kind) in enumerate(zip(pieces, types))]
    made = []
    for vocabulary in (pieces, hidden):
        tokenizer = Tokenizer(Unigram(vocabulary, unk_id=types.index(UNKNOWN)))
        tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(charsmap)] + normal)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(cuts)
        tokenizer.decoder = decoders.Metaspace()
        tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
        made.append(tokenizer)
    made[0].add_special_tokens([AddedToken(piece, normalized=False) for (piece, _), kind in zip(pieces, types)
                                if kind in (CONTROL, UNKNOWN)])
    return made


def xlm_roberta(vocabs, _):
    path = vocabs / "ggml-vocab-nomic-bert-moe.gguf"
    fields = read_fields(path)
    types = fields["token_type"]
    # Rows of the embedding without a token have texts and scores of llama.cpp's, which the original has not.
    pieces = [(t, -1.0 if kind == UNUSED else s) for t, s, kind in zip(fields["tokens"], fields["scores"], types)]
    saved, reference = unigram_tokenizer(pieces, types, bytes(fields["precompiled_charsmap"]), [],
                                         [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return Words(saved, reference, path, {i for i, kind in enumerate(types) if kind in (CONTROL, UNKNOWN, UNUSED)})


def small_unigram(vocabs, folder):
    """A trained one with the charsmap of XLM-RoBERTa, set up as `transformers` converts SentencePiece's files now."""
    charsmap = bytes(read_fields(vocabs / "ggml-vocab-nomic-bert-moe.gguf")["precompiled_charsmap"])
    trained = Tokenizer(Unigram())
    trained.normalizer = normalizers.Precompiled(charsmap)
    trained.pre_tokenizer = pre_tokenizers.Metaspace()
    texts = [text.replace("</s>", "") for text in SENTENCES + varied_texts(27, 1500)]
    trained.train_from_iterator(texts, trainers.UnigramTrainer(
        vocab_size=4000, show_progress=False, special_tokens=XLMR_TOKENS, unk_token="<unk>"))
    narrow = lambda score: struct.unpack("<f", struct.pack("<f", score))[0]  # a GGUF file's scores have 32 bits
    ids = trained.get_vocab()
    scores = dict(trained_scores(trained))
    pieces = [(piece, narrow(scores[piece])) for piece in sorted(ids, key=ids.get)]
    types = [CONTROL, CONTROL, CONTROL, UNKNOWN] + [NORMAL] * (len(pieces) - 4)
    saved, reference = unigram_tokenizer(
        pieces, types, charsmap, [normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), MARK)],
        [pre_tokenizers.Metaspace()])
    path = folder / "unigram.gguf"
    writer = gguf.GGUFWriter(path, "bert")
    writer.add_tokenizer_model("t5")
    writer.add_token_list([piece for piece, _ in pieces])
    writer.add_token_scores([score for _, score in pieces])
    writer.add_token_types(types)
    writer.add_precompiled_charsmap(charsmap)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(3)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(True)
    finish(writer)
    return Words(saved, reference, path, set(range(4)))


def trained_scores(tokenizer):
    return json.loads(tokenizer.to_str())["model"]["vocab"]


FAMILIES = {
    "bert (WordPiece)": Family("sentence-transformers/all-MiniLM-L6-v2", bert_uncased, "ggml-vocab-bert-bge.gguf"),
    "bert, cased (WordPiece)": Family("`tokenizers`, BertNormalizer", bert_cased),
    "t5 (Unigram)": Family("FacebookAI/xlm-roberta-base", xlm_roberta, "ggml-vocab-nomic-bert-moe.gguf"),
    "t5, as converted now (Unigram)": Family("`transformers`, convert_slow_tokenizer.py", small_unigram,
                                             lacks=frozenset("\x85")),  # white space for a GGUF file
}


def octavo_pairs(program, path, pairs, max_tokens):
    """The ids and the types of each pair."""
    data = b"".join(struct.pack("<I", len(t)) + t for pair in pairs for t in (text.encode() for text in pair))
    command = [program, path, "--pairs", str(max_tokens)]
    output = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True).stdout
    found, place = [], 0
    for _ in pairs:
        count = struct.unpack_from("<I", output, place)[0]
        ids = list(struct.unpack_from(f"<{count}i", output, place + 4))
        place += 8 + 4 * count
        found.append((ids, list(output[place:place + count])))
        place += count
    return found


class Counter:
    """Counts what is equal in both forms, and shows the first that are not."""

    def __init__(self, name):
        self.name = name
        self.equal = self.different = 0

    def compare(self, cases, expected, found):
        for i, (case, want) in enumerate(zip(cases, expected)):
            wrong = {form: results[i] for form, results in found.items() if results[i] != want}
            self.different += bool(wrong)
            self.equal += not wrong
            for form, got in wrong.items():
                if self.different <= 5:
                    print(f"{self.name}, {form}: {str(case)[:120]!r}\n  expected {str(want)[:200]}\n  got      {str(got)[:200]}")


def check(name, args, folder, texts):
    words = FAMILIES[name].make(args.vocabs, folder)
    texts = [text for text in texts if not FAMILIES[name].lacks.intersection(text)]
    saved = folder / f"{name.split()[0].strip(',')}.json"
    words.tokenizer.save(str(saved))
    files = {"GGUF": words.path, "tokenizer.json": saved}
    each = lambda run: {form: run(path) for form, path in files.items()}

    ids = Counter(name)
    expected = [e.ids for e in words.reference.encode_batch(texts, add_special_tokens=False)]
    ids.compare(texts, expected, each(lambda path: octavo_ids(args.program, path, [t.encode() for t in texts])))

    pairs = Counter(f"{name}, pairs")
    index = {text: i for i, text in enumerate(texts)}
    two = list(zip(texts[::2], texts[1::2]))[:max(args.texts // 4, 1)]
    # Of two texts that are each too long Octavo does not find out which one is the longer.
    two = [pair for pair in two if min(len(expected[index[text]]) for text in pair) < PAIR_TOKENS - 4]
    for most in (PAIR_TOKENS, PAIR_TOKENS + 1, 1 << 20):
        words.reference.enable_truncation(most)
        want = [(e.ids, e.type_ids) for e in words.reference.encode_batch(two)]
        pairs.compare(two, want, each(lambda path: octavo_pairs(args.program, path, two, most)))
    words.reference.no_truncation()

    decoded = Counter(f"{name}, decoding")
    vocabulary = words.tokenizer.get_vocab_size()
    lists = [[i for i in row if i not in words.control] for row in expected + random_ids(29, vocabulary, 3000)]
    # `tokenizers` keeps the mark of a first token that goes on a word.
    first = [words.tokenizer.id_to_token(row[0]) if row else "" for row in lists]
    lists = [row for row, token in zip(lists, first) if not token.startswith("##")]
    want = [text.encode() for text in words.reference.decode_batch(lists, skip_special_tokens=False)]
    decoded.compare(lists, want, each(lambda path: octavo_texts(args.program, path, lists)))
    return ids, pairs, decoded


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--vocabs", required=True, type=pathlib.Path)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--texts", type=int, default=10000)
    parser.add_argument("--markdown", action="store_true")
    args = parser.parse_args()
    texts = varied_texts(31, args.texts) + SENTENCES + adversarial_texts()
    characters = list(normalization_texts())
    texts += random.Random(32).sample(characters, min(args.texts, len(characters)))
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in args.family or FAMILIES:
            counters = check(name, args, pathlib.Path(folder), texts)
            wrong += sum(counter.different for counter in counters)
            family = FAMILIES[name]
            if args.markdown:
                file = f"`{family.file}`" if family.file else "trained"
                print(f"| {name} | {family.source} | {file} | {' | '.join(str(c.equal) for c in counters)} |", flush=True)
            else:
                print(f"{name}: " + "; ".join(f"{what}: {c.equal} equal, {c.different} wrong" for what, c in zip(
                    ("texts", "pairs", "decoded"), counters)), flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
