"""The program in a terminal: chat with history, Ctrl-C and its commands, and the line that `run` ends with."""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import tempfile
import termios
import time
import unittest

import support

PATIENCE_S = 120 if support.SANITIZED else 30


class Terminal:
    """A program in a pseudo-terminal of its own. Everything it writes is kept in `screen`."""

    def __init__(self, *args, **environment):
        self.screen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ.pop("NO_COLOR", None)
            os.environ.update(environment)
            os.execv(support.OCTAVO, [support.OCTAVO, *map(str, args)])

    def resize(self, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def send(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Reads what comes within this time; False at the end of the program's output."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            piece = os.read(self.fd, 1 << 16)
        except OSError:  # Linux reports the other side's end so
            return False
        self.screen += piece.decode("utf-8", "replace")
        return bool(piece)

    def wait_for(self, pattern, since=0):
        """Waits until the screen, from an offset on, matches; returns the offset after the match."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            match = re.compile(pattern).search(self.screen, since)
            if match:
                return match.end()
            if time.monotonic() > deadline or not self.read(0.1):
                raise AssertionError(f"no {pattern!r} in {self.screen[since:]!r}")

    def wait_for_raw_mode(self):
        """libedit shows its prompt a moment before it takes keys one by one; what is typed in between is
        echoed twice, and a Ctrl-D is lost."""
        deadline = time.monotonic() + PATIENCE_S
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            if time.monotonic() > deadline:
                raise AssertionError("the terminal stays in line mode")
            time.sleep(0.01)

    def finish(self):
        """The exit code; the program must end by itself."""
        deadline = time.monotonic() + PATIENCE_S
        while self.read(0.1) and time.monotonic() < deadline:
            pass
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"the program did not end; it wrote {self.screen[-500:]!r}")


FIGURES = r"\(\d+ tokens[^()\r\n]*cached\)"


class Chat(unittest.TestCase):
    def start(self, *args, model=support.SMOLLM2, **environment):
        terminal = Terminal("chat", "-m", model, *args, **environment)
        return terminal, self.prompt(terminal)

    def ask(self, terminal, line, at):
        """Sends a line; returns what came up to the next prompt, and the offset behind it."""
        terminal.send(line + "\r")
        end = self.prompt(terminal, terminal.wait_for(r"\r\n", at))
        return terminal.screen[at:end], end

    def quit(self, terminal):
        terminal.send("/bye\r")
        self.assertEqual(terminal.finish(), 0)

    def prompt(self, terminal, since=0):
        at = terminal.wait_for(r"> ", since)
        terminal.wait_for_raw_mode()
        return at

    def test_answers_and_quits(self):
        terminal, at = self.start("--temp", 0, "-n", 24)
        self.assertIn("SmolLM2-135M-Instruct.Q4_1, /help for help", terminal.screen)  # the file's name
        terminal.send("What is the capital of France?\r")
        at = terminal.wait_for(r"\w\w", terminal.wait_for(r"\r\n", at))
        at = self.prompt(terminal, at)
        terminal.send("/quit\r")
        self.assertEqual(terminal.finish(), 0)

    def test_the_conversation_is_remembered_until_reset(self):
        terminal, at = self.start("--temp", 0, "-n", 24)
        question = "What is the capital of France?\r"
        answers = []
        for line in (question, question, "/reset\r", question):
            terminal.send(line)
            end = self.prompt(terminal, terminal.wait_for(r"\r\n", at))
            answers.append(re.sub(FIGURES, "", terminal.screen[at:end]))
            at = end
        self.assertEqual(answers[0], answers[3])  # nothing of the first two turns is left
        terminal.send("/quit\r")
        self.assertEqual(terminal.finish(), 0)

    def test_lines_are_broken_at_spaces_for_the_columns_that_there_are(self):
        question = "Why is the sky blue?"
        written = support.octavo_ok("run", "-m", support.SMOLLM2, question, "--temp", 0, "-n", 100).strip()
        terminal, at = self.start("--temp", 0, "-n", 100)
        for columns in (40, 23):
            terminal.resize(columns)
            shown, at = self.ask(terminal, question, at)
            answer = re.split(r"\(\d+ tokens", re.sub(r"\x1b\[[?\d]*[mhl]", "", shown.split("\r\n", 1)[1]))[0].strip()
            self.assertEqual(answer.split(), written.split())
            rows = answer.split("\r\n")
            self.assertGreater(len(rows), len(written) // columns)
            self.assertLessEqual(max(map(len, rows)), columns)
            text = written.split("\n")[0]  # its words do not end a row that has room for them
            for row, following in zip(rows, rows[1:]):
                if not text.startswith(row) or text == row:
                    break
                text = text[len(row):].lstrip()
                self.assertGreater(len(row) + 1 + len(following.split()[0]), columns)
            terminal.send("/reset\r")
            at = self.prompt(terminal, terminal.wait_for(r"forgotten\)\r\n", at))
        self.quit(terminal)

    def test_ctrl_c_stops_the_answer_and_not_the_program(self):
        terminal, at = self.start("--temp", 0)
        terminal.send("Write a very long story about a ship.\r")
        at = terminal.wait_for(r"\w+ \w+ \w+", terminal.wait_for(r"\r\n", at))
        terminal.send("\x03")
        at = self.prompt(terminal, at)
        terminal.send("/help\r")
        at = self.prompt(terminal, terminal.wait_for(r"\r\n", at))
        terminal.send("/quit\r")
        self.assertEqual(terminal.finish(), 0)

    def test_arrow_up_brings_the_last_line_back(self):
        terminal, at = self.start("--temp", 0, "-n", 8)
        terminal.send("Name a zebra.\r")
        at = self.prompt(terminal, terminal.wait_for(r"\r\n", at))
        terminal.send("\x1b[A")
        at = terminal.wait_for("zebra", at)
        terminal.send("\r")
        at = self.prompt(terminal, terminal.wait_for(r"\r\n", at))
        terminal.send("/quit\r")
        self.assertEqual(terminal.finish(), 0)

    def test_bye_leaves_and_a_slip_is_answered_with_the_command(self):
        terminal, at = self.start()
        terminal.send("/rest\r")
        at = self.prompt(terminal, terminal.wait_for(r"did you mean /reset\?", at))
        terminal.send("/bye\r")
        self.assertEqual(terminal.finish(), 0)

    def test_end_of_input_quits(self):
        terminal, _ = self.start()
        terminal.send("\x04")
        self.assertEqual(terminal.finish(), 0)

    def test_later_turns_find_all_before_the_new_part_in_the_cache(self):
        """Drawn at a high temperature, so that the tokens are not those that the answers' texts would become."""
        gemma_template = support.TEST_DATA / "templates" / "google-gemma-2-2b-it.jinja"  # it trims answers
        for model, *options in ((support.SMOLLM2,), (support.GEMMA3, "--chat-template", gemma_template)):
            terminal, at = self.start("--temp", 3, "--seed", 5, "-n", 40, *options, model=model)
            before = 0
            for question in ("Tell me of the sea.", "And of the hills?", "And of the wood?"):
                _, at = self.ask(terminal, question, at)
                shown, at = self.ask(terminal, "/tokens", at)
                prompt, cached = map(int, re.search(r"last prompt +(\d+) tokens, (\d+) of them cached", shown).groups())
                answer = int(re.search(r"last answer +(\d+) tokens", shown).group(1))
                used = int(re.search(r"context +(\d+) of", shown).group(1))
                self.assertLessEqual(prompt + answer - used, 1)  # a token that ends an answer is not kept
                if before:
                    # Whole blocks of 16; the last token of an answer was never computed.
                    self.assertGreaterEqual(cached, (before - 1) // 16 * 16)
                    self.assertGreater(prompt, before)
                before = used
            self.quit(terminal)

    def test_a_paste_of_several_lines_is_one_message(self):
        terminal, at = self.start("--temp", 0, "-n", 4)
        terminal.wait_for(r"\x1b\[\?2004h")
        terminal.send("\x1b[200~Name a zebra.\nThen a gnu \u00fc.\n\x1b[201~")
        at = terminal.wait_for("gnu", terminal.wait_for("zebra", at))
        _, at = self.ask(terminal, "", at)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "talk.json")
            _, at = self.ask(terminal, "/save " + path, at)
            with open(path, encoding="utf-8") as file:
                messages = json.load(file)["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant"])
        self.assertEqual(messages[0]["content"], "Name a zebra.\nThen a gnu \u00fc.")
        self.quit(terminal)

    def test_a_conversation_is_saved_and_gone_on_with(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "talk.json")
            terminal, at = self.start("--temp", 2, "--seed", 3, "-n", 24)
            _, at = self.ask(terminal, "Tell me of the sea.", at)
            _, at = self.ask(terminal, "/save " + path, at)
            _, at = self.ask(terminal, "/set temperature 0", at)
            first, at = self.ask(terminal, "And of the hills?", at)
            self.quit(terminal)
            terminal, at = self.start("--temp", 0, "-n", 24)
            _, at = self.ask(terminal, "/load " + path, at)
            second, at = self.ask(terminal, "And of the hills?", at)
            self.quit(terminal)
        self.assertEqual(re.sub(FIGURES, "", first), re.sub(FIGURES, "", second))

    def test_reasoning_is_dimmed_and_not_part_of_the_answer(self):
        with tempfile.TemporaryDirectory() as folder:
            template, path = os.path.join(folder, "think.jinja"), os.path.join(folder, "talk.json")
            with open(template, "w", encoding="utf-8") as file:
                file.write("{# both marks, as templates of models that reason have them: <think> </think> #}"
                           "{% for m in messages %}{{ m.content.split('</think>')[1] if '</think>' in m.content }}"
                           "<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
                           "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}")
            terminal, at = self.start("--temp", 0, "-n", 12, "--chat-template", template)
            shown, at = self.ask(terminal, "Tell me of the sea.", at)  # the model never closes it
            self.assertRegex(shown, r"\x1b\[2m\w+\x1b\[0m")
            shown, at = self.ask(terminal, "And of the hills?", at)
            self.assertRegex(shown, r"\x1b\[2m\w+\x1b\[0m")
            _, at = self.ask(terminal, "/save " + path, at)
            with open(path, encoding="utf-8") as file:
                messages = json.load(file)["messages"]
            self.assertEqual([m["content"] for m in messages if m["role"] == "assistant"], ["", ""])
            self.quit(terminal)

    def test_lines_within_three_quotes_are_one_message(self):
        terminal, at = self.start("--temp", 0, "-n", 4)
        for line in ('"""', "one", "two"):
            terminal.send(line + "\r")
            at = terminal.wait_for(r"\.\.\. ", terminal.wait_for(r"\r\n", at))
            terminal.wait_for_raw_mode()
        shown, at = self.ask(terminal, '"""', at)
        self.assertRegex(shown, FIGURES)
        self.quit(terminal)

    def test_regen_and_undo(self):
        terminal, at = self.start("--temp", 2, "--seed", 3, "-n", 16)
        first, at = self.ask(terminal, "Tell me of the sea.", at)
        second, at = self.ask(terminal, "/regen", at)
        self.assertNotEqual(first.split("\r\n")[1], second.split("\r\n")[1])
        shown, at = self.ask(terminal, "/undo", at)
        self.assertIn("(taken back: Tell me of the sea.)", shown)
        again, at = self.ask(terminal, "Tell me of the sea.", at)
        self.assertEqual(first.split("\r\n")[1], again.split("\r\n")[1])
        self.quit(terminal)

    def test_a_stopped_answer_stays_in_the_conversation(self):
        terminal, at = self.start("--temp", 0)
        terminal.send("Write a very long story about a ship.\r")
        at = terminal.wait_for(r"\w+ \w+ \w+", terminal.wait_for(r"\r\n", at))
        terminal.send("\x03")
        at = self.prompt(terminal, at)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "talk.json")
            _, at = self.ask(terminal, "/save " + path, at)
            with open(path, encoding="utf-8") as file:
                messages = json.load(file)["messages"]
        self.assertRegex(messages[1]["content"], r"\w+ \w+ \w+")
        self.assertGreaterEqual(len(messages[1]["tokens"]), 3)
        self.quit(terminal)

    def test_ctrl_c_twice_at_the_prompt_leaves(self):
        terminal, at = self.start()
        terminal.send("begun\x03")
        at = self.prompt(terminal, terminal.wait_for(r"\^C", at))
        terminal.send("\x03")
        at = self.prompt(terminal, terminal.wait_for(r"Ctrl-C again", at))
        terminal.send("\x03")
        self.assertEqual(terminal.finish(), 0)

    def test_figures_are_dimmed_unless_no_color_is_wanted(self):
        for environment, begin in ({}, r"\x1b\[2m"), ({"NO_COLOR": "1"}, ""), ({"TERM": "dumb"}, ""):
            terminal, at = self.start("--temp", 0, "-n", 4, **environment)
            shown, at = self.ask(terminal, "Hello", at)
            self.assertRegex(shown, r"\n" + begin + FIGURES)
            self.assertEqual(bool(begin), "\x1b[2m" in terminal.screen)
            self.quit(terminal)


