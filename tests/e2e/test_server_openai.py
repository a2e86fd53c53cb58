"""The unchanged `openai` package against octavo serve: every shape that clients read."""
import concurrent.futures
import functools
import json
import pathlib
import tempfile
import time
import unittest

import jsonschema
import numpy as np
import openai

import support
from server_support import Server

QUESTION = [{"role": "user", "content": "Write one sentence about the sea."}]
PROMPT = "The sea is"
STORY = "Once upon a time there was a small ship that"


def client_of(server, **options):
    options.setdefault("api_key", "none")
    options.setdefault("max_retries", 0)
    return openai.OpenAI(base_url=server.url + "/v1", timeout=options.pop("timeout", support.TIMEOUT_S), **options)


@functools.cache
def server_with(*args):
    """One for all classes that want these arguments."""
    server = Server(*args)
    unittest.addModuleCleanup(server.__exit__)
    return server


class OpenAiTest(unittest.TestCase):
    """A client of a server with the arguments of its class."""

    server_args = ()

    @classmethod
    def setUpClass(cls):
        cls.server = server_with(*cls.server_args)
        cls.client = client_of(cls.server)
        cls.model = cls.client.models.list().data[0].id

    def chat(self, messages=QUESTION, **fields):
        fields = {"temperature": 0, "max_tokens": 24, **fields}
        return self.client.chat.completions.create(model=self.model, messages=messages, **fields)

    def complete(self, prompt=PROMPT, **fields):
        fields = {"temperature": 0, "max_tokens": 24, **fields}
        return self.client.completions.create(model=self.model, prompt=prompt, **fields)


class Waiting(OpenAiTest):
    """Streams that wait: one request holds the only place."""

    server_args = ("--max-sequences", 1, "--keepalive-interval", 0.1)

    def test_comments_are_not_seen_by_the_package(self):
        with self.server.open_stream("Once", max_tokens=8000) as holder, \
                concurrent.futures.ThreadPoolExecutor() as threads:
            self.server.wait_until(lambda: self.server.metric("num_requests_running") == 1)
            streams = [threads.submit(lambda: list(self.chat(stream=True))),
                       threads.submit(lambda: list(self.complete(stream=True)))]
            self.server.wait_until(lambda: self.server.metric("num_requests_waiting") == 2)
            with self.server.open_stream("Last", max_tokens=1) as last:
                received = b""
                while received.count(b": waiting\n\n") < 3:  # by then the two before it have had some
                    received += last.recv(4096)
                self.assertNotIn(b"data:", received)
                holder.close()
                chat, completion = (stream.result() for stream in streams)
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chat), self.chat().choices[0].message.content)
        self.assertEqual("".join(c.choices[0].text for c in completion), self.complete().choices[0].text)

    def test_progress_is_told_if_asked_for(self):
        prompt = support.english_text()[:8000]
        for is_cached in (False, True):
            chunks = list(self.complete(prompt, stream=True, max_tokens=3, stream_options={"include_usage": True},
                                        extra_body={"return_progress": True, "ignore_eos": True}))
            reports = [c.prompt_progress for c in chunks if hasattr(c, "prompt_progress")]
            self.assertTrue(reports)
            self.assertEqual(reports, [c.prompt_progress for c in chunks[:len(reports)]])  # before all text
            total = chunks[-1].usage.prompt_tokens
            self.assertEqual({r["total"] for r in reports}, {total})
            for name in ("processed", "time_ms", "cache"):
                values = [r[name] for r in reports]
                self.assertEqual(values, sorted(values))
            self.assertEqual(reports[-1]["processed"], total)
            self.assertEqual(reports[-1]["cache"], chunks[-1].usage.prompt_tokens_details.cached_tokens)
            self.assertEqual(reports[-1]["cache"] > 0, is_cached)
            self.assertGreater(reports[-1]["time_ms"], 0)
        plain = self.complete(prompt, stream=True)
        self.assertFalse(any(hasattr(c, "prompt_progress") for c in plain))


class Models(OpenAiTest):
    def test_the_list_and_one_of_it(self):
        models = self.client.models.list()
        self.assertEqual(models.object, "list")
        self.assertEqual([m.object for m in models.data], ["model"])
        self.assertEqual(self.client.models.retrieve(self.model), models.data[0])
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("no-such-model")


    def test_the_id_is_the_files_name_and_the_model_answers_to_that_as_well(self):
        self.assertEqual(self.model, "smollm2-135m-instruct.q4_1")
        for name in ("SmolLM2-135M-Instruct.Q4_1.gguf", "SmolLM2-135M-Instruct.Q4_1"):
            self.assertIn(name, self.client.models.list().data[0].aliases)
            self.assertEqual(self.client.models.retrieve(name).id, self.model)
            answer = self.client.completions.create(model=name, prompt="Hi", max_tokens=1)
            self.assertEqual(answer.model, self.model)
        with self.assertRaises(openai.NotFoundError):
            self.client.completions.create(model="gpt-4o", prompt="Hi", max_tokens=1)

    def test_it_answers_to_every_served_model_name(self):
        names = ("first", "gpt-4o")
        with Server("--served-model-name", names[0], "--served-model-name", names[1],
                    model=support.tiny_model("tiny-qwen3")) as server:
            client = client_of(server)
            self.assertEqual(client.models.list().data[0].id, "first")
            for name in names:
                self.assertEqual(client.completions.create(model=name, prompt="Hi", max_tokens=1).model, "first")

    def test_it_answers_to_every_name_where_it_is_told_to(self):
        with Server("--served-model-name", "*", model=support.tiny_model("tiny-qwen3")) as server:
            client = client_of(server)
            (model,) = client.models.list().data
            self.assertTrue(model.id.startswith("tiny-qwen3"), model.id)
            for name in ("gpt-4o-mini", "claude-haiku-4-5", ""):
                self.assertEqual(client.completions.create(model=name, prompt="Hi", max_tokens=1).model, model.id)
            self.assertEqual(client.models.retrieve("gpt-4o").id, model.id)
            self.assertNotIn("gpt-4o", server.get("/metrics")[2])

    def test_an_address_without_a_version_or_with_slashes_too_many_is_as_good(self):
        for end in ("", "/", "/v1/", "/v1//", "/v1/v1"):
            client = openai.OpenAI(base_url=self.server.url + end, api_key="none", max_retries=0)
            message = {"role": "user", "content": "Hi"}
            self.assertEqual(client.models.list().data[0].id, self.model)
            self.assertEqual(client.models.retrieve(self.model).id, self.model)
            self.assertTrue(client.chat.completions.create(model=self.model, messages=[message], max_tokens=1).choices)
            self.assertTrue(client.responses.create(model=self.model, input="Hi", max_output_tokens=1).output)

    def test_an_id_with_slashes_is_found_however_a_client_writes_it(self):
        name = "org/n\u00e4me 1"
        with Server("--served-model-name", name, model=support.tiny_model("tiny-qwen3")) as server:
            client = client_of(server)
            self.assertEqual(client.models.list().data[0].id, name)
            self.assertEqual(client.models.retrieve(name).id, name)
            for path in ("org/n%C3%A4me%201", "org%2Fn%c3%a4me%201"):
                self.assertEqual(server.get("/v1/models/" + path)[0], 200, path)
            self.assertEqual(client.completions.create(model=name, prompt="a", max_tokens=1).model, name)


