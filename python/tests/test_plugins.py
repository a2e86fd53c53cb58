"""Tests of the plug-ins, each where its package is installed: lm-eval, langchain-core, llama-index-core, outlines,
pydantic."""
import asyncio
import types
import unittest
from typing import Literal

import numpy as np
from support import MODEL

import octavo
from octavo import SamplingParams


def imported(name):
    """A module, or a skipped test."""
    try:
        return __import__(name, fromlist=["name"])
    except ImportError as error:
        raise unittest.SkipTest(str(error)) from None


class LmEval(unittest.TestCase):
    def setUp(self):
        imported("lm_eval")
        self.model = imported("octavo.lm_eval").OctavoLM(llm=self.llm)

    @staticmethod
    def request(*arguments):
        return types.SimpleNamespace(args=arguments)

    def expected(self, tokens, begin):
        logits = self.llm.logits(tokens).astype(np.float64)[begin - 1:-1]
        logprobs = logits - logits.max(axis=1, keepdims=True)
        logprobs -= np.log(np.exp(logprobs).sum(axis=1, keepdims=True))
        wanted = tokens[begin:]
        return logprobs[np.arange(len(wanted)), wanted].sum(), bool((logits.argmax(axis=1) == wanted).all())

    def test_loglikelihood(self):
        pairs = [("The capital of France is", " Paris"), ("The capital of France is", " red and blue")]
        found = self.model.loglikelihood([self.request(*pair) for pair in pairs], disable_tqdm=True)
        for (context, continuation), (logprob, is_greedy) in zip(pairs, found):
            begin = len(self.model.tok_encode(context))
            tokens = self.model.tok_encode(context + continuation)
            expected = self.expected(tokens, begin)
            self.assertAlmostEqual(logprob, expected[0], places=3)
            self.assertEqual(is_greedy, expected[1])
        self.assertGreater(found[0][0], found[1][0])

    def test_rolling(self):
        text = "Once upon a time there was a cat."
        found = self.model.loglikelihood_rolling([self.request(text)], disable_tqdm=True)
        tokens = [self.model.eot_token_id] + self.model.tok_encode(text)
        self.assertAlmostEqual(found[0], self.expected(tokens, 1)[0], places=3)
        with octavo.LLM(MODEL, progress=False, shares=self.llm, max_context=32) as small:  # of several windows
            windows = type(self.model)(llm=small).loglikelihood_rolling([self.request(text * 9)], disable_tqdm=True)
        whole = self.model.loglikelihood_rolling([self.request(text * 9)], disable_tqdm=True)
        self.assertLess(windows[0], whole[0])

    def test_generate_until(self):
        whole = self.llm.generate("The sky is", SamplingParams(temperature=0, max_tokens=20))[0].text
        word = whole.split()[3]
        found = self.model.generate_until([self.request("The sky is", {"until": [word], "max_gen_toks": 20}),
                                           self.request("The sky is", {"until": [], "max_gen_toks": 20})],
                                          disable_tqdm=True)
        self.assertEqual(found, [whole[:whole.index(word)], whole])

    def test_is_registered(self):
        from lm_eval.api.registry import get_model
        self.assertIs(get_model("octavo"), type(self.model))


class Vectors(unittest.TestCase):
    def test_langchain(self):
        imported("langchain_core")
        embeddings = imported("octavo.langchain").OctavoEmbeddings(self.llm, query_prefix="query: ")
        np.testing.assert_allclose(embeddings.embed_documents(["a", "b"]), self.llm.embed(["a", "b"]), atol=1e-6)
        np.testing.assert_allclose(embeddings.embed_query("a"), self.llm.embed("query: a")[0], atol=1e-6)
        self.assertEqual(len(asyncio.run(embeddings.aembed_documents(["a"]))), 1)

    def test_llama_index(self):
        imported("llama_index.core")
        embedding = imported("octavo.llama_index").OctavoEmbedding(self.llm, text_prefix="text: ")
        np.testing.assert_allclose(embedding.get_text_embedding("a"), self.llm.embed("text: a")[0], atol=1e-6)
        np.testing.assert_allclose(embedding.get_query_embedding("a"), self.llm.embed("a")[0], atol=1e-6)
        self.assertEqual(len(asyncio.run(embedding.aget_text_embedding("a"))), self.llm.info["vector_width"])

    def test_model_beside_options(self):
        imported("langchain_core")
        with self.assertRaisesRegex(TypeError, "found threads beside an LLM"):
            imported("octavo.langchain").OctavoEmbeddings(self.llm, threads=1)


