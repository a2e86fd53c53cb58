"""Tests of arguments: forms that other libraries have are taken, and what cannot be done is an error that says what was
found and what was expected."""
import asyncio
import base64
import copy
import gc
import importlib
import io
import json
import os
import pathlib
import pickle
import tempfile
import unittest
import unittest.mock
import urllib.request
import warnings

import numpy as np
import pytest
from PIL import Image
from support import MODEL, python

import octavo
from octavo import SamplingParams, StructuredOutputs, _fields
from octavo._chat import checked_messages
from octavo._json import json_bytes

GREEDY = SamplingParams(temperature=0, max_tokens=4)
PROMPT = "1, 2, 3,"
HI = [{"role": "user", "content": "Hi"}]


@pytest.fixture(scope="class")
def llama(request):
    """A Llama for a class of tests."""
    with octavo.llama_cpp.Llama(MODEL, n_ctx=256, verbose=False, n_gpu_layers=-1, use_mmap=False,
                                logits_all=True) as one:
        request.cls.llama = one
        yield


class Pictures(unittest.TestCase):
    def url(self, part):
        self.assertEqual(part["type"], "image_url")
        head, data = part["image_url"]["url"].split(",")
        self.assertEqual(head, "data:;base64")
        return base64.b64decode(data)

    def test_what_people_have_becomes_a_data_url(self):
        rgb = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.png")
            Image.fromarray(rgb).save(path)
            content = ["See", rgb, Image.fromarray(rgb), path, path.read_bytes(),
                       {"type": "image", "image": path, "detail": "low"}]
            (message,) = checked_messages([{"role": "user", "content": content}])
        text, *pictures = message["content"]
        self.assertEqual(text, {"type": "text", "text": "See"})
        for part in pictures:
            self.assertTrue(np.array_equal(np.array(Image.open(io.BytesIO(self.url(part)))), rgb))
        self.assertEqual(pictures[-1]["image_url"]["detail"], "low")

    def test_parts_of_the_api_and_texts_stay_as_they_are(self):
        messages = [{"role": "system", "content": "A"},
                    {"role": "user", "content": [{"type": "image", "image": "data:,"}, {"type": "text", "text": "b"}]}]
        self.assertEqual(checked_messages(messages), messages)

    def test_what_is_no_picture_is_told_with_its_place(self):
        def given(image):
            checked_messages([{"role": "user", "content": [{"type": "image", "image": image}]}])

        with self.assertRaisesRegex(TypeError, r"messages\[0\]\.content\[0\]\.image: found 3 \(int\), expected a PIL"):
            given(3)
        with self.assertRaisesRegex(ValueError, r"found an array \[5, 7\] of uint8"):
            given(np.zeros((5, 7), np.uint8))


class Lives(unittest.TestCase):
    def test_objects_cannot_be_copied_or_pickled(self):
        with self.llm.constraint("regex", "a+") as constraint, self.llm.context("a") as context:
            for one in (self.llm, constraint, context, octavo._queue.Queue()):
                for way in (copy.copy, copy.deepcopy, pickle.dumps):
                    with self.assertRaisesRegex(TypeError, f"an? {type(one).__name__} cannot be copied or pickled"):
                        way(one)
            self.assertTrue(constraint.mask().any())
        gc.collect()
        self.assertEqual(len(self.llm.generate(PROMPT, GREEDY)), 1)

    def test_streams_and_servers_keep_their_model(self):
        def small():
            return octavo.LLM(MODEL, progress=False, shares=self.llm, max_context=64)
        stream = small().stream(PROMPT, GREEDY)
        server = octavo.serve(small())
        gc.collect()
        self.assertEqual("".join(piece.text for piece in stream), self.llm.generate(PROMPT, GREEDY)[0].text)
        sent = urllib.request.Request(server.url + "/v1/completions", b'{"prompt": "a", "max_tokens": 1}')
        with urllib.request.urlopen(sent, timeout=20) as answer:
            self.assertEqual(answer.status, 200)
        with urllib.request.urlopen(server.url + "/openapi.json", timeout=20) as answer:
            self.check_known_fields(json.load(answer))
        server.close()
        stream = octavo.llama_cpp.Llama(MODEL, n_ctx=64, verbose=False)(PROMPT, max_tokens=2, stream=True)
        gc.collect()
        self.assertTrue("".join(chunk["choices"][0]["text"] for chunk in stream))

    def check_known_fields(self, described):
        """The lists of names are those that the server describes."""
        for path, known in (("/v1/chat/completions", _fields.CHAT), ("/v1/completions", _fields.TEXT),
                            ("/apply-template", _fields.TEMPLATE)):
            schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
            while "$ref" in schema:
                schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
            self.assertEqual(set(schema["properties"]) - {"prompt", "messages"}, known, path)


