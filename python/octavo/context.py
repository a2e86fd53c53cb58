"""Prefixes that many prompts have in common."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Union

from . import _queue
from ._queue import Request
from .errors import ClosedError
from .outputs import RequestOutput

if TYPE_CHECKING:
    from .llm import LLM, Params, Prompt


class Context:
    """A prefix, computed once, behind which any number of suffixes are continued.

        with llm.context(document) as ctx:
            for output in ctx.generate(["Title:", "Author:", "Summary:"]): ...

    The prefix is kept among the model's cached prompts as long as its memory allows (kv_memory, idle_release), and is
    computed again otherwise; answers are the same either way. A text is tokenized by itself: the prompt is the prefix's
    tokens and then the suffix's, without the tokens that texts begin with before the latter.
    """

    def __init__(self, llm: "LLM", prefix: "Prompt") -> None:
        from .llm import is_tokens
        if isinstance(prefix, str):
            self._tokens: Optional[List[int]] = llm.tokenizer.encode(prefix)
        elif is_tokens(prefix):
            self._tokens = [int(token) for token in prefix]
        else:
            raise TypeError(f"prefix: found {type(prefix).__name__}, expected a text or token ids")
        self._llm = llm
        self.cached_tokens = 0
        """Tokens of the last prompts that were found computed, of all of them together."""
        _queue.run(llm.handle, [Request("/v1/completions", {"max_tokens": 0}, self._tokens)])

    @property
    def tokens(self) -> List[int]:
        """The prefix's token ids. Raises ClosedError."""
        if self._tokens is None:
            raise ClosedError("found a context that was closed, expected an open one")
        return list(self._tokens)

    def _behind(self, suffix: Any) -> List[int]:
        if isinstance(suffix, str):
            return self.tokens + self._llm.tokenizer.encode(suffix, add_special_tokens=False)
        return self.tokens + [int(token) for token in suffix]

    def generate(self, suffixes: Union["Prompt", Sequence["Prompt"]] = "",
                 sampling_params: "Params" = None) -> List[RequestOutput]:
        """Continues the prefix behind each suffix, all at once, as LLM.generate. An empty suffix continues the prefix
        itself."""
        from .llm import _checked_prompts
        prompts = [self._behind(suffix) for suffix in _checked_prompts(suffixes)]
        outputs = self._llm.generate(prompts, sampling_params)
        self.cached_tokens = sum(output.cached_tokens for output in outputs)
        return outputs

    def fork(self, suffix: "Prompt") -> "Context":
        """A context whose prefix is this one and a suffix, computed now."""
        return Context(self._llm, self._behind(suffix))

    def close(self) -> None:
        """Forgets the prefix. Its memory is taken for other prompts when they need it."""
        self._tokens = None

    def __enter__(self) -> "Context":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
