"""Other APIs than OpenAI's, through unchanged packages: `anthropic` and `ollama`. A real model under a template of models
that call tools, whose answers are scripted: a constraint allows one text."""
import json
import pathlib
import tempfile
import unittest

import anthropic
import ollama

import support
from server_support import hermes_call, noise, Server

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CITIES = ("Rome", "Oslo", "Lima")
KEY = "sk-test-0123456789abcdef"


def call_of(city):
    return hermes_call("weather", {"city": city})


class Apis(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".keys", delete=False) as file:
            file.write(f"agent {KEY}\n")
        pathlib.Path(file.name).chmod(0o600)
        cls.addClassCleanup(pathlib.Path(file.name).unlink)
        cls.server = Server("--chat-template", TEMPLATE, "--api-key-file", file.name, model=noise())
        cls.addClassCleanup(cls.server.__exit__)
        cls.model = noise().stem


class Anthropic(Apis):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=self.server.url, api_key=KEY, max_retries=0,
                                          timeout=support.TIMEOUT_S)
        self.tools = [{"name": "weather", "description": "Tells the weather.", "input_schema": SCHEMA}]

    def create(self, messages, text=None, **fields):
        extra = {"temperature": 0, **({"guided_choice": [text]} if text else {})}  # the package knows no temperature
        return self.client.messages.create(model=self.model, messages=messages, **{"max_tokens": 60, **fields},
                                           extra_body=extra)

    def test_a_message_has_text_and_usage(self):
        message = self.create([{"role": "user", "content": "Say hello."}], system="Be brief.", max_tokens=8)
        self.assertEqual(message.content[0].type, "text")
        self.assertTrue(message.content[0].text)
        self.assertEqual(message.stop_reason, "max_tokens")
        self.assertEqual(message.usage.output_tokens, 8)
        again = self.create([{"role": "user", "content": "Say hello."}], system="Be brief.", max_tokens=8)
        self.assertEqual(again.content, message.content)
        self.assertGreater(again.usage.cache_read_input_tokens, 0)
        self.assertEqual(again.usage.cache_read_input_tokens + again.usage.input_tokens, message.usage.input_tokens +
                         message.usage.cache_read_input_tokens)

    def test_a_stream_has_the_same(self):
        asked = {"model": self.model, "max_tokens": 12, "extra_body": {"temperature": 0},
                 "messages": [{"role": "user", "content": "Count to ten."}]}
        whole = self.client.messages.create(**asked)
        with self.client.messages.stream(**asked) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, text)
        self.assertEqual(final.stop_reason, "max_tokens")
        self.assertEqual(final.usage.output_tokens, 12)

    def test_three_calls_of_a_tool_and_a_typed_answer(self):
        messages = [{"role": "user", "content": "What is the weather in three cities?"}]
        for city in CITIES:
            message = self.create(messages, call_of(city), tools=self.tools)
            self.assertEqual(message.stop_reason, "tool_use")
            call = message.content[0]
            self.assertEqual((call.type, call.name, call.input), ("tool_use", "weather", {"city": city}))
            messages += [{"role": "assistant", "content": message.content},
                         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id,
                                                       "content": f"It is sunny in {city}."}]}]
        answer = self.create(messages, '{"city": "Lima"}', tools=self.tools)
        self.assertEqual(json.loads(answer.content[0].text), {"city": "Lima"})
        self.assertEqual(answer.stop_reason, "end_turn")
        self.assertGreater(answer.usage.cache_read_input_tokens, 0)

    def test_calls_are_streamed(self):
        with self.client.messages.stream(model=self.model, max_tokens=60, tools=self.tools,
                                         messages=[{"role": "user", "content": "The weather?"}],
                                         extra_body={"guided_choice": ["I look. " + call_of("Rome")]}) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_message()
        self.assertIn("input_json", kinds)
        self.assertEqual([block.type for block in final.content], ["text", "tool_use"])
        self.assertEqual(final.content[1].input, {"city": "Rome"})

    def test_tokens_are_counted_as_they_will_be(self):
        asked = {"model": self.model, "system": "Be brief.", "tools": self.tools,
                 "messages": [{"role": "user", "content": "Say hello."}]}
        counted = self.client.messages.count_tokens(**asked).input_tokens
        usage = self.client.messages.create(**asked, max_tokens=1).usage
        self.assertEqual(counted, usage.input_tokens + usage.cache_read_input_tokens)

    def test_errors_are_those_of_its_api(self):
        with self.assertRaises(anthropic.AuthenticationError):
            anthropic.Anthropic(base_url=self.server.url, api_key="sk-wrong-0123456789", max_retries=0).messages.create(
                model=self.model, max_tokens=1, messages=[{"role": "user", "content": "Hi"}])
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(model="another", max_tokens=1, messages=[{"role": "user", "content": "Hi"}])
        with self.assertRaisesRegex(anthropic.BadRequestError, "this server reads text"):
            self.create([{"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/a.png"}}]}])


