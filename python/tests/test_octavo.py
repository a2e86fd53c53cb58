"""Tests of the package with a real model: OCTAVO_LIBRARY names the library, OCTAVO_TEST_DATA the folder of models.

    export OCTAVO_LIBRARY=build/release/liboctavo.so OCTAVO_TEST_DATA=... PYTHONPATH=python
    python -m pytest python/tests
"""
import asyncio
import gc
import json
import multiprocessing
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from typing import List, Literal, Optional

import numpy as np
from support import MODEL

import octavo
from octavo import SamplingParams, StructuredOutputs
from octavo._load import option_words
from octavo._tools import Tools, result_message, schema_of_function
from octavo.outputs import EventReader, piece_of

GREEDY = SamplingParams(temperature=0, max_tokens=12)
PROMPT = "The sky is"


def weather(city: str, unit: Literal["C", "F"] = "C") -> str:
    """Gives the weather of a city.

    Args:
        city: where it is
        unit: of the temperature
    """
    weather.calls.append((city, unit))
    return f"It is 21 {unit} in {city}."


class Fast(unittest.TestCase):
    """What needs no model."""

    def test_options_become_words(self):
        words = option_words({"threads": 4, "kv_memory": "2GiB", "embedding": True, "repack": False, "no_ui": False,
                              "prefix_cache": True, "seed": None, "alias": ["a", "b"],
                              "chat_template_kwargs": {"a": 1}})
        self.assertEqual(words, ["--threads", "4", "--kv-memory", "2GiB", "--embedding", "--no-repack", "--alias", "a",
                                 "--alias", "b", "--chat-template-kwargs", '{"a": 1}'])
        with self.assertRaisesRegex(TypeError, "threads: found object"):
            option_words({"threads": object()})

    def test_params_check_types(self):
        for name, value, found in (("max_tokens", "5", "'5'"), ("temperature", "hot", "'hot'"), ("n", True, "True"),
                                   ("stop", 3, "3"), ("stop", [3], "3"), ("stop_token_ids", ["a"], "'a'"),
                                   ("ignore_eos", 1, "1"), ("logit_bias", [1], r"\[1\]"), ("extra", 5, "5")):
            with self.subTest(name), self.assertRaisesRegex(TypeError, rf"{name}.*found {found}.*expected"):
                SamplingParams(**{name: value})
        with self.assertRaisesRegex(ValueError, "found json, regex, expected one of"):
            StructuredOutputs(json={}, regex="a")
        params = SamplingParams(temperature=np.float32(0.5), n=np.int64(2), stop="x", logit_bias={5: 1})
        self.assertEqual(params.fields(), {"n": 2, "temperature": 0.5, "stop": ["x"], "logit_bias": {"5": 1}})
        self.assertEqual(SamplingParams(logprobs=2).fields(is_chat=True), {"logprobs": True, "top_logprobs": 2})

    def test_events_are_cut_anywhere(self):
        whole = b': waiting\n\ndata: {"choices": [{"text": "a\xc3\xa4"}]}\n\ndata: [DONE]\n\n'
        for at in range(len(whole) + 1):
            reader = EventReader()
            chunks = reader.read(whole[:at]) + reader.read(whole[at:])
            self.assertEqual([piece_of(chunk).text for chunk in chunks], ["aä"])

    def test_schema_of_a_function(self):
        def find(query: str, limit: int = 3, tags: Optional[List[str]] = None):
            """Finds texts.

            :param query: what they are about
            """
        tool = schema_of_function(find)["function"]
        self.assertEqual((tool["name"], tool["description"]), ("find", "Finds texts."))
        self.assertEqual(tool["parameters"]["required"], ["query"])
        self.assertEqual(tool["parameters"]["properties"], {
            "query": {"type": "string", "description": "what they are about"},
            "limit": {"type": "integer", "default": 3},
            "tags": {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None}})
        about = schema_of_function(weather)["function"]
        self.assertEqual(about["description"], "Gives the weather of a city.")
        unit = about["parameters"]["properties"]["unit"]
        self.assertEqual((unit["enum"], unit["description"], unit["default"]), (["C", "F"], "of the temperature", "C"))

    def test_calls_that_cannot_be_made(self):
        weather.calls = []
        tools = Tools([weather])
        for name, arguments, found in (("rain", "{}", "found the tool 'rain'"), ("weather", "{", "error: "),
                                       ("weather", '{"town": 1}', "error: ")):
            call = {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}}
            self.assertIn(found, tools.call(call))
        self.assertEqual(weather.calls, [])
        self.assertEqual(result_message(call, {"a": 1})["content"], '{"a": 1}')


