"""Prompts as callers have them: texts, token ids, vLLM's dicts, and lists of these."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _library as lib
from ._json import checked_text
from ._queue import Request

Prompt = Union[str, Sequence[int], Mapping[str, Any]]
_EXPECTED = "a text, token ids, or a dict with `prompt` or `prompt_token_ids`"


def is_tokens(prompt: Any) -> bool:
    """Whether a prompt is a list of token ids, and neither a text nor a list of prompts."""
    if hasattr(prompt, "dtype"):
        return prompt.ndim == 1 and getattr(prompt.dtype, "kind", "i") not in "OSU"
    return isinstance(prompt, (list, tuple, range)) and hasattr(next(iter(prompt), None), "__index__")


def checked_tokens(field: str, tokens: Any) -> List[int]:
    """Token ids as a list. Raises TypeError for what is none, with its place."""
    return list(lib.tokens_array(tokens, field))


def _read(field: str, prompt: Any) -> Tuple[Any, Optional[str]]:
    """A prompt's text or token ids, and the text that it is shown with. Raises TypeError."""
    shown = None
    if isinstance(prompt, Mapping):
        others = [name for name in prompt if name not in ("prompt", "prompt_token_ids") and prompt[name] is not None]
        if others:
            raise TypeError(f"{field}: found {', '.join(map(repr, others))} in a dict, expected `prompt` or "
                            "`prompt_token_ids`")
        shown = prompt.get("prompt")
        if prompt.get("prompt_token_ids") is not None:
            prompt, field = prompt["prompt_token_ids"], f"{field}.prompt_token_ids"
            if not is_tokens(prompt):
                raise TypeError(f"{field}: found {prompt!r:.60} ({type(prompt).__name__}), expected token ids")
        else:
            prompt, field = shown, f"{field}.prompt"
    if isinstance(prompt, str):
        return checked_text(field, prompt), prompt
    if not is_tokens(prompt):
        raise TypeError(f"{field}: found {prompt!r:.60} ({type(prompt).__name__}), expected {_EXPECTED}")
    return checked_tokens(field, prompt), shown


def checked_prompts(prompts: Any, field: str = "prompts") -> List[Tuple[Any, Optional[str]]]:
    """For each prompt of one or of several: its text or its token ids, and its text where that is known. Raises
    TypeError."""
    if isinstance(prompts, (str, Mapping)) or is_tokens(prompts):
        return [_read(field, prompts)]
    if hasattr(prompts, "dtype") and prompts.ndim > 0:
        prompts = list(prompts) if prompts.ndim > 1 else prompts.tolist()
    if not isinstance(prompts, (list, tuple)):
        raise TypeError(f"{field}: found {prompts!r:.60} ({type(prompts).__name__}), expected {_EXPECTED}, or a list "
                        "of these")
    return [_read(f"{field}[{i}]", prompt) for i, prompt in enumerate(prompts)]


def checked_prompt(prompt: Any, field: str = "prompt") -> Union[str, List[int]]:
    """The text or the token ids of one prompt. Raises TypeError."""
    return _read(field, prompt)[0]


def completion(prompt: Union[str, Sequence[int]], fields: Mapping[str, Any], name: str = "prompt") -> Request:
    """The request that continues a checked prompt. name: what errors about the prompt begin with."""
    body: Dict[str, Any] = dict(fields)
    if isinstance(prompt, str):
        body["prompt"] = prompt
        return Request("/v1/completions", body, name=name)
    return Request("/v1/completions", body, prompt, name=name)
