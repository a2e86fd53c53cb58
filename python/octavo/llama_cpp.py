"""The shape of llama_cpp.Llama, for programs that were written for llama-cpp-python.

Arguments have its names and defaults of sampling. What is not here is a TypeError, so that nothing is taken and
ignored.
"""
from __future__ import annotations

import base64
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _queue
from ._queue import Request
from .llm import LLM, is_tokens
from .outputs import server_events

# Fields of both kinds of requests that have the server's names, beside those that the methods name.
_FIELDS = {"seed", "typical_p", "mirostat_mode", "mirostat_tau", "mirostat_eta", "logit_bias", "grammar", "json_schema",
           "presence_penalty", "frequency_penalty", "repeat_penalty", "min_p", "top_k", "top_p", "temperature", "stop",
           "dynatemp_range", "dynatemp_exponent", "xtc_probability", "xtc_threshold", "dry_multiplier", "dry_base",
           "dry_allowed_length", "dry_penalty_last_n", "dry_sequence_breakers", "top_n_sigma", "n"}
_DEFAULTS = {"top_p": 0.95, "min_p": 0.05, "top_k": 40}


def _checked(function: str, fields: Mapping[str, Any], allowed: Sequence[str] = ()) -> Dict[str, Any]:
    for name in fields:
        if name not in _FIELDS and name not in allowed:
            raise TypeError(f"{function}() got an unexpected argument {name!r}; it takes "
                            f"{', '.join(sorted(_FIELDS.union(allowed)))}")
    return {name: value for name, value in fields.items() if value is not None}


class Llama:
    """A model, as llama_cpp.Llama has it.

    model_path: a GGUF file. n_ctx: tokens of prompt and answer together, 0: what the model was trained for. n_threads:
    None is one for each physical core. embedding: the model makes vectors too. seed: of requests that name none, -1 is
    a random one each. chat_format: the name of a chat template, such as "chatml"; None is the model's own. verbose:
    bars of loading. n_batch: tokens read in one step at most. kv_memory: of the KV cache, such as "2GiB".

    Raises TypeError for arguments that are not here, and ModelError. `llm` is the octavo.LLM behind it.
    """

    def __init__(self, model_path: str, *, n_ctx: int = 0, n_threads: Optional[int] = None, embedding: bool = False,
                 seed: int = -1, chat_format: Optional[str] = None, verbose: bool = True, n_batch: int = 512,
                 kv_memory: Optional[str] = None) -> None:
        named: Dict[str, Any] = {"threads": n_threads, "embedding": embedding, "chat_template": chat_format,
                                 "chunk": n_batch, "kv_memory": kv_memory}
        if n_ctx > 0:
            named["max_context"] = n_ctx
        if seed not in (-1, 0xFFFFFFFF):
            named["seed"] = seed
        self.model_path = model_path
        self.llm = LLM(model_path, progress=verbose, **named)

    def close(self) -> None:
        """Gives the memory back."""
        self.llm.close()

    def __enter__(self) -> "Llama":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    # ---- Texts ----

    def _run(self, path: str, body: Dict[str, Any], stream: bool) -> Any:
        if stream:
            return server_events(_queue.stream(self.llm.handle, Request(path, dict(body, stream=True))))
        return self.llm.request(path, body)

    def create_completion(self, prompt: Union[str, Sequence[int]], *, suffix: Optional[str] = None,
                          max_tokens: Optional[int] = 16, temperature: float = 0.8, echo: bool = False,
                          logprobs: Optional[int] = None, stream: bool = False,
                          **fields: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """Continues a text or token ids: OpenAI's object, or with `stream` an iterator of chunks. max_tokens: None and
        numbers below 1 are until the context is full."""
        body = dict(_DEFAULTS, **_checked("create_completion", fields))
        body.update(prompt=list(prompt) if is_tokens(prompt) else prompt, temperature=temperature, echo=echo,
                    max_tokens=max_tokens if max_tokens is not None and max_tokens > 0 else -1)
        if suffix is not None:
            body["suffix"] = suffix
        if logprobs is not None:
            body["logprobs"] = logprobs
        return self._run("/v1/completions", body, stream)

    def __call__(self, prompt: Union[str, Sequence[int]],
                 **arguments: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """As create_completion."""
        return self.create_completion(prompt, **arguments)

    def create_chat_completion(self, messages: List[Dict[str, Any]], *, max_tokens: Optional[int] = None,
                               temperature: float = 0.2, stream: bool = False,
                               **fields: Any) -> Union[Dict[str, Any], Iterator[Dict[str, Any]]]:
        """Answers a conversation: OpenAI's object, or with `stream` an iterator of chunks. Beside the fields of
        sampling it takes tools, tool_choice, functions, function_call, response_format, logprobs and top_logprobs."""
        chat = ("tools", "tool_choice", "functions", "function_call", "response_format", "logprobs", "top_logprobs")
        body = dict(_DEFAULTS, **_checked("create_chat_completion", fields, chat))
        body.update(messages=messages, temperature=temperature)
        if max_tokens is not None and max_tokens > 0:
            body["max_tokens"] = max_tokens
        form = body.get("response_format")
        if isinstance(form, dict) and form.get("type") == "json_object" and "schema" in form:  # llama-cpp-python's form
            body["response_format"] = {"type": "json_schema",
                                       "json_schema": {"name": "answer", "schema": form["schema"]}}
        return self._run("/v1/chat/completions", body, stream)

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

    def detokenize(self, tokens: Sequence[int]) -> bytes:
        """The bytes of tokens; control tokens give their text."""
        return self.llm.tokenizer.decode_bytes(tokens)

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
        """The token that ends an answer, the first if there are several."""
        return self.llm.tokenizer.eos_token_ids[0]