class Texts(unittest.TestCase):
    def test_same_as_the_server(self):
        body = {"prompt": PROMPT, "temperature": 0, "max_tokens": 12, "logprobs": 1, "return_token_ids": True}
        with octavo.serve(self.llm) as server:
            sent = urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode())
            told = json.load(urllib.request.urlopen(sent))["choices"][0]
        with self.assertRaises(OSError):
            urllib.request.urlopen(server.url + "/health", timeout=5)
        output = self.llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=12, logprobs=1))[0]
        answer = output.outputs[0]
        self.assertEqual((answer.text, answer.token_ids), (told["text"], told["token_ids"]))
        self.assertEqual(answer.finish_reason, "length")
        self.assertEqual([row[token].logprob for row, token in zip(answer.logprobs, answer.token_ids)],
                         told["logprobs"]["token_logprobs"])
        self.assertTrue(all(row[token].rank == 1 for row, token in zip(answer.logprobs, answer.token_ids)))
        self.assertAlmostEqual(answer.cumulative_logprob, sum(told["logprobs"]["token_logprobs"]))
        self.assertEqual(output.prompt_token_ids, self.llm.tokenizer.encode(PROMPT))

    def test_a_server_of_the_model_answers_to_the_names_that_it_is_given(self):
        def ask(name):
            body = {"model": name, "prompt": PROMPT, "max_tokens": 1}
            return json.load(urllib.request.urlopen(
                urllib.request.Request(server.url + "/v1/completions", json.dumps(body).encode())))["model"]
        with octavo.serve(self.llm) as server:
            self.assertEqual(ask("whatever"), ask("else"))
        with octavo.serve(self.llm, served_model_name="small") as server:
            self.assertEqual(ask("small"), "small")
            with self.assertRaises(urllib.error.HTTPError) as refused:
                ask("whatever")
            self.assertEqual(refused.exception.code, 404)
            refused.exception.close()

    def test_seed_and_order(self):
        params = SamplingParams(temperature=1, seed=7, max_tokens=8)
        prompts = [f"{number} and" for number in range(20)]
        together = self.llm.generate(prompts, params)
        self.assertEqual([output.prompt for output in together], prompts)
        alone = [self.llm.generate(prompt, params)[0].text for prompt in prompts]
        self.assertEqual([output.text for output in together], alone)
        self.assertGreater(len(set(alone)), 5)
        each = [SamplingParams(temperature=0, max_tokens=i + 1) for i in range(3)]
        outputs = self.llm.generate([PROMPT] * 3, each)
        self.assertEqual([len(output.outputs[0].token_ids) for output in outputs], [1, 2, 3])

    def test_choices_and_prompt_logprobs(self):
        output = self.llm.generate(PROMPT, SamplingParams(n=3, seed=1, max_tokens=4, prompt_logprobs=0))[0]
        self.assertEqual([answer.index for answer in output.outputs], [0, 1, 2])
        self.assertIsNone(output.prompt_logprobs[0])
        tokens = output.prompt_token_ids
        logits = self.llm.logits(tokens).astype(np.float64)
        for i in range(1, len(tokens)):
            row = logits[i - 1]
            expected = row[tokens[i]] - row.max() - np.log(np.exp(row - row.max()).sum())
            self.assertAlmostEqual(output.prompt_logprobs[i][tokens[i]].logprob, expected, places=3)

    def test_alternatives_have_their_ids(self):
        output = self.llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=6, logprobs=20))[0]
        answer = output.outputs[0]
        self.assertEqual("".join(row[token].decoded_token for row, token in zip(answer.logprobs, answer.token_ids)),
                         answer.text)
        rows = self.llm.logits(output.prompt_token_ids + answer.token_ids).astype(np.float64)
        for row, told in zip(rows[len(output.prompt_token_ids) - 1:], answer.logprobs):
            expected = row - row.max() - np.log(np.exp(row - row.max()).sum())
            self.assertEqual(len(told), 20)
            for token, one in told.items():
                self.assertAlmostEqual(one.logprob, expected[token], places=3)
                self.assertEqual(told[token].rank, 1 + sum(expected > expected[token]))

    def test_stop(self):
        whole = self.llm.generate(PROMPT, GREEDY)[0].text
        word = whole.split()[2]
        answer = self.llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=12, stop=word))[0].outputs[0]
        self.assertEqual((answer.finish_reason, answer.stop_reason), ("stop", word))
        self.assertEqual(answer.text, whole[:whole.index(word)])

    def test_structured_outputs(self):
        params = SamplingParams(max_tokens=20, structured_outputs=StructuredOutputs(choice=["red", "blue"]))
        self.assertIn(self.llm.generate("My favourite colour is", params)[0].text, ("red", "blue"))
        params = SamplingParams(max_tokens=20, structured_outputs={"regex": "[0-9]{3}"})
        self.assertRegex(self.llm.generate("The number is", params)[0].text, "^[0-9]{3}$")

    def test_no_prompts(self):
        self.assertEqual(self.llm.generate([]), [])

    def test_more_requests_than_may_wait(self):
        with octavo.LLM(MODEL, progress=False, shares=self.llm, max_queued=2, max_sequences=2) as small:
            self.assertEqual([output.text for output in small.generate([PROMPT] * 12, GREEDY)],
                             [self.llm.generate(PROMPT, GREEDY)[0].text] * 12)

            async def many():
                return await asyncio.gather(*(small.agenerate(PROMPT, GREEDY) for _ in range(12)))
            self.assertEqual(len(asyncio.run(many())), 12)

    def test_words(self):
        tokenizer = self.llm.tokenizer
        tokens = tokenizer.encode("Grüße <|im_end|>")
        self.assertIn(tokens[-1], tokenizer.eos_token_ids)
        self.assertEqual(tokenizer.decode(tokens), "Grüße <|im_end|>")
        self.assertNotIn(tokens[-1], tokenizer.encode("<|im_end|>", parse_special_tokens=False))
        self.assertEqual(tokenizer.decode(tokens[0]), tokenizer.decode([tokens[0]]))
        messages = [{"role": "user", "content": "Hi"}]
        text = tokenizer.apply_chat_template(messages, tokenize=False)
        self.assertTrue(text.endswith("<|im_start|>assistant\n"))
        self.assertEqual(tokenizer.encode(text), tokenizer.apply_chat_template(messages))
        self.assertEqual(len(tokenizer), self.llm.logits("a").shape[1])


