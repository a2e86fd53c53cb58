"""A model in this process."""
from __future__ import annotations

import atexit
import base64
import ctypes
import inspect
import weakref
from typing import (TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union, overload)

from . import _library as lib
from . import _queue
from ._chat import Messages, chat_body, chat_rounds, checked_messages, is_conversations
from ._fields import TEXT, check_names, checked_fields
from ._interrupt import DIRECT_BYTES, call
from ._json import json_bytes
from ._load import load
from ._progress import Progress, progress_of
from ._prompts import Prompt, checked_prompt, checked_prompts, completion, is_tokens
from ._queue import Request
from ._tools import Tools
from .constraint import Constraint
from .context import Context
from .errors import ClosedError
from .outputs import ChatOutput, EventReader, RequestOutput, ScoreOutput, StreamPiece, piece_of, request_output, \
    server_events
from .sampling import SamplingParams, checked_params, params_of_text
from .tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

Params = Union[SamplingParams, Sequence[SamplingParams], None]

_TEXTS_OF_REQUEST = 1024  # of embeddings; the server takes 2048
_open: "weakref.WeakSet[LLM]" = weakref.WeakSet()


def _parts(inputs: List[Any]) -> List[List[Any]]:
    return [inputs[i:i + _TEXTS_OF_REQUEST] for i in range(0, len(inputs), _TEXTS_OF_REQUEST)]


def _checked_documents(query: Any, documents: Any) -> List[str]:
    """The documents of a query. Raises TypeError."""
    if not isinstance(query, str):
        raise TypeError(f"query: found {query!r:.60} ({type(query).__name__}), expected a text")
    if isinstance(documents, (str, bytes, Mapping)) or not hasattr(documents, "__iter__"):
        raise TypeError(f"documents: found {documents!r:.60} ({type(documents).__name__}), expected a list of texts")
    given = list(documents)
    for i, document in enumerate(given):
        if not isinstance(document, str):
            raise TypeError(f"documents[{i}]: found {document!r:.60} ({type(document).__name__}), expected a text")
    return given


