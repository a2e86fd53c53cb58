"""The program in a terminal: chat with history, Ctrl-C and its commands, and the line that `run` ends with."""
import os
import pty
import re
import select
import signal
import termios
import time
import unittest

import support

PATIENCE_S = 120 if support.SANITIZED else 30


class Terminal:
    """A program in a pseudo-terminal of its own. Everything it writes is kept in `screen`."""

    def __init__(self, *args):
        self.screen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(support.OCTAVO, [support.OCTAVO, *map(str, args)])

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


class Chat(unittest.TestCase):
    def start(self, *args):
        terminal = Terminal("chat", "-m", support.SMOLLM2, *args)
        return terminal, self.prompt(terminal)

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
            answers.append(terminal.screen[at:end])
            at = end
        self.assertEqual(answers[0], answers[3])  # nothing of the first two turns is left
        terminal.send("/quit\r")
        self.assertEqual(terminal.finish(), 0)

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


class Help(unittest.TestCase):
    def test_the_program_alone_fits_a_terminal(self):
        terminal = Terminal()
        self.assertEqual(terminal.finish(), 2)
        lines = terminal.screen.splitlines()
        self.assertLess(len(lines), 25)
        self.assertLessEqual(max(map(len, lines)), 80)
        self.assertIn("octavo run", terminal.screen)


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


if __name__ == "__main__":
    unittest.main()
