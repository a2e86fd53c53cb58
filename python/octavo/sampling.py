"""How answers are drawn and where they end."""
from __future__ import annotations

import copy
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


_FORMS = ("json", "regex", "choice", "grammar", "json_object", "structural_tag")


@dataclasses.dataclass
class StructuredOutputs:
    """The form of an answer: one of a JSON schema (a dict, its text, or a pydantic class), a regular expression, texts
    of which the answer is one, a grammar (GBNF), any JSON object (True), or a structural tag."""

    json: Any = None
    regex: Optional[str] = None
    choice: Optional[Sequence[str]] = None
    grammar: Optional[str] = None
    json_object: Optional[bool] = None
    structural_tag: Union[str, Mapping[str, Any], None] = None

    @classmethod
    def of(cls, given: Any) -> "StructuredOutputs":
        """The object, or that of a dict as the server's API has it. Raises TypeError, ValueError."""
        if isinstance(given, StructuredOutputs):
            return given
        if not isinstance(given, Mapping):
            raise _expect("structured_outputs", given, "a StructuredOutputs, a dict or None")
        unknown = [name for name in given if name not in _FORMS]
        if unknown:
            raise ValueError(f"structured_outputs: found {unknown[0]!r}, expected one of {', '.join(_FORMS)}")
        return cls(**given)

    def __post_init__(self) -> None:
        given = list(self._given())
        if len(given) != 1:
            raise ValueError(f"StructuredOutputs: found {', '.join(given) or 'nothing'}, expected one of "
                             f"{', '.join(_FORMS)}")
        if self.json_object not in (None, True, False):
            raise _expect("json_object", self.json_object, "True, False or None")
        if isinstance(self.json, type) and not hasattr(self.json, "model_json_schema"):
            raise _expect("json", self.json, "a JSON schema, its text, or a pydantic class")
        for name in ("regex", "grammar"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise _expect(name, value, "a text or None")
        self.choice = _checked_list("choice", self.choice, str, "a list of texts or None")
        if self.choice == []:
            raise ValueError("choice: found an empty list, expected at least one text")

    def fields(self) -> Dict[str, Any]:
        """The object as the server's API has it."""
        if hasattr(self.json, "model_json_schema"):
            return {"json": self.json.model_json_schema()}
        return self._given()

    def _given(self) -> Dict[str, Any]:
        members = {name: getattr(self, name) for name in _FORMS if getattr(self, name) is not None}
        if self.json_object is False:
            del members["json_object"]
        return members


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
    extra: any other field of the server's API, such as {"dry_multiplier": 0.8}. skip_special_tokens: False shows the
    texts of control tokens. detokenize: False leaves the texts of `generate` empty. best_of: None or 1.

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
    skip_special_tokens: Optional[bool] = None
    detokenize: Optional[bool] = None
    best_of: Optional[int] = None

    def __post_init__(self) -> None:
        for name in _INTEGERS:
            setattr(self, name, checked_integer(name, getattr(self, name)))
        for name in _NUMBERS:
            setattr(self, name, checked_number(name, getattr(self, name)))
        for name in ("ignore_eos", "skip_special_tokens", "detokenize"):
            if not isinstance(getattr(self, name), (bool, type(None))):
                raise _expect(name, getattr(self, name), "True, False or None")
        if self.best_of is not None and self.best_of != 1:
            raise ValueError(f"best_of: found {self.best_of!r}, expected None or 1: all of `n` answers are given, with "
                             "their cumulative_logprob to choose by")
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
        for name in ("prompt", "messages", "stream"):
            if name in self.extra:
                raise TypeError(f"extra: found {name!r}, expected fields of an answer: the method says what is asked, "
                                "and `stream` gives pieces")
        if self.structured_outputs is not None:
            self.structured_outputs = StructuredOutputs.of(self.structured_outputs)

    def clone(self) -> "SamplingParams":
        """A copy, which shares nothing with this one."""
        return copy.deepcopy(self)

    def fields(self, is_chat: bool = False) -> Dict[str, Any]:
        """The fields of a request's body; those that are None are left out."""
        left_out = ("extra", "structured_outputs", "detokenize", "best_of")
        names = [field.name for field in dataclasses.fields(self) if field.name not in left_out]
        fields = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        if self.logit_bias is not None:
            fields["logit_bias"] = {str(token): bias for token, bias in self.logit_bias.items()}
        if self.structured_outputs is not None:
            fields["structured_outputs"] = StructuredOutputs.of(self.structured_outputs).fields()
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


def params_of_text(params: Any) -> SamplingParams:
    """The SamplingParams of one answer that is shown as a text. Raises TypeError, ValueError."""
    one = checked_params(params, 1)[0]
    if one.detokenize is False:
        raise ValueError("detokenize: found False, expected True or None: `generate` alone leaves texts empty")
    return one
