"""Tiny folders of sentence-transformers with random weights, as Hugging Face's tools save them.

Weights are float32 and drawn from a seed, so that whoever writes a folder again has the same model. Vectors and scores
that the original implementations make of them are in tests/data/original_vectors.npz (tools/original_vectors.py).
Needs: numpy, gguf (for model_folder.py).
"""
import json
from typing import NamedTuple

import numpy as np

import model_folder

WIDTH, HEADS, HEAD, FFN, LAYERS, CONTEXT = 64, 4, 16, 96, 3, 512
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"the sky is blue grass green what red roses are violets".split(),
         *"not query passage search".split(), ":", "?", *"abcdefghijklmnopqrstuvwxyz",
         *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
TEXTS = ["the sky is blue", "what is red ?", "roses are red violets are blue " * 6, "a"]
PAIRS = [("what is red ?", "roses are"), ("what is red ?", "violets are not red"), ("sky", "the grass is green")]
# The template of Qwen3-Reranker, as the source of a folder has it.
RANK_TEMPLATE = (
    '<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct '
    'provided. Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: Given a web '
    'search query, retrieve relevant passages that answer the query\n<Query>: {query}\n<Document>: '
    '{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n')
PROMPTS = {"query": "search query : ", "passage": "passage : "}
YES, NO = WORDS.index("red"), WORDS.index("not")

BERT = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": FFN,
        "vocab_size": len(WORDS), "max_position_embeddings": CONTEXT, "type_vocab_size": 2, "layer_norm_eps": 1e-5,
        "pad_token_id": 0}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 5000.0}}
OLD_NOMIC = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_inner": FFN, "vocab_size": len(WORDS),
             "n_positions": 8192, "max_trained_positions": CONTEXT, "type_vocab_size": 2, "layer_norm_epsilon": 1e-5,
             "rotary_emb_base": 5000, "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "prenorm": False,
             "activation_function": "swiglu", "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False}
DECODER = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": 2,
           "head_dim": HEAD, "intermediate_size": FFN, "vocab_size": len(WORDS), "max_position_embeddings": CONTEXT,
           "rms_norm_eps": 1e-6, "pad_token_id": 0, "tie_word_embeddings": True}
QWEN3 = {**DECODER, "hidden_act": "silu", **ROPE}
GEMMA = {**DECODER, "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 16, "query_pre_attn_scalar": HEAD,
         "use_bidirectional_attention": True, "final_logit_softcapping": None, "attn_logit_softcapping": None,
         "layer_types": ["sliding_attention"] * LAYERS,
         "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 50000.0},
                             "sliding_attention": {"rope_type": "default", "rope_theta": 800.0}}}


class Case(NamedTuple):
    """A folder: the model's class and kind, its config, and what stands behind the model."""
    model: str
    kind: str  # model_type
    config: dict
    pooling: str = "mean"  # "mean", "cls", "lasttoken"; "score": a ranking head; "logit": a CrossEncoder by words
    dense: tuple = ()      # widths behind the pooled row
    more: dict = {}        # of config.json


