"""A server under test: started on a free port, stopped at the end; plain HTTP and server-sent events from it."""
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from concurrent import futures

import support

# Its prompts end behind <think>, unless enable_thinking is false.
THINKING_TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "<|im_start|>assistant\n{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
    "{% else %}<think>\n{% endif %}")


def hermes_call(name, arguments):
    """A call of a tool as models of the Hermes family write it."""
    return f'<tool_call>\n{json.dumps({"name": name, "arguments": arguments})}\n</tool_call>'


def noise():
    """A model of random weights with the words of SmolLM2 and as much context, for tests that script what it says, or
    where any text will do: a token costs a tenth."""
    return support.tiny_model("tiny-llama-8k")


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Server:
    """`octavo serve` with these arguments; a context manager."""

    def __init__(self, *args, model=support.SMOLLM2, wait_ready=True, env=None, start_new_session=False):
        self.log = tempfile.TemporaryFile("w+")
        self.access = tempfile.TemporaryFile("w+")
        own_port = () if "--port" in args else ("--port", "0")
        command = [support.OCTAVO, "serve", "-m", str(model), *own_port, *map(str, args)]
        self.process = subprocess.Popen(command, stdout=self.access, stderr=self.log, env={**os.environ, **(env or {})},
                                        start_new_session=start_new_session)
        self.url = self.wait_for_line(r"listening at (\S+)")
        self.host, self.port = re.match(r"https?://(.*):(\d+)$", self.url).groups()
        self.port = int(self.port)
        if wait_ready:
            self.wait_for_line(r"ready at (\S+)")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()
        self.access.close()

    def messages(self):
        return os.pread(self.log.fileno(), 1 << 20, 0).decode()

    def access_log(self, num_lines=0):
        """What is written, once it is so many lines: they are written behind the answers."""
        def lines():
            text = os.pread(self.access.fileno(), 1 << 24, 0).decode()
            return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()]
        self.wait_until(lambda: len(lines()) >= num_lines)
        return lines()

    def wait_for_line(self, pattern, timeout=support.TIMEOUT_S):
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if match := re.search(pattern, self.messages()):
                return match.group(1)
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        code = self.process.poll()
        raise AssertionError(f"no line '{pattern}' from the server (exit code {code}):\n{self.messages()}")

    def stop(self, timeout=60):
        """SIGTERM, then its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout)

    def request(self, method, path, body=None, headers=None, timeout=support.TIMEOUT_S):
        """(status, headers, body as text); a body that is no string is sent as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        connection = http.client.HTTPConnection(self.host, self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            return response.status, response.headers, response.read().decode()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def post(self, path, body, **kwargs):
        """The answer's JSON; it must be a 200."""
        status, _, text = self.request("POST", path, body, **kwargs)
        if status != 200:
            raise AssertionError(f"{path}: status {status}: {text[:500]}")
        return json.loads(text)

    def complete(self, prompt, **fields):
        return self.post("/v1/completions", {"prompt": prompt, "temperature": 0, **fields})

    def stream(self, prompt, **fields):
        """The chunks of a streamed completion as they come."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=support.TIMEOUT_S)
        with contextlib.closing(connection):
            body = json.dumps({"prompt": prompt, "temperature": 0, "stream": True, **fields})
            connection.request("POST", "/v1/completions", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            if response.status != 200:
                raise AssertionError(f"status {response.status}: {response.read().decode()[:500]}")
            for line in response:
                if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                    yield json.loads(line[6:])

    def open_stream(self, prompt, address=None, **fields):
        """A socket on which a streamed completion was asked for, from an address of this machine; nothing was read."""
        body = json.dumps({"prompt": prompt, "temperature": 0, "stream": True, "ignore_eos": True, **fields}).encode()
        client = socket.create_connection((self.host, self.port), source_address=address and (address, 0))
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return client

    def metrics(self):
        """Name (with labels, except the model's) -> value."""
        status, _, text = self.get("/metrics")
        if status != 200:
            raise AssertionError(f"/metrics: status {status}")
        values = {}
        for line in text.splitlines():
            if not line.startswith("#") and line:
                name, value = line.rsplit(" ", 1)
                name = re.sub(r'model_name="[^"]*",?', "", name).replace("{}", "").replace(",}", "}")
                values[name] = float(value)
        return values

    def metric(self, name):
        return self.metrics()[f"octavo:{name}"]

    def wait_until(self, condition, timeout=support.TIMEOUT_S):
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"waited {timeout} s in vain; metrics: {self.metrics()}")
            time.sleep(0.01)

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


def in_threads(function, arguments):
    """Results of the calls, made at the same time, in order."""
    results = [None] * len(arguments)

    def call(i):
        results[i] = function(arguments[i])

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(arguments))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class RecordedResult(unittest.TestResult):
    """What a result is told, in order; `replay` tells it to another."""

    CALLS = ("startTest", "addSuccess", "addFailure", "addError", "addSkip", "addSubTest", "addExpectedFailure",
             "addUnexpectedSuccess", "stopTest")

    def __init__(self):
        super().__init__()
        self.told = []
        for name in self.CALLS:
            setattr(self, name, lambda *args, name=name: self.told.append((name, args)))

    def replay(self, result):
        for name, args in self.told:
            getattr(result, name)(*args)


class SideBySide(unittest.TestSuite):
    """Tests that wait for most of their time, each in a thread of its own. Their classes have no fixtures."""

    def run(self, result, debug=False):
        def run_one(test):
            recorded = RecordedResult()
            test.run(recorded)
            return recorded

        with futures.ThreadPoolExecutor(len(self._tests)) as threads:
            for recorded in threads.map(run_one, self):
                recorded.replay(result)
        return result

    @classmethod
    def of(cls, tests):
        """The cases of a suite, however deep."""
        return cls(case for suite in tests for case in (cls.of(suite) if isinstance(suite, unittest.TestSuite) else (suite,)))
