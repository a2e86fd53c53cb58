"""An answer that broke off goes on at another server: the joined stream is the whole one, whatever the request asks for
and wherever it breaks; what cannot have been its beginning is refused."""
import json
import os
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


TOOL = {"city": {"enum": ["Rome", "Oslo"]}, "days": {"type": "integer", "minimum": 1, "maximum": 7}}
PARAMETERS = {"type": "object", "properties": TOOL, "required": ["city", "days"], "additionalProperties": False}
SAID = [{"role": "user", "content": "Say something."}]


class Form:
    """What differs between the APIs."""

    def __init__(self, path, body, schema, tools, stop):
        self.path, self.body, self.schema, self.tools, self.stop = path, body, schema, tools, stop


FORMS = {
    "chat": Form(
        "/v1/chat/completions", {"messages": SAID, "max_tokens": 40, "stream_options": {"include_usage": True}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": True, "schema": SCHEMA}}},
        {"tool_choice": "required", "tools": [
            {"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]}, "stop"),
    "responses": Form(
        "/v1/responses", {"input": "Say something.", "max_output_tokens": 40},
        {"text": {"format": {"type": "json_schema", "name": "a", "strict": True, "schema": SCHEMA}}},
        {"tool_choice": "required", "tools": [
            {"type": "function", "name": "weather", "parameters": PARAMETERS}]}, "stop"),
    "messages": Form(
        "/v1/messages", {"messages": SAID, "max_tokens": 40},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        {"tool_choice": {"type": "any"}, "tools": [{"name": "weather", "input_schema": PARAMETERS}]}, "stop_sequences"),
}

COMPLETIONS = Form(
    "/v1/completions", {"prompt": "Say something.", "max_tokens": 40, "stream_options": {"include_usage": True}},
    FORMS["chat"].schema, None, "stop")
ALL_FORMS = {**FORMS, "completions": COMPLETIONS}


def ids_of(chunk):
    return [*(chunk.get("token_ids") or []), *(i for c in chunk.get("choices") or [] for i in c.get("token_ids") or [])]


class Streamed:
    """The events of a stream."""

    def __init__(self, server, fields, resume_from=None, form=FORMS["chat"]):
        body = {**form.body, "stream": True, "return_token_ids": True, **fields}
        if resume_from is not None:
            body["resume_from"] = resume_from
        self.status, _, self.text = server.request("POST", form.path, body)
        self.chunks = [json.loads(line[6:]) for line in self.text.splitlines() if line.startswith("data: {")]
        self.chunks = [chunk for chunk in self.chunks if chunk.get("type") != "ping"]

    def had(self, count):
        """What a client has of the first `count` chunks, to go on from."""
        first = self.chunks[0]
        told = first.get("response") or first.get("message") or first
        return {"token_ids": [i for chunk in self.chunks[:count] for i in ids_of(chunk)],
                **{name: told[name] for name in ("seed", "system_fingerprint", "settings_fingerprint", "id")}}

    def told(self, count):
        """How many of the first `count` chunks are not sent again: those up to the last one that tells tokens."""
        return max((i + 1 for i, chunk in enumerate(self.chunks[:count]) if ids_of(chunk)), default=0)

    def said(self, first=0):
        """The chunks from one on, without what differs between two streams of one answer."""
        said = json.loads(json.dumps(self.chunks[first:]))
        for chunk in said:
            for part in (chunk, chunk.get("response") or {}, chunk.get("message") or {}):
                for name in ("created", "created_at"):
                    part.pop(name, None)
                for name in ("prompt_tokens_details", "input_tokens_details", "cache_read_input_tokens",
                             *(["input_tokens"] if "cache_read_input_tokens" in (part.get("usage") or {}) else []), "timings"):
                    (part.get("usage") or {}).pop(name, None)
                part.pop("timings", None)
        return said


def said_text(streamed):
    """The content of a stream."""
    texts = []
    for chunk in streamed.chunks:
        texts += [choice.get("delta", {}).get("content") or choice.get("text") or "" for choice in chunk.get("choices") or []]
        if chunk.get("type") == "response.output_text.delta":
            texts.append(chunk["delta"])
        if chunk.get("type") == "content_block_delta":
            texts.append(chunk["delta"].get("text", ""))
    return "".join(texts)


def forget_given(expected, said):
    """Takes log-probabilities out of the first expected chunk where the one that was said has none: the client had these
    tokens, but a token that ends within a character has its text, and so its log-probabilities, with the next one's."""
    for wanted, found in zip(expected[0]["choices"], said[0]["choices"], strict=True):
        of_wanted, of_found = (c.get("logprobs") or {} for c in (wanted, found))
        for entry, given in zip(of_wanted.get("content", []), of_found.get("content", []), strict=True):
            if given["logprob"] == -9999:
                entry |= {"logprob": -9999, "top_logprobs": []}


class Joined(unittest.TestCase):
    def check(self, server, fields, cuts=4, form=FORMS["chat"]):
        """Returns the whole stream."""
        whole = Streamed(server, fields, form=form)
        self.assertEqual(whole.status, 200, whole.text)
        last = len(whole.chunks) - 1
        for count in sorted({1, 2, last, *random.Random(1).sample(range(1, last + 1), min(cuts, last))}):
            had, told = whole.had(count), whole.told(count)
            if told and had["token_ids"] == whole.had(last + 1)["token_ids"]:
                continue  # the end was told
            for verify in (False, True):
                with self.subTest(count=count, verify=verify):
                    rest = Streamed(server, fields, {**had, "verify": verify}, form)
                    self.assertEqual(rest.status, 200, rest.text)
                    expected = whole.said(told)
                    if not verify and form is FORMS["chat"]:
                        forget_given(expected, rest.said())
                    self.assertEqual(rest.said(), expected)
        return whole

    def test_the_rest_of_a_stream_is_what_it_would_have_been(self):
        for shape in ("tiny-llama", "tiny-gemma3", "tiny-qwen35", "tiny-qwen3moe"):
            with Server("--kv-memory", "64MiB", model=support.few_words_model(shape)) as server:
                for name, fields in REQUESTS.items():
                    with self.subTest(shape, request=name):
                        self.check(server, fields, 2)

    def test_the_rest_of_other_apis_answers_is_what_it_would_have_been(self):
        for shape in ("tiny-llama", "tiny-qwen35"):
            with Server("--kv-memory", "64MiB", model=support.few_words_model(shape)) as server:
                for api in ("responses", "messages", "completions"):
                    for name, fields in {"greedy": {"temperature": 0}, "warm": {"temperature": 1, "seed": 3},
                                         "schema": {"temperature": 1, **ALL_FORMS[api].schema}}.items():
                        with self.subTest(shape, api=api, request=name):
                            self.check(server, fields, 2, ALL_FORMS[api])

    def test_reasoning_and_stop_texts_go_on_as_they_were(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write(THINKING_TEMPLATE)
            template.flush()
            with Server("--chat-template-file", template.name, "--reasoning-budget", 9, model=noise()) as server:
                for api, form in FORMS.items():
                    with self.subTest(api):
                        whole = self.check(server, {"temperature": 1, "seed": 5}, form=form)
                        self.assertIn("reasoning" if api != "messages" else "thinking", whole.text)
                        plain = {"temperature": 1, "seed": 5, "chat_template_kwargs": {"enable_thinking": False}}
                        text = said_text(Streamed(server, plain, form=form))
                        stopped = self.check(server, {**plain, form.stop: [text[20:23]]}, form=form)
                        self.assertTrue(text.startswith(said_text(stopped)), stopped.text)
                        self.assertLess(len(said_text(stopped)), 23)

    def test_calls_of_tools_go_on_as_they_were(self):
        with Server("--chat-template", support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja", model=noise()) as server:
            for api, form in FORMS.items():
                with self.subTest(api):
                    length = {"max_output_tokens" if api == "responses" else "max_tokens": 200}
                    whole = self.check(server, {"temperature": 1, "seed": 2, **length, **form.tools}, 6, form)
                    self.assertIn("weather", whole.text)

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
    """In each API alike."""

    @staticmethod
    def fields(form):
        return {"temperature": 1, "seed": 8, "max_output_tokens" if form is FORMS["responses"] else "max_tokens": 20}

    def expect(self, answer, status, words, code=None):
        self.assertEqual(answer.status, status, answer.text[:300])
        error = json.loads(answer.text)["error"]
        self.assertIn(words, error["message"])
        if code is not None and "code" in error:  # errors of /v1/messages have none
            self.assertEqual(error["code"], code)

    def test_what_cannot_have_been_a_beginning(self):
        with Server("--max-body-size", "16MiB", model=noise()) as server:
            for form in ALL_FORMS.values():
                fields = self.fields(form)
                had = Streamed(server, fields, form=form).had(12)
                self.assertGreater(len(had["token_ids"]), 6)
                self.check(server, form, fields, had)

    def check(self, server, form, fields, had):
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
                ({"token_ids": [*ids, 1.5]}, 400, f"resume_from.token_ids[{len(ids)}]: found the number 1.5"),
                ({"token_ids": [None]}, 400, "resume_from.token_ids[0]: found null"),
                ({"token_ids": [True]}, 400, "resume_from.token_ids[0]"),
                ({"token_ids": {"0": 1}}, 400, "resume_from.token_ids: found an object"),
                ({"token_ids": None}, 400, "resume_from.token_ids"),
                ({"token_ids": [7] * 5_000_000}, 400, "expected fewer than the 20 that the answer may have"),
                ({"seed": None}, 400, "resume_from.seed"),
                ({"seed": "1"}, 400, "resume_from.seed"),
                ({"verify": 1}, 400, "resume_from.verify"),
                ({"id": "a b"}, 400, "resume_from.id: found the string \"a b\""),
                ({"text": "a"}, 400, "resume_from.text: found a member of that name")):
            with self.subTest(form.path, change=str(change)[:80]):
                self.expect(Streamed(server, fields, {**had, **change}, form), status, found)
        never = {**had, "token_ids": [*ids[:3], (ids[3] + 1) % 1000, *ids[4:]]}
        self.expect(Streamed(server, fields, {**never, "verify": True}, form), 409, "resume_from.token_ids[3]: found",
                    "answer_differs")
        self.assertEqual(Streamed(server, fields, never, form).status, 200, "they are a prefill")

    def test_tokens_beyond_a_stop(self):
        with Server(model=noise()) as server:
            for api, form in ALL_FORMS.items():
                whole = Streamed(server, self.fields(form), form=form)
                stopped = {**self.fields(form), form.stop: [said_text(whole)[4:7]]}
                self.assertLess(len(said_text(Streamed(server, stopped, form=form))), 7)
                for verify, status, words in ((False, 400, "which ends the answer"), (True, 409, "has ended before it")):
                    with self.subTest(api, verify=verify):
                        self.expect(Streamed(server, stopped, {**whole.had(12), "verify": verify}, form), status, words)

    def test_an_answer_that_has_all_its_tokens(self):
        with Server(model=noise()) as server:
            for api, form in ALL_FORMS.items():
                whole = Streamed(server, {**self.fields(form), "ignore_eos": True}, form=form)
                had = whole.had(len(whole.chunks))
                self.assertEqual(len(had["token_ids"]), 20)
                for verify, status, words in ((False, 400, "expected fewer than the 20"), (True, 409, "has ended before it")):
                    with self.subTest(api, verify=verify):
                        fields = {**self.fields(form), "ignore_eos": True}
                        self.expect(Streamed(server, fields, {**had, "verify": verify}, form), status, words)

    def test_an_answer_of_another_model(self):
        with Server(model=noise()) as server, Server(model=support.tiny_model("tiny-qwen35")) as other:
            for api, form in ALL_FORMS.items():
                with self.subTest(api):
                    had = Streamed(server, self.fields(form), form=form).had(12)
                    answer = Streamed(other, self.fields(form), had, form)
                    self.expect(answer, 409, had["system_fingerprint"], "fingerprint_differs")

    def test_ten_megabytes_where_bodies_have_the_usual_bound(self):
        with Server(model=noise()) as server:
            for api, form in ALL_FORMS.items():
                with self.subTest(api):
                    had = Streamed(server, self.fields(form), form=form).had(12)
                    answer = Streamed(server, self.fields(form), {**had, "token_ids": [7] * 5_000_000}, form)
                    self.expect(answer, 413, "the body is longer than 8388608 bytes")
                    self.assertEqual(Streamed(server, self.fields(form), had, form).status, 200)

    def test_what_ends_the_answer_and_several_answers(self):
        with Server(model=noise()) as server:
            fields = {"temperature": 1, "ignore_eos": True, "max_tokens": 20}
            had = Streamed(server, fields).had(12)
            for more, found in (({"n": 2}, "found a request for 2 answers"),
                                ({"stop_token_ids": [had["token_ids"][3]]}, "which ends the answer")):
                answer = Streamed(server, {**fields, **more}, had)
                self.assertEqual(answer.status, 400)
                self.assertIn(found, answer.text)
            # Of a message, whose ids have a form, too.
            answer = Streamed(server, {}, {**Streamed(server, {}, form=FORMS["responses"]).had(9), "id": "resp_1"},
                              FORMS["responses"])
            self.assertIn("expected resp_ and 32 hexadecimal digits", answer.text)

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


# What the streams under a kill ask for: an API, and fields of its body. Every round of a test has all of them.
def asked_under_kills():
    plain = {"chat_template_kwargs": {"enable_thinking": False}}
    return [("chat", {"temperature": 0, **plain}),
            ("chat", {"temperature": 1, **plain}),
            ("chat", {"temperature": 1, **plain, **FORMS["chat"].schema}),
            ("chat", {"temperature": 1, **plain, "stop": ["in", "th"], "max_tokens": 200}),
            ("responses", {"temperature": 1}),
            ("responses", {"temperature": 1, **plain, "max_output_tokens": 120, **FORMS["responses"].tools}),
            ("messages", {"temperature": 1}),
            ("messages", {"temperature": 1, **plain, "max_tokens": 120, **FORMS["messages"].tools})]


class Clients:
    """The clients of one server."""

    def __init__(self, server):
        import anthropic
        import openai
        self.openai = openai.OpenAI(base_url=server.url + "/v1", api_key="-", max_retries=0, timeout=support.TIMEOUT_S)
        self.anthropic = anthropic.Anthropic(base_url=server.url, api_key="-", max_retries=0, timeout=support.TIMEOUT_S)


def streamed(clients, api, body):
    """The pieces of an answer, each as (kind, text); of several clients, those of one stream through octavo.resuming."""
    import octavo
    of_api = [client.anthropic if api == "messages" else client.openai for client in clients]
    client = of_api[0] if len(clients) == 1 else octavo.resuming(*of_api)
    if api == "chat":
        for chunk in client.chat.completions.create(model="", stream=True, extra_body=body, messages=[]):
            for choice in chunk.choices:
                yield "text", choice.delta.content or ""
                yield "thoughts", (choice.delta.model_extra or {}).get("reasoning_content") or ""
                yield "end", choice.finish_reason or ""
    elif api == "responses":
        for event in client.responses.create(stream=True, extra_body=body):
            yield event.type, getattr(event, "delta", "")
            if event.type == "response.output_item.done":
                yield "item", event.item.model_dump_json(exclude={"id", "call_id"})
            if event.type in ("response.completed", "response.incomplete"):
                yield "end", f"{event.type} {event.response.usage.output_tokens}"
    else:
        for event in client.messages.create(model="", stream=True, extra_body=body, max_tokens=1, messages=[]):
            if event.type == "content_block_start":
                yield "block", event.content_block.type + getattr(event.content_block, "name", "")
            elif event.type == "content_block_delta":
                yield event.delta.type, "".join(value for name, value in event.delta if isinstance(value, str) and name != "type")
            elif event.type == "message_delta":
                yield "end", f"{event.delta.stop_reason} {event.usage.output_tokens}"
            else:
                yield event.type, ""


def joined(pieces):
    """The pieces with neighbours of one kind joined: what a client has in the end."""
    texts = {}
    for kind, text in pieces:
        texts[kind] = texts.get(kind, "") + text + ("\n" if kind in ("item", "block", "end") and text else "")
    return texts


class Killed(unittest.TestCase):
    """A replica is killed at a random moment under eight streams, and they go on at another. OCTAVO_KILLS: how often in
    all (docs/scaling.md has the whole test); it takes about three seconds each."""
    shapes = ("tiny-llama-8k", "tiny-qwen35", "tiny-qwen3moe")  # dense, hybrid, mixture

    def setUp(self):
        self.template = self.enterContext(tempfile.NamedTemporaryFile("w", suffix=".jinja"))
        self.template.write(THINKING_TEMPLATE)
        self.template.flush()

    def serve(self, shape):
        return Server("--chat-template", self.template.name, "--kv-memory", "64MiB", "--reasoning-budget", 20, "--threads", 1,
                      model=support.tiny_model(shape))

    def asked(self, seed):
        for i, (api, fields) in enumerate(asked_under_kills()):
            said = f"Say something about {i}."
            body = {**FORMS[api].body, **fields, "seed": seed + i}
            body["input" if api == "responses" else "messages"] = \
                said if api == "responses" else [{"role": "user", "content": said}]
            yield api, body

    def kill_under_streams(self, shape, second, random_number):
        """(joined streams, whole streams, how many broke off)"""
        asked = list(self.asked(random_number.randrange(1 << 40)))
        # With a salt, so that nothing of these is cached for the others.
        whole = [list(streamed([second], api, {**body, "cache_salt": "whole"})) for api, body in asked]
        num_pieces = sum(map(len, whole))
        got, has_some = [[] for _ in asked], threading.Semaphore(0)
        with self.serve(shape) as server:
            first = Clients(server)

            def read(i):
                try:
                    for piece in streamed([first, second], *asked[i]):
                        got[i].append(piece)
                        has_some.release()
                finally:
                    for _ in range(num_pieces):
                        has_some.release()  # nobody waits for what does not come

            threads = [threading.Thread(target=read, args=(i,)) for i in range(len(asked))]
            for thread in threads:
                thread.start()
            for _ in range(random_number.randrange(num_pieces // 2)):
                has_some.acquire()
            running = sum(thread.is_alive() for thread in threads)
            server.process.kill()
            for thread in threads:
                thread.join()
        return [joined(pieces) for pieces in got], [joined(pieces) for pieces in whole], running

    def test_a_killed_servers_answers_go_on_at_another(self):
        num_kills, random_number = int(os.environ.get("OCTAVO_KILLS", "3")), random.Random(4)
        for i, shape in enumerate(self.shapes):
            with self.serve(shape) as server:
                second = Clients(server)
                for kill in range(i, num_kills, len(self.shapes)):
                    got, whole, num_running = self.kill_under_streams(shape, second, random_number)
                    for (api, _), found, expected in zip(asked_under_kills(), got, whole, strict=True):
                        with self.subTest(shape, kill=kill, api=api, running=num_running):
                            self.assertEqual(found, expected)
                    print(f"kill {kill + 1}: {shape}, {num_running} streams, "
                          f"{sum(map(dict.__eq__, got, whole))} of {len(whole)} as a whole", file=sys.stderr)


if __name__ == "__main__":
    unittest.main()
