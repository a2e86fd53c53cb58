"""The shape of llama_cpp.Llama, for programs that were written for llama-cpp-python.

Arguments have its names, order and defaults of sampling. What is not here is a TypeError, and a value that asks for
what is not done a ValueError, so that nothing is taken and ignored.
"""
from __future__ import annotations

import base64
import dataclasses
import pathlib
import re
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _library as lib
from . import _queue
from ._fields import drop_idle
from ._json import json_bytes
from ._prompts import checked_prompt
from ._queue import Request
from .llm import LLM
from .outputs import server_events
from .tokenizer import Tokenizer

# Fields of both kinds of requests that have the server's names, beside those that the methods name.
_FIELDS = {"typical_p", "mirostat_mode", "mirostat_tau", "mirostat_eta", "logit_bias", "json_schema",
           "presence_penalty", "frequency_penalty", "repeat_penalty", "dynatemp_range", "dynatemp_exponent",
           "xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base", "dry_allowed_length",
           "dry_penalty_last_n", "dry_sequence_breakers", "top_n_sigma", "n", "model"}
# llama-cpp-python's arguments of requests that ask for nothing with these values, and have no others here.
_IDLE = {"tfs_z": (1.0, 1, None), "stopping_criteria": (None, ), "logits_processor": (None, )}
# The same of the constructor.
_IDLE_OF_MODELS = {
    "vocab_only": (False, ), "use_mlock": (False, ), "kv_overrides": (None, ), "tensor_split": (None, ),
    "rope_scaling_type": (None, -1), "pooling_type": (-1, ), "rope_freq_base": (0.0, 0), "rope_freq_scale": (0.0, 0),
    "yarn_ext_factor": (-1.0, ), "yarn_attn_factor": (1.0, ), "yarn_beta_fast": (32.0, ), "yarn_beta_slow": (1.0, ),
    "yarn_orig_ctx": (0, ), "lora_base": (None, ), "lora_path": (None, ), "lora_scale": (1.0, ),
    "numa": (False, None), "chat_handler": (None, ), "draft_model": (None, ), "tokenizer": (None, ),
    "type_k": (None, ), "type_v": (None, ), "spm_infill": (False, ), "swa_full": (None, ), "last_n_tokens_size": (64, ),
    # what is so here with each value: weights are packed in memory, and logits are computed where they are asked for
    "use_mmap": (True, False, None), "flash_attn": (True, False), "logits_all": (True, False), "no_perf": (True, False),
    "offload_kqv": (True, False), "op_offload": (None, True, False), "split_mode": (0, 1, 2), "main_gpu": (0, ),
}
_IDLE_OF_HUB: Dict[str, Sequence[Any]] = {"additional_files": (None, [], ()), "local_dir": (None, ),
                                           "local_dir_use_symlinks": ("auto", ), "cache_dir": (None, )}


@dataclasses.dataclass
class LlamaGrammar:
    """The form of an answer: a grammar in GBNF, or a JSON schema."""

    field: str
    source: str

    @classmethod
    def from_string(cls, grammar: str, verbose: bool = True) -> "LlamaGrammar":
        """A grammar in GBNF. Nothing is printed, so `verbose` asks for nothing."""
        if not isinstance(grammar, str):
            raise TypeError(f"grammar: found {type(grammar).__name__}, expected a text")
        return cls("grammar", grammar)

    @classmethod
    def from_file(cls, file: Any, verbose: bool = True) -> "LlamaGrammar":
        """The grammar in a file."""
        return cls.from_string(pathlib.Path(file).read_text(encoding="utf-8"), verbose)

    @classmethod
    def from_json_schema(cls, json_schema: Union[str, Mapping[str, Any]], verbose: bool = True) -> "LlamaGrammar":
        """A JSON schema, or its text."""
        text = json_schema if isinstance(json_schema, str) else json_bytes(json_schema, "json_schema").decode("utf-8")
        return cls("json_schema", text)


