"""An answer that broke off goes on at another server: the joined stream is the whole one, whatever the request asks for
and wherever it breaks; what cannot have been its beginning is refused."""
import json
import pathlib
import random
import sys
import tempfile
import threading
import unittest

import support
from server_support import THINKING_TEMPLATE, Server, noise

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))

SCHEMA = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}},
          "required": ["name", "count"], "additionalProperties": False}
REQUESTS = {
    "greedy": {"temperature": 0, "ignore_eos": True},
    "warm": {"temperature": 1, "ignore_eos": True},
    "penalties": {"temperature": 1, "repetition_penalty": 1.3, "frequency_penalty": 0.5, "dry_multiplier": 0.8,
                  "ignore_eos": True},
    "schema": {"temperature": 1, "response_format": {"type": "json_schema", "json_schema": {
        "name": "a", "strict": True, "schema": SCHEMA}}},
    "logprobs": {"temperature": 1, "logprobs": True, "top_logprobs": 2, "ignore_eos": True},
}


class Streamed:
    """The events of a stream of /v1/chat/completions."""

    def __init__(self, server, fields, resume_from=None):
        body = {"messages": [{"role": "user", "content": "Say something."}], "stream": True, "max_tokens": 40,
                "return_token_ids": True, "stream_options": {"include_usage": True}, **fields}
        if resume_from is not None:
            body["resume_from"] = resume_from
        self.status, _, self.text = server.request("POST", "/v1/chat/completions", body)
        self.chunks = [json.loads(line[6:]) for line in self.text.splitlines() if line.startswith("data: {")]

    def had(self, count):
        """What a client has of the first `count` chunks, to go on from."""
        ids = [i for chunk in self.chunks[:count] for choice in chunk["choices"] for i in choice.get("token_ids", [])]
        return {"token_ids": ids, "seed": self.chunks[0]["seed"],
                "system_fingerprint": self.chunks[0]["system_fingerprint"],
                "settings_fingerprint": self.chunks[0]["settings_fingerprint"]}

    def said(self, first=0):
        """The chunks from one on, without what differs between two streams of one answer."""
        said = []
        for chunk in self.chunks[first:]:
            kept = {name: chunk[name] for name in ("choices", "usage", "seed", "error") if name in chunk}
            if kept.get("usage"):
                kept["usage"].pop("prompt_tokens_details", None)
            said.append(kept)
        return said


def forget_given(expected, said):
    """Takes log-probabilities out of the first expected chunk where the one that was said has none: the client had these
    tokens, but a token that ends within a character has its text, and so its log-probabilities, with the next one's."""
    for wanted, found in zip(expected[0]["choices"], said[0]["choices"], strict=True):
        of_wanted, of_found = (c.get("logprobs") or {} for c in (wanted, found))
        for entry, given in zip(of_wanted.get("content", []), of_found.get("content", []), strict=True):
            if given["logprob"] == -9999:
                entry |= {"logprob": -9999, "top_logprobs": []}