class Fingerprint(unittest.TestCase):
    """Equal where tokens are equal, another where they need not be."""

    def ask(self, *args, model=None, **fields):
        body = {"prompt": "Hi", "max_tokens": 4, "seed": 1, **fields}
        with Server(*args, model=model or support.tiny_model("tiny-qwen3")) as server:
            status, _, text = server.request("POST", "/v1/completions", body)
            self.assertEqual(status, 200, text)
            answer = json.loads(text)
            stream = server.request("POST", "/v1/chat/completions",
                                    {"messages": QUESTION, "max_tokens": 3, "stream": True,
                                     "stream_options": {"include_usage": True}})[2]
            chunks = [json.loads(line[6:]) for line in stream.splitlines()
                      if line.startswith("data: {")]
            self.assertGreater(len(chunks), 2)
            self.assertEqual({chunk["system_fingerprint"] for chunk in chunks}, {answer["system_fingerprint"]})
            return answer["system_fingerprint"], answer["choices"][0]["text"]

    def test_it_survives_a_restart_and_other_company(self):
        first, text = self.ask()
        self.assertRegex(first, "^fp_[0-9a-f]{16}$")
        again, same = self.ask("--threads", 1, "--max-sequences", 3, "--chunk", 7, "--block-size", 32)
        self.assertEqual((again, same), (first, text))

    def test_it_changes_with_the_instruction_set_the_cache_and_the_file(self):
        first, _ = self.ask()
        other = [self.ask("--isa", "scalar")[0], self.ask("--kv-type", "f32")[0], self.ask("--no-repack")[0],
                 self.ask(model=support.tiny_model("tiny-qwen3", seed=5))[0]]
        self.assertEqual(len({first, *other}), 5, other)


