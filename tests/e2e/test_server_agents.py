"""Requests of coding agents, recorded while each did a small task (a call of a tool, or a change in the agent's own
form), with their long texts cut short (tests/data/agents). They are replayed: the same bodies but for the model's name
and the answer, which is scripted."""
import json
import pathlib
import unittest

import support
from server_support import Server

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "agents"
LAST_EVENTS = {"/v1/messages": "message_stop", "/v1/responses": "response.completed"}
ANSWER = "Done."


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


if __name__ == "__main__":
    unittest.main()
