"""Language models in this process: texts, chats, schemas, tools, vectors and logits, on the processors that you have.

    import octavo

    llm = octavo.LLM("model.gguf")
    print(llm.chat("Name three colours.").text)

docs/python.md has the whole of it.
"""
from typing import TYPE_CHECKING

from . import llama_cpp
from .constraint import Constraint
from .context import Context
from .errors import (BusyError, ClosedError, ContextLengthError, Error, ForkedError, InvalidRequestError, ModelError,
                     OutOfMemoryError, StoppedError)
from .llm import LLM, version
from .outputs import ChatOutput, CompletionOutput, Logprob, RequestOutput, ScoreOutput, StreamPiece
from .resuming import Resuming, resuming
from .sampling import SamplingParams, StructuredOutputs
from .serving import Server, serve
from .tokenizer import Tokenizer

__all__ = [
    "BusyError", "ChatOutput", "ClosedError", "CompletionOutput", "Constraint", "Context", "ContextLengthError",
    "Error", "ForkedError", "InvalidRequestError", "LLM", "Logprob", "ModelError", "OutOfMemoryError", "RequestOutput", "Resuming",
    "SamplingParams", "ScoreOutput", "Server", "StoppedError", "StreamPiece", "StructuredOutputs", "Tokenizer",
    "llama_cpp", "resuming", "serve", "version",
]

if TYPE_CHECKING:
    __version__: str
else:
    def __getattr__(name):
        """`__version__`, which the library tells."""
        if name == "__version__":
            return version()
        raise AttributeError(f"module 'octavo' has no attribute {name!r}")