CASES = {
    "bert": Case("BertModel", "bert", {**BERT, "hidden_act": "gelu"}),
    "bert-dense": Case("BertModel", "bert", {**BERT, "hidden_act": "gelu"}, "cls", (48,)),
    "nomic-bert": Case("NomicBertModel", "nomic_bert", {**BERT, "hidden_act": "silu", "head_dim": HEAD, **ROPE}),
    "nomic-bert-old": Case("NomicBertModel", "nomic_bert", OLD_NOMIC),
    "jina-bert-v3": Case("JinaEmbeddingsV3Model", "jina_embeddings_v3", {**BERT, "hidden_act": "gelu", **ROPE}),
    "gemma-embedding": Case("Gemma3TextModel", "gemma3_text", GEMMA, "mean", (160, 48)),
    "qwen3vl": Case("Qwen3VLForConditionalGeneration", "qwen3_vl", QWEN3, "lasttoken"),
    "qwen3-classifier": Case("Qwen3ForSequenceClassification", "qwen3", QWEN3, "score",
                             more={"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}),
    "qwen3-reranker": Case("Qwen3ForCausalLM", "qwen3", QWEN3, "logit"),
}


class Weights:
    """Tensors in the order in which they are drawn."""

    def __init__(self, seed):
        self.random, self.tensors = np.random.default_rng(seed), {}

    def matrix(self, name, rows, cols, deviation=None):
        self.tensors[name] = self.random.normal(0, deviation or cols ** -0.5, (rows, cols)).astype(np.float32)

    def vector(self, name, size, mean=0.0):
        self.tensors[name] = self.random.normal(mean, 0.1, size).astype(np.float32)

    def norm(self, name, size, bias=True, mean=1.0):
        self.vector(name + ".weight", size, mean)
        if bias:
            self.vector(name + ".bias", size)

    def linear(self, name, rows, cols, bias):
        self.matrix(name + ".weight", rows, cols)
        if bias:
            self.vector(name + ".bias", rows)


def bert_tensors(w, case):
    old, native = case.config.get("n_embd"), case.kind != "bert"
    w.matrix("embeddings.word_embeddings.weight", len(WORDS), WIDTH, 0.2)
    w.matrix("embeddings.token_type_embeddings.weight", 2, WIDTH, 0.1)
    if not native:
        w.matrix("embeddings.position_embeddings.weight", CONTEXT, WIDTH, 0.1)
    w.norm("emb_ln" if old else "embeddings.LayerNorm", WIDTH)
    for i in range(LAYERS):
        add_bert_layer(w, case, f"layers.{i}." if native and not old else
                       f"encoder.layers.{i}." if old else f"encoder.layer.{i}.")


def add_bert_layer(w, case, p):
    if "n_embd" in case.config:
        w.linear(p + "attn.Wqkv", 3 * WIDTH, WIDTH, False)
        w.linear(p + "attn.out_proj", WIDTH, WIDTH, False)
        for name, rows, cols in (("fc11", FFN, WIDTH), ("fc12", FFN, WIDTH), ("fc2", WIDTH, FFN)):
            w.linear(p + "mlp." + name, rows, cols, False)
        w.norm(p + "norm1", WIDTH)
        w.norm(p + "norm2", WIDTH)
    elif case.kind == "bert":
        for name in ("self.query", "self.key", "self.value", "output.dense"):
            w.linear(p + "attention." + name, WIDTH, WIDTH, True)
        w.norm(p + "attention.output.LayerNorm", WIDTH)
        w.linear(p + "intermediate.dense", FFN, WIDTH, True)
        w.linear(p + "output.dense", WIDTH, FFN, True)
        w.norm(p + "output.LayerNorm", WIDTH)
    else:
        bias = case.kind != "nomic_bert"
        for name in "qkvo":
            w.linear(f"{p}self_attn.{name}_proj", WIDTH, WIDTH, bias)
        for name, rows, cols in ((("fc1", FFN, WIDTH), ("fc2", WIDTH, FFN)) if bias else
                                 (("gate_proj", FFN, WIDTH), ("up_proj", FFN, WIDTH), ("down_proj", WIDTH, FFN))):
            w.linear(p + "mlp." + name, rows, cols, bias)
        w.norm(p + "post_attention_layernorm", WIDTH)
        w.norm(p + "post_mlp_layernorm", WIDTH)


def decoder_tensors(w, case):
    is_gemma = case.kind == "gemma3_text"
    front = {"qwen3_vl": "model.language_model.", "gemma3_text": ""}.get(case.kind, "model.")
    mean = 0.0 if is_gemma else 1.0  # Gemma's norms multiply by one more
    w.matrix(front + "embed_tokens.weight", len(WORDS), WIDTH, 0.2)
    for i in range(LAYERS):
        p = f"{front}layers.{i}."
        for name, rows, cols in (("q_proj", HEADS * HEAD, WIDTH), ("k_proj", 2 * HEAD, WIDTH),
                                 ("v_proj", 2 * HEAD, WIDTH), ("o_proj", WIDTH, HEADS * HEAD)):
            w.linear(p + "self_attn." + name, rows, cols, False)
        for name, rows, cols in (("gate_proj", FFN, WIDTH), ("up_proj", FFN, WIDTH), ("down_proj", WIDTH, FFN)):
            w.linear(p + "mlp." + name, rows, cols, False)
        for name in ("q_norm", "k_norm"):
            w.norm(p + "self_attn." + name, HEAD, False, mean)
        norms = ["input_layernorm", "post_attention_layernorm"]
        for name in norms + (["pre_feedforward_layernorm", "post_feedforward_layernorm"] if is_gemma else []):
            w.norm(p + name, WIDTH, False, mean)
    w.norm(front + "norm", WIDTH, False, mean)
    if case.pooling == "score":
        w.matrix("score.weight", 1, WIDTH)


def tokenizer():
    """WordPiece with [CLS] and [SEP] around a text, and around a pair's two."""
    around = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]
    behind = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    special = {name: {"id": name, "ids": [WORDS.index(name)], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    added = [{"id": i, "content": word, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
              "special": True} for i, word in enumerate(WORDS[:4])]
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                           "strip_accents": None, "lowercase": True},
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": around, "pair": around + behind,
                               "special_tokens": special},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                      "max_input_chars_per_word": 100, "vocab": {word: i for i, word in enumerate(WORDS)}}}