def _checked(function: str, fields: Mapping[str, Any], allowed: Sequence[str] = ()) -> Dict[str, Any]:
    """The fields of a body that are given by name. Raises TypeError, ValueError."""
    given = drop_idle(function, fields, _IDLE)
    for name in given:
        if name not in _FIELDS and name not in allowed:
            raise TypeError(f"{function}() got an unexpected argument {name!r}; it takes "
                            f"{', '.join(sorted(_FIELDS.union(allowed)))}")
    return {name: value for name, value in given.items() if value is not None}


def _limit(max_tokens: Any) -> int:
    if max_tokens is not None and (isinstance(max_tokens, bool) or not hasattr(max_tokens, "__index__")):
        raise TypeError(f"max_tokens: found {max_tokens!r:.60} ({type(max_tokens).__name__}), expected an integer or "
                        "None")
    return int(max_tokens) if max_tokens is not None and max_tokens > 0 else -1


def _sampling(temperature: float, top_p: float, min_p: float, top_k: int, stop: Any, seed: Optional[int],
              grammar: Any) -> Dict[str, Any]:
    """The fields of both kinds of requests that methods name."""
    body: Dict[str, Any] = {"temperature": temperature, "top_p": top_p, "min_p": min_p, "top_k": top_k}
    if isinstance(grammar, LlamaGrammar):
        body[grammar.field] = grammar.source
    elif grammar is not None:
        body["grammar"] = grammar
    if stop is not None:
        body["stop"] = stop if isinstance(stop, str) else list(stop)
    if seed is not None:
        body["seed"] = seed
    return body


