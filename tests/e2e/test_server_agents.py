"""Requests of coding agents, recorded while each did a small task (a call of a tool, or a change in the agent's own
form), with their long texts cut short (tests/data/agents). They are replayed: the same bodies but for the model's name
and the answer, which is scripted. And bodies of the shapes that Claude Code and Codex send where a user interrupts, where
a tool gives a picture or a document, and where tools are loaded by a search, with texts of our own."""
import json
import pathlib
import unittest

import support
from server_support import Server

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "agents"
LAST_EVENTS = {"/v1/messages": "message_stop", "/v1/responses": "response.completed"}
ANSWER = "Done."
# Templates that want users and assistants to take turns, each counting in its own way.
IN_TURNS = ("mistralai-Ministral-3-14B-Reasoning-2512", "Mistral-Small-3.2-24B-Instruct-2506",
            "mistralai-Mistral-Nemo-Instruct-2407", "google-gemma-2-2b-it")
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
IMAGE = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"}


def answered(path, text):
    """The text of a whole answer."""
    body = json.loads(text)
    if path == "/v1/chat/completions":
        return body["choices"][0]["message"]["content"]
    return body["output"][0]["content"][0]["text"]


def streamed(path, text):
    """The text of a stream that came to its end."""
    data = [line[6:] for line in text.splitlines() if line.startswith("data: ")]
    if path == "/v1/chat/completions":
        if data.pop() != "[DONE]":
            raise AssertionError("the stream has no end")
        deltas = [json.loads(event)["choices"][0]["delta"].get("content", "") for event in data]
        return "".join(deltas)
    events = [json.loads(event) for event in data]
    if events[-1]["type"] != LAST_EVENTS[path.partition("?")[0]]:
        raise AssertionError(f"the stream ends with {events[-1]['type']}")
    deltas = [event["delta"] for event in events if event["type"].endswith("delta")]
    return "".join(delta if isinstance(delta, str) else delta.get("text", "") for delta in deltas)


class Agents(unittest.TestCase):
    def test_recorded_requests_are_answered_and_their_beginnings_are_found_cached(self):
        for file in sorted(RECORDED.glob("*.json")):
            recorded = json.loads(file.read_text(encoding="utf-8"))
            with self.subTest(agent=recorded["agent"]), Server("--chat-template", TEMPLATE) as server:
                self.replay(server, recorded)

    def replay(self, server, recorded):
        path = recorded["path"]
        for i, body in enumerate(recorded["requests"], 1):
            asked = {**body, "model": support.SMOLLM2.stem, "guided_choice": [ANSWER]}
            status, _, text = server.request("POST", path, asked)
            self.assertEqual(status, 200, text)
            self.assertEqual((streamed if body.get("stream") else answered)(path, text), ANSWER)
            log = server.access_log(i)
            if i > 1 and recorded.get("is_one_conversation", True):
                self.assertGreater(log[-1]["cached_tokens"], 0.9 * log[-2]["prompt_tokens"])


def interrupted(path):
    """A conversation whose user says more behind a tool's result, in the form of a route."""
    if path == "/v1/messages":
        result = [{"type": "tool_result", "tool_use_id": "call_1", "is_error": True, "content": "Stopped."},
                  {"type": "text", "text": "Something else, please."}]
        call = [{"type": "text", "text": "I wait."},
                {"type": "tool_use", "id": "call_1", "name": "wait", "input": {"text": "x"}}]
        turns = [{"role": "assistant", "content": call}, {"role": "user", "content": result}]
        return {"max_tokens": 16, "tools": [{"name": "wait", "input_schema": SCHEMA}],
                "messages": [{"role": "user", "content": "Wait."}, *turns]}
    if path == "/v1/responses":
        turns = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I wait."}]},
                 {"type": "function_call", "call_id": "call_1", "name": "wait", "arguments": '{"text": "x"}'},
                 {"type": "function_call_output", "call_id": "call_1", "output": "Stopped."},
                 {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Something else."}]}]
        return {"max_output_tokens": 16, "tools": [{"type": "function", "name": "wait", "parameters": SCHEMA}],
                "input": [{"role": "user", "content": "Wait."}, *turns]}
    arguments = {"text": "x"} if path == "/api/chat" else '{"text": "x"}'
    turns = [{"role": "assistant", "content": "", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "wait", "arguments": arguments}}]},
             {"role": "tool", "tool_call_id": "call_1", "content": "Stopped."},
             {"role": "user", "content": "Something else."}]
    tools = [{"type": "function", "function": {"name": "wait", "parameters": SCHEMA}}]
    return {"stream": False, "tools": tools,
            "messages": [{"role": "user", "content": "Wait."}, *turns]}


class Interruptions(unittest.TestCase):
    def test_a_users_message_behind_a_tools_result_is_answered_whatever_order_the_template_wants(self):
        for name in IN_TURNS:
            template = support.TEST_DATA / "templates" / f"{name}.jinja"
            with Server("--chat-template", template) as server:
                others = ("/v1/messages", "/v1/responses", "/api/chat") if name == IN_TURNS[0] else ()
                for path in ("/v1/chat/completions", *others):
                    with self.subTest(template=name, path=path):
                        asked = {**interrupted(path), "model": support.SMOLLM2.stem, "guided_choice": [ANSWER]}
                        status, _, text = server.request("POST", path, asked)
                        self.assertEqual(status, 200, text)
                        self.assertIn(ANSWER, text)


if __name__ == "__main__":
    unittest.main()
