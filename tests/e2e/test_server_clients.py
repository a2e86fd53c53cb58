"""Frameworks for agents, unchanged, each at a task of three calls of a tool and one typed answer: a real model under a
template of models that call tools, whose answers are scripted."""
import asyncio
import json
import os
import typing
import unittest

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches one when it is imported

import agents
import langchain_core.messages
import langchain_core.tools
import langchain_openai
import litellm
import openai
import pydantic
import pydantic_ai
import pydantic_ai.models.openai
import pydantic_ai.providers.openai

import support
from scripted_answers import ScriptedServer
from server_support import hermes_call, noise

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
CITIES = ("Rome", "Oslo", "Lima")
KEY = "none"
TASK = "What is the weather in three cities?"


class Place(pydantic.BaseModel):
    """A place and its weather."""
    city: typing.Literal["Rome", "Oslo", "Lima"]
    sky: typing.Literal["clear", "grey"]


PLACE = Place(city="Lima", sky="clear")


CALLS = [hermes_call("weather", {"city": city}) for city in CITIES]


class Client(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ScriptedServer("--chat-template", TEMPLATE, model=noise())
        cls.addClassCleanup(cls.server.__exit__)
        cls.url = cls.server.url + "/v1"
        cls.model = noise().stem

    def setUp(self):
        self.asked = []
        self.server.texts.clear()

    def weather(self, city):
        self.asked.append(city)
        return f"The sky over {city} is clear."

    def tearDown(self):
        self.assertEqual(self.server.texts, [])


class OpenAi(Client):
    def test_a_typed_answer_by_parse(self):
        client = openai.OpenAI(base_url=self.url, api_key=KEY, max_retries=0, timeout=support.TIMEOUT_S)
        self.server.script(None, None)
        chat = client.chat.completions.parse(model=self.model, max_tokens=60, response_format=Place, temperature=1.5,
                                             messages=[{"role": "user", "content": TASK}])
        self.assertIsInstance(chat.choices[0].message.parsed, Place)
        with client.chat.completions.stream(model=self.model, max_tokens=60, response_format=Place,
                                            messages=[{"role": "user", "content": TASK}]) as stream:
            self.assertIsInstance(stream.get_final_completion().choices[0].message.parsed, Place)


class PydanticAi(Client):
    def model_of(self, kind):
        return kind(self.model, provider=pydantic_ai.providers.openai.OpenAIProvider(base_url=self.url, api_key=KEY))

    def run_task(self, model, output, *last):
        agent = pydantic_ai.Agent(model, output_type=output, tools=[pydantic_ai.Tool(self.weather, name="weather")],
                                  model_settings={"temperature": 0, "max_tokens": 100})
        self.server.script(*CALLS, *last)
        result = agent.run_sync(TASK)
        self.assertEqual(tuple(self.asked), CITIES)
        return result.output

    def test_output_by_a_tool(self):
        for kind in (pydantic_ai.models.openai.OpenAIChatModel, pydantic_ai.models.openai.OpenAIResponsesModel):
            self.asked.clear()
            self.assertEqual(self.run_task(self.model_of(kind), pydantic_ai.ToolOutput(Place, name="answer"),
                                           hermes_call("answer", PLACE.model_dump())), PLACE)

    def test_native_output(self):
        for kind in (pydantic_ai.models.openai.OpenAIChatModel, pydantic_ai.models.openai.OpenAIResponsesModel):
            self.asked.clear()
            self.assertEqual(self.run_task(self.model_of(kind), pydantic_ai.NativeOutput(Place),
                                           PLACE.model_dump_json()), PLACE)

    def test_prompted_output(self):
        model = self.model_of(pydantic_ai.models.openai.OpenAIChatModel)
        self.assertEqual(self.run_task(model, pydantic_ai.PromptedOutput(Place), PLACE.model_dump_json()), PLACE)

    def test_a_typed_answer_of_the_model_itself(self):
        for output in (pydantic_ai.NativeOutput(Place), pydantic_ai.ToolOutput(Place)):
            for kind in (pydantic_ai.models.openai.OpenAIChatModel, pydantic_ai.models.openai.OpenAIResponsesModel):
                self.server.script(None)
                agent = pydantic_ai.Agent(self.model_of(kind), output_type=output, model_settings={"max_tokens": 90})
                self.assertIsInstance(agent.run_sync(TASK).output, Place)


class LangChain(Client):
    def chat(self, **options):
        return langchain_openai.ChatOpenAI(base_url=self.url, api_key=KEY, model=self.model, temperature=0,
                                           max_retries=0, max_tokens=100, **options)

    def test_bound_tools(self):
        tool = langchain_core.tools.StructuredTool.from_function(self.weather, name="weather",
                                                                 description="Tells the weather.")
        for options in ({}, {"use_responses_api": True, "output_version": "responses/v1"}):
            self.asked.clear()
            model = self.chat(**options).bind_tools([tool])
            messages = [langchain_core.messages.HumanMessage(TASK)]
            self.server.script(*CALLS, "Clear, all three.")
            while True:
                messages.append(model.invoke(messages))
                if not messages[-1].tool_calls:
                    break
                messages += [tool.invoke(call) for call in messages[-1].tool_calls]
            self.assertEqual(tuple(self.asked), CITIES)
            self.assertIn("Clear, all three.", str(messages[-1].content))

    def test_structured_output_by_each_method(self):
        for method, text in (("function_calling", hermes_call("Place", PLACE.model_dump())),
                             ("json_mode", PLACE.model_dump_json()), ("json_schema", PLACE.model_dump_json())):
            self.server.script(text)
            self.assertEqual(self.chat().with_structured_output(Place, method=method).invoke(TASK + " In JSON."), PLACE)
            self.assertEqual(len(self.server.bodies), 1)
        for method in ("function_calling", "json_schema"):  # the model's own answer, held to the schema
            self.server.script(None)
            self.assertIsInstance(self.chat().with_structured_output(Place, method=method, strict=True).invoke(TASK),
                                  Place)


class LiteLlm(Client):
    def complete(self, messages, **fields):
        return litellm.completion(model="openai/" + self.model, api_base=self.url, api_key=KEY, messages=messages,
                                  temperature=0, max_tokens=100, num_retries=0, **fields).choices[0].message

    def test_the_task(self):
        tools = [{"type": "function", "function": {"name": "weather", "description": "Tells the weather.",
                                                   "parameters": {"type": "object", "properties": {
                                                       "city": {"type": "string"}}, "required": ["city"]}}}]
        messages = [{"role": "user", "content": TASK}]
        self.server.script(*CALLS, None)
        for _ in CITIES:
            message = self.complete(messages, tools=tools)
            call, = message.tool_calls
            messages += [message.model_dump(), {"role": "tool", "tool_call_id": call.id,
                                                "content": self.weather(**json.loads(call.function.arguments))}]
        self.assertEqual(tuple(self.asked), CITIES)
        self.assertIsInstance(Place.model_validate_json(self.complete(messages, response_format=Place).content), Place)


class OpenAiAgents(Client):
    def test_the_task_by_both_of_its_apis(self):
        agents.set_tracing_disabled(True)
        tool = agents.function_tool(self.weather, name_override="weather", description_override="Tells the weather.")
        for kind in (agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel):
            self.asked.clear()
            client = openai.AsyncOpenAI(base_url=self.url, api_key=KEY, max_retries=0, timeout=support.TIMEOUT_S)
            agent = agents.Agent(name="Weather", instructions="Use the tool.", tools=[tool], output_type=Place,
                                 model=kind(model=self.model, openai_client=client),
                                 model_settings=agents.ModelSettings(temperature=0, max_tokens=100))
            self.server.script(*CALLS, PLACE.model_dump_json())
            result = asyncio.run(agents.Runner.run(agent, TASK))
            self.assertEqual(tuple(self.asked), CITIES)
            self.assertEqual(result.final_output, PLACE)


if __name__ == "__main__":
    unittest.main()