class Names(unittest.TestCase):
    def test_unknown_names_are_refused(self):
        for call in (lambda: self.llm.chat("Hi", max_token=3), lambda: self.llm.stream("Hi", max_token=3),
                     lambda: self.llm.stream(HI, max_token=3), lambda: self.llm.chat("Hi", SamplingParams(
                         extra={"max_token": 3})), lambda: self.llm.generate("Hi", SamplingParams(
                             extra={"max_token": 3})),
                     lambda: self.llm.tokenizer.apply_chat_template(HI, max_token=3),
                     lambda: asyncio.run(self.llm.achat("Hi", max_token=3))):
            with self.assertRaisesRegex(TypeError, "unexpected keyword argument 'max_token'"):
                call()

    def test_variables_of_the_template(self):
        template = "{{ enable_thinking }} {{ mood }}"
        with octavo.LLM(MODEL, progress=False, shares=self.llm, max_context=64, chat_template=template) as small:
            apply = small.tokenizer.apply_chat_template
            self.assertEqual(apply(HI, tokenize=False, enable_thinking=False, chat_template_kwargs={"mood": 1},
                                   return_tensors=None, padding=False), "False 1")
            self.assertEqual(small.chat(HI, GREEDY, enable_thinking=True).raw["usage"]["prompt_tokens"],
                             len(apply(HI, enable_thinking=True)))
            with self.assertRaisesRegex(ValueError, "return_tensors: found 'pt', expected None"):
                apply(HI, return_tensors="pt")

    def test_templates_show_functions(self):
        def weather(city: str):
            """Tells the weather."""
        text = self.llm.tokenizer.apply_chat_template(HI, tools=[weather], tokenize=False)
        self.assertIn("Tells the weather.", text)

    def test_whole_answers_are_not_streamed(self):
        for call in (lambda: self.llm.chat("Hi", stream=True), lambda: asyncio.run(self.llm.achat("Hi", stream=True)),
                     lambda: self.llm.request("/v1/completions", {"prompt": "a", "stream": True})):
            with self.assertRaisesRegex(TypeError, "stream: found True, expected `stream`"):
                call()
        with self.assertRaisesRegex(TypeError, "extra: found 'stream'"):
            SamplingParams(extra={"stream": True})
        with self.assertRaisesRegex(TypeError, "stream: found False, expected `generate`"):
            self.llm.stream(PROMPT, stream=False)
        self.assertTrue(self.llm.request("/api/generate", {"prompt": "a", "options": {"num_predict": 1}})["done"])

    def test_forms_of_answers(self):
        for form, found in (({"rgex": "a"}, "found 'rgex'"), ({}, "found nothing"), ({"choice": []}, "an empty list"),
                            ({"regex": "a", "choice": ["a"]}, "found regex, choice")):
            with self.assertRaisesRegex(ValueError, found):
                SamplingParams(structured_outputs=form)
            with self.assertRaisesRegex(ValueError, found):
                self.llm.chat("Hi", structured_outputs=form)
        self.assertEqual(StructuredOutputs.of({"json_object": True}).fields(), {"json_object": True})

        class Person:
            """A class as pydantic makes them."""

            @classmethod
            def model_json_schema(cls):
                return {"type": "boolean"}
        with self.assertRaisesRegex(TypeError, "response_format: found .*Person.*expected a pydantic class"):
            self.llm.chat("Hi", response_format=Person())
        with self.llm.constraint("json_schema", Person) as constraint:
            self.assertTrue(constraint.mask().any())
        for kind, source in (("regex", None), ("choice", []), ("json_schema", 3)):
            with self.assertRaisesRegex(TypeError, "source: found"):
                self.llm.constraint(kind, source)