class Chat(OpenAiTest):
    def test_the_shape_of_an_answer(self):
        answer = self.chat()
        self.assertEqual(answer.object, "chat.completion")
        self.assertTrue(answer.id.startswith("chatcmpl-"))
        self.assertEqual(answer.model, self.model)
        self.assertLess(abs(answer.created - time.time()), 60)
        choice, = answer.choices
        self.assertEqual((choice.index, choice.message.role, choice.logprobs), (0, "assistant", None))
        self.assertTrue(choice.message.content)
        usage = answer.usage
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)
        self.assertGreaterEqual(usage.prompt_tokens_details.cached_tokens, 0)

    def test_the_shape_of_a_stream(self):
        chunks = list(self.chat(stream=True))
        self.assertEqual({c.object for c in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({(c.id, c.created, c.model) for c in chunks}), 1)
        first, *middle, last = [c.choices[0] for c in chunks]
        self.assertEqual((first.delta.role, first.delta.content, first.finish_reason), ("assistant", "", None))
        self.assertTrue(all(c.delta.role is None and c.finish_reason is None and c.delta.content for c in middle))
        self.assertEqual((last.delta.content, last.delta.role), (None, None))
        self.assertIn(last.finish_reason, ("stop", "length"))
        self.assertTrue(all(c.usage is None for c in chunks))

    def test_a_stream_says_what_a_body_says(self):
        whole = self.chat(max_tokens=60)
        chunks = list(self.chat(max_tokens=60, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks if c.choices),
                         whole.choices[0].message.content)
        *others, last = chunks
        self.assertEqual(others[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertTrue(all(c.usage is None for c in others))
        self.assertEqual(last.choices, [])
        self.assertEqual(last.usage.prompt_tokens, whole.usage.prompt_tokens)
        self.assertEqual(last.usage.completion_tokens, whole.usage.completion_tokens)

    def test_the_bytes_of_a_stream(self):
        body = {"model": self.model, "messages": QUESTION, "max_tokens": 3, "temperature": 0, "stream": True}
        status, headers, text = self.server.request("POST", "/v1/chat/completions", body)
        self.assertEqual(status, 200)
        self.assertEqual(headers["Content-Type"].split(";")[0], "text/event-stream")
        self.assertTrue(text.endswith("}\n\ndata: [DONE]\n\n"))
        for event in text.split("\n\n")[:-2]:
            self.assertTrue(event.startswith("data: {"))
            self.assertIn("choices", json.loads(event[len("data: "):]))

    def test_the_limit_of_tokens_is_a_length(self):
        for name in ("max_tokens", "max_completion_tokens"):
            answer = self.client.chat.completions.create(model=self.model, messages=QUESTION, temperature=0,
                                                         extra_body={"ignore_eos": True}, **{name: 5})
            self.assertEqual(answer.choices[0].finish_reason, "length")
            self.assertEqual(answer.usage.completion_tokens, 5)

    def test_without_a_limit_an_answer_ends_by_itself(self):
        answer = self.client.chat.completions.create(model=self.model, messages=QUESTION, temperature=0)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertGreater(answer.usage.completion_tokens, 1)

    def test_a_history_that_is_sent_again_is_found_cached(self):
        text = support.english_text()[:4000]
        messages = [{"role": "user", "content": "Read this: " + text}]
        first = self.chat(messages, max_tokens=8)
        messages += [{"role": "assistant", "content": first.choices[0].message.content},
                     {"role": "user", "content": "Go on."}]
        second = self.chat(messages, max_tokens=8)
        self.assertGreaterEqual(second.usage.prompt_tokens_details.cached_tokens, 0.9 * first.usage.prompt_tokens)

    def test_content_as_parts_is_the_text_of_its_parts(self):
        text = "First line\nSecond line"
        parts = [{"type": "text", "text": line} for line in text.split("\n")]
        whole, cut = (self.chat([{"role": "user", "content": content}]) for content in (text, parts))
        self.assertEqual(whole.choices[0].message.content, cut.choices[0].message.content)
        self.assertEqual(whole.usage.prompt_tokens, cut.usage.prompt_tokens)

    def test_control_tokens_in_a_message_are_text(self):
        plain = self.chat([{"role": "user", "content": "a"}], max_tokens=1).usage.prompt_tokens
        answer = self.chat([{"role": "user", "content": "a<|im_end|>"}], max_tokens=1)
        self.assertGreater(answer.usage.prompt_tokens, plain + 1)

    def test_choices_are_interleaved_and_each_is_whole(self):
        fields = {"n": 4, "temperature": 1, "seed": 11, "max_tokens": 12, "extra_body": {"ignore_eos": True}}
        whole = self.chat(**fields)
        self.assertEqual([c.index for c in whole.choices], [0, 1, 2, 3])
        self.assertGreater(len({c.message.content for c in whole.choices}), 1)
        self.assertEqual(whole.usage.completion_tokens, 48)
        texts, order = {}, []
        for chunk in self.chat(stream=True, **fields):
            choice, = chunk.choices
            order.append(choice.index)
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
        self.assertEqual([texts[i] for i in range(4)], [c.message.content for c in whole.choices])
        self.assertNotEqual(order, sorted(order))

    def test_128_choices(self):
        answer = self.chat(n=128, temperature=1, max_tokens=2)
        self.assertEqual([c.index for c in answer.choices], list(range(128)))

    def test_logprobs_stand_beside_each_token(self):
        answer = self.chat(logprobs=True, top_logprobs=5, extra_body={"ignore_eos": True})
        content = answer.choices[0].logprobs.content
        self.assertEqual(len(content), 24)
        for entry in content:
            self.assertEqual(len(entry.top_logprobs), 5)
            values = [top.logprob for top in entry.top_logprobs]
            self.assertEqual(values, sorted(values, reverse=True))
            self.assertEqual((entry.token, entry.logprob), (entry.top_logprobs[0].token, values[0]))  # greedy
            self.assertLessEqual(sum(np.exp(values)), 1 + 1e-4)
        shown = b"".join(bytes(entry.bytes) for entry in content if not entry.token.startswith("<|"))
        self.assertEqual(shown.decode(), answer.choices[0].message.content)

    def test_streamed_logprobs_are_those_of_the_body(self):
        fields = {"logprobs": True, "top_logprobs": 2, "max_tokens": 16}
        whole = self.chat(**fields).choices[0].logprobs.content
        streamed = [entry for chunk in self.chat(stream=True, **fields) if chunk.choices[0].logprobs
                    for entry in chunk.choices[0].logprobs.content]
        self.assertEqual(streamed, whole)

    def test_a_character_of_several_tokens_comes_whole(self):
        messages = [{"role": "user", "content": "Repeat: \U0001F409\U0001F3F0\u4F60\u597D"}]
        fields = {"max_tokens": 60, "logprobs": True, "temperature": 1.5, "extra_body": {"ignore_eos": True}}
        for seed in range(4):
            text, data = "", b""
            for chunk in self.chat(messages, stream=True, seed=seed, **fields):
                text += chunk.choices[0].delta.content or ""
                for entry in (chunk.choices[0].logprobs.content if chunk.choices[0].logprobs else ()):
                    data += b"" if entry.token.startswith("<|") else bytes(entry.bytes)
            self.assertEqual(data.decode(errors="replace"), text)


class Stop(OpenAiTest):
    def reference(self):
        """A text, and where each of its tokens ends."""
        answer = self.complete(STORY, max_tokens=40, logprobs=0, extra_body={"ignore_eos": True})
        return answer.choices[0].text, answer.choices[0].logprobs.text_offset

    def test_a_stop_text_is_cut_off_wherever_it_falls(self):
        text, offsets = self.reference()
        across_tokens = text[offsets[10] - 2 : offsets[11] + 1]
        inside_token = text[offsets[5] + 1 : offsets[5] + 3]
        for stop in (across_tokens, inside_token, text[12:30], text[-3:]):
            expected = text[: text.index(stop)]
            for given in (stop, ["never seen", stop]):
                answer = self.complete(STORY, max_tokens=40, stop=given, extra_body={"ignore_eos": True})
                self.assertEqual(answer.choices[0].text, expected)
                self.assertEqual(answer.choices[0].finish_reason, "stop")
                streamed = self.complete(STORY, max_tokens=40, stop=given, stream=True, extra_body={"ignore_eos": True})
                self.assertEqual("".join(c.choices[0].text for c in streamed), expected)

    def test_what_only_begins_like_a_stop_text_is_shown(self):
        text, _ = self.reference()
        answer = self.complete(STORY, max_tokens=40, stop=text[5:9] + "\x01", extra_body={"ignore_eos": True})
        self.assertEqual(answer.choices[0].text, text)
        self.assertEqual(answer.choices[0].finish_reason, "length")

    def test_a_stop_token_ends_the_answer_unseen(self):
        whole = self.complete(STORY, max_tokens=12, extra_body={"return_token_ids": True, "ignore_eos": True})
        ids = whole.choices[0].model_extra["token_ids"]
        last = next(i for i in range(4, 12) if ids[i] not in ids[:i])
        answer = self.complete(STORY, max_tokens=12,
                               extra_body={"stop_token_ids": [ids[last]], "return_token_ids": True})
        self.assertEqual(answer.choices[0].model_extra["token_ids"], ids[: last + 1])
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertTrue(whole.choices[0].text.startswith(answer.choices[0].text))


class Sampling(OpenAiTest):
    def text(self, **fields):
        return self.complete(STORY, max_tokens=32, **fields).choices[0].text

    def test_a_seed_makes_a_draw_repeatable(self):
        self.assertEqual(self.text(temperature=1, seed=5), self.text(temperature=1, seed=5))
        self.assertNotEqual(self.text(temperature=1, seed=5), self.text(temperature=1, seed=6))
        self.assertNotEqual(self.text(temperature=1), self.text(temperature=1))

    def test_cuts_to_the_likeliest_token_are_greedy(self):
        greedy = self.text()
        self.assertEqual(self.text(temperature=1, extra_body={"top_k": 1}), greedy)
        self.assertEqual(self.text(temperature=1, top_p=0), greedy)
        self.assertEqual(self.text(temperature=1, extra_body={"min_p": 1}), greedy)

    def test_logit_bias_forces_and_forbids_tokens(self):
        def ids(**fields):
            answer = self.complete(STORY, max_tokens=4, extra_body={"return_token_ids": True}, **fields)
            return answer.choices[0].model_extra["token_ids"]

        first = ids()[0]
        self.assertEqual(ids(logit_bias={"42": 100}), [42] * 4)
        self.assertNotIn(first, ids(logit_bias={str(first): -100}))

    def test_penalties_stop_repetition(self):
        prompt = "la la la la la la la la"
        repeated = self.complete(prompt, max_tokens=30, extra_body={"return_token_ids": True, "ignore_eos": True})
        for fields in ({"frequency_penalty": 2}, {"presence_penalty": 2}, {"extra_body": {"repetition_penalty": 1.8}},
                       {"extra_body": {"repeat_penalty": 1.8}}):
            fields["extra_body"] = {"return_token_ids": True, "ignore_eos": True, **fields.get("extra_body", {})}
            varied = self.complete(prompt, max_tokens=30, **fields)
            self.assertGreater(len(set(varied.choices[0].model_extra["token_ids"])),
                               len(set(repeated.choices[0].model_extra["token_ids"])), fields)

    def test_min_tokens_holds_the_end_back(self):
        ended = self.chat([{"role": "user", "content": "Say yes."}], max_tokens=200)
        self.assertEqual(ended.choices[0].finish_reason, "stop")
        least = ended.usage.completion_tokens + 10
        longer = self.chat([{"role": "user", "content": "Say yes."}], max_tokens=200, extra_body={"min_tokens": least})
        self.assertGreaterEqual(longer.usage.completion_tokens, least)


class Completions(OpenAiTest):
    def test_the_shape_of_an_answer(self):
        answer = self.complete()
        self.assertEqual(answer.object, "text_completion")
        self.assertTrue(answer.id.startswith("cmpl-"))
        choice, = answer.choices
        self.assertEqual((choice.index, choice.logprobs, choice.finish_reason), (0, None, "length"))
        self.assertEqual(answer.usage.completion_tokens, 24)

    def test_sixteen_tokens_unless_told(self):
        answer = self.client.completions.create(model=self.model, prompt=PROMPT, extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 16)

    def test_a_stream_says_what_a_body_says(self):
        chunks = list(self.complete(stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(c.choices[0].text for c in chunks[:-1]), self.complete().choices[0].text)
        self.assertEqual([c.choices[0].finish_reason for c in chunks[:-1]], [None] * (len(chunks) - 2) + ["length"])
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, 24)

    def test_prompts_in_every_form_give_the_same_answers(self):
        others = "A mountain is"
        ids = [support.tokenize(support.SMOLLM2, text) for text in (PROMPT, others)]
        one, two = (self.complete(text).choices[0].text for text in (PROMPT, others))
        self.assertEqual(self.complete(ids[0]).choices[0].text, one)
        for prompts in ([PROMPT, others], ids):
            answer = self.complete(prompts)
            self.assertEqual([(c.index, c.text) for c in answer.choices], [(0, one), (1, two)])
        self.assertEqual(answer.usage.prompt_tokens, len(ids[0]) + len(ids[1]))

    def test_several_prompts_with_several_choices_count_on(self):
        answer = self.complete([PROMPT, STORY], n=3, temperature=1, seed=3, max_tokens=6)
        self.assertEqual([c.index for c in answer.choices], list(range(6)))
        alone = self.complete(STORY, n=3, temperature=1, seed=3, max_tokens=6)
        self.assertEqual([c.text for c in answer.choices[3:]], [c.text for c in alone.choices])

    def test_echo_begins_with_the_prompt(self):
        text = self.complete().choices[0].text
        self.assertEqual(self.complete(echo=True).choices[0].text, PROMPT + text)
        self.assertEqual("".join(c.choices[0].text for c in self.complete(echo=True, stream=True)), PROMPT + text)
        nothing = self.complete(echo=True, max_tokens=0)
        self.assertEqual((nothing.choices[0].text, nothing.choices[0].finish_reason), (PROMPT, "length"))
        self.assertEqual(nothing.usage.completion_tokens, 0)

    def test_logprobs_are_four_arrays_of_one_length(self):
        answer = self.complete(logprobs=3)
        logprobs = answer.choices[0].logprobs
        self.assertEqual({len(logprobs.tokens), len(logprobs.token_logprobs), len(logprobs.top_logprobs),
                          len(logprobs.text_offset)}, {24})
        self.assertEqual("".join(logprobs.tokens), answer.choices[0].text)
        for token, offset, value, top in zip(logprobs.tokens, logprobs.text_offset, logprobs.token_logprobs,
                                             logprobs.top_logprobs):
            self.assertTrue(answer.choices[0].text[offset:].startswith(token))
            self.assertEqual(len(top), 3)
            self.assertEqual(top[token], value)
            self.assertEqual(value, max(top.values()))  # greedy

    def test_log_probabilities_of_a_prompt_are_those_of_its_logits(self):
        ids = support.english_ids(support.SMOLLM2, 80)
        logits = support.logits(support.SMOLLM2, ids).astype(np.float64)
        rows = logits - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True)) \
            - logits.max(-1, keepdims=True)
        expected = rows[np.arange(79), ids[1:]]
        likeliest = rows[:79].max(-1)
        for max_tokens in (0, 1):
            logprobs = self.complete(ids, echo=True, logprobs=1, max_tokens=max_tokens).choices[0].logprobs
            self.assertIsNone(logprobs.token_logprobs[0])
            self.assertIsNone(logprobs.top_logprobs[0])
            self.assertEqual(len(logprobs.tokens), 80 + max_tokens)
            np.testing.assert_allclose(logprobs.token_logprobs[1:80], expected, atol=2e-5)
            np.testing.assert_allclose([max(top.values()) for top in logprobs.top_logprobs[1:80]], likeliest, atol=2e-5)
        told = self.complete(ids, max_tokens=1, extra_body={"prompt_logprobs": 0}).choices[0].prompt_logprobs
        own = [told[i][str(ids[i])] for i in range(1, 80)]
        np.testing.assert_allclose([entry["logprob"] for entry in own], expected, atol=2e-5)
        ranks = 1 + (rows[:79] > expected[:, None]).sum(-1)
        near = np.abs(rows[:79] - expected[:, None]).argsort(-1)[:, 1]  # whose order 2e-5 may turn
        is_clear = np.abs(rows[np.arange(79), near] - expected) > 1e-4
        np.testing.assert_array_equal(np.array([entry["rank"] for entry in own])[is_clear], ranks[is_clear])

    def test_lm_evaluation_harness_reads_the_log_likelihood(self):
        # As its local-completions model does: tokens of several contexts with their continuations, and of each choice
        # the log-probabilities from the context's end to the one generated token, which is left out.
        pairs = [("The capital of France is", " Paris"), ("Two and two is", " a"), ("The sky is", " blue")]
        contexts = [support.tokenize(support.SMOLLM2, context) for context, _ in pairs]
        wholes = [ids + support.tokenize(support.SMOLLM2, text) for ids, (_, text) in zip(contexts, pairs)]
        answer = self.complete(wholes, echo=True, logprobs=1, max_tokens=1, seed=1234)
        for choice, context, whole in zip(sorted(answer.choices, key=lambda c: c.index), contexts, wholes):
            values = choice.logprobs.token_logprobs[len(context) : -1]
            tops = choice.logprobs.top_logprobs[len(context) : -1]
            self.assertEqual(len(values), len(whole) - len(context))
            greedy = self.complete(context, max_tokens=len(values), extra_body={"return_token_ids": True})
            self.assertEqual(all(value == max(top.values()) for value, top in zip(values, tops)),
                             greedy.choices[0].model_extra["token_ids"] == whole[len(context):])
            self.assertLess(sum(values), 0)

    def test_a_long_prompt_with_log_probabilities_costs_little_memory(self):
        ids = support.english_ids(support.SMOLLM2, 3) * 1000
        self.complete(ids[:64], echo=True, logprobs=5, max_tokens=0)
        before = self.server.resident_bytes()
        logprobs = self.complete(ids, echo=True, logprobs=5, max_tokens=0).choices[0].logprobs
        self.assertEqual(len(logprobs.tokens), 3000)
        # All logits of the prompt would be 3000 * 49152 * 4 bytes.
        self.assertLess(self.server.resident_bytes() - before, 100 << 20)


class Clients(OpenAiTest):
    """Bodies as programs send them, by hand."""

    def answer(self, path, body, status=200):
        found, headers, text = self.server.request("POST", path, body)
        self.assertEqual(found, status, text)
        return headers, text

    def test_every_field_that_openai_lets_be_null_may_be(self):
        def nulls(names):
            return dict.fromkeys(names.split())

        chat = nulls("audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
                     "metadata modalities n parallel_tool_calls prediction presence_penalty reasoning_effort "
                     "response_format seed service_tier stop store stream stream_options temperature tool_choice tools "
                     "top_logprobs top_p user verbosity web_search_options")
        messages = [{"role": "developer", "content": "Be brief."}, *QUESTION,
                    {"role": "assistant", "content": None, "refusal": None, "audio": None, "tool_calls": None},
                    {"role": "user", "content": "", "name": "me"}]
        self.answer("/v1/chat/completions", {**chat, "model": self.model, "messages": messages, "max_tokens": 2})
        completion = nulls("best_of echo frequency_penalty logit_bias logprobs max_tokens n presence_penalty seed stop "
                           "stream stream_options suffix temperature top_p user")
        self.answer("/v1/completions", {**completion, "model": self.model, "prompt": PROMPT})

    def test_vllms_benchmark(self):
        body = {"model": self.model, "prompt": PROMPT, "temperature": 0.0, "repetition_penalty": 1.0, "max_tokens": 5,
                "logprobs": None, "stream": True, "ignore_eos": True,
                "stream_options": {"include_usage": True, "continuous_usage_stats": True}}
        _, text = self.answer("/v1/completions", body)
        *chunks, last = [json.loads(event[6:]) for event in text.split("\n\n")[:-2]]
        self.assertEqual([c["usage"]["completion_tokens"] for c in chunks][-1], 5)
        self.assertEqual({c["usage"]["prompt_tokens"] for c in chunks}, {last["usage"]["prompt_tokens"]})
        self.assertEqual((last["choices"], last["usage"]["completion_tokens"]), ([], 5))

    def test_chat_front_ends(self):
        common = {"model": self.model, "messages": QUESTION, "max_tokens": 2, "user": "u"}
        for more in ({"stream": True, "stream_options": {"include_usage": True}, "params": {}, "tool_ids": [],
                      "features": {"web_search": False}, "session_id": "x", "background_tasks": {"title": True}},
                     {"n": 1, "stream": False, "parallel_tool_calls": True, "metadata": {"a": "b"}, "store": False,
                      "service_tier": "auto", "tools": [], "response_format": {"type": "text"}, "functions": None},
                     {"stop": None, "extra_body": {}, "max_retries": 0, "drop_params": True, "stream_options": None}):
            self.answer("/v1/chat/completions", {**common, **more})

    def test_a_client_is_told_not_to_repeat_what_missed_its_deadline(self):
        body = {"prompt": PROMPT, "max_tokens": 4000, "ignore_eos": True, "deadline_s": 0.2}
        headers, _ = self.answer("/v1/completions", body, status=408)
        self.assertEqual(headers["X-Should-Retry"], "false")
        before = self.server.metric("request_success_total{finished_reason=\"deadline\"}")
        with self.assertRaises(openai.APIStatusError):
            self.client.with_options(max_retries=2).completions.create(model=self.model, prompt=PROMPT,
                                                                       max_tokens=4000, extra_body=body)
        self.assertEqual(self.server.metric("request_success_total{finished_reason=\"deadline\"}"), before + 1)

    def test_strings_of_any_characters_and_none_that_are_not(self):
        for prompt in ("a\0b", "\U0001F409", "\uFFFF", " ", "\ud800"):  # the last is read as U+FFFD
            self.answer("/v1/completions", {"prompt": prompt, "max_tokens": 1})
        for body in (b'{"prompt": "\xff"}', '{"prompt": "a", "temperature": NaN}'):
            _, text = self.answer("/v1/completions", body, status=400)
            self.assertEqual(json.loads(text)["error"]["code"], "invalid_json")

    def test_an_answer_too_large_to_hold_is_refused_with_both_figures(self):
        body = {"prompt": PROMPT, "n": 128, "max_tokens": 8000, "logprobs": 20}
        _, text = self.answer("/v1/completions", body, status=400)
        error = json.loads(text)["error"]
        self.assertEqual(error["code"], "answer_too_large")
        self.assertRegex(error["message"], "about [0-9]{9} bytes.* at most 67108864 ")


class SameText(OpenAiTest):
    def test_a_request_gives_the_same_text_alone_and_among_others(self):
        fields = {"temperature": 1, "seed": 77, "max_tokens": 40, "logprobs": 2, "n": 2}
        alone = self.complete(STORY, **fields)
        noise = [support.english_text()[i * 500 : i * 500 + 1500] for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            others = [pool.submit(self.complete, text, temperature=1, max_tokens=60) for text in noise]
            asked = [pool.submit(self.complete, STORY, **fields) for _ in range(3)]
            for future in asked:
                self.assertEqual(future.result().choices, alone.choices)
            for future in others:
                future.result()


class Schemas(OpenAiTest):
    """Answers by a JSON schema, judged by jsonschema."""
    SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name", "age", "tags"],
              "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"},
                             "age": {"type": "integer", "minimum": 18, "maximum": 120},
                             "born": {"type": "string", "format": "date"},
                             "tags": {"type": "array", "items": {"enum": ["new", "old"]}, "maxItems": 3}}}

    def answer(self, schema, strict=True, **fields):
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": strict}}
        return self.chat(max_tokens=200, response_format=form, **fields)

    def server_request(self, body, path="/v1/chat/completions"):
        status, _, text = self.server.request("POST", path, body)
        self.assertEqual(status, 200, text)
        return status, json.loads(text)

    def test_every_answer_fulfils_its_schema(self):
        for seed in range(6):
            answer = self.answer(self.SCHEMA, seed=seed, temperature=1.5 if seed % 2 else 0)
            self.assertEqual(answer.choices[0].finish_reason, "stop")
            jsonschema.validate(json.loads(answer.choices[0].message.content), self.SCHEMA)

    def test_text_without_a_choice_is_written_as_the_tokenizer_writes_it(self):
        text = "Done. It is a wonderful day, isn't it? {\"temperature_in_celsius\": 17}"
        _, body = self.server_request({"messages": QUESTION, "max_tokens": 60, "temperature": 1.5, "seed": 3,
                                       "guided_choice": [text], "return_token_ids": True})
        _, tokenized = self.server_request({"prompt": text, "add_special_tokens": False}, "/tokenize")
        end = 1  # the token that ends the answer
        self.assertEqual(body["choices"][0]["token_ids"][:-end], tokenized["tokens"])

    def test_a_constraint_that_the_model_cannot_write_is_refused_by_its_field(self):
        text = "\U000B0061"  # SmolLM2 has no token with its first byte
        const = {"const": text}
        form = {"type": "json_schema", "schema": const}
        user = {"messages": QUESTION, "max_tokens": 9}
        tool = {"type": "function", "function": {"name": "f", "parameters": {
            "type": "object", "properties": {"a": const}, "required": ["a"]}}}
        for path, body, fields, name in (
                ("/v1/chat/completions", user, {"guided_choice": [text, "a" + text]}, "guided_choice"),
                ("/v1/chat/completions", user, {"guided_regex": "[a-c]+" + text}, "guided_regex"),
                ("/v1/chat/completions", user, {"guided_grammar": f'root ::= "{text}"'}, "guided_grammar"),
                ("/v1/chat/completions", user, {"structured_outputs": {"json": const}}, "structured_outputs.json"),
                ("/v1/chat/completions", user, {"response_format": {"type": "json_schema", "json_schema": form}},
                 "response_format.json_schema.schema"),
                ("/v1/chat/completions", user, {"tools": [tool], "tool_choice": "required"}, "tool"),
                ("/v1/completions", {"prompt": "x"}, {"json_schema": {"enum": [text]}}, "json_schema"),
                ("/completion", {"prompt": "x", "n_predict": 9}, {"grammar": f'root ::= "{text}"'}, "grammar"),
                ("/v1/responses", {"input": "x"}, {"text": {"format": {**form, "name": "n"}}}, "text.format.schema"),
                ("/v1/messages", user, {"output_config": {"format": form}}, "output_config.format.schema"),
                ("/api/chat", {"messages": QUESTION, "stream": False}, {"format": const}, "format")):
            status, _, answer = self.server.request("POST", path, {**body, **fields})
            self.assertEqual(status, 400, answer)
            self.assertRegex(answer, f"{name}.*no token of its vocabulary has the byte 0xF2")

    def test_what_is_not_enforced_is_said_or_refused(self):
        schema = {"type": "array", "items": {"const": 1}, "uniqueItems": True, "maxItems": 2}
        place = "response_format.json_schema.schema.uniqueItems"
        self.assertTrue(self.answer(schema, strict=False).warnings[0].startswith(place + ": "))
        stream = self.answer(schema, strict=False, stream=True)
        self.assertEqual(len([chunk for chunk in stream if getattr(chunk, "warnings", None)]), 1)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.answer(schema)
        self.assertEqual(caught.exception.param, place)
        self.assertTrue(caught.exception.body["message"].startswith(place + ": "))


