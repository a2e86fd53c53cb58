"""Vectors for LlamaIndex, made in this process.

    from octavo.llama_index import OctavoEmbedding
    Settings.embed_model = OctavoEmbedding("vectors.gguf")
"""
from __future__ import annotations

import asyncio
from typing import Any, List

from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.embeddings import BaseEmbedding

from .llm import LLM


class OctavoEmbedding(BaseEmbedding):
    """Vectors of the length 1 by a model that makes them.

    model: an octavo.LLM, or what one is loaded from. query_prefix, text_prefix: the words that the model's maker wants
    in front of a query and of a text, such as "query: ". options: those of octavo.LLM.
    """

    query_prefix: str = ""
    text_prefix: str = ""
    _llm: LLM = PrivateAttr()

    def __init__(self, model: Any = None, *, query_prefix: str = "", text_prefix: str = "", **options: Any) -> None:
        if isinstance(model, LLM) and options:
            raise TypeError(f"found {', '.join(options)} beside an LLM, expected them where it is loaded")
        llm = model if isinstance(model, LLM) else LLM(model, **dict({"embedding": True}, **options))
        super().__init__(model_name=llm.info["name"], query_prefix=query_prefix, text_prefix=text_prefix)
        self._llm = llm

    @classmethod
    def class_name(cls) -> str:
        return "OctavoEmbedding"

    def _get_text_embeddings(self, texts: List[str]) -> List[List[float]]:
        return self._llm.embed([self.text_prefix + text for text in texts]).tolist()

    def _get_text_embedding(self, text: str) -> List[float]:
        return self._get_text_embeddings([text])[0]

    def _get_query_embedding(self, query: str) -> List[float]:
        return self._llm.embed(self.query_prefix + query)[0].tolist()

    async def _aget_text_embedding(self, text: str) -> List[float]:
        return await asyncio.get_running_loop().run_in_executor(None, self._get_text_embedding, text)

    async def _aget_query_embedding(self, query: str) -> List[float]:
        return await asyncio.get_running_loop().run_in_executor(None, self._get_query_embedding, query)