class Told(list):
    """A list that tells another length than it has."""

    told = 0

    def __len__(self):
        return self.told


class Lengths(unittest.TestCase):
    def test_lists_that_tell_another_length(self):
        given = self.llm.tokenizer.encode(PROMPT)
        rows, text = self.llm.logits(given), self.llm.generate(given, GREEDY)[0].text
        with self.llm.constraint("regex", ".+") as constraint:
            mask = constraint.mask(given[1:])
            for length in (0, 1, 10 ** 9, 2 ** 62):
                tokens, behind = Told(given), Told(given[1:])
                tokens.told = behind.told = length
                self.assertEqual(self.llm.tokenizer.decode_bytes(tokens), self.llm.tokenizer.decode_bytes(given))
                self.assertEqual(self.llm.generate(tokens, GREEDY)[0].text, text)
                self.assertEqual(self.llm.logits(tokens).shape, rows.shape)
                self.assertTrue((constraint.mask(behind) == mask).all())
                with self.llm.context(tokens) as context:
                    self.assertEqual(context.tokens, given)
        program = Told(["octavo", "--version"])
        program.told = 10 ** 9
        self.assertEqual(octavo.llm.run_program(program), 0)

    def test_texts_that_tell_something_else(self):
        class Bytes(bytes):
            """Bytes that tell another length."""

            def __len__(self):
                return 10 ** 9

        class Text(str):
            """A text that tells other bytes."""

            def encode(self, *_):
                return Bytes(b"other")
        expected = self.llm.tokenizer.encode(PROMPT)
        self.assertEqual(self.llm.tokenizer.encode(Bytes(PROMPT.encode())), expected)
        self.assertEqual(self.llm.tokenizer.encode(Text(PROMPT)), expected)

    def test_tokens_that_change_their_list(self):
        given = []

        class Token:
            """A token whose list is another one once it is read."""

            def __index__(self):
                given.clear()
                return 5
        for later in ([7] * 1000, [Token()] * 1000):
            given[:] = [Token(), *later]
            self.assertTrue(self.llm.tokenizer.decode(given))
        for tokens in (np.arange(40)[::7], np.arange(40, dtype=">i8"), range(0, 40, 7)):
            self.assertEqual(self.llm.tokenizer.decode(tokens), self.llm.tokenizer.decode([int(one) for one in tokens]))


