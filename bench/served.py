"""A server of this machine that a bench starts, looks at and ends."""
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import time

START_S = 120
MIB = 1 << 20


def post_bytes(path, body):
    """A whole request; a body that is no bytes is sent as JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body


class Server:
    """`octavo serve` with these arguments on a free port of 127.0.0.1; a context manager, which kills it at the end.

    `under`: a program with its arguments that runs it, such as valgrind. `start_s`: the most time until it is ready.
    """

    def __init__(self, program, *args, env=None, wait_ready=True, under=(), start_s=START_S):
        self.log = tempfile.TemporaryFile("w+")
        command = [*under, str(program), "serve", "--port", "0", *map(str, args)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.log,
                                        env={**os.environ, **(env or {})})
        self.port = None
        if wait_ready:
            self.wait_for(r"ready at \S+", start_s)
            self.port = self.find_port()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.log.close()

    def messages(self):
        return os.pread(self.log.fileno(), MIB, 0).decode(errors="replace")

    def wait_for(self, pattern, timeout=START_S):
        end = time.monotonic() + timeout
        while not re.search(pattern, self.messages()):
            if self.process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"no line '{pattern}' from the server ({self.process.poll()}):\n{self.messages()}")
            time.sleep(0.01)

    def find_port(self):
        """None before it listens."""
        found = re.search(r"listening at \S+:(\d+)", self.messages())
        return int(found.group(1)) if found else None

    def connect(self, address="127.0.0.1", timeout=30):
        """From an address of this machine: without keys, clients are told apart by it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout, source_address=(address, 0))

    def ask(self, path, body, address="127.0.0.1", timeout=30):
        """(status, the answer's JSON or None). Status 0: there was no whole answer."""
        with contextlib.closing(self.connect(address, timeout)) as client:
            try:
                client.sendall(post_bytes(path, body) if body is not None else
                               f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                return read_answer(client)
            except OSError:
                return 0, None

    def is_alive(self):
        return self.process.poll() is None

    def status_mib(self, name):
        """A line of /proc/PID/status, as VmRSS and VmHWM."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"^{name}:\s+(\d+) kB$", text, re.MULTILINE).group(1)) / 1024

    def reset_peak(self):
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def processor_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)


def read_answer(client):
    """(status, JSON or None) of an answer with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        if not (more := client.recv(1 << 16)):
            return 0, None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    length = re.search(rb"content-length: (\d+)", head.lower())
    parts, missing = [body], int(length.group(1)) - len(body) if length else 0
    while missing > 0:
        if not (more := client.recv(1 << 16)):
            return 0, None
        parts.append(more)
        missing -= len(more)
    with contextlib.suppress(ValueError):
        return status, json.loads(b"".join(parts))
    return status, None


def default_model():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache",
                        "octavo", "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
