"""Conversations of three turns with the real words and template of each family: in the terminal, through the `openai`
package, and in the page. Two models are real; the others have random weights under real words."""
import json
import re
import unittest

import openai

import support
from browser import PROGRAM, Browser
from server_support import Server
from test_terminal import FIGURES, Terminal

TURNS = ("What is the capital of France?", "And of Norway? Answer « briefly » 🙂", "Thank you. Which one is larger?")
TOKENS = 20
REASONING_TOKENS = 5
# Family -> shape of the random model, file of its words, template.
RANDOM = {
    "qwen2.5": ("tiny-qwen2", "ggml-vocab-qwen2.gguf", "Qwen-Qwen2.5-7B-Instruct"),
    "qwen3": ("tiny-qwen3", "ggml-vocab-qwen2.gguf", "Qwen-Qwen3-0.6B"),
    "qwen3.5": ("tiny-qwen35", "ggml-vocab-qwen35.gguf", "Qwen3.5-4B"),
    "llama3": ("tiny-llama", "ggml-vocab-llama-bpe.gguf", "meta-llama-Llama-3.1-8B-Instruct"),
    "gemma4": ("tiny-gemma4", "ggml-vocab-gemma-4.gguf", "google-gemma-4-31B-it"),
    "command-r": ("tiny-llama", "ggml-vocab-command-r.gguf", "CohereForAI-c4ai-command-r-plus-tool_use"),
    "phi3": ("tiny-llama", "ggml-vocab-phi-3.gguf", "microsoft-Phi-3.5-mini-instruct"),
}
REAL = {"smollm2": (support.SMOLLM2, None), "gemma3": (support.GEMMA3, "google-gemma-2-2b-it")}  # its file has none
REASONING = ("qwen3.5",)  # its template opens the reasoning itself; a random model of the others never does


def arguments(family):
    """The model's file, and the options that every command takes with it."""
    if family in REAL:
        model, template = REAL[family]
    else:
        shape, words, template = RANDOM[family]
        model = support.tiny_model(shape, support.TEST_DATA / words, embd_type="Q8_0")
    return model, ("--chat-template", support.TEST_DATA / "templates" / f"{template}.jinja") if template else ()


class Conversations(unittest.TestCase):
    def each_family(self, check):
        for family in (*REAL, *RANDOM):
            with self.subTest(family):
                check(family, *arguments(family))

    def ask(self, client, model, family):
        """The messages of the conversation, through the package."""
        messages = []
        extra = {"ignore_eos": True, **({"reasoning_budget": REASONING_TOKENS} if family in REASONING else {})}
        for turn, text in enumerate(TURNS):
            messages.append({"role": "user", "content": text})
            answer = client.chat.completions.create(model=model, messages=messages, temperature=0, max_tokens=TOKENS,
                                                    extra_body=extra)
            message = answer.choices[0].message
            self.assertEqual(answer.choices[0].finish_reason, "length")
            self.assertTrue(message.content, (family, turn))
            self.assertEqual(hasattr(message, "reasoning_content"), family in REASONING)
            reasoning = {"reasoning_content": message.reasoning_content} if family in REASONING else {}
            messages.append({"role": "assistant", "content": message.content, **reasoning})
        return messages

    def ask_page(self, browser, family):
        """The same in the page; the last request's messages and the last answer."""
        browser.wait_for("model !== null")
        budget = f"$('reasoning_budget').value = {REASONING_TOKENS};" if family in REASONING else ""
        browser.run(f"$('temperature').value = 0; $('max_tokens').value = {TOKENS}; {budget}"
                    "const plain = requestBody; requestBody = () => ({...plain(), ignore_eos: true})")
        for turn, text in enumerate(TURNS, 1):
            browser.run(f"$('input').value = {json.dumps(text)}; $('form').requestSubmit()")
            browser.wait_for(f"running === null && document.querySelectorAll('article.assistant').length === {turn}")
        self.assertEqual(browser.mistakes(), [])
        return browser.run("conversation")

    def test_the_package_and_the_page_have_the_same(self):
        if PROGRAM is not None:
            self.browser = self.enterContext(Browser("--window-size=1000,800"))
        self.each_family(self.check_package_and_page)

    def check_package_and_page(self, family, model, options):
        with Server(*options, model=model) as server:
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0, timeout=support.TIMEOUT_S)
            messages = self.ask(client, client.models.list().data[0].id, family)
            if PROGRAM is None:
                return
            self.browser.open(server.url + "/")  # which has nothing of the others': each port is a site of its own
            self.assertEqual(self.ask_page(self.browser, family), messages)
            if family in REASONING:
                self.check_reasoning(self.browser, messages)

    def check_reasoning(self, browser, messages):
        shown = browser.run("[...document.querySelectorAll('details.reasoning')].map(d => "
                            "[d.open, d.lastChild.textContent])")
        self.assertEqual(shown, [[False, message["reasoning_content"]] for message in messages[1::2]])
        self.assertRegex(browser.run("document.querySelector('.figures').textContent"), r"\d+ tokens, \d+ of reasoning")

    def test_the_terminal_answers_three_times(self):
        self.each_family(self.check_terminal)

    def check_terminal(self, family, model, options):
        limits = ("--reasoning-budget", REASONING_TOKENS) if family in REASONING else ()
        terminal = Terminal("chat", "-m", model, *options, *limits, "--temp", 0, "-n", TOKENS)
        at = terminal.wait_for(r"> ")
        for text in TURNS:
            terminal.wait_for_raw_mode()
            terminal.send(text + "\r")
            at = terminal.wait_for(r"> $", terminal.wait_for(FIGURES, terminal.wait_for(r"\r\n", at)))
        terminal.wait_for_raw_mode()
        terminal.send("/bye\r")
        self.assertEqual(terminal.finish(), 0)
        prompts = [int(size) for size in re.findall(r"; prompt of (\d+),", terminal.screen)]
        self.assertEqual(len(prompts), len(TURNS), terminal.screen)
        self.assertEqual(prompts, sorted(set(prompts)))  # each holds the ones before it


if __name__ == "__main__":
    unittest.main()