class Values(unittest.TestCase):
    def test_numbers_that_are_not_finite(self):
        nan, inf = float("nan"), float("inf")
        for call, place in ((lambda: self.llm.generate("a", SamplingParams(temperature=nan)), "temperature: found nan"),
                            (lambda: self.llm.generate("a", SamplingParams(logit_bias={3: -inf})),
                             "logit_bias.3: found -inf"),
                            (lambda: self.llm.chat("a", stop=[1, np.float32(nan)]), r"stop\[1\]: found nan")):
            with self.assertRaisesRegex(octavo.InvalidRequestError, place + ", expected a finite number"):
                call()
        with self.assertRaisesRegex(TypeError, r"a\[0\]\.b: found <object"):
            json_bytes({"a": [{"b": object()}]})
        self.assertEqual(json_bytes({"a": np.arange(2), "b": np.float32(1)}), b'{"a": [0, 1], "b": 1.0}')

    def test_lone_surrogates_are_errors_everywhere(self):
        bad = "a\ud800"
        for call in (lambda: self.llm.tokenizer.encode(bad), lambda: self.llm.generate(bad), lambda: self.llm.chat(bad),
                     lambda: self.llm.generate("a", SamplingParams(stop=bad)), lambda: self.llm.embed(bad),
                     lambda: self.llm.constraint("regex", bad), lambda: self.llm.context(bad),
                     lambda: octavo.LLM(MODEL, chat_template=bad)):
            with self.assertRaisesRegex(ValueError, r"found the lone surrogate '\\ud800' at 1"):
                call()

    def test_empty_names_and_nul(self):
        with self.assertRaisesRegex(octavo.ModelError, "model: found an empty text"):
            octavo.LLM("")
        with self.assertRaisesRegex(octavo.ModelError, "model: found a NUL at 1"):
            octavo.LLM("a\0b")
        with self.assertRaisesRegex(octavo.ModelError, "kv_memory: found a NUL at 4"):
            octavo.LLM(MODEL, kv_memory="2GiB\0")
        with self.assertRaisesRegex(TypeError, "embedding: found 1"):
            octavo.LLM(MODEL, embedding=1)
        with self.assertRaisesRegex(octavo.InvalidRequestError, "api: found a NUL"):
            self.llm.request("/v1/completions\0", {})

    def test_rounds(self):
        for rounds, error in ((-1, ValueError), (None, TypeError), ("3", TypeError), (True, TypeError)):
            with self.assertRaisesRegex(error, f"max_tool_rounds: found {rounds!r}"):
                self.llm.chat("Hi", max_tool_rounds=rounds)

    def test_token_ids(self):
        for prompt, found in (([1, 2.5], r"prompts\[1\]: found 2.5"), ([1, "a"], r"prompts\[1\]: found 'a'"),
                              ([[1], [2, 10**12]], r"prompts\[1\]\[1\]: found 1000000000000"),
                              ([True], r"prompts\[0\]: found True"), (np.array([1.5]), r"prompts\[0\]: found 1.5"),
                              ({"prompt_token_ids": "a"}, "prompts.prompt_token_ids: found 'a'"),
                              ({"prompt": "a", "image": 1}, "prompts: found 'image' in a dict"),
                              (["a", None], r"prompts\[1\]: found None"), (3, "prompts: found 3")):
            with self.subTest(found), self.assertRaisesRegex(TypeError, found + ".*expected"):
                self.llm.generate(prompt)
        for prompts, found in ((["a", ""], r"^prompts\[1\]: found an empty text"),
                               (["a", [50000]], r"^prompts\[1\]\[0\]: "),
                               (["a", "word " * 9000], r"^prompts\[1\]: ")):
            with self.assertRaisesRegex(octavo.InvalidRequestError, found) as raised:
                self.llm.generate(prompts)
            self.assertTrue(raised.exception.field.startswith("prompts[1]"))
        with self.assertRaisesRegex(octavo.InvalidRequestError, "prefix: found an empty text"):
            self.llm.context("")
        with self.assertRaisesRegex(TypeError, r"messages\[1\]: found 'a'"):
            self.llm.chat([HI[0], "a"])
        self.assertEqual(self.llm.tokenizer.decode(np.int64(5)), self.llm.tokenizer.decode(5))
        with self.assertRaisesRegex(TypeError, r"texts\[0\]\[0\]: found 2.5|texts\[0\]: found"):
            self.llm.embed([[2.5]])

    def test_scores_and_requests(self):
        for call, found in ((lambda: self.llm.score("a", "bcd"), "documents: found 'bcd'"),
                            (lambda: self.llm.score("a", ["b", 3]), r"documents\[1\]: found 3"),
                            (lambda: self.llm.score(None, ["b"]), "query: found None"),
                            (lambda: self.llm.request(None, {}), "path: found None"),
                            (lambda: self.llm.request("/v1/completions", None), "body: found None"),
                            (lambda: octavo.serve(None), "llm: found None"),
                            (lambda: octavo.serve(MODEL), "llm: found '")):
            with self.assertRaisesRegex(TypeError, found + ".*expected"):
                call()
        with unittest.mock.patch("octavo.llm._TEXTS_OF_REQUEST", 4):
            scores = self.llm.score("b", ["a", "b"] * 5)  # of three requests
        self.assertEqual([one.index for one in scores], list(range(10)))
        self.assertTrue(all(one.score > 0.999 for one in scores if one.document == "b"))

    def test_version(self):
        self.assertEqual(importlib.import_module("octavo").__version__, octavo.version())