class Joined(unittest.TestCase):
    def check(self, server, fields, cuts=4):
        whole = Streamed(server, fields)
        self.assertEqual(whole.status, 200, whole.text)
        last = max(i for i, chunk in enumerate(whole.chunks) for c in chunk["choices"] if c.get("token_ids"))
        for count in sorted({1, 2, last, *random.Random(1).sample(range(1, last + 1), min(cuts, last))}):
            had = whole.had(count)
            for verify in (False, True):
                with self.subTest(count=count, verify=verify):
                    rest = Streamed(server, fields, {**had, "verify": verify})
                    self.assertEqual(rest.status, 200, rest.text)
                    expected = whole.said(count) if had["token_ids"] else whole.said()
                    if not verify and expected:
                        forget_given(expected, rest.said())
                    self.assertEqual(rest.said(), expected)

    def test_the_rest_of_a_stream_is_what_it_would_have_been(self):
        for shape in ("tiny-llama", "tiny-gemma3", "tiny-qwen35", "tiny-qwen3moe"):
            with Server("--kv-memory", "64MiB", model=support.few_words_model(shape)) as server:
                for name, fields in REQUESTS.items():
                    with self.subTest(shape, request=name):
                        self.check(server, fields, 2)

    def test_reasoning_and_stop_texts_go_on_as_they_were(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write(THINKING_TEMPLATE)
            template.flush()
            with Server("--chat-template-file", template.name, model=noise()) as server:
                self.check(server, {"temperature": 1, "seed": 5, "thinking_budget_tokens": 9, "ignore_eos": True})
                text = "".join(c["delta"].get("content", "") for chunk in Streamed(
                    server, {"temperature": 1, "seed": 5, "ignore_eos": True, "enable_thinking": False}).chunks
                               for c in chunk["choices"])
                self.check(server, {"temperature": 1, "seed": 5, "ignore_eos": True, "stop": [text[20:23]],
                                    "chat_template_kwargs": {"enable_thinking": False}})

    def test_a_whole_answer_has_all_of_it(self):
        with Server(model=noise()) as server:
            body = {"prompt": "One", "max_tokens": 20, "temperature": 1, "return_token_ids": True, "ignore_eos": True}
            whole = server.post("/v1/completions", body)
            choice = whole["choices"][0]
            again = server.post("/v1/completions", {**body, "resume_from": {
                "token_ids": choice["token_ids"][:11], "seed": whole["seed"],
                "system_fingerprint": whole["system_fingerprint"]}})
            self.assertEqual(again["choices"], whole["choices"])
            self.assertEqual(again["usage"]["completion_tokens"], 20)


class Refused(unittest.TestCase):
    def test_what_cannot_have_been_a_beginning(self):
        with Server(model=noise()) as server:
            fields = {"temperature": 1, "ignore_eos": True, "max_tokens": 20}
            had = Streamed(server, fields).had(12)
            ids = had["token_ids"]
            for change, status, found in (
                    ({"system_fingerprint": "fp_0"}, 409, "resume_from.system_fingerprint: found \"fp_0\""),
                    ({"settings_fingerprint": "set_0"}, 409, "resume_from.settings_fingerprint: found \"set_0\""),
                    ({"settings_fingerprint": 7}, 400, "resume_from.settings_fingerprint: found the number 7"),
                    ({"token_ids": ids * 9}, 400, "expected fewer than the 20 that the answer may have"),
                    ({"token_ids": [*ids, -1]}, 400, f"resume_from.token_ids[{len(ids)}]"),
                    ({"token_ids": "none"}, 400, "resume_from.token_ids: found the string \"none\""),
                    ({"token_ids": [1 << 40]}, 400, "resume_from.token_ids[0]"),
                    ({"token_ids": [[1]]}, 400, "resume_from.token_ids[0]"),
                    ({"seed": None}, 400, "resume_from.seed"),
                    ({"seed": "1"}, 400, "resume_from.seed"),
                    ({"verify": 1}, 400, "resume_from.verify"),
                    ({"text": "a"}, 400, "resume_from.text: found a member of that name")):
                with self.subTest(change):
                    answer = Streamed(server, fields, {**had, **change})
                    self.assertEqual(answer.status, status, answer.text)
                    self.assertIn(found, json.loads(answer.text)["error"]["message"])
            for more, found in (({"n": 2}, "found a request for 2 answers"),
                                ({"stop_token_ids": [ids[3]]}, "which ends the answer")):
                answer = Streamed(server, {**fields, **more}, had)
                self.assertEqual(answer.status, 400)
                self.assertIn(found, answer.text)

    def test_a_server_with_other_settings_does_not_go_on(self):
        fields = {"temperature": 1, "ignore_eos": True, "max_tokens": 20}
        with Server("--temp", 0.5, model=noise()) as first, Server("--temp", 0.5, model=noise()) as same, \
                Server("--temp", 0.6, model=noise()) as other:
            had = Streamed(first, fields).had(12)
            self.assertEqual(Streamed(same, fields, had).status, 200)
            answer = Streamed(other, fields, had)
            self.assertEqual((answer.status, json.loads(answer.text)["error"]["code"]), (409, "fingerprint_differs"))
            self.assertEqual(Streamed(other, fields, {**had, "settings_fingerprint": None}).status, 200)

    def test_tokens_that_were_never_drawn(self):
        """They are a prefill, unless they are to be verified."""
        with Server(model=noise()) as server:
            for fields in ({"temperature": 1, "ignore_eos": True}, {"mirostat": 2, "ignore_eos": True}):
                had = Streamed(server, fields).had(12)
                had["token_ids"][7] = (had["token_ids"][7] + 1) % 1000
                answer = Streamed(server, fields, {**had, "verify": True})
                self.assertEqual(answer.status, 409, answer.text)
                error = json.loads(answer.text)["error"]
                self.assertEqual(error["code"], "answer_differs")
                self.assertIn("resume_from.token_ids[7]", error["message"])
            self.assertEqual(Streamed(server, {"temperature": 1, "ignore_eos": True}, had).status, 200)


class Killed(unittest.TestCase):
    def test_a_killed_servers_answers_go_on_at_another(self):
        import octavo
        import openai
        model, others = noise(), random.Random(4)
        fields = {"model": "", "stream": True, "max_tokens": 60, "temperature": 1, "extra_body": {"ignore_eos": True}}
        asked = [[{"role": "user", "content": f"Say something about {i}."}] for i in range(8)]
        with Server(model=model) as second:
            there = openai.OpenAI(base_url=second.url + "/v1", api_key="-", max_retries=0)
            with Server(model=model) as first:
                here = openai.OpenAI(base_url=first.url + "/v1", api_key="-", max_retries=0)
                client, got, has_some = octavo.resuming(here, there), [""] * 8, threading.Semaphore(0)
                seeds = [others.randrange(1 << 50) for _ in asked]

                def read(i):
                    for chunk in client.chat.completions.create(messages=asked[i], seed=seeds[i], **fields):
                        got[i] += chunk.choices[0].delta.content or ""
                        has_some.release()

                threads = [threading.Thread(target=read, args=(i,)) for i in range(8)]
                for thread in threads:
                    thread.start()
                for _ in range(others.randrange(60, 200)):
                    has_some.acquire()
                first.process.kill()
                for thread in threads:
                    thread.join()
            for i in range(8):
                whole = there.chat.completions.create(messages=asked[i], seed=seeds[i], **{**fields, "stream": False})
                self.assertEqual(got[i], whole.choices[0].message.content)


if __name__ == "__main__":
    unittest.main()