class Ollama(Apis):
    def setUp(self):
        self.client = ollama.Client(host=self.server.url, headers={"Authorization": f"Bearer {KEY}"})
        self.tools = [{"type": "function", "function": {"name": "weather", "description": "Tells the weather.",
                                                        "parameters": SCHEMA}}]

    def test_the_model_is_listed_running_and_shown(self):
        name = self.client.list().models[0].model
        self.assertEqual(name.lower(), self.model.lower())
        self.assertEqual(self.client.ps().models[0].model, name)
        shown = self.client.show(name)
        self.assertEqual(shown.modelinfo["general.architecture"], "llama")
        self.assertIn("tools", shown.capabilities)

    def test_a_chat_whole_and_streamed(self):
        asked = {"model": self.model, "messages": [{"role": "user", "content": "Say hello."}],
                 "options": {"temperature": 0, "num_predict": 8}}
        whole = self.client.chat(**asked)
        self.assertTrue(whole.message.content)
        self.assertEqual((whole.done_reason, whole.eval_count), ("length", 8))
        chunks = list(self.client.chat(**asked, stream=True))
        self.assertEqual("".join(chunk.message.content for chunk in chunks), whole.message.content)
        self.assertTrue(chunks[-1].done)
        self.assertEqual(self.client.chat(**{**asked, "model": self.model + ":latest"}).message, whole.message)

    def test_generate_and_raw(self):
        options = {"temperature": 0, "num_predict": 5}
        answer = self.client.generate(self.model, "Say hello.", options=options)
        chat = self.client.chat(self.model, [{"role": "user", "content": "Say hello."}], options=options)
        self.assertEqual(answer.response, chat.message.content)
        raw = self.client.generate(self.model, "Once upon a time", raw=True, options=options)
        self.assertTrue(raw.response)
        self.assertEqual(self.client.generate(self.model).done_reason, "load")
        self.assertEqual([chunk.done_reason for chunk in self.client.generate(self.model, stream=True)], ["load"])

    def test_three_calls_of_a_tool_and_a_typed_answer(self):
        # The package sends no fields of its own, so the texts are scripted by a format.
        messages = [{"role": "user", "content": "What is the weather in three cities?"}]
        for city in CITIES:
            body = {"model": self.model, "messages": messages, "tools": self.tools, "stream": False,
                    "guided_choice": [call_of(city)]}
            message = json.loads(self.server.request("POST", "/api/chat", body,
                                                     {"Authorization": f"Bearer {KEY}"})[2])["message"]
            self.assertEqual(message["tool_calls"][0]["function"], {"name": "weather", "arguments": {"city": city}})
            messages += [message, {"role": "tool", "tool_name": "weather", "content": f"It is sunny in {city}."}]
        answer = self.client.chat(self.model, messages,
                                  format={"type": "object", "properties": {"city": {"enum": list(CITIES)}},
                                          "required": ["city"], "additionalProperties": False})
        self.assertIn(json.loads(answer.message.content)["city"], CITIES)

    def test_limits_beyond_the_context_are_cut(self):
        options = {"num_ctx": 1 << 20, "num_predict": 1 << 20, "stop": [" "]}
        answer = self.client.chat(self.model, [{"role": "user", "content": "Hi"}], options=options)
        self.assertEqual(answer.done_reason, "stop")


if __name__ == "__main__":
    unittest.main()