class AsVllm(unittest.TestCase):
    def test_prompts(self):
        ids = self.llm.tokenizer.encode(PROMPT)
        expected = self.llm.generate(PROMPT, GREEDY)[0].text
        given = [{"prompt": PROMPT}, {"prompt_token_ids": ids}, {"prompt": PROMPT, "prompt_token_ids": np.array(ids)},
                 ids, tuple(ids), np.array(ids)]
        outputs = self.llm.generate(given, GREEDY, use_tqdm=False)
        self.assertEqual([output.text for output in outputs], [expected] * len(given))
        self.assertEqual([output.prompt for output in outputs], [PROMPT, None, PROMPT, None, None, None])
        self.assertEqual(self.llm.generate(range(5, 8), GREEDY)[0].prompt_token_ids, [5, 6, 7])
        self.assertEqual([output.prompt_token_ids for output in self.llm.generate(np.array([[5, 6], [7, 8]]), GREEDY)],
                         [[5, 6], [7, 8]])

    def test_progress(self):
        class Bar:
            """Counts."""
            ended = 0

            def __init__(self, total, desc):
                self.total = total

            def __enter__(self):
                return self

            def __exit__(self, *_):
                self.is_left = True

            def update(self, count):
                Bar.ended += count
        self.llm.generate(["a", "b", "c"], GREEDY, use_tqdm=Bar)
        self.assertEqual(Bar.ended, 3)
        with self.assertRaisesRegex(TypeError, "use_tqdm: found 3"):
            self.llm.generate("a", use_tqdm=3)

    def test_chats(self):
        one = self.llm.chat(HI, GREEDY)
        self.assertEqual(one.usage["completion_tokens"], 4)
        self.assertEqual([output.text for output in self.llm.chat([HI, HI], GREEDY)], [one.text] * 2)
        outputs = self.llm.chat([HI, HI], [GREEDY, SamplingParams(max_tokens=1)])
        self.assertEqual([output.usage["completion_tokens"] for output in outputs], [4, 1])

    def test_params(self):
        params = SamplingParams(stop=["x"], best_of=1, logit_bias={1: 1.0})
        other = params.clone()
        other.stop.append("y")
        self.assertEqual((params.stop, other.logit_bias), (["x"], {1: 1.0}))
        with self.assertRaisesRegex(ValueError, "best_of: found 3, expected None or 1"):
            SamplingParams(best_of=3)
        hidden = self.llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=4, detokenize=False))[0].outputs[0]
        self.assertEqual((hidden.text, len(hidden.token_ids)), ("", 4))
        with self.assertRaisesRegex(ValueError, "detokenize: found False"):
            self.llm.stream(PROMPT, SamplingParams(detokenize=False))
        begin = [1, self.llm.tokenizer.encode("<|im_start|>")[0]]
        biased = {"temperature": 0, "max_tokens": 1, "allowed_token_ids": begin[1:]}
        texts = [self.llm.generate(PROMPT, SamplingParams(skip_special_tokens=skips, **biased))[0].text
                 for skips in (True, False)]
        self.assertEqual(texts, ["", "<|im_start|>"])
        with self.assertRaisesRegex(ValueError, "echo: found True beside logprobs"):
            self.llm.generate(PROMPT, SamplingParams(logprobs=1, extra={"echo": True}))

    def test_stop_reason_is_the_token(self):
        token = self.llm.generate(PROMPT, GREEDY)[0].outputs[0].token_ids[1]
        end = self.llm.tokenizer.eos_token_ids[0]
        for fields, expected in (({"stop_token_ids": [token]}, token),
                                 ({"stop_token_ids": [end], "allowed_token_ids": [end]}, None),
                                 ({"stop_token_ids": [end], "allowed_token_ids": [end], "ignore_eos": True}, end)):
            answer = self.llm.generate(PROMPT, SamplingParams(temperature=0, max_tokens=4, **fields))[0].outputs[0]
            self.assertEqual((answer.finish_reason, answer.stop_reason), ("stop", expected))