class Help(unittest.TestCase):
    def test_the_program_alone_fits_a_terminal(self):
        terminal = Terminal()
        self.assertEqual(terminal.finish(), 2)
        lines = terminal.screen.splitlines()
        self.assertLess(len(lines), 25)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("octavo run", terminal.screen)


class Printing(unittest.TestCase):
    """A terminal obeys nothing that strangers wrote; the program is asked as a whole, with its real streams."""
    HOSTILE = "a\x1b]0;x\x07\u202eb\u009b"
    SHOWN = "a\ufffd]0;x\ufffd\ufffdb\ufffd"

    def test_text_on_standard_output(self):
        ids = support.octavo_ok("tokenize", "-m", support.SMOLLM2, "--ids", "--no-special", self.HOSTILE).strip()
        decode = ("tokenize", "-m", support.SMOLLM2, "--decode", ids)
        self.assertEqual(support.octavo_ok(*decode), self.HOSTILE + "\n")
        terminal = Terminal(*decode)
        self.assertEqual(terminal.finish(), 0)
        self.assertEqual(terminal.screen, self.SHOWN + "\r\n")

    def test_what_a_template_raises(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jinja") as template:
            template.write("{{ raise_exception('" + self.HOSTILE + "') }}")
            template.flush()
            run = ("run", "-m", support.SMOLLM2, "--chat-template", template.name, "Hello")
            self.assertIn(self.SHOWN, support.octavo(*run).stderr)
            terminal = Terminal(*run)
            self.assertEqual(terminal.finish(), 1)
            self.assertIn(self.SHOWN, terminal.screen)
            terminal = Terminal("chat", *run[1:-1])
            terminal.wait_for("> ")
            terminal.wait_for_raw_mode()
            terminal.send("Hello\r")
            terminal.wait_for(re.escape(self.SHOWN))
            terminal.send("/bye\r")
            self.assertEqual(terminal.finish(), 0)

    def test_names_in_errors_and_warnings(self):
        terminal = Terminal("run", "-m", f"/nowhere/{self.HOSTILE}.gguf", "Hello")
        self.assertEqual(terminal.finish(), 1)
        self.assertIn(self.SHOWN, terminal.screen)


class Run(unittest.TestCase):
    def test_a_prompt_in_words_is_answered_at_once_in_a_terminal(self):
        terminal = Terminal("run", "Say hello", "--temp", 0, "-n", 8)
        self.assertEqual(terminal.finish(), 0)
        self.assertRegex(terminal.screen, r"tokens/s")
        self.assertNotIn("standard input", terminal.screen)

    def test_closes_with_one_line_of_figures(self):
        terminal = Terminal("run", "-m", support.SMOLLM2, "--raw", "-p", "The capital of France is", "--temp", 0, "-n", 8)
        self.assertEqual(terminal.finish(), 0)
        self.assertIn("Paris", terminal.screen)
        last = terminal.screen.strip().splitlines()[-1]
        self.assertRegex(last, r"tokens/s")
        self.assertRegex(last, r"GB/s")

    def test_loading_shows_a_bar_that_moves_evenly_and_goes(self):
        terminal = Terminal("run", "-m", support.GEMMA3, "--raw", "-p", "Hello", "--temp", 0, "-n", 1)
        self.assertEqual(terminal.finish(), 0)
        percents = [int(p) for p in re.findall(r"loading gemma\S* \[[#.]{30}\] +(\d+) %", terminal.screen)]
        self.assertEqual(percents, sorted(percents))
        self.assertEqual(percents[-1], 100)
        # Two thirds of this file are one matrix.
        self.assertLessEqual(max(b - a for a, b in zip([0, *percents], percents)), 20)
        last_bar = terminal.screen.rindex("100 %")
        self.assertIn("\r\x1b[K", terminal.screen[last_bar:])

    def test_ctrl_c_ends_it(self):
        terminal = Terminal("run", "-m", support.SMOLLM2, "--raw", "-p", "Count: 1, 2, 3,", "--temp", 0)
        terminal.wait_for(r"\d, \d")
        terminal.send("\x03")
        self.assertIn(terminal.finish(), (0, 1, 130, -signal.SIGINT))


class Batch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.requests = os.path.join(folder.name, "requests.jsonl")
        self.answers = os.path.join(folder.name, "answers.jsonl")

    def write(self, *lines):
        with open(self.requests, "w", encoding="utf-8") as file:
            file.writelines(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)

    def run_batch(self, *options):
        terminal = Terminal("run", "-m", support.SMOLLM2, "--batch", self.requests, "-o", self.answers, *options)
        return terminal, terminal.finish()

    def read(self):
        with open(self.answers, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def test_answers_are_those_that_run_gives_one_by_one(self):
        prompts = [f"Name {n} animals." for n in range(2, 8)]
        self.write(*({"custom_id": f"id {i}", "method": "POST", "url": "/v1/chat/completions",
                      "body": {"messages": [{"role": "user", "content": prompt}], "seed": i, "max_tokens": 4 + 3 * i}}
                     for i, prompt in enumerate(prompts)))
        terminal, code = self.run_batch("--temp", 1.5)
        self.assertEqual(code, 0, terminal.screen)
        self.assertRegex(terminal.screen, r"6 answers in \d")
        answers = self.read()
        self.assertEqual([a["custom_id"] for a in answers], [f"id {i}" for i in range(6)])
        for i, (prompt, answer) in enumerate(zip(prompts, answers)):
            alone = support.octavo_ok("run", "-m", support.SMOLLM2, "--temp", 1.5, "--seed", i, "-n", 4 + 3 * i, "--json",
                                      "-p", prompt)
            text = answer["response"]["body"]["choices"][0]["message"]["content"]
            self.assertEqual(text, json.loads(alone)["text"])

    def test_a_wrong_line_fails_alone_and_ctrl_c_stops_between_lines_and_resume_goes_on(self):
        self.write("no JSON\n", *({"custom_id": str(i), "prompt": "Count: 1, 2, 3,", "max_tokens": 20 if i < 40 else 400}
                                 for i in range(44)))
        terminal = Terminal("run", "-m", support.SMOLLM2, "--batch", self.requests, "-o", self.answers, "--temp", 0)
        terminal.wait_for(r"\d+ answers, \d+ %, [\d.]+/s, \d+ tokens/s, \d+:\d\d left")
        terminal.wait_for(r"[234]\d answers")
        terminal.send("\x03")
        self.assertEqual(terminal.finish(), 130)
        stopped = int(re.search(r"stopped behind line (\d+), --resume goes on", terminal.screen).group(1))
        self.assertEqual([a["line"] for a in self.read()], list(range(1, stopped + 1)))
        terminal, code = self.run_batch()
        self.assertEqual(code, 1)
        self.assertIn("--resume goes on where it ends", terminal.screen)
        terminal, code = self.run_batch("--temp", 0, "--resume")
        self.assertEqual([a["line"] for a in self.read()], list(range(1, 46)))
        self.assertEqual([a["custom_id"] for a in self.read() if a["error"]], [None])


if __name__ == "__main__":
    unittest.main()
