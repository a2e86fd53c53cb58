"""A model's words."""
from __future__ import annotations

import ctypes
import numbers
from typing import Any, Dict, List, Optional, Sequence, Union

from . import _library as lib
from ._chat import checked_messages
from ._fields import TEMPLATE, checked_fields, drop_idle
from ._interrupt import DIRECT_BYTES, call
from ._json import utf8
from ._tools import Tools

# Arguments of transformers' apply_chat_template, with the values that ask for nothing.
_IDLE = {"return_tensors": (None, ), "return_dict": (False, None), "padding": (False, None),
         "truncation": (False, None), "max_length": (None, ), "chat_template": (None, ),
         "return_assistant_tokens_mask": (False, None), "tokenizer_kwargs": (None, )}


class Tokenizer:
    """Texts to token ids and back, by the model's own tokenizer. It is had as `llm.tokenizer`."""

    def __init__(self, llm: Any) -> None:
        self._llm = llm

    def encode(self, text: Union[str, bytes], add_special_tokens: bool = True,
               parse_special_tokens: bool = True) -> List[int]:
        """The token ids of a text. Raises InvalidRequestError for a lone surrogate.

        add_special_tokens: with those that the model's texts begin and end with.
        parse_special_tokens: control tokens that are written in the text become those tokens.
        """
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"text: found {type(text).__name__}, expected a text")
        data = utf8("text", text) if isinstance(text, str) else memoryview(text).tobytes()
        flags = lib.ADD_SPECIAL * bool(add_special_tokens) | lib.PARSE_SPECIAL * bool(parse_special_tokens)
        model = self._llm.handle
        return call(lambda: self._encode(model, data, flags), is_long=len(data) >= DIRECT_BYTES)

    @staticmethod
    def _encode(model: int, data: bytes, flags: int) -> List[int]:
        room = len(data) + 16
        while True:
            tokens, count = (ctypes.c_int32 * room)(), ctypes.c_size_t()
            lib.library().call("octavo_tokenize", model, data, len(data), flags, tokens, room, count)
            if count.value <= room:
                return tokens[:count.value]
            room = count.value

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of tokens, which may be no whole characters. Control tokens give their text, unknown ids
        nothing."""
        array = lib.tokens_array(tokens)
        model = self._llm.handle
        return call(lambda: lib.library().text("octavo_detokenize", model, array, len(array)),
                    is_long=len(array) >= DIRECT_BYTES)

    def decode(self, tokens: Union[int, Sequence[int]]) -> str:
        """The text of a token or of several; U+FFFD stands for bytes that are no characters."""
        given: Any = [tokens] if isinstance(tokens, numbers.Integral) else tokens
        return lib.text_of(self.decode_bytes(given))

    def apply_chat_template(self, messages: Sequence[Dict[str, Any]], tools: Optional[Sequence[Any]] = None,
                            tokenize: bool = True, add_generation_prompt: bool = True,
                            **fields: Any) -> Union[str, List[int]]:
        """The prompt that the model's template makes of a conversation: token ids, or with `tokenize` false its text.

        tools: functions, or OpenAI's objects. fields: those of /apply-template, such as `continue_final_message`,
        `enable_thinking` and `chat_template_kwargs`.
        """
        given = drop_idle("apply_chat_template", fields, _IDLE)
        body = dict(checked_fields("apply_chat_template", given, TEMPLATE), messages=checked_messages(messages),
                    add_generation_prompt=add_generation_prompt)
        shown = Tools(tools).shown
        if shown:
            body["tools"] = shown
        answer = self._llm.answer("/tokenize" if tokenize else "/apply-template", body)
        return answer["tokens"] if tokenize else answer["prompt"]

    @property
    def vocab_size(self) -> int:
        """The number of tokens."""
        return int(self._llm.info["num_tokens"])

    def __len__(self) -> int:
        return self.vocab_size

    @property
    def eos_token_ids(self) -> List[int]:
        """The tokens that end an answer."""
        return [token["id"] for token in self._llm.info["end_tokens"]]

    @property
    def eos_token_id(self) -> int:
        """The end token that the model's file names, else the first of those that end an answer."""
        ends = self._llm.info["end_tokens"]
        return int(next((token["id"] for token in ends if "eos_token_id" in token["source"]), ends[0]["id"]))

    def texts_behind(self, previous: int, tokens: Sequence[int]) -> List[str]:
        """What each of some tokens adds to the text of the one before, which a word's leading space may depend on."""
        begin = len(self.decode_bytes([previous]))
        return [lib.text_of(self.decode_bytes([previous, token])[begin:]) for token in tokens]