@pytest.mark.usefixtures("llama")
class AsLlama(unittest.TestCase):
    def test_requests(self):
        named = self.llama(PROMPT, max_tokens=4, temperature=0)["choices"][0]["text"]
        self.assertEqual(self.llama(PROMPT, None, 4, 0, model="mine", tfs_z=1.0)["choices"][0]["text"], named)
        self.assertEqual(self.llama(PROMPT, max_tokens=1, model="mine")["model"], "mine")
        chunks = self.llama(PROMPT, max_tokens=1, model="mine", stream=True)
        self.assertEqual({chunk["model"] for chunk in chunks}, {"mine"})
        grammar = octavo.llama_cpp.LlamaGrammar.from_string('root ::= "x" | "y"')
        self.assertIn(self.llama(PROMPT, grammar=grammar)["choices"][0]["text"], ("x", "y"))
        schema = octavo.llama_cpp.LlamaGrammar.from_json_schema({"type": "boolean"})
        answer = self.llama.create_chat_completion(HI, grammar=schema, max_tokens=8)
        self.assertIn(answer["choices"][0]["message"]["content"], ("true", "false"))
        with self.assertRaisesRegex(ValueError, "tfs_z: found 0.5, expected 1.0"):
            self.llama(PROMPT, tfs_z=0.5)
        with self.assertRaisesRegex(TypeError, "max_tokens: found '3'"):
            self.llama(PROMPT, max_tokens="3")

    def test_objects_of_openai(self):
        try:
            from openai.types.chat import ChatCompletion
        except ImportError as error:
            raise unittest.SkipTest(str(error)) from None
        whole = self.llama.create_chat_completion_openai_v1(HI, max_tokens=4, temperature=0)
        self.assertIsInstance(whole, ChatCompletion)
        chunks = self.llama.create_chat_completion_openai_v1(HI, max_tokens=4, temperature=0, stream=True)
        self.assertEqual("".join(chunk.choices[0].delta.content or "" for chunk in chunks),
                         whole.choices[0].message.content)

    def test_words(self):
        ids = self.llama.tokenize(b"Hi<|im_end|>", special=True)
        self.assertEqual(self.llama.detokenize(ids), b"Hi")
        self.assertEqual(self.llama.detokenize(ids, special=True), b"Hi<|im_end|>")
        self.assertEqual(self.llama.detokenize(ids[1:], prev_tokens=ids[:1], special=True), b"<|im_end|>")
        self.assertEqual(self.llama.tokenizer().decode(self.llama.token_nl()), "\n")
        with self.assertRaisesRegex(TypeError, "a Llama cannot be copied"):
            copy.copy(self.llama)

    def test_arguments_of_models(self):
        for named, error, text in (({"lora_path": "x"}, ValueError, "lora_path: found 'x', expected None"),
                                   ({"n_threads_batch": 9}, ValueError, "n_threads_batch: found 9, expected None or"),
                                   ({"foo": 1}, TypeError, "unexpected argument 'foo'"),
                                   ({"n_ctx": -1}, ValueError, "n_ctx")):
            with self.assertRaisesRegex(error, text):
                octavo.llama_cpp.Llama(MODEL, verbose=False, **named)
        with warnings.catch_warnings(record=True) as told, self.assertRaises(octavo.ModelError):
            warnings.simplefilter("always")
            octavo.llama_cpp.Llama("/nowhere/model.gguf", n_gpu_layers=20, verbose=False)
        self.assertIn("n_gpu_layers: found 20", str(told[0].message))

    def test_names_of_the_hub(self):
        class Named(octavo.llama_cpp.Llama):
            """Tells what it is to be loaded from."""

            def __init__(self, model_path, **options):
                self.found = (model_path, options)
        for filename, name in ((None, "a/b"), ("*Q8_0.gguf", "a/b:Q8_0"), ("*-q4_k_m*.gguf", "a/b:q4_k_m"),
                               ("b-Q8_0.gguf", "a/b:b-Q8_0.gguf")):
            found = Named.from_pretrained("a/b", filename, local_dir=None, n_ctx=9).found
            self.assertEqual(found, (name, {"n_ctx": 9}))
        for options, text in (({"filename": "*a*b"}, "filename: found"),
                              ({"cache_dir": "/x"}, "cache_dir: found '/x'")):
            with self.assertRaisesRegex(ValueError, text):
                Named.from_pretrained("a/b", **options)


class Program(unittest.TestCase):
    def test_arguments_that_are_no_utf8(self):
        code = "import sys, octavo.__main__; sys.exit(octavo.__main__.main())"
        process = python(code, "info", os.fsdecode(b"/nowhere/\xff.gguf"))
        _, told = process.communicate(timeout=60)
        self.assertNotIn("Traceback", told)
        self.assertIn("/nowhere/", told)