class Errors(OpenAiTest):
    def refused(self, kind=openai.BadRequestError, **fields):
        with self.assertRaises(kind) as caught:
            self.complete(**fields)
        error = caught.exception
        self.assertEqual(set(error.body) - {"n_prompt_tokens", "n_ctx"}, {"message", "type", "param", "code"})
        return error

    def test_a_value_out_of_range_is_refused_with_its_name(self):
        for fields in ({"temperature": 101}, {"top_p": -1}, {"n": 0}, {"n": 129}, {"max_tokens": -3},
                       {"presence_penalty": 5}, {"logprobs": 50}):
            error = self.refused(**fields)
            name, value = next(iter(fields.items()))
            self.assertEqual(error.param, name)
            self.assertIn(str(value), error.body["message"])

    def test_a_wrong_type_is_refused_with_its_name(self):
        for name, value in (("temperature", "hot"), ("stop", 5), ("logit_bias", 1), ("min_tokens", "x"),
                            ("seed", 1.5)):
            error = self.refused(extra_body={name: value})
            self.assertEqual((error.param, error.code), (name, "invalid_value" if name == "seed" else "invalid_type"))

    def test_features_that_are_not_there_are_refused(self):
        for fields in ({"audio": {"voice": "alloy", "format": "wav"}}, {"response_format": {"type": "xml"}}):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.chat(**fields)
            self.assertEqual(caught.exception.code, "unsupported_parameter")
            self.assertEqual(caught.exception.param.partition(".")[0], next(iter(fields)))

    def test_features_that_an_answer_means_the_same_without_are_ignored_with_a_warning(self):
        answer = self.complete(best_of=3, max_tokens=1)
        self.assertIn("best_of: ", answer.warnings[0])

    def test_a_prediction_is_drafted_from_and_changes_nothing(self):
        messages = [{"role": "user", "content": "Count from one to twenty."}]
        plain = self.chat(messages=messages, max_tokens=60, temperature=0, extra_body={"speculation": False})
        hint = {"type": "content", "content": plain.choices[0].message.content}
        drafted = self.chat(messages=messages, max_tokens=60, temperature=0, prediction=hint)
        self.assertEqual(drafted.choices[0].message.content, plain.choices[0].message.content)
        details = drafted.usage.completion_tokens_details
        half = plain.usage.completion_tokens / 2  # how long the answer is differs from level to level
        self.assertGreater(details.accepted_prediction_tokens, half)
        self.assertGreaterEqual(details.rejected_prediction_tokens, 0)
        self.assertIsNone(plain.usage.completion_tokens_details)
        self.assertNotIn("draft_n", plain.timings)
        self.assertGreater(drafted.timings["draft_n"], half)

    def test_functions_are_answered_in_their_own_form(self):
        functions = [{"name": "weather", "parameters": {"type": "object", "required": ["city"],
                                                        "properties": {"city": {"enum": ["Rome", "Oslo"]}}}}]
        fields = {"functions": functions, "function_call": {"name": "weather"}, "max_tokens": 60}
        (choice,) = self.chat(**fields).choices
        self.assertEqual((choice.finish_reason, choice.message.function_call.name), ("function_call", "weather"))
        self.assertIn(json.loads(choice.message.function_call.arguments)["city"], ("Rome", "Oslo"))
        deltas = [chunk.choices[0].delta.function_call for chunk in self.chat(stream=True, **fields)]
        self.assertEqual("".join(delta.name or "" for delta in deltas if delta), "weather")
        arguments = "".join(delta.arguments or "" for delta in deltas if delta)
        self.assertIn(json.loads(arguments)["city"], ("Rome", "Oslo"))

    def test_an_answer_goes_on_with_the_last_message(self):
        messages = [{"role": "user", "content": "Count to ten."}, {"role": "assistant", "content": "1, 2, 3,"}]
        go_on = {"add_generation_prompt": False, "continue_final_message": True}
        answer = self.chat(messages, max_tokens=3, extra_body=go_on)
        self.assertEqual(answer.choices[0].message.content.strip()[0], "4")
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(messages, extra_body={"continue_final_message": True})
        self.assertEqual(caught.exception.param, "continue_final_message")

    def test_a_template_without_tools_takes_earlier_calls(self):
        call = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
        answer = self.chat([{"role": "user", "content": "a"},
                            {"role": "assistant", "content": None, "tool_calls": [call]},
                            {"role": "tool", "tool_call_id": "call_1", "content": "b"}], max_tokens=2)
        self.assertTrue(answer.choices)

    def test_messages_that_agents_send_are_read(self):
        messages = [{"role": "developer", "content": "Be brief."}, {"role": "system", "content": "Be kind."},
                    {"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "you"}]},
                    {"role": "assistant", "content": "Ho", "reasoning_content": "Hm."},
                    {"role": "system", "content": "Late."}, {"role": "user", "content": "And?", "name": "Ann"}]
        body = {"chat_template_kwargs": {"enable_thinking": False, "list": [1, {"a": None}]}}
        self.assertTrue(self.chat(messages, max_tokens=2, reasoning_effort="low", extra_body=body).choices)

    def test_unknown_fields_are_ignored(self):
        self.assertTrue(self.complete(max_tokens=1, user="me", extra_body={"no_such_field": {"a": [1]}}).choices)

    def test_another_model_is_not_found(self):
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.completions.create(model="gpt-5", prompt="a")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_overflow_of_the_context_names_both_numbers(self):
        error = self.refused(prompt=[5] * 9000)
        self.assertEqual(error.code, "context_length_exceeded")
        self.assertIn("8192", error.body["message"])
        self.assertIn("9000", error.body["message"])
        self.assertEqual((error.type, error.body["n_prompt_tokens"], error.body["n_ctx"]),
                         ("exceed_context_size_error", 9000, 8192))
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat([{"role": "user", "content": "word " * 9000}])
        self.assertEqual((caught.exception.code, caught.exception.param), ("context_length_exceeded", "messages"))

    def test_a_limit_beyond_the_context_is_cut(self):
        answer = self.complete(max_tokens=100000, stop=[" "])
        self.assertRegex(answer.warnings[0], r"^max_tokens: found 100000, cut to 81\d\d: ")

    def test_token_ids_beyond_the_vocabulary_are_refused(self):
        self.assertEqual(self.refused(prompt=[49152]).param, "prompt[0]")
        self.assertEqual(self.refused(prompt=[-1]).param, "prompt[0]")

    def test_a_model_that_writes_makes_vectors_with_an_option_alone(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.embeddings.create(model=self.model, input="a", encoding_format="float")
        self.assertEqual((caught.exception.code, caught.exception.param), ("unsupported_model", "model"))
        self.assertIn("--embedding", caught.exception.message)

    def test_a_deadline_ends_a_request(self):
        with self.assertRaises(openai.APIStatusError) as caught:
            self.complete(max_tokens=4000, extra_body={"ignore_eos": True, "deadline_s": 0.3})
        self.assertEqual((caught.exception.status_code, caught.exception.code), (408, "deadline_exceeded"))
        with self.assertRaises(openai.APIError) as caught:
            text = "".join(chunk.choices[0].text for chunk in self.complete(
                max_tokens=4000, stream=True, extra_body={"ignore_eos": True, "deadline_s": 0.5}))
            self.fail(f"the stream ended with: {text}")
        self.assertEqual(caught.exception.code, "deadline_exceeded")

    def test_a_client_that_gives_up_frees_what_it_held(self):
        with self.assertRaises(openai.APITimeoutError):
            self.client.with_options(timeout=0.5).completions.create(
                model=self.model, prompt=PROMPT, max_tokens=8000, extra_body={"ignore_eos": True})
        self.server.wait_until(lambda: self.server.metric("num_requests_running") == 0)

    def test_leaving_a_stream_ends_its_request(self):
        stream = self.complete(max_tokens=8000, stream=True, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        self.server.wait_until(lambda: self.server.metric("num_requests_running") == 0)


class Keys(unittest.TestCase):
    def test_who_has_no_key_may_not_call(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys")
            keys.write_text("sk-right-right-right\n", encoding="utf-8")
            keys.chmod(0o600)
            with Server("--api-key-file", keys, model=support.tiny_model("tiny-qwen3")) as server:
                with self.assertRaises(openai.AuthenticationError) as caught:
                    client_of(server, api_key="sk-wrong-wrong-wrong").models.list()
                self.assertEqual(caught.exception.code, "invalid_api_key")
                self.assertEqual(len(client_of(server, api_key="sk-right-right-right").models.list().data), 1)


class Load(unittest.TestCase):
    def test_a_full_queue_is_a_rate_limit_with_a_time_to_retry(self):
        with Server("--max-queued", 1, "--max-sequences", 1, model=support.tiny_model("tiny-qwen3")) as server:
            client = client_of(server)
            model = client.models.list().data[0].id

            def start():
                return client.completions.create(model=model, prompt="a b c", max_tokens=200, temperature=0,
                                                 stream=True, extra_body={"ignore_eos": True})

            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                answers = [pool.submit(lambda: list(start())) for _ in range(8)]
                errors = [future.exception() for future in answers]
        refused = [error for error in errors if error is not None]
        self.assertTrue(refused, "the queue was never full")
        self.assertLess(len(refused), 8)
        for error in refused:
            self.assertIsInstance(error, openai.RateLimitError)
            self.assertGreaterEqual(int(error.response.headers["retry-after"]), 1)


if __name__ == "__main__":
    unittest.main()
