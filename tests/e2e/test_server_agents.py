"""Requests of coding agents, recorded while each did a small task (a call of a tool, or a change in the agent's own
form), with their long texts cut short (tests/data/agents). They are replayed: the same bodies but for the model's name
and the answer, which is scripted. And bodies of the shapes that Claude Code and Codex send where a user interrupts,
where a tool gives a picture or a document, and where tools are loaded by a search, with texts of our own."""
import json
import pathlib
import unittest

import support
from server_support import noise, Server

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
            with self.subTest(agent=recorded["agent"]), Server("--chat-template", TEMPLATE, model=noise()) as server:
                self.replay(server, recorded)

    def replay(self, server, recorded):
        path = recorded["path"]
        for i, body in enumerate(recorded["requests"], 1):
            asked = {**body, "model": noise().stem, "guided_choice": [ANSWER]}
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
            with Server("--chat-template", template, model=noise()) as server:
                others = ("/v1/messages", "/v1/responses", "/api/chat") if name == IN_TURNS[0] else ()
                for path in ("/v1/chat/completions", *others):
                    with self.subTest(template=name, path=path):
                        asked = {**interrupted(path), "model": noise().stem, "guided_choice": [ANSWER]}
                        status, _, text = server.request("POST", path, asked)
                        self.assertEqual(status, 200, text)
                        self.assertIn(ANSWER, text)


def claude_codes():
    """A body for /v1/messages as Claude Code sends it behind a picture, a PDF, a search for tools, a compaction."""
    def used(identifier, name, *result, **given):
        asked = {"type": "tool_use", "id": identifier, "name": name, "input": given}
        told = {"type": "tool_result", "tool_use_id": identifier, "content": list(result)}
        return [{"role": "assistant", "content": [asked]}, {"role": "user", "content": [told]}]
    turns = [{"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image", "source": IMAGE}]},
             {"role": "system", "content": "Note.", "output_config": {"effort": "medium"}},
             {"role": "system", "content": [], "output_config": {"effort": "medium"}},
             *used("c1", "read", {"type": "image", "source": IMAGE}, text="a.png"),
             *used("c2", "read", {"type": "text", "text": "A file."}, {"type": "document", "source": PDF}, text="b"),
             *used("c3", "search", {"type": "tool_reference", "tool_name": "count"}, text="count")]
    turns[-1]["content"].append({"type": "text", "text": "Loaded.", "cache_control": {"type": "ephemeral"}})
    turns.append({"role": "system", "content": [{"type": "text", "text": "Go on."}]})
    tools = [{"name": name, "input_schema": SCHEMA} for name in ("read", "search")]
    tools += [{"name": name, "input_schema": SCHEMA, "defer_loading": True} for name in ("nothing", "count")]
    return {"max_tokens": 128000, "system": [{"type": "text", "text": "Help."}], "messages": turns, "tools": tools,
            "thinking": {"type": "adaptive", "display": "updates"}, "metadata": {"user_id": "{}"},
            "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
            "output_config": {"effort": "medium"}}


def codexs():
    """A body for /v1/responses as Codex sends it: tools as an item, pictures, what an agent says to another."""
    def text(said, kind="input_text"):
        return {"type": kind, "text": said}
    picture = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "high"}
    tools = [{"type": "namespace", "name": "functions", "description": "", "tools": [
        {"type": "custom", "name": "exec", "description": "Runs it.", "format": {"type": "text"}},
        {"type": "function", "name": "wait", "strict": False, "parameters": SCHEMA}]}]
    items = [{"type": "additional_tools", "id": "at_1", "role": "developer", "tools": tools},
             {"type": "message", "id": "m1", "role": "developer", "content": [text("Help.")]},
             {"type": "message", "id": "m2", "role": "user", "content": [text("Look."), picture]},
             {"type": "reasoning", "id": "r1", "summary": [text("Hm.", "summary_text")],
              "content": [text("Hm.", "reasoning_text")], "encrypted_content": None},
             {"type": "custom_tool_call", "id": "i1", "call_id": "c1", "name": "exec", "input": "x"},
             {"type": "custom_tool_call_output", "id": "i2", "call_id": "c1", "output": [text("Done."), picture]},
             {"type": "function_call", "id": "i3", "status": "completed", "call_id": "c2", "name": "wait",
              "namespace": "functions", "arguments": '{"text": "cut'},
             {"type": "function_call_output", "id": "i4", "call_id": "c2", "output": "No such cell."},
             {"type": "agent_message", "id": "a1", "author": "/main", "recipient": "/main/sub",
              "content": [text("Task:"), {"type": "encrypted_content", "encrypted_content": "Say hi."}]}]
    return {"max_output_tokens": 4000, "input": items, "tool_choice": "auto", "parallel_tool_calls": False,
            "reasoning": {"effort": "low", "context": "all_turns"}, "store": False, "prompt_cache_key": "k",
            "include": ["reasoning.encrypted_content"], "text": {"verbosity": "low"},
            "client_metadata": {"turn_id": "t"}}


def call(name, arguments):
    return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'


class Histories(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--chat-template", TEMPLATE, "--served-model-name", "*", model=noise())

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def answer(self, path, body, text):
        status, _, answer = self.server.request("POST", path, {**body, "model": "any", "guided_choice": [text]})
        self.assertEqual(status, 200, answer)
        return json.loads(answer)

    def test_what_claude_code_holds_is_answered_and_a_tool_that_was_found_is_called(self):
        body = claude_codes()
        answer = self.answer("/v1/messages", body, call("count", {"text": "a"}))
        self.assertEqual([(block["type"], block.get("name")) for block in answer["content"]], [("tool_use", "count")])
        for size in (3, 5, 7, len(body["messages"])):
            counted = {**body, "messages": body["messages"][:size], "model": "any"}
            status, _, text = self.server.request("POST", "/v1/messages/count_tokens", counted)
            # In the user's newest message a picture is what was asked.
            self.assertEqual(status, 400 if size == 3 else 200, text)

    def test_what_codex_holds_is_answered_and_a_tool_of_an_item_is_called(self):
        answer = self.answer("/v1/responses", codexs(), call("functions__exec", {"input": "y"}))
        item = answer["output"][-1]
        self.assertEqual([item[name] for name in ("type", "namespace", "name", "input")],
                         ["custom_tool_call", "functions", "exec", "y"])


if __name__ == "__main__":
    unittest.main()