class Streams(unittest.TestCase):
    def test_stream_is_the_whole(self):
        pieces = list(self.llm.stream(PROMPT, GREEDY))
        self.assertEqual("".join(piece.text for piece in pieces), self.llm.generate(PROMPT, GREEDY)[0].text)
        self.assertEqual(pieces[-2].finish_reason, "length")
        self.assertEqual(pieces[-1].usage["completion_tokens"], 12)
        messages = [{"role": "user", "content": "Name three colours."}]
        whole = self.llm.chat(messages, sampling_params=GREEDY)
        self.assertEqual("".join(piece.text for piece in self.llm.stream(messages, GREEDY)), whole.text)

    def wait_for_running(self, count):
        end = time.monotonic() + 10
        while self.llm.stats()["running"] != count and time.monotonic() < end:
            time.sleep(0.001)
        self.assertEqual(self.llm.stats()["running"], count)

    def assert_idle(self):
        self.wait_for_running(0)

    def test_dropped_generator_cancels(self):
        stream = self.llm.stream(PROMPT, SamplingParams(max_tokens=5000, ignore_eos=True))
        next(stream)
        self.wait_for_running(1)
        del stream
        gc.collect()
        self.assert_idle()

    def test_exception_in_the_loop(self):
        with self.assertRaises(ZeroDivisionError):
            for _ in self.llm.stream(PROMPT, SamplingParams(max_tokens=5000, ignore_eos=True)):
                raise ZeroDivisionError
        self.assert_idle()
        self.assertEqual(len(self.llm.generate(PROMPT, GREEDY)[0].outputs[0].token_ids), 12)

    def test_tasks(self):
        expected = self.llm.generate(PROMPT, GREEDY)[0].text

        async def piecewise():
            return "".join([piece.text async for piece in self.llm.astream(PROMPT, GREEDY)])

        async def whole():
            return (await self.llm.agenerate([PROMPT], GREEDY))[0].text

        async def all_of_them():
            return await asyncio.gather(*(piecewise() if i % 2 else whole() for i in range(32)))
        self.assertEqual(asyncio.run(all_of_them()), [expected] * 32)

    def test_threads_beside_tasks(self):
        expected = self.llm.generate(PROMPT, GREEDY)[0].text
        results = []
        threads = [threading.Thread(target=lambda: results.append(self.llm.generate(PROMPT, GREEDY)[0].text))
                   for _ in range(8)]
        threads += [threading.Thread(target=lambda: results.append(
            asyncio.run(self.llm.agenerate(PROMPT, GREEDY))[0].text)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results, [expected] * 12)

    def test_cancelled_task(self):
        async def begin_and_leave():
            task = asyncio.ensure_future(self.llm.achat("Hi", max_tokens=5000, ignore_eos=True))
            while not self.llm.stats()["running"]:
                await asyncio.sleep(0.01)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            async for _ in self.llm.astream(PROMPT, SamplingParams(max_tokens=5000, ignore_eos=True)):
                break
        asyncio.run(begin_and_leave())
        self.assert_idle()

    def test_close_ends_what_runs(self):
        other = octavo.LLM(MODEL, progress=False, shares=self.llm)
        stream = other.stream(PROMPT, SamplingParams(max_tokens=5000, ignore_eos=True))
        next(stream)
        other.close()
        with self.assertRaises(octavo.StoppedError):
            list(stream)
        with self.assertRaisesRegex(octavo.ClosedError, "closed"):
            other.generate(PROMPT)
        other.close()


class Chats(unittest.TestCase):
    def test_schema(self):
        schema = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 150}}, "required": ["age"]}
        output = self.llm.chat("How old is Ann?", response_format=schema, max_tokens=40)
        self.assertEqual(list(output.parsed), ["age"])
        self.assertIsInstance(output.parsed["age"], int)
        cut = self.llm.chat("How old is Ann?", response_format=schema, max_tokens=2)
        with self.assertRaisesRegex(ValueError, "cut at its limit"):
            cut.parsed

    def test_class(self):
        class Person:
            """A class as pydantic makes them."""

            @classmethod
            def model_json_schema(cls):
                return {"type": "object", "properties": {"name": {"enum": ["Ann", "Bob"]}}, "required": ["name"]}

            @classmethod
            def model_validate_json(cls, text):
                person = cls()
                person.name = json.loads(text)["name"]
                return person
        output = self.llm.chat("Who is it?", response_format=Person, max_tokens=40)
        self.assertIn(output.parsed.name, ("Ann", "Bob"))
        self.assertIsInstance(output.parsed, Person)

    def ask(self, **fields):
        weather.calls = []
        return self.llm.chat("What is the weather in Rome?", tool_choice="required",
                        sampling_params=SamplingParams(temperature=0, max_tokens=60), **fields)

    def test_functions_are_called(self):
        output = self.ask(tools=[weather], max_tool_rounds=1)
        self.assertEqual([city for city, _ in weather.calls], ["Rome"])
        self.assertEqual([message["role"] for message in output.messages], ["user", "assistant", "tool"])
        self.assertIn("in Rome.", output.messages[-1]["content"])
        self.assertEqual(output.tool_calls, [])
        self.assertTrue(output.text)

    def test_async_functions_are_awaited(self):
        async def rain(city: str) -> str:
            """Says whether it rains in a city."""
            await asyncio.sleep(0)
            weather.calls.append(city)
            return "no"

        weather.calls = []
        output = asyncio.run(self.llm.achat("Does it rain in Rome?", tools=[rain], tool_choice="required",
                                       max_tool_rounds=1, temperature=0, max_tokens=60))
        self.assertEqual(len(weather.calls), 1)
        self.assertEqual(output.messages[-1]["content"], "no")
        with self.assertRaisesRegex(TypeError, "expected `achat`"):
            self.llm.chat("Does it rain in Rome?", tools=[rain], tool_choice="required", temperature=0, max_tokens=60)

    def test_shown_tools_are_returned(self):
        output = self.ask(tools=[schema_of_function(weather)])
        self.assertEqual(output.finish_reason, "tool_calls")
        self.assertEqual(output.tool_calls[0]["function"]["name"], "weather")
        self.assertEqual(weather.calls, [])

    def test_exception_of_a_function(self):
        def weather(city: str) -> str:
            """Gives the weather of a city."""
            raise KeyError(city)
        with self.assertRaises(KeyError):
            self.ask(tools=[weather])


