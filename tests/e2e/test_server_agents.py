"""Requests of coding agents, recorded while each read a file by a call of a tool, with their long texts cut short
(tests/data/agents). They are replayed: the same bodies but for the model's name and the answer, which is scripted."""
import json
import pathlib
import unittest

import support
from server_support import Server

TEMPLATE = support.TEST_DATA / "templates" / "Qwen-Qwen2.5-7B-Instruct.jinja"
RECORDED = pathlib.Path(__file__).parents[1] / "data" / "agents"
LAST_EVENTS = {"/v1/messages": "message_stop", "/v1/responses": "response.completed"}


class Agents(unittest.TestCase):
    def test_recorded_requests_are_answered_and_their_beginnings_are_found_cached(self):
        for file in sorted(RECORDED.glob("*.json")):
            recorded = json.loads(file.read_text(encoding="utf-8"))
            with self.subTest(agent=recorded["agent"]), Server("--chat-template", TEMPLATE) as server:
                self.replay(server, recorded)

    def replay(self, server, recorded):
        for i, body in enumerate(recorded["requests"], 1):
            asked = {**body, "model": support.SMOLLM2.stem, "guided_choice": ["Done."]}
            status, _, text = server.request("POST", recorded["path"], asked)
            self.assertEqual(status, 200, text)
            events = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
            self.assertEqual(events[-1]["type"], LAST_EVENTS[recorded["path"].partition("?")[0]])
            deltas = [event["delta"] for event in events if event["type"].endswith("delta")]
            self.assertEqual("".join(d if isinstance(d, str) else d.get("text", "") for d in deltas), "Done.")
            log = server.access_log(i)
            if i > 1:
                self.assertGreater(log[-1]["cached_tokens"], 0.9 * log[-2]["prompt_tokens"])


if __name__ == "__main__":
    unittest.main()