def save(path, tensors):
    model_folder.write_safetensors(path, {name: ("F32", data.shape, data.tobytes()) for name, data in tensors.items()})


def read_tensors(folder):
    """{name: array} of a folder that save() wrote."""
    data = (folder / "model.safetensors").read_bytes()
    begin = 8 + int.from_bytes(data[:8], "little")
    rows = {name: row for name, row in json.loads(data[8:begin]).items() if name != "__metadata__"}
    return {name: np.frombuffer(data[begin + row["data_offsets"][0]:begin + row["data_offsets"][1]],
                                np.float32).reshape(row["shape"]).copy() for name, row in rows.items()}


def write_json(path, value):
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=1), encoding="utf-8")


def write_modules(folder, case, weights):
    """The modules behind the model, as sentence-transformers lists them."""
    package = "sentence_transformers.models."
    modules = [("", package + "Transformer")]
    if case.pooling == "logit":
        modules.append(("1_LogitScore", "sentence_transformers.cross_encoder.modules.logit_score.LogitScore"))
        write_json(folder / "1_LogitScore/config.json", {"true_token_id": YES, "false_token_id": NO})
    else:
        modules.append(("1_Pooling", package + "Pooling"))
        write_json(folder / "1_Pooling/config.json", {
            "word_embedding_dimension": WIDTH, "pooling_mode_cls_token": case.pooling == "cls",
            "pooling_mode_mean_tokens": case.pooling == "mean", "pooling_mode_lasttoken": case.pooling == "lasttoken",
            "include_prompt": True})
    cols = WIDTH
    for i, rows in enumerate(case.dense, 2):
        modules.append((f"{i}_Dense", package + "Dense"))
        write_json(folder / f"{i}_Dense/config.json", {"in_features": cols, "out_features": rows, "bias": False,
                                                       "activation_function": "torch.nn.modules.linear.Identity"})
        weights.tensors.clear()
        weights.matrix("linear.weight", rows, cols)
        save(folder / f"{i}_Dense/model.safetensors", weights.tensors)
        cols = rows
    write_json(folder / "modules.json", [{"idx": i, "name": str(i), "path": path, "type": kind}
                                         for i, (path, kind) in enumerate(modules)])


def write_folder(name, folder):
    """Writes a case's folder."""
    case = CASES[name]
    folder.mkdir(parents=True, exist_ok=True)
    weights = Weights(sorted(CASES).index(name))
    (bert_tensors if "bert" in case.kind or "jina" in case.kind else decoder_tensors)(weights, case)
    save(folder / "model.safetensors", weights.tensors)
    config = {"architectures": [case.model], "model_type": case.kind, **case.more}
    if case.kind == "qwen3_vl":
        rope = {**case.config["rope_parameters"], "mrope_section": [4, 2, 2], "mrope_interleaved": True}
        config |= {"tie_word_embeddings": True,
                   "text_config": {**case.config, "model_type": "qwen3_vl_text", "rope_parameters": rope}}
    else:
        config |= case.config
    write_json(folder / "config.json", config)
    write_json(folder / "tokenizer.json", tokenizer())
    write_json(folder / "tokenizer_config.json", {"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]",
                                                  "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                                                  "model_max_length": CONTEXT})
    if case.pooling == "score":
        return
    write_modules(folder, case, weights)
    if case.pooling != "logit":
        write_json(folder / "config_sentence_transformers.json",
                   {"prompts": PROMPTS, "default_prompt_name": "passage" if name == "bert" else None,
                    "similarity_fn_name": "cosine"})
        write_json(folder / "sentence_bert_config.json", {"max_seq_length": 24 if name == "bert" else CONTEXT,
                                                          "do_lower_case": False})