class Outlines(unittest.TestCase):
    def setUp(self):
        self.outlines = imported("outlines")
        self.plugin = imported("octavo.outlines")
        self.model = self.plugin.from_octavo(self.llm)

    def answer(self, output_type, prompt="Say it.", **fields):
        return self.model(prompt, output_type, **{"max_tokens": 40, "temperature": 0, **fields})

    def test_output_types(self):
        types, pydantic = self.outlines.types, imported("pydantic")

        class Person(pydantic.BaseModel):
            name: str = pydantic.Field(max_length=8)
            age: int = pydantic.Field(ge=0, le=150)
        self.assertLessEqual(Person.model_validate_json(self.answer(Person, "Ann is 31.")).age, 150)
        self.assertIn(self.answer(Literal["red", "blue"]), ("red", "blue"))
        self.assertIn(self.answer(types.Choice([1, "a"])), ("1", "a"))
        self.assertIn(self.answer(bool), ("True", "False"))
        self.assertRegex(self.answer(types.Regex("[0-9]").exactly(3) + "!"), "^[0-9]{3}!$")
        self.assertRegex(self.answer(types.CFG('root ::= "x" [0-9] "y"')), "^x[0-9]y$")
        spaced = types.JsonSchema({"properties": {"a": {"type": "boolean"}}, "required": ["a"], "type": "object"},
                                  whitespace_pattern="")
        self.assertRegex(self.answer(spaced), '^{"a":(true|false)}$')
        form = self.model.type_adapter.format_output_type(dict)
        self.assertEqual(form, {"structured_outputs": {"json_object": True}})
        with self.assertRaisesRegex(octavo.InvalidRequestError, "structured_outputs.grammar: line 1 of the grammar"):
            self.answer(types.CFG(self.outlines.grammars.arithmetic))

    def test_inputs(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        params = SamplingParams(temperature=0, max_tokens=12)
        self.assertEqual(self.answer(None, self.outlines.inputs.Chat(messages), max_tokens=12),
                         self.llm.chat(messages, sampling_params=params).text)
        self.assertEqual(self.model("Hi", sampling_params=params), self.llm.chat("Hi", sampling_params=params).text)
        self.model = self.plugin.from_octavo(self.llm, chat=False)
        whole = self.llm.generate("The sky is", params)[0].text
        self.assertEqual(self.answer(None, "The sky is", max_tokens=12), whole)
        self.assertEqual(len(set(self.answer(None, "The sky is", n=2, temperature=1, seed=1))), 2)
        with self.assertRaisesRegex(TypeError, "content: found list, expected a text"):
            self.answer(None, self.outlines.inputs.Chat([{"role": "user", "content": ["Hi"]}]))

    def test_batches_and_streams(self):
        generator = self.outlines.Generator(self.model, Literal["red", "blue"])
        prompts = ["The sea is", "Blood is"] * 4
        told = [generator(prompt, temperature=0) for prompt in prompts]
        self.assertEqual(generator.batch(prompts, temperature=0), told)
        self.assertEqual("".join(generator.stream(prompts[1], temperature=0)), told[1])
        later = self.outlines.Generator(self.plugin.from_octavo(self.llm, is_async=True), Literal["red", "blue"])

        async def ask():
            pieces = [piece async for piece in later.stream(prompts[1], temperature=0)]
            return [await later(prompts[0], temperature=0), "".join(pieces), *await later.batch(prompts, temperature=0)]
        self.assertEqual(asyncio.run(ask()), told[:2] + told)


class Pydantic(unittest.TestCase):
    def test_parsed_and_arguments(self):
        pydantic = imported("pydantic")

        class Person(pydantic.BaseModel):
            name: str = pydantic.Field(max_length=12)
            age: int = pydantic.Field(ge=0, le=150)

        output = self.llm.chat("Ann is 31. Who is it?", response_format=Person,
                          sampling_params=SamplingParams(max_tokens=80, temperature=0))
        self.assertIsInstance(output.parsed, Person)
        seen = []

        def remember(person: Person) -> str:
            """Remembers a person."""
            seen.append(person)
            return "done"
        self.llm.chat("Remember Ann, who is 31.", tools=[remember], tool_choice="required", max_tool_rounds=1,
                 sampling_params=SamplingParams(max_tokens=120, temperature=0))
        self.assertIsInstance(seen[0], Person)