class LLM(lib.Handle):
    """A model that is loaded into this process, and answers any number of threads and asyncio tasks at once.

        with octavo.LLM("model.gguf", threads=4) as llm:
            print(llm.generate("Once upon a time", octavo.SamplingParams(max_tokens=40))[0].text)

    model: a GGUF file, a folder, or a hub's name, which is fetched if it is not here; None: the default model.
    progress: bars of fetching and loading on standard error, where that is a terminal.
    shares: another LLM, whose threads this one shares.
    options: those of `octavo serve` that are about a model and its requests (docs/server/operation.md), by their names
    with underscores: threads=4, max_context=4096, kv_memory="2GiB", embedding=True, repack=False.

    Raises ModelError for a file that is no model or an option that is wrong, and OutOfMemoryError.

    All methods raise InvalidRequestError (ContextLengthError for prompts beyond the context), ClosedError after
    `close`, ForkedError in a forked process, and StoppedError where `close` ends what runs. A call that is interrupted
    (Ctrl-C, a cancelled task, a generator that is dropped) cancels what it asked for; the LLM goes on. Where more
    requests wait than `max_queued`, the next ones wait for room.
    """

    def __init__(self, model: Any = None, *, progress: bool = True, shares: Optional["LLM"] = None,
                 **options: Any) -> None:
        self._handle = 0
        if shares is not None and not isinstance(shares, LLM):
            raise TypeError(f"shares: found {type(shares).__name__}, expected an LLM or None")
        self._handle = load(model, progress, shares.handle if shares is not None else 0, options)
        self._info: Optional[Dict[str, Any]] = None
        _open.add(self)

    # ---- The object ----

    @property
    def handle(self) -> int:
        """The model's handle in the C interface. Raises ClosedError."""
        if not self._handle:
            raise ClosedError("found an LLM that was closed, expected an open one")
        return self._handle

    def close(self) -> None:
        """Ends what runs, with StoppedError for those who wait, and gives the memory back. A second call does
        nothing. Ctrl-C leaves it to a thread, which waits for the step that runs."""
        if self._handle:
            call(super().close, is_long=True)

    def __del__(self) -> None:
        super().close()

    def __repr__(self) -> str:
        return f"<octavo.LLM {self.info['name'] if self._handle else 'closed'}>"

    @property
    def info(self) -> Dict[str, Any]:
        """What the model is: name, file, architecture, vocab_size, max_context (tokens), weight_bytes, ..."""
        handle = self.handle
        if self._info is None:
            self._info = lib.library().json("octavo_info", handle)
        return dict(self._info)

    def stats(self) -> Dict[str, int]:
        """Counts since the model was loaded (steps, prompt_tokens, generated_tokens, ...), and its present state
        (running and waiting sequences, kv_bytes)."""
        return lib.library().counts(self.handle)

    def release_memory(self, cached: bool = True) -> None:
        """Gives KV memory that no request holds back to the system; with `cached` also that of prompts that were kept
        to be found again."""
        lib.library().call("octavo_release_memory", self.handle, int(bool(cached)))

    def answer(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer of /tokenize, /detokenize or /apply-template of the server's API to a body."""
        data, name, handle = json_bytes(body), lib.c_string("path", path), self.handle
        return call(lambda: lib.library().json("octavo_answer", handle, name, data, len(data)),
                    is_long=len(data) >= DIRECT_BYTES)

    def request(self, path: str, body: Mapping[str, Any]) -> Any:
        """The answer of another of the server's APIs, such as "/v1/responses", to a body that is not streamed."""
        for name, value, kind in (("path", path, str), ("body", body, Mapping)):
            if not isinstance(value, kind):
                expected = "a path of the server's, such as '/v1/responses'" if kind is str else "a dict"
                raise TypeError(f"{name}: found {value!r:.60} ({type(value).__name__}), expected {expected}")
        whole = {"stream": False} if path.startswith("/api/") else {}  # ollama's answers are streams unless told
        return _queue.run(self.handle, [Request(path, {**whole, **body})])[0].json()

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's words."""
        return Tokenizer(self)

    # ---- Texts ----

    def generate(self, prompts: Union[Prompt, Sequence[Prompt]], sampling_params: Params = None, *,
                 use_tqdm: Progress = False) -> List[RequestOutput]:
        """Continues prompts, all at once; the outputs are in the order of the prompts, one for each.

        prompts: a text, token ids, a dict with `prompt` or `prompt_token_ids`, or a list of these. A text begins with
        the model's own first token, if it has one.
        sampling_params: one for all prompts, or a list with one for each.
        use_tqdm: True has a bar of the package tqdm, or what makes such a bar.
        """
        given, params, requests = self._completions(prompts, sampling_params)
        with progress_of(use_tqdm, len(requests)) as step:
            answers = _queue.run(self.handle, requests, step)
        return self._outputs(given, params, [answer.json() for answer in answers])

    async def agenerate(self, prompts: Union[Prompt, Sequence[Prompt]],
                        sampling_params: Params = None) -> List[RequestOutput]:
        """As `generate`, for asyncio."""
        given, params, requests = self._completions(prompts, sampling_params)
        answers = await _queue.arun(self.handle, requests)
        return self._outputs(given, params, [answer.json() for answer in answers])

    @staticmethod
    def _completions(prompts: Any, sampling_params: Any) -> Tuple[List[Optional[str]], List[SamplingParams],
                                                                  List[Request]]:
        given = checked_prompts(prompts)
        params = checked_params(sampling_params, len(given))
        for one in {id(one): one for one in params}.values():
            check_names("SamplingParams.extra of generate", one.extra, TEXT)
            if one.extra.get("echo") and one.logprobs is not None:
                raise ValueError("echo: found True beside logprobs, expected prompt_logprobs for those of the prompt")
        requests = [completion(prompt, dict(one.fields(), return_token_ids=True, return_tokens_as_token_ids=True),
                               f"prompts[{i}]" if len(given) > 1 else "prompt")
                    for i, ((prompt, _), one) in enumerate(zip(given, params))]
        return [text for _, text in given], params, requests

    def _outputs(self, texts: Sequence[Optional[str]], params: Sequence[SamplingParams],
                 answers: Sequence[Dict[str, Any]]) -> List[RequestOutput]:
        decode = self.tokenizer.texts_behind
        ends = set(self.tokenizer.eos_token_ids)
        outputs = [request_output(raw, text, one.logprobs or 0, decode)
                   for text, one, raw in zip(texts, params, answers)]
        for output, one in zip(outputs, params):
            for answer in output.outputs:
                answer.tell_stop_token(one.stop_token_ids or (), set() if one.ignore_eos else ends)
                if one.detokenize is False:
                    answer.text = ""
        return outputs

    @overload
    def chat(self, messages: Messages, sampling_params: Optional[SamplingParams] = None, *,
             tools: Optional[Sequence[Any]] = None, response_format: Any = None, max_tool_rounds: int = 8,
             use_tqdm: Progress = False, **fields: Any) -> ChatOutput: ...

    @overload
    def chat(self, messages: Sequence[Sequence[Mapping[str, Any]]], sampling_params: Params = None, *,
             tools: Optional[Sequence[Any]] = None, response_format: Any = None, max_tool_rounds: int = 8,
             use_tqdm: Progress = False, **fields: Any) -> List[ChatOutput]: ...

    def chat(self, messages: Any, sampling_params: Any = None, *, tools: Optional[Sequence[Any]] = None,
             response_format: Any = None, max_tool_rounds: int = 8, use_tqdm: Progress = False, **fields: Any) -> Any:
        """Answers a conversation through the model's chat template: a ChatOutput, or a list of them for a list of
        conversations, which are answered at once.

        messages: dicts with `role` and `content`, or one text of the user's; or a list of such lists. A content may be
        a list of texts and, for a model that sees, of pictures: PIL images, paths (pathlib), bytes of files, arrays
        [height, width, 3] of uint8, or parts as the server's API has them.
        tools: Python functions, which the model may call: their schemas are made of signatures, type hints and
        docstrings, they are called with the model's arguments, and their results go back to the model until it answers
        in words, after `max_tool_rounds` at the latest. An exception of a function is the caller's. OpenAI's objects
        are shown to the model, and calls of them are returned in `tool_calls`.
        response_format: a pydantic class, a JSON schema, or OpenAI's object; `parsed` of the output is the value.
        fields: any other field of /v1/chat/completions, such as tool_choice="required", and enable_thinking=False.
        """
        several = is_conversations(messages)
        params = checked_params(sampling_params, len(messages)) if several else [sampling_params]
        rounds = [chat_rounds(one, tools, response_format, its_params, max_tool_rounds, fields)
                  for one, its_params in zip(messages if several else [messages], params)]
        with progress_of(use_tqdm, len(rounds)) as step:
            outputs = self._rounds(rounds, step)
        return outputs if several else outputs[0]

    def _rounds(self, rounds: Sequence[Any], on_end: Callable[[], None]) -> List[ChatOutput]:
        """The outputs of conversations, whose requests of one round are sent together."""
        sent: Dict[int, Any] = dict.fromkeys(range(len(rounds)))
        outputs: Dict[int, ChatOutput] = {}
        while sent:
            steps: Dict[int, Request] = {}
            for i, answer in sent.items():
                try:
                    steps[i] = rounds[i].send(answer)
                except StopIteration as stop:
                    outputs[i] = stop.value
                    on_end()
            for step in steps.values():
                if not isinstance(step, Request):
                    close = getattr(step, "close", None)
                    if close is not None:
                        close()
                    raise TypeError("tools: found a function that is to be awaited, expected `achat` for it")
            answers = _queue.run(self.handle, list(steps.values()))
            sent = {i: answer.json() for i, answer in zip(steps, answers)}
        return [outputs[i] for i in range(len(rounds))]

    async def achat(self, messages: Messages, sampling_params: Optional[SamplingParams] = None, *,
                    tools: Optional[Sequence[Any]] = None, response_format: Any = None, max_tool_rounds: int = 8,
                    **fields: Any) -> ChatOutput:
        """The same as `chat` with one conversation, for asyncio; functions may be async."""
        rounds = chat_rounds(messages, tools, response_format, sampling_params, max_tool_rounds, fields)
        sent: Any = None
        while True:
            try:
                step = rounds.send(sent)
            except StopIteration as stop:
                return stop.value
            if inspect.isawaitable(step):
                sent = await step
            else:
                sent = (await _queue.answer(self.handle, step)).json()

    @staticmethod
    def _streamed(prompt: Any, tools: Any, response_format: Any, params: Any, fields: Mapping[str, Any]) -> Request:
        if fields.get("stream", True) is not True:
            raise TypeError(f"stream: found {fields['stream']!r}, expected `generate` or `chat` for a whole answer")
        options = dict({"include_usage": True}, **(fields.get("stream_options") or {}))
        added = {"stream": True, "stream_options": options}
        if isinstance(prompt, (list, tuple)) and not is_tokens(prompt):
            body, _ = chat_body("stream", checked_messages(prompt), Tools(tools), response_format, params, fields)
            return Request("/v1/chat/completions", dict(body, **added))
        if tools is not None or response_format is not None:
            raise TypeError("found tools or response_format beside a text, expected a conversation: a list of dicts")
        one = params_of_text(params)
        check_names("SamplingParams.extra of stream", one.extra, TEXT)
        body = dict(one.fields(), **checked_fields("stream", fields, TEXT))
        return completion(checked_prompt(prompt), dict(body, **added))

    def stream(self, prompt: Union[Prompt, Sequence[Mapping[str, Any]]],
               sampling_params: Optional[SamplingParams] = None, *, tools: Optional[Sequence[Any]] = None,
               response_format: Any = None, **fields: Any) -> Iterator[StreamPiece]:
        """The pieces of an answer, as they are made. A text or token ids are continued; a list of dicts is a
        conversation. Functions as tools are shown and not called: pieces have calls in `tool_calls`. The request begins
        with the first piece, and a generator that is closed or dropped cancels it."""
        request = self._streamed(prompt, tools, response_format, sampling_params, fields)
        return self._pieces(self.handle, request)

    def _pieces(self, handle: int, request: Request) -> Iterator[StreamPiece]:
        """The pieces of an answer, which keep the model."""
        bytes_of_answer = _queue.stream(handle, request)
        try:
            for chunk in server_events(bytes_of_answer):
                piece = piece_of(chunk)
                if piece is not None:
                    yield piece
        finally:
            bytes_of_answer.close()

    async def astream(self, prompt: Union[Prompt, Sequence[Mapping[str, Any]]],
                      sampling_params: Optional[SamplingParams] = None, *, tools: Optional[Sequence[Any]] = None,
                      response_format: Any = None, **fields: Any) -> AsyncIterator[StreamPiece]:
        """As `stream`, for asyncio."""
        request = self._streamed(prompt, tools, response_format, sampling_params, fields)
        events = _queue.events(self.handle, request)
        reader = EventReader()
        try:
            async for event in events:
                for chunk in reader.read(event.text):
                    piece = piece_of(chunk)
                    if piece is not None:
                        yield piece
        finally:
            await events.aclose()

    # ---- Vectors, scores, logits ----

    def embed(self, texts: Union[str, Sequence[Prompt]], dimensions: Optional[int] = None,
              normalize: bool = True, prompt_name: Optional[str] = None) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """The vectors of texts: numpy float32 [number of texts, width]; of one text [1, width].

        texts: a text, or a list of texts or lists of token ids. dimensions: the first so many floats, of models that
        are trained so. normalize: vectors have the length 1. prompt_name: the words of the model's maker in front of
        each text, one of info["prompts"]; without it those of its default, if it has one. A model that writes text must
        be loaded with embedding=True.
        """
        import numpy as np
        inputs = [one for one, _ in checked_prompts(texts, "texts")]
        fields: Dict[str, Any] = {"encoding_format": "base64", "normalize": bool(normalize)}
        if dimensions is not None:
            fields["dimensions"] = dimensions
        if prompt_name is not None:
            fields["prompt_name"] = prompt_name
        answers = _queue.run(self.handle, [Request("/v1/embeddings", dict(fields, input=part))
                                           for part in _parts(inputs)])
        vectors = [np.frombuffer(base64.b64decode(item["embedding"]), "<f4")
                   for answer in answers for item in answer.json()["data"]]
        return np.stack(vectors) if vectors else np.zeros((0, self.info.get("vector_width") or 0), np.float32)

    def score(self, query: str, documents: Sequence[str]) -> List[ScoreOutput]:
        """The score of each document for a query, in the order of the documents: of a model with a ranking head what
        that says, 0 to 1; of any other that makes vectors their cosine, -1 to 1."""
        given = _checked_documents(query, documents)
        parts = _parts(given)
        answers = _queue.run(self.handle, [Request("/v1/score", {"text_1": query, "text_2": part}) for part in parts])
        scores = [one["score"] for answer in answers
                  for one in sorted(answer.json()["data"], key=lambda one: one["index"])]
        return [ScoreOutput(i, score, given[i]) for i, score in enumerate(scores)]

    def rerank(self, query: str, documents: Sequence[str], top_n: Optional[int] = None) -> List[ScoreOutput]:
        """The documents in the order of their scores for a query, the best first, at most `top_n`. It needs a model
        with a ranking head."""
        given = _checked_documents(query, documents)
        body: Dict[str, Any] = {"query": query, "documents": given}
        if top_n is not None:
            body["top_n"] = top_n
        results = self.request("/v1/rerank", body)["results"] if given else []
        return [ScoreOutput(one["index"], one["relevance_score"], given[one["index"]]) for one in results]

    def logits(self, prompt: Prompt) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """The logits of every token of a prompt: numpy float32 [number of tokens, vocab_size]. Row i is about the token
        behind token i. It is read-only, in the library's memory, where it came at once, and else a copy."""
        request = completion(checked_prompt(prompt), {"max_tokens": 0})
        request.wants_logits = True
        return _queue.run(self.handle, [request])[0].logits()

    # ---- Prefixes ----

    def context(self, prefix: Prompt) -> Context:
        """A prefix that many prompts have in common, computed now."""
        return Context(self, prefix)

    # ---- Constraints ----

    def constraint(self, kind: str, source: Any = "") -> Constraint:
        """A constraint whose masks are for those who draw tokens themselves; `generate` and `chat` need none."""
        return Constraint(self, kind, source)


@atexit.register
def _close_all() -> None:
    for llm in list(_open):
        lib.Handle.close(llm)


def version() -> str:
    """The version of the library, such as "0.1.0"."""
    return lib.text_of(lib.library().calls.octavo_version())


def run_program(arguments: Sequence[Union[str, bytes]]) -> int:
    """The program `octavo` with its arguments, of which the first is its name; returns its exit code."""
    words = lib.words(arguments, "arguments")
    return int(lib.library().calls.octavo_main(len(words), ctypes.cast(words, ctypes.POINTER(ctypes.c_char_p))))