class Llama(lib.Uncopied):
    """A model, as llama_cpp.Llama has it.

    model_path: a GGUF file. n_ctx: tokens of prompt and answer together, 0: what the model was trained for. n_threads:
    None is one for each physical core. embedding: the model makes vectors too. seed: of requests that name none, -1 is
    a random one each. chat_format: the name of a chat template, such as "chatml"; None is the model's own. verbose:
    bars of loading. n_batch: tokens read in one step at most. kv_memory: of the KV cache, such as "2GiB". n_gpu_layers:
    0 and -1; another number is warned about, since no layer of a Llama lies on a card: octavo.LLM has `device` and
    `gpu_layers`. Other arguments of llama-cpp-python are taken where their value asks for nothing that is not done, and
    else a ValueError.

    Raises TypeError for arguments that are not here, and ModelError. `llm` is the octavo.LLM behind it.
    """

    def __init__(self, model_path: str, *, n_gpu_layers: int = 0, n_ctx: int = 0, n_threads: Optional[int] = None,
                 n_threads_batch: Optional[int] = None, n_ubatch: Optional[int] = None, embedding: bool = False,
                 seed: int = -1, chat_format: Optional[str] = None, verbose: bool = True, n_batch: int = 512,
                 kv_memory: Optional[str] = None, **others: Any) -> None:
        for name in drop_idle("Llama", others, _IDLE_OF_MODELS):
            raise TypeError(f"Llama() got an unexpected argument {name!r}")
        if not isinstance(model_path, str) and not hasattr(model_path, "__fspath__"):
            raise TypeError(f"model_path: found {type(model_path).__name__}, expected a path")
        if n_gpu_layers not in (0, -1):
            warnings.warn(f"n_gpu_layers: found {n_gpu_layers!r}, expected 0 or -1: a Llama asks for no card, as "
                          "octavo.LLM(model, device='cuda', gpu_layers=N) does")
        for name, value, same_as, same in (("n_threads_batch", n_threads_batch, "n_threads", n_threads),
                                           ("n_ubatch", n_ubatch, "n_batch", n_batch)):
            if value is not None and value != same:
                raise ValueError(f"{name}: found {value!r}, expected None or {same!r}, as {same_as}")
        named: Dict[str, Any] = {"threads": n_threads, "embedding": embedding, "chat_template": chat_format,
                                 "chunk": n_batch, "kv_memory": kv_memory}
        if n_ctx < 0:
            raise ValueError(f"n_ctx: found {n_ctx}, expected 0 or a number of tokens")
        if n_ctx > 0:
            named["max_context"] = n_ctx
        if seed not in (-1, 0xFFFFFFFF):
            named["seed"] = seed
        self.model_path = model_path
        self.verbose = verbose
        self.llm = LLM(model_path, progress=verbose, **named)
        self._control: Dict[int, bool] = {}

    @classmethod
    def from_pretrained(cls, repo_id: str, filename: Optional[str] = None, **options: Any) -> "Llama":
        """A model of the hub. filename: the name of a file of the repository, or a pattern such as "*Q8_0.gguf" that
        stands for a type; None is the type that a hub's name without one means. options: those of the constructor."""
        given = drop_idle("from_pretrained", options, _IDLE_OF_HUB)
        if filename is None:
            return cls(repo_id, **given)
        word = re.fullmatch(r"\*[-._]?([\w-]+)(?:\.gguf|\*\.gguf|\*)", filename)
        if word is None and any(sign in filename for sign in "*?["):
            raise ValueError(f"filename: found {filename!r}, expected a file's name or a pattern such as '*Q8_0.gguf'")
        return cls(f"{repo_id}:{word.group(1) if word is not None else filename}", **given)

    def close(self) -> None:
        """Gives the memory back."""
        self.llm.close()

    def __enter__(self) -> "Llama":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- Texts ----

    def _run(self, path: str, body: Dict[str, Any], stream: bool) -> Any:
        name = body.pop("model", None)
        told = {"model": name} if name is not None else {}
        if stream:
            return self._chunks(self.llm.handle, Request(path, dict(body, stream=True)), told)
        return {**self.llm.request(path, body), **told}

    def _chunks(self, handle: int, request: Request, told: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
        """The chunks of an answer, which keep the model."""
        for chunk in server_events(_queue.stream(handle, request)):
            yield {**chunk, **told}

    def create_completion(self, prompt: Union[str, Sequence[int]], suffix: Optional[str] = None,
                          max_tokens: Optional[int] = 16, temperature: float = 0.8, top_p: float = 0.95,
                          min_p: float = 0.05, typical_p: Optional[float] = None, logprobs: Optional[int] = None,
                          echo: bool = False, stop: Union[str, Sequence[str], None] = None,
                          frequency_penalty: Optional[float] = None, presence_penalty: Optional[float] = None,
                          repeat_penalty: Optional[float] = None, top_k: int = 40, stream: bool = False,
                          seed: Optional[int] = None, *, grammar: Any = None,
                          **fields: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """Continues a text or token ids: OpenAI's object, or with `stream` an iterator of chunks. max_tokens: None and
        numbers below 1 are until the context is full. grammar: a LlamaGrammar, or GBNF. model: the name that the answer
        tells."""
        fields.update(typical_p=typical_p, frequency_penalty=frequency_penalty, presence_penalty=presence_penalty,
                      repeat_penalty=repeat_penalty)
        body = _checked("create_completion", fields)
        body.update(_sampling(temperature, top_p, min_p, top_k, stop, seed, grammar), prompt=checked_prompt(prompt),
                    echo=echo, max_tokens=_limit(max_tokens))
        if suffix is not None:
            body["suffix"] = suffix
        if logprobs is not None:
            body["logprobs"] = logprobs
        return self._run("/v1/completions", body, stream)

    def __call__(self, prompt: Union[str, Sequence[int]], *arguments: Any,
                 **named: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """As create_completion."""
        return self.create_completion(prompt, *arguments, **named)

    def create_chat_completion(self, messages: List[Dict[str, Any]], functions: Optional[List[Any]] = None,
                               function_call: Any = None, tools: Optional[List[Any]] = None, tool_choice: Any = None,
                               temperature: float = 0.2, top_p: float = 0.95, top_k: int = 40, min_p: float = 0.05,
                               typical_p: Optional[float] = None, stream: bool = False,
                               stop: Union[str, Sequence[str], None] = None, seed: Optional[int] = None,
                               response_format: Optional[Mapping[str, Any]] = None, max_tokens: Optional[int] = None,
                               *, grammar: Any = None,
                               **fields: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """Answers a conversation: OpenAI's object, or with `stream` an iterator of chunks. Beside the fields of
        sampling it takes logprobs and top_logprobs."""
        fields.update(typical_p=typical_p, functions=functions, function_call=function_call, tools=tools,
                      tool_choice=tool_choice, response_format=response_format)
        body = _checked("create_chat_completion", fields, ("functions", "function_call", "tools", "tool_choice",
                                                           "response_format", "logprobs", "top_logprobs"))
        body.update(_sampling(temperature, top_p, min_p, top_k, stop, seed, grammar), messages=messages)
        limit = _limit(max_tokens)
        if limit > 0:
            body["max_tokens"] = limit
        form = body.get("response_format")
        if isinstance(form, Mapping) and form.get("type") == "json_object" and "schema" in form:  # llama-cpp-python's
            body["response_format"] = {"type": "json_schema",
                                       "json_schema": {"name": "answer", "schema": form["schema"]}}
        return self._run("/v1/chat/completions", body, stream)

    def create_chat_completion_openai_v1(self, *arguments: Any, **named: Any) -> Any:
        """The same as create_chat_completion, with objects of the package openai."""
        from openai.types.chat import ChatCompletion, ChatCompletionChunk
        answer = self.create_chat_completion(*arguments, **named)
        if isinstance(answer, dict):
            return ChatCompletion.model_validate(answer)
        return (ChatCompletionChunk.model_validate(chunk) for chunk in answer)

    # ---- Vectors ----

    def create_embedding(self, input: Union[str, List[str]]) -> Dict[str, Any]:
        """The vectors of a text or of several, of the length 1, as OpenAI has them."""
        return self.llm.request("/v1/embeddings", {"input": input})

    def embed(self, input: Union[str, List[str]], normalize: bool = False, truncate: bool = True) -> Any:
        """The vector of a text, a list of floats, or of several, a list of these. truncate: a text that is longer than
        the context loses its end."""
        import numpy as np
        body: Dict[str, Any] = {"input": input, "normalize": normalize, "encoding_format": "base64"}
        if truncate:
            body["truncate_prompt_tokens"] = -1
        data = self.llm.request("/v1/embeddings", body)["data"]
        vectors = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4").tolist() for one in data]
        return vectors[0] if isinstance(input, str) else vectors

    # ---- Words ----

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> List[int]:
        """The token ids of a text in UTF-8. special: control tokens that are written in it become those tokens."""
        if not isinstance(text, bytes):
            raise TypeError(f"text: found {type(text).__name__}, expected bytes")
        return self.llm.tokenizer.encode(text, add_bos, special)

    def detokenize(self, tokens: Sequence[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of tokens. prev_tokens: those before, which a word's leading space may depend on. special: with the
        texts of control tokens."""
        shown = list(tokens) if special else [token for token in tokens if not self._is_control(token)]
        before = list(prev_tokens or ())
        decode = self.llm.tokenizer.decode_bytes
        return decode(before + shown)[len(decode(before)):]

    def _is_control(self, token: int) -> bool:
        """Whether a text becomes this token only where control tokens are looked for."""
        if token not in self._control:
            encode, text = self.llm.tokenizer.encode, self.llm.tokenizer.decode_bytes([token])
            self._control[token] = encode(text, False, True) == [token] != encode(text, False, False)
        return self._control[token]

    def tokenizer(self) -> Tokenizer:
        """The model's words: `encode` and `decode`."""
        return self.llm.tokenizer

    def token_nl(self) -> int:
        """The token of a line's end."""
        return self.llm.tokenizer.encode("\n", add_special_tokens=False)[-1]

    def n_ctx(self) -> int:
        """Tokens of prompt and answer together at most."""
        return int(self.llm.info["max_context"])

    def n_vocab(self) -> int:
        """The number of tokens."""
        return self.llm.tokenizer.vocab_size

    def n_embd(self) -> int:
        """The floats of a vector."""
        return int(self.llm.info["vector_width"])

    def token_eos(self) -> int:
        """The token that ends an answer, as the model's file names it."""
        return self.llm.tokenizer.eos_token_id