class Numbers(unittest.TestCase):
    def test_embed(self):
        vectors = self.llm.embed(["a cat", "a dog", "a cat"])
        self.assertEqual((vectors.shape, vectors.dtype), ((3, self.llm.info["vector_width"]), np.float32))
        np.testing.assert_allclose((vectors ** 2).sum(axis=1), 1, rtol=1e-5)
        np.testing.assert_array_equal(vectors[0], vectors[2])
        self.assertEqual(self.llm.embed("a cat").shape, (1, vectors.shape[1]))
        self.assertGreater(np.linalg.norm(self.llm.embed("a cat", normalize=False)), 2)
        self.assertEqual(self.llm.embed([]).shape, vectors[:0].shape)
        self.assertEqual(self.llm.info["prompts"], [])
        with self.assertRaisesRegex(octavo.InvalidRequestError, "prompt_name: found 'query', expected none"):
            self.llm.embed("a", prompt_name="query")
        scores = self.llm.score("a cat", ["a dog", "a cat"])
        self.assertAlmostEqual(scores[1].score, 1, places=4)
        self.assertAlmostEqual(scores[0].score, float(vectors[0] @ vectors[1]), places=4)

    def test_logits_are_those_of_generate(self):
        tokens = self.llm.tokenizer.encode(PROMPT)
        answer = self.llm.generate(tokens, GREEDY)[0].outputs[0].token_ids
        logits = self.llm.logits(tokens + answer)
        self.assertEqual((logits.shape, logits.dtype), ((len(tokens) + 12, self.llm.info["vocab_size"]), np.float32))
        self.assertEqual(logits[len(tokens) - 1:-1].argmax(axis=1).tolist(), answer)
        kept = logits.copy()
        self.llm.generate([PROMPT] * 8, GREEDY)
        gc.collect()
        np.testing.assert_array_equal(logits, kept)

    def test_logits_of_a_long_prompt(self):
        tokens = self.llm.tokenizer.encode("word " * 700)
        self.assertEqual(self.llm.logits(np.array(tokens)).shape, (len(tokens), self.llm.info["vocab_size"]))

    def test_masks_draw_what_the_engine_draws_under_the_constraint(self):
        schema = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}
        tokens = self.llm.tokenizer.encode(PROMPT)
        drawn = []
        with self.llm.constraint("json_schema", schema) as constraint:
            for _ in range(6):
                row = self.llm.logits(tokens + drawn)[-1].copy()
                row[~constraint.mask(drawn)] = -np.inf
                drawn.append(int(row.argmax()))
            with self.assertRaisesRegex(octavo.InvalidRequestError, "tokens: found 2 at 0"):
                constraint.mask([2])
        params = SamplingParams(temperature=0, max_tokens=6, structured_outputs={"json": schema})
        engine = self.llm.generate([tokens], params)[0].outputs[0]
        same = min(len(drawn), len(engine.token_ids))
        self.assertGreater(same, 2)
        self.assertEqual(engine.token_ids[:2], drawn[:2])
        self.assertTrue(engine.text.startswith("{") and self.llm.tokenizer.decode(drawn).startswith("{"))
        with self.assertRaises(octavo.ClosedError):
            constraint.mask()
        with self.assertRaisesRegex(ValueError, "kind: found 'rhyme'"):
            self.llm.constraint("rhyme", "")
        with self.assertRaises(octavo.InvalidRequestError):
            self.llm.constraint("regex", "(")

    def test_context(self):
        prefix = "The quick brown fox jumps over the lazy dog. " * 30
        with self.llm.context(prefix) as ctx:
            outputs = ctx.generate([" A", " The"], GREEDY)
            self.assertGreater(ctx.cached_tokens, len(ctx.tokens))
            self.assertEqual(outputs[0].text, self.llm.generate(prefix.rstrip() + "  A", GREEDY)[0].text)
            fork = ctx.fork(" It")
            self.assertEqual(len(fork.tokens), len(ctx.tokens) + 1)
            self.assertEqual(len(fork.generate(sampling_params=GREEDY)), 1)
        with self.assertRaises(octavo.ClosedError):
            ctx.generate(" A")

    def test_a_context_stays_in_a_memory_that_others_fill(self):
        prefix = "The quick brown fox jumps over the lazy dog. " * 4
        short = octavo.SamplingParams(temperature=0, max_tokens=2)
        with octavo.LLM(MODEL, kv_memory="8MiB", max_context=100) as small:
            def fill():
                small.generate([f"{number} is a number. " * 8 for number in range(8)], short)

            def is_any_pinned(expected):
                for _ in range(1000):  # a step may be under way, whose counts come behind it
                    if (small.stats()["pinned_bytes"] > 0) == expected:
                        break
                    time.sleep(0.01)
                return small.stats()["pinned_bytes"] > 0

            with small.context(prefix) as ctx:
                pinned = len(ctx.tokens) // 16 * 16
                self.assertTrue(is_any_pinned(True))
                with ctx.fork(" It was here.") as fork:
                    fill()
                    self.assertEqual(ctx.generate(" A", short)[0].cached_tokens, pinned)
                    self.assertGreaterEqual(fork.generate(" A", short)[0].cached_tokens, pinned)
            self.assertFalse(is_any_pinned(False))
            fill()
            self.assertEqual(small.generate(prefix + " A", short)[0].cached_tokens, 0)
            contexts = []
            with self.assertRaisesRegex(octavo.OutOfMemoryError, "expected at most"):
                while len(contexts) < 100:
                    contexts.append(small.context(f"{len(contexts)}" + prefix))
            self.assertGreater(len(contexts), 1)
            self.assertEqual(len(small.generate([prefix] * 3, short)), 3)
            del contexts[:]
            self.assertFalse(is_any_pinned(False))


