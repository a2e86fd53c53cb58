"""A server of one model for a tool's questions: Octavo's or llama.cpp's, which take the same ones.

    with ModelServer([octavo, "serve", "-m", path]) as server:
        server.load_s                  from its start until it is ready
        server.post("/tokenize", {"content": "Hello"})
"""
import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

LOAD_TIMEOUT_S = 1800  # a large file from a slow disk
ANSWER_TIMEOUT_S = 1800
STOP_TIMEOUT_S = 30
POLL_S = 0.1


class Failure(Exception):
    """A program's own words, in one line: why a model cannot be checked."""


def last_words(text):
    """The last line that says something, without the program's name in front of it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1].removeprefix("octavo: ") if lines else "it said nothing"


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class ModelServer:
    """A context manager. `command` gets --host and --port."""

    def __init__(self, command):
        self.port = free_port()
        self.command = [*map(str, command), "--host", "127.0.0.1", "--port", str(self.port)]

    def __enter__(self):
        begin = time.monotonic()
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            while not self.is_ready():
                if self.process.poll() is not None:
                    raise Failure(f"exit code {self.process.returncode}: {self.last_words()}")
                if time.monotonic() - begin > LOAD_TIMEOUT_S:
                    raise Failure(f"not ready after {LOAD_TIMEOUT_S} s: {self.last_words()}")
                time.sleep(POLL_S)
        except BaseException:
            self.__exit__()
            raise
        self.load_s = time.monotonic() - begin
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def last_words(self):
        return last_words(os.pread(self.log.fileno(), 1 << 20, 0).decode(errors="replace"))

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.url("/health"), timeout=5) as answer:
                return answer.status == 200
        except OSError:  # not listening yet, or 503 while it loads
            return False

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path):
        """The answer's JSON; a Failure with the server's words if there is none."""
        return self.answer_to(path, urllib.request.Request(self.url(path)))

    def post(self, path, body):
        """The same of a request with a body."""
        return self.answer_to(path, urllib.request.Request(self.url(path), json.dumps(body).encode(),
                                                           {"Content-Type": "application/json"}))

    def answer_to(self, path, request):
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise Failure(f"{path}: {error.code}: {error.read().decode(errors='replace')[:300]}") from None
        except (OSError, ValueError) as error:
            code = self.process.poll()
            died = "" if code is None else f", exit code {code}: {self.last_words()}"
            raise Failure(f"{path}: {error}{died}") from None
