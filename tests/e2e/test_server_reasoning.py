"""Reasoning through the unchanged `openai` package: a real model under a template that ends its prompts behind <think>."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import openai

import support
from server_support import Server, THINKING_TEMPLATE

QUESTION = [{"role": "user", "content": "Is 91 a prime?"}]
DOCS = pathlib.Path(__file__).parents[2] / "docs" / "reasoning.md"


class Reasoning(unittest.TestCase):
    server_args = ()

    @classmethod
    def setUpClass(cls):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja", delete=False) as file:
            file.write(THINKING_TEMPLATE)
        cls.addClassCleanup(pathlib.Path(file.name).unlink)
        cls.server = Server("--chat-template", file.name, *cls.server_args)
        cls.addClassCleanup(cls.server.__exit__)
        cls.client = openai.OpenAI(base_url=cls.server.url + "/v1", api_key="none", max_retries=0,
                                   timeout=support.TIMEOUT_S)
        cls.model = cls.client.models.list().data[0].id

    def chat(self, stream=False, **extra):
        fields = {name: extra.pop(name) for name in ("max_tokens", "logprobs", "n", "stop", "seed") if name in extra}
        if stream:
            fields["stream_options"] = {"include_usage": True}
        return self.client.chat.completions.create(model=self.model, messages=QUESTION, temperature=0, stream=stream,
                                                   **{"max_tokens": 40, **fields}, extra_body={"ignore_eos": True, **extra})

    def test_reasoning_comes_apart_from_content(self):
        answer = self.chat(reasoning_budget=10)
        message = answer.choices[0].message
        self.assertTrue(message.reasoning_content)
        self.assertTrue(message.content)
        self.assertNotIn("think>", message.reasoning_content + message.content)
        self.assertFalse(hasattr(message, "reasoning"))
        tokens = answer.usage.completion_tokens_details.reasoning_tokens
        self.assertGreater(tokens, 10)  # and the closing mark, which is text in this vocabulary
        self.assertLess(tokens, 20)
        self.assertLess(tokens, answer.usage.completion_tokens)

    def test_a_stream_has_the_same(self):
        whole = self.chat(reasoning_budget=10)
        chunks = list(self.chat(stream=True, reasoning_budget=10))
        deltas = [c.choices[0].delta for c in chunks if c.choices]
        self.assertEqual("".join(getattr(d, "reasoning_content", None) or "" for d in deltas),
                         whole.choices[0].message.reasoning_content)
        self.assertEqual("".join(d.content or "" for d in deltas), whole.choices[0].message.content)
        self.assertEqual(chunks[-1].usage, whole.usage)
        first_content = next(i for i, d in enumerate(deltas) if d.content)
        self.assertTrue(all(not getattr(d, "reasoning_content", None) for d in deltas[first_content:]))

    def test_a_limit_within_reasoning(self):
        answer = self.chat(max_tokens=8)
        self.assertEqual(answer.choices[0].finish_reason, "length")
        self.assertEqual(answer.choices[0].message.content, "")
        self.assertTrue(answer.choices[0].message.reasoning_content)
        self.assertEqual(answer.usage.completion_tokens_details.reasoning_tokens, 8)

    def test_a_budget_by_every_name_and_none_at_all(self):
        answers = {name: self.chat(**{name: 5}).choices[0].message for name in
                   ("reasoning_budget", "reasoning_budget_tokens", "thinking_budget_tokens", "thinking_token_budget")}
        self.assertEqual(len({(m.content, m.reasoning_content) for m in answers.values()}), 1)
        closed = self.chat(reasoning_budget=0)
        self.assertFalse(hasattr(closed.choices[0].message, "reasoning_content"))
        self.assertTrue(closed.choices[0].message.content)
        free, unlimited = self.chat(), self.chat(reasoning_budget=-1)
        self.assertEqual(free.choices[0].message, unlimited.choices[0].message)
        with self.assertRaisesRegex(openai.BadRequestError, "they are the same"):
            self.chat(reasoning_budget=5, thinking_token_budget=6)

    def test_prompts_without_reasoning_begin_outside(self):
        answer = self.chat(chat_template_kwargs={"enable_thinking": False})
        self.assertFalse(hasattr(answer.choices[0].message, "reasoning_content"))
        self.assertEqual(answer.usage.completion_tokens_details.reasoning_tokens, 0)

    def test_it_may_be_left_in_or_out_or_named_twice(self):
        apart = self.chat(reasoning_budget=10).choices[0].message
        left_in = self.chat(reasoning_budget=10, reasoning_format="none").choices[0].message
        self.assertFalse(hasattr(left_in, "reasoning_content"))
        self.assertEqual([part.strip() for part in left_in.content.split("</think>")],
                         [apart.reasoning_content, apart.content.strip()])
        out = self.chat(reasoning_budget=10, include_reasoning=False)
        self.assertEqual(out.choices[0].message.content, apart.content)
        self.assertFalse(hasattr(out.choices[0].message, "reasoning_content"))
        self.assertGreater(out.usage.completion_tokens_details.reasoning_tokens, 0)
        twice = self.chat(reasoning_budget=10, include_reasoning=True).choices[0].message
        self.assertEqual((twice.reasoning, twice.reasoning_content), (apart.reasoning_content,) * 2)
        with self.assertRaisesRegex(openai.BadRequestError, "reasoning_format"):
            self.chat(reasoning_format="upside down")

    def test_stop_texts_and_logprobs(self):
        plain = self.chat(reasoning_budget=10).choices[0].message
        word = plain.content.split()[1]
        in_reasoning = plain.reasoning_content.split()[1]
        answer = self.chat(reasoning_budget=10, stop=[word, in_reasoning], logprobs=True)
        self.assertEqual(answer.choices[0].finish_reason, "stop")
        self.assertEqual(answer.choices[0].message.reasoning_content, plain.reasoning_content)
        self.assertTrue(plain.content.startswith(answer.choices[0].message.content))
        self.assertNotIn(word, answer.choices[0].message.content)
        text = "".join(t.token for t in answer.choices[0].logprobs.content)
        self.assertIn("</think>", text)
        self.assertNotIn(word, text.split("</think>")[1])
        self.assertTrue(all(t.logprob <= 0 for t in answer.choices[0].logprobs.content))
        streamed = [t for c in self.chat(stream=True, reasoning_budget=10, stop=[word], logprobs=True) if c.choices
                    and c.choices[0].logprobs for t in c.choices[0].logprobs.content]
        self.assertEqual("".join(t.token for t in streamed), text)

    def test_a_conversation_whose_reasoning_is_left_out_says_where_it_parts(self):
        system = {"role": "system", "content": "You are one who answers questions about numbers, one after another."}
        parted = self.server.metric("diverged_prompts_total")

        def ask(*messages, **extra):
            return self.client.chat.completions.create(
                model=self.model, messages=[system, *messages], temperature=0, max_tokens=60,
                extra_body={"ignore_eos": True, "reasoning_budget": 30, "return_token_ids": True, **extra})

        salt = {"cache_salt": self.id()}
        first = ask(*QUESTION, **salt)
        self.assertFalse(hasattr(first.usage.prompt_tokens_details, "diverged_at"))
        again = [*QUESTION, {"role": "assistant", "content": first.choices[0].message.content},
                 {"role": "user", "content": "And 97?"}]
        second = ask(*again, **salt)
        before = first.prompt_token_ids + first.choices[0].token_ids
        expected = next(i for i, (a, b) in enumerate(zip(before, second.prompt_token_ids)) if a != b)
        self.assertEqual(second.usage.prompt_tokens_details.diverged_at, expected)
        self.assertLess(expected, len(before))
        self.server.wait_until(lambda: self.server.metric("diverged_prompts_total") == parted + 1)
        other = ask(*again, cache_salt=self.id() + " of another")
        self.assertFalse(hasattr(other.usage.prompt_tokens_details, "diverged_at"))
        self.assertEqual(other.choices[0].token_ids, second.choices[0].token_ids)
        self.assertIn(expected, [line.get("diverged_at") for line in self.server.access_log(3)])

    def test_every_choice_has_its_own(self):
        answer = self.chat(n=3, reasoning_budget=6, seed=4)
        self.assertEqual(len(answer.choices), 3)
        for choice in answer.choices:
            self.assertTrue(choice.message.reasoning_content)
            self.assertNotIn("think>", choice.message.content)

    def test_a_completion_has_none_and_takes_no_budget(self):
        answer = self.client.completions.create(model=self.model, prompt="<think>Is 91 a prime?", max_tokens=4)
        self.assertIsNone(answer.usage.completion_tokens_details)
        with self.assertRaisesRegex(openai.BadRequestError, "reasoning_budget"):
            self.client.completions.create(model=self.model, prompt="Hi", extra_body={"reasoning_budget": 5})

    def test_the_pages_example_runs(self):
        examples = re.findall(r"^```python\n(.*?)^```$", DOCS.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
        self.assertEqual(len(examples), 1)
        code = examples[0].replace("http://127.0.0.1:8080", self.server.url)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False,
                              timeout=support.TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(len(done.stdout.splitlines()), 1)


class ServersBudget(Reasoning):
    """The server's own budget counts where a request names none."""

    server_args = ("--reasoning-budget", 3)

    def test_a_limit_within_reasoning(self):
        answer = self.chat()
        self.assertTrue(answer.choices[0].message.content)
        self.assertLess(answer.usage.completion_tokens_details.reasoning_tokens, 12)

    def test_a_budget_by_every_name_and_none_at_all(self):
        unlimited = self.chat(reasoning_budget=-1).choices[0].message
        self.assertEqual(unlimited.content, "")


if __name__ == "__main__":
    unittest.main()