class Errors(unittest.TestCase):
    def test_files_that_are_no_models(self):
        with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
            file.write(b"no model at all")
            file.flush()
            with self.assertRaisesRegex(octavo.ModelError, "expected 'GGUF'"):
                octavo.LLM(file.name)
        for name in ("/nowhere/model.gguf", "/nowhere/\udcff.gguf"):
            with self.assertRaises(ValueError):
                octavo.LLM(name)
        with self.assertRaisesRegex(octavo.ModelError, "--frobnicate"):
            octavo.LLM(MODEL, frobnicate=True)
        with self.assertRaisesRegex(TypeError, "model: found int"):
            octavo.LLM(3)

    def test_requests(self):
        with self.assertRaises(octavo.ContextLengthError) as raised:
            self.llm.generate("word " * 9000)
        self.assertEqual((raised.exception.code, raised.exception.http), ("context_length_exceeded", 400))
        with self.assertRaisesRegex(octavo.InvalidRequestError, "found the number -3, expected") as raised:
            self.llm.generate(PROMPT, SamplingParams(temperature=-3))
        self.assertEqual(raised.exception.field, "temperature")
        self.assertIsInstance(raised.exception, ValueError)
        with self.assertRaisesRegex(TypeError, r"prompts\[1\]: found 3"):
            self.llm.generate(["a", 3])
        with self.assertRaisesRegex(ValueError, "found 1, expected one for each of 2"):
            self.llm.generate(["a", "b"], [GREEDY])
        with self.assertRaisesRegex(TypeError, "messages: found int"):
            self.llm.chat(3)
        with self.assertRaisesRegex(octavo.InvalidRequestError, "no ranking head"):
            self.llm.rerank("a", ["b"])
        for error in (octavo.ModelError, octavo.InvalidRequestError):
            self.assertTrue(issubclass(error, ValueError))
        self.assertTrue(issubclass(octavo.OutOfMemoryError, MemoryError))

    def test_errors_come_to_tasks(self):
        with self.assertRaises(octavo.ContextLengthError):
            asyncio.run(self.llm.agenerate([PROMPT, "word " * 9000], GREEDY))
        self.assertEqual(len(asyncio.run(self.llm.agenerate(PROMPT, GREEDY))), 1)

    def test_forked_child(self):
        def child(ends):
            try:
                self.llm.generate(PROMPT, GREEDY)
            except octavo.ForkedError as error:
                ends.send(str(error))
        mine, ends = multiprocessing.Pipe()
        process = multiprocessing.get_context("fork").Process(target=child, args=(ends,))
        process.start()
        self.assertTrue(mine.poll(20), "the child says nothing")
        self.assertIn("forked", mine.recv())
        process.join(20)
        self.assertEqual(process.exitcode, 0)
        self.assertEqual(len(self.llm.generate(PROMPT, GREEDY)), 1)


