"""Prefixes that many prompts have in common."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

from . import _library as lib
from . import _queue
from ._prompts import Prompt, checked_prompt, checked_prompts
from ._queue import Request
from .errors import ClosedError, InvalidRequestError
from .outputs import RequestOutput

if TYPE_CHECKING:
    from .llm import LLM, Params


class Context(lib.Uncopied):
    """A prefix, computed once, behind which any number of suffixes are continued.

        with llm.context(document) as ctx:
            for output in ctx.generate(["Title:", "Author:", "Summary:"]): ...

    The prefix's whole blocks of 16 tokens are pinned: they stay in the model's KV memory until close(), or until the
    context is garbage. Contexts that begin alike share their blocks. All of them leave room for a prompt and its answer
    as long as the model's context; beyond that a new one raises OutOfMemoryError (kv_memory makes more room). A text is
    tokenized by itself: the prompt is the prefix's tokens and then the suffix's, without the tokens that texts begin
    with before the latter.
    """

    def __init__(self, llm: "LLM", prefix: "Prompt") -> None:
        given = checked_prompt(prefix, "prefix")
        self._tokens: Optional[List[int]] = llm.tokenizer.encode(given) if isinstance(given, str) else given
        if not self._tokens:
            raise InvalidRequestError("prefix: found an empty text, expected at least one token", "prefix", http=400)
        self._llm, self._model, self._pin = llm, llm.handle, 0
        self.cached_tokens = 0
        """Tokens of the last prompts that were found computed, of all of them together."""
        self._pin = _queue.run(llm.handle, [Request("/v1/completions", {}, self._tokens, pins=True)])[0].number

    @property
    def tokens(self) -> List[int]:
        """The prefix's token ids. Raises ClosedError."""
        if self._tokens is None:
            raise ClosedError("found a context that was closed, expected an open one")
        return list(self._tokens)

    def _behind(self, suffix: Any) -> List[int]:
        if isinstance(suffix, str):
            return self.tokens + self._llm.tokenizer.encode(suffix, add_special_tokens=False)
        return self.tokens + suffix

    def generate(self, suffixes: Union["Prompt", Sequence["Prompt"]] = "",
                 sampling_params: "Params" = None) -> List[RequestOutput]:
        """Continues the prefix behind each suffix, all at once, as LLM.generate. An empty suffix continues the prefix
        itself."""
        prompts = [self._behind(suffix) for suffix, _ in checked_prompts(suffixes, "suffixes")]
        outputs = self._llm.generate(prompts, sampling_params)
        self.cached_tokens = sum(output.cached_tokens for output in outputs)
        return outputs

    def fork(self, suffix: "Prompt") -> "Context":
        """A context whose prefix is this one and a suffix, computed now."""
        return Context(self._llm, self._behind(checked_prompt(suffix, "suffix")))

    def close(self) -> None:
        """Gives the prefix's memory back to the model, which keeps it as a cached prompt until it needs the room."""
        pin, self._pin, self._tokens = self._pin, 0, None
        if pin and _queue is not None:
            _queue.cancel(self._model, pin)

    def __del__(self) -> None:
        if getattr(self, "_pin", 0):
            self.close()

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
