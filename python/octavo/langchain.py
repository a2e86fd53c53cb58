"""Vectors for LangChain, made in this process.

    from octavo.langchain import OctavoEmbeddings
    store = InMemoryVectorStore(OctavoEmbeddings("vectors.gguf"))
"""
from __future__ import annotations

from typing import Any, List

from langchain_core.embeddings import Embeddings

from .llm import LLM


class OctavoEmbeddings(Embeddings):
    """Vectors of the length 1 by a model that makes them.

    model: an octavo.LLM, or what one is loaded from. query_prefix, text_prefix: the words that the model's maker wants
    in front of a query and of a text, such as "query: ". options: those of octavo.LLM.
    """

    def __init__(self, model: Any = None, *, query_prefix: str = "", text_prefix: str = "", **options: Any) -> None:
        if isinstance(model, LLM) and options:
            raise TypeError(f"found {', '.join(options)} beside an LLM, expected them where it is loaded")
        self.llm = model if isinstance(model, LLM) else LLM(model, **dict({"embedding": True}, **options))
        self.query_prefix, self.text_prefix = query_prefix, text_prefix

    def embed_documents(self, texts: List[str]) -> List[List[float]]:
        """A vector for each text."""
        return self.llm.embed([self.text_prefix + text for text in texts]).tolist()

    def embed_query(self, text: str) -> List[float]:
        """The vector of a query."""
        return self.llm.embed(self.query_prefix + text)[0].tolist()
