"""How answers are drawn and where they end."""
from __future__ import annotations

import dataclasses
import numbers
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union


def _expect(name: str, value: Any, expected: str) -> TypeError:
    return TypeError(f"{name}: found {value!r} ({type(value).__name__}), expected {expected}")


def checked_integer(name: str, value: Any) -> Optional[int]:
    """An int, or None. Raises TypeError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise _expect(name, value, "an integer or None")
    return int(value)


def checked_number(name: str, value: Any) -> Optional[float]:
    """A float, or None. Raises TypeError."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise _expect(name, value, "a number or None")
    return float(value)


def _checked_list(name: str, value: Any, kind: type, expected: str) -> Optional[List[Any]]:
    if value is None:
        return None
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(value, "__iter__"):
        raise _expect(name, value, expected)
    values = list(value)
    for i, element in enumerate(values):
        if isinstance(element, bool) or not isinstance(element, kind):
            raise _expect(f"{name}[{i}]", element, expected)
    return [int(element) for element in values] if kind is numbers.Integral else values


@dataclasses.dataclass
class StructuredOutputs:
    """The form of an answer: one of a JSON schema (a dict, its text, or a pydantic class), a regular expression, texts
    of which the answer is one, or a grammar (GBNF)."""

    json: Any = None
    regex: Optional[str] = None
    choice: Optional[Sequence[str]] = None
    grammar: Optional[str] = None

    def __post_init__(self) -> None:
        given = [name for name in ("json", "regex", "choice", "grammar") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"StructuredOutputs: found {', '.join(given) or 'nothing'}, expected one of json, regex, "
                             "choice and grammar")
        for name in ("regex", "grammar"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise _expect(name, value, "a text or None")
        self.choice = _checked_list("choice", self.choice, str, "a list of texts or None")

    def fields(self) -> Dict[str, Any]:
        """The object as the server's API has it."""
        if hasattr(self.json, "model_json_schema"):
            return {"json": self.json.model_json_schema()}
        fields = {"json": self.json, "regex": self.regex, "choice": self.choice, "grammar": self.grammar}
        return {name: value for name, value in fields.items() if value is not None}


_INTEGERS = ("n", "top_k", "seed", "max_tokens", "min_tokens", "logprobs", "prompt_logprobs")
_NUMBERS = ("temperature", "top_p", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty")


@dataclasses.dataclass
class SamplingParams:
    """Sampling, limits and form of an answer, by vLLM's names. None leaves a field to the model's defaults.

    The ranges are those of the server (docs/server/fields.md), which names a value that is out of them.

    n: answers to each prompt. temperature: 0 takes the likeliest token, always. top_p, min_p: probabilities. top_k: 0
    and -1 are all. seed: the same request with the same seed has the same answer. stop: texts that end an answer, which
    is shown without them. bad_words: texts that are not written. ignore_eos: go on behind the model's end token.
    max_tokens: 16 for texts unless the model was loaded with another limit, and for chats until the context is full.
    logprobs, prompt_logprobs: so many alternatives beside each token, 0 to 20. logit_bias: token id to what is added to
    its score. allowed_token_ids: no others are drawn. structured_outputs: a StructuredOutputs, or the server's object.
    extra: any other field of the server's API, such as {"dry_multiplier": 0.8}.

    Raises TypeError for values of another type, and ValueError for two forms of an answer.
    """

    n: Optional[int] = None
    temperature: Optional[float] = None
    top_p: Optional[float] = None
    top_k: Optional[int] = None
    min_p: Optional[float] = None
    seed: Optional[int] = None
    stop: Union[str, Sequence[str], None] = None
    stop_token_ids: Optional[Sequence[int]] = None
    bad_words: Optional[Sequence[str]] = None
    ignore_eos: Optional[bool] = None
    max_tokens: Optional[int] = None
    min_tokens: Optional[int] = None
    logprobs: Optional[int] = None
    prompt_logprobs: Optional[int] = None
    presence_penalty: Optional[float] = None
    frequency_penalty: Optional[float] = None
    repetition_penalty: Optional[float] = None
    logit_bias: Optional[Mapping[int, float]] = None
    allowed_token_ids: Optional[Sequence[int]] = None
    structured_outputs: Union[StructuredOutputs, Mapping[str, Any], None] = None
    extra: Dict[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in _INTEGERS:
            setattr(self, name, checked_integer(name, getattr(self, name)))
        for name in _NUMBERS:
            setattr(self, name, checked_number(name, getattr(self, name)))
        if self.ignore_eos is not None and not isinstance(self.ignore_eos, bool):
            raise _expect("ignore_eos", self.ignore_eos, "True, False or None")
        if isinstance(self.stop, str):
            self.stop = [self.stop]
        for name in ("stop", "bad_words"):
            setattr(self, name, _checked_list(name, getattr(self, name), str, "a list of texts or None"))
        for name in ("stop_token_ids", "allowed_token_ids"):
            setattr(self, name, _checked_list(name, getattr(self, name), numbers.Integral,
                                              "a list of token ids or None"))
        if self.logit_bias is not None and not isinstance(self.logit_bias, Mapping):
            raise _expect("logit_bias", self.logit_bias, "a dict of token ids and numbers, or None")
        if not isinstance(self.extra, Mapping):
            raise _expect("extra", self.extra, "a dict of fields of the server's API")
        if not isinstance(self.structured_outputs, (StructuredOutputs, Mapping, type(None))):
            raise _expect("structured_outputs", self.structured_outputs, "a StructuredOutputs, a dict or None")

    def fields(self, is_chat: bool = False) -> Dict[str, Any]:
        """The fields of a request's body; those that are None are left out."""
        names = [field.name for field in dataclasses.fields(self) if field.name not in ("extra", "structured_outputs")]
        fields = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.logit_bias is not None:
            fields["logit_bias"] = {str(token): bias for token, bias in self.logit_bias.items()}
        if isinstance(self.structured_outputs, StructuredOutputs):
            fields["structured_outputs"] = self.structured_outputs.fields()
        elif self.structured_outputs is not None:
            fields["structured_outputs"] = dict(self.structured_outputs)
        if is_chat and self.logprobs is not None:
            fields.update(logprobs=True, top_logprobs=self.logprobs)
        fields.update(self.extra)
        return fields


def checked_params(params: Any, count: int) -> List[SamplingParams]:
    """One SamplingParams for each of `count` prompts, of one for all, a list, or None. Raises TypeError, ValueError."""
    if params is None or isinstance(params, SamplingParams):
        return [params or SamplingParams()] * count
    if not isinstance(params, (list, tuple)) or not all(isinstance(one, SamplingParams) for one in params):
        raise _expect("sampling_params", params, "a SamplingParams, a list of them, or None")
    if len(params) != count:
        raise ValueError(f"sampling_params: found {len(params)}, expected one for each of {count} prompts")
    return list(params)