class Shapes(unittest.TestCase):
    def test_llama(self):
        with octavo.llama_cpp.Llama(MODEL, n_ctx=512, embedding=True, seed=3, verbose=False) as llama:
            answer = llama(PROMPT, max_tokens=6, temperature=0)
            text = answer["choices"][0]["text"]
            self.assertEqual(answer["object"], "text_completion")
            chunks = list(llama(PROMPT, max_tokens=6, temperature=0, stream=True))
            self.assertEqual("".join(chunk["choices"][0]["text"] for chunk in chunks), text)
            messages = [{"role": "user", "content": "Hi"}]
            chat = llama.create_chat_completion(messages, max_tokens=6, temperature=0)["choices"][0]["message"]
            deltas = llama.create_chat_completion(messages, max_tokens=6, temperature=0, stream=True)
            self.assertEqual("".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in deltas),
                             chat["content"])
            self.assertEqual((llama.n_ctx(), llama.n_vocab()), (512, 49152))
            self.assertEqual(llama.detokenize(llama.tokenize("Grüße".encode())), "Grüße".encode())
            self.assertEqual(llama.token_eos(), 2)  # of the three that end an answer
            self.assertEqual(len(llama.embed("a")), llama.n_embd())
            self.assertEqual(len(llama.embed("a " * 2000)), llama.n_embd())
            vector = llama.create_embedding("a")["data"][0]["embedding"]
            np.testing.assert_allclose(vector, self.llm.embed("a")[0], atol=1e-6)
            with self.assertRaisesRegex(TypeError, "unexpected argument 'tfs'"):
                llama(PROMPT, tfs=1)

    def test_models_share_threads(self):
        with octavo.LLM(MODEL, progress=False, shares=self.llm) as other:
            results = {}

            def generate(one):
                results[one] = one.generate(PROMPT, GREEDY)[0].text
            threads = [threading.Thread(target=generate, args=(one,)) for one in (self.llm, other)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(results[self.llm], results[other])

    def test_release_memory(self):
        self.llm.generate("word " * 600, SamplingParams(max_tokens=1))
        before = self.llm.stats()["kv_bytes"]
        self.llm.release_memory()
        self.assertLess(self.llm.stats()["kv_bytes"], before)
