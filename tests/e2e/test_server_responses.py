"""OpenAI's Responses API through the unchanged `openai` package: a model of noise under a template of models that call
tools, whose answers are scripted: a constraint allows one text."""
import json
import pathlib
import tempfile
import typing
import unittest

import openai
import pydantic

import support
from server_support import hermes_call, noise, Server, THINKING_TEMPLATE

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
CITIES = ("Rome", "Oslo", "Lima")
TOOL = {"type": "function", "name": "weather", "description": "Tells the weather.", "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}
KEYS = {"one": "sk-one-0123456789abcdef", "two": "sk-two-0123456789abcdef"}


CUSTOM = {"type": "custom", "name": "patch", "description": "Changes files."}
PATCH = '*** Update: "a.txt"\n-One\n+Two \u00e9\U0001f600\n'
SPACE = {"type": "namespace", "name": "agents", "description": "Other agents.", "tools": [
    {"type": "function", "name": "close", "description": "Ends one.", "strict": False,
     "parameters": {"type": "object", "properties": {"target": {"type": "string"}}}}]}


class Place(pydantic.BaseModel):
    city: typing.Literal["Rome", "Oslo", "Lima"]
    degrees: typing.Literal[10, 20]


def call_of(city):
    return hermes_call("weather", {"city": city})


def user(text):
    return {"role": "user", "content": text}


class Responses(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".keys", delete=False) as file:
            file.writelines(f"{name} {key}\n" for name, key in KEYS.items())
        pathlib.Path(file.name).chmod(0o600)
        cls.addClassCleanup(pathlib.Path(file.name).unlink)
        cls.server = Server("--chat-template", TEMPLATE, "--api-key-file", file.name, model=noise())
        cls.addClassCleanup(cls.server.__exit__)
        cls.client, cls.other = (openai.OpenAI(base_url=cls.server.url + "/v1", api_key=key, max_retries=0,
                                               timeout=support.TIMEOUT_S) for key in KEYS.values())
        cls.model = cls.client.models.list().data[0].id

    def asked(self, given, text=None, **fields):
        extra = {"guided_choice": [text]} if text else {}
        return {"model": self.model, "input": given, "temperature": 0, "max_output_tokens": 60, "extra_body": extra,
                **fields}

    def create(self, given, text=None, **fields):
        return self.client.responses.create(**self.asked(given, text, **fields))

    def test_a_text_is_answered_as_a_chat_answers_it(self):
        response = self.create("Count to ten.", max_output_tokens=2, instructions="Be brief.")
        chat = self.client.chat.completions.create(
            model=self.model, temperature=0, max_tokens=2,
            messages=[{"role": "system", "content": "Be brief."}, user("Count to ten.")])
        self.assertEqual(response.output_text, chat.choices[0].message.content)
        self.assertEqual((response.status, response.incomplete_details.reason), ("incomplete", "max_output_tokens"))
        self.assertEqual((response.usage.input_tokens, response.usage.output_tokens), (chat.usage.prompt_tokens, 2))
        self.assertEqual(self.create("Hi", "Hello.").status, "completed")

    def test_a_stream_has_the_same(self):
        whole = self.create("Count to ten.", max_output_tokens=2)
        with self.client.responses.stream(**self.asked("Count to ten.", max_output_tokens=2)) as stream:
            events = list(stream)
        final = events[-1].response
        self.assertEqual("".join(event.delta for event in events if event.type == "response.output_text.delta"),
                         whole.output_text)
        self.assertEqual(final.output_text, whole.output_text)
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        self.assertEqual((events[0].type, events[-1].type), ("response.created", "response.incomplete"))
        self.assertEqual(self.client.responses.retrieve(final.id).output_text, whole.output_text)

    def test_three_calls_of_a_tool_and_a_typed_answer(self):
        items = [user("What is the weather in three cities?")]
        for city in CITIES:
            response = self.create(items, call_of(city), tools=[TOOL])
            call, = response.output
            self.assertEqual((call.type, call.name, json.loads(call.arguments)),
                             ("function_call", "weather", {"city": city}))
            items += [*response.output, {"type": "function_call_output", "call_id": call.call_id,
                                         "output": f"It is sunny in {city}."}]
        answer = self.client.responses.parse(model=self.model, input=items, tools=[TOOL], text_format=Place,
                                             tool_choice="none", max_output_tokens=100, temperature=0)
        self.assertIsInstance(answer.output_parsed, Place)
        self.assertGreater(answer.usage.input_tokens_details.cached_tokens, 0)

    def test_the_same_with_what_the_server_keeps(self):
        response = self.create("What is the weather in three cities?", call_of(CITIES[0]), tools=[TOOL])
        for city in CITIES[1:]:
            response = self.create([{"type": "function_call_output", "call_id": response.output[0].call_id,
                                     "output": "It is sunny."}], call_of(city), tools=[TOOL],
                                   previous_response_id=response.id)
        last = self.create([{"type": "function_call_output", "call_id": response.output[0].call_id,
                             "output": "It is sunny."}], "Sunny, all three.", previous_response_id=response.id)
        self.assertEqual(last.output_text, "Sunny, all three.")
        self.assertEqual(last.previous_response_id, response.id)
        self.assertGreater(last.usage.input_tokens_details.cached_tokens, 0)
        listed = self.client.responses.input_items.list(last.id)
        self.assertEqual([item.type for item in listed], ["function_call_output"])

    def test_calls_are_streamed(self):
        with self.client.responses.stream(**self.asked("The weather?", "I look. " + call_of("Rome"),
                                                       tools=[TOOL])) as stream:
            arguments = "".join(event.delta for event in stream
                                if event.type == "response.function_call_arguments.delta")
            final = stream.get_final_response()
        self.assertEqual(json.loads(arguments), {"city": "Rome"})
        self.assertEqual([item.type for item in final.output], ["message", "function_call"])

    def test_a_call_that_is_required_is_made(self):
        strict = {**TOOL, "strict": True, "parameters": {**TOOL["parameters"], "properties": {"city": {
            "enum": list(CITIES)}}, "additionalProperties": False}}
        call, = self.create("The weather?", tools=[strict], tool_choice={"type": "function", "name": "weather"}).output
        self.assertIn(json.loads(call.arguments)["city"], CITIES)

    def test_a_custom_tool_is_called_with_a_text(self):
        items = [user("Change a.txt.")]
        with self.client.responses.stream(**self.asked(items, "I change it. " + hermes_call("patch", {"input": PATCH}),
                                                       tools=[TOOL, CUSTOM], max_output_tokens=100)) as stream:
            events = list(stream)
        self.assertEqual("".join(event.delta for event in events
                                 if event.type == "response.custom_tool_call_input.delta"), PATCH)
        self.assertEqual([event.input for event in events if event.type == "response.custom_tool_call_input.done"],
                         [PATCH])
        _, call = events[-1].response.output
        self.assertEqual((call.type, call.name, call.input), ("custom_tool_call", "patch", PATCH))
        items += [*events[-1].response.output,
                  {"type": "custom_tool_call_output", "call_id": call.call_id, "output": "Changed."}]
        self.assertEqual(self.create(items, "It is done.", tools=[TOOL, CUSTOM]).output_text, "It is done.")
        whole = self.create("Change a.txt.", hermes_call("patch", {"input": PATCH}), tools=[CUSTOM],
                            max_output_tokens=100)
        self.assertEqual(whole.output[0].input, PATCH)
        again = self.create([{"type": "custom_tool_call_output", "call_id": whole.output[0].call_id,
                              "output": "Changed."}], "Good.", previous_response_id=whole.id, tools=[CUSTOM])
        self.assertEqual(again.output_text, "Good.")

    def test_the_input_of_a_custom_tool_matches_its_regular_expression(self):
        code = {**CUSTOM, "format": {"type": "grammar", "syntax": "regex", "definition": '[A-C]{3}"[0-9]|x'}}
        call, = self.create("A code?", tools=[code], tool_choice={"type": "custom", "name": "patch"}).output
        self.assertRegex(call.input, '^(?:[A-C]{3}"[0-9]|x)$')
        lark = {**CUSTOM, "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "a"'}}
        response = self.create("A code?", "Hello.", tools=[lark])
        self.assertIn("Lark", response.model_extra["warnings"][0])

    def test_a_tool_of_a_namespace_is_called_by_its_own_name(self):
        items = [user("Close one.")]
        response = self.create(items, hermes_call("agents__close", {"target": "a"}), tools=[SPACE, TOOL])
        call, = response.output
        self.assertEqual((call.type, call.namespace, call.name), ("function_call", "agents", "close"))
        items += [*response.output, {"type": "function_call_output", "call_id": call.call_id, "output": "closed"}]
        after = self.create(items, "It is closed.", tools=[SPACE, TOOL])
        self.assertEqual(after.output_text, "It is closed.")
        self.assertGreater(after.usage.input_tokens_details.cached_tokens, 0.9 * response.usage.input_tokens)

    def test_log_probabilities_are_those_of_a_chat(self):
        asked = {"include": ["message.output_text.logprobs"], "top_logprobs": 2, "max_output_tokens": 4}
        whole = self.create("Count to ten.", **asked)
        chat = self.client.chat.completions.create(model=self.model, temperature=0, max_tokens=4, logprobs=True,
                                                   top_logprobs=2, messages=[user("Count to ten.")])
        told = whole.output[0].content[0].logprobs
        self.assertEqual([token.model_dump() for token in told],
                         [token.model_dump() for token in chat.choices[0].logprobs.content])
        self.assertEqual(whole.top_logprobs, 2)
        with self.client.responses.stream(**self.asked("Count to ten.", **asked)) as stream:
            events = list(stream)
        deltas = [event for event in events if event.type == "response.output_text.delta"]
        for event in deltas:
            self.assertEqual("".join(token.token for token in event.logprobs), event.delta)
        self.assertEqual([token.logprob for event in deltas for token in event.logprobs],
                         [token.logprob for token in told])
        done, = (event for event in events if event.type == "response.output_text.done")
        self.assertEqual([token.token for token in done.logprobs], [token.token for token in told])
        self.assertEqual(events[-1].response.output[0].content[0].logprobs, told)

    def test_responses_are_their_keys_alone_until_they_are_deleted(self):
        response = self.create("Hi", "Hello.", metadata={"a": "b"})
        kept = self.client.responses.retrieve(response.id)
        self.assertEqual((kept.output_text, kept.metadata), ("Hello.", {"a": "b"}))
        for ask in (lambda: self.other.responses.retrieve(response.id),
                    lambda: self.other.responses.delete(response.id),
                    lambda: self.other.responses.input_items.list(response.id),
                    lambda: self.other.responses.create(model=self.model, input="x",
                                                        previous_response_id=response.id)):
            self.assertRaises(openai.NotFoundError, ask)
        self.client.responses.delete(response.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(response.id)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve(self.create("Hi", "Hello.", store=False).id)

    def test_input_items_come_in_pages(self):
        response = self.create([user("a"), {"role": "assistant", "content": "b"}, user("c")], "d")
        texts = [item.content[0].text for item in self.client.responses.input_items.list(response.id, limit=2)]
        self.assertEqual(texts, ["c", "b", "a"])
        ascending = self.client.responses.input_items.list(response.id, limit=1, order="asc")
        self.assertTrue(ascending.has_more)
        self.assertEqual([item.content[0].text for item in ascending], ["a", "b", "c"])
        with self.assertRaisesRegex(openai.BadRequestError, "limit"):
            self.client.responses.input_items.list(response.id, limit=101)

    def test_tokens_are_counted_as_they_will_be(self):
        asked = {"model": self.model, "input": "Say hello.", "instructions": "Be brief.", "tools": [TOOL]}
        counted = self.client.responses.input_tokens.count(**asked).input_tokens
        self.assertEqual(counted, self.client.responses.create(**asked, max_output_tokens=1).usage.input_tokens)

    def test_tools_of_other_kinds_are_left_out_with_a_warning(self):
        response = self.create("Hi", "Hello.", tools=[{"type": "web_search"}, TOOL])
        self.assertEqual(response.output_text, "Hello.")
        self.assertIn("web_search", response.model_extra["warnings"][0])

    def test_errors_name_the_fields_of_this_api(self):
        for fields, param in (({"max_output_tokens": 0}, "max_output_tokens"), ({"background": True}, "background"),
                              ({"input": [{"role": "user", "content": [
                                  {"type": "input_image", "image_url": "data:,", "detail": "auto"}]}]},
                               "input[0].content[0].type")):
            with self.assertRaises(openai.BadRequestError) as raised:
                self.client.responses.create(**{"model": self.model, "input": "x", **fields})
            self.assertEqual(raised.exception.param, param)


class Reasoning(unittest.TestCase):
    def test_reasoning_is_an_item_in_front_of_the_answer(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as file:
            file.write(THINKING_TEMPLATE)
            file.flush()
            server = Server("--chat-template", file.name, model=noise())
        with server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0,
                                   timeout=support.TIMEOUT_S)
            asked = {"model": client.models.list().data[0].id, "input": "Hi", "temperature": 0,
                     "max_output_tokens": 40, "extra_body": {"guided_choice": ["Hello."], "reasoning_budget": 5}}
            whole = client.responses.create(**asked)
            events = list(client.responses.create(**asked, stream=True))
            self.assertEqual([item.type for item in whole.output], ["reasoning", "message"])
            self.assertTrue(whole.output[0].content[0].text)
            self.assertEqual("".join(event.delta for event in events if event.type == "response.reasoning_text.delta"),
                             whole.output[0].content[0].text)
            self.assertGreater(whole.usage.output_tokens_details.reasoning_tokens, 0)
            more = client.responses.create(**{**asked, "input": "And now?"}, previous_response_id=whole.id)
            self.assertEqual(more.output_text, "Hello.")
            quiet = client.responses.create(**asked, reasoning={"effort": "none"})
            self.assertEqual([item.type for item in quiet.output], ["message"])


class Nothing(unittest.TestCase):
    def test_a_server_may_keep_nothing(self):
        with Server("--max-stored-size", 0, model=noise()) as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0,
                                   timeout=support.TIMEOUT_S)
            response = client.responses.create(model=client.models.list().data[0].id, input="Hi", max_output_tokens=2)
            self.assertIs(response.model_extra["store"], False)
            with self.assertRaises(openai.NotFoundError):
                client.responses.retrieve(response.id)


if __name__ == "__main__":
    unittest.main()
