"""Clients that mean harm cost those that do not nothing but time: hostile_clients.py tries all that it knows at once,
while eight others get every answer, each the one that they get alone, from a server within its memory.

OCTAVO_HOSTILE_SECONDS says for how long (20 unless told); the longest silence is printed, and decides nothing."""
import http.client
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support
from server_support import Server

SECONDS = float(os.environ.get("OCTAVO_HOSTILE_SECONDS", "20"))
MEMORY_LIMIT = 2 << 30
MAX_CONNECTIONS = 200  # fewer than the attackers ask for
NUM_CLIENTS = 8
GOOD_KEYS = [f"a-well-behaved-client-{i}" for i in range(NUM_CLIENTS)]
BAD_KEYS = ["a-hostile-client-with-a-key-0", "a-hostile-client-with-a-key-1"]


def memory_cgroup(pid):
    """Puts a process under the limit where this system lets us; else only its peak is looked at."""
    for root, name in (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max")):
        group = pathlib.Path(root, f"octavo_hostile_{os.getpid()}")
        try:
            group.mkdir()
            (group / name).write_text(str(MEMORY_LIMIT), encoding="ascii")
            (group / "cgroup.procs").write_text(str(pid), encoding="ascii")
            return group
        except OSError:
            if group.exists():
                group.rmdir()
    return None


class Client:
    """Asks again and again, as a stream; every answer must be the one that its first question got."""

    def __init__(self, server, key, question):
        self.server, self.key, self.question = server, key, question
        self.answers, self.longest_silence_s, self.longest_wait_s = [], 0.0, 0.0
        self.error = None

    def ask(self):
        connection = http.client.HTTPConnection(self.server.host, self.server.port, timeout=support.TIMEOUT_S)
        body = {"messages": [{"role": "user", "content": self.question}], "temperature": 0, "max_tokens": 48,
                "stream": True}
        begin = last = time.monotonic()
        connection.request("POST", "/v1/chat/completions", json.dumps(body),
                           {"Content-Type": "application/json", "Authorization": f"Bearer {self.key}"})
        response = connection.getresponse()
        if response.status != 200:
            raise AssertionError(f"status {response.status}: {response.read()[:300]}")
        text, ended, first = "", False, True
        for line in response:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                ended = True
                break
            event = json.loads(line[6:])
            if "error" in event:
                raise AssertionError(event)
            piece = "".join(choice["delta"].get("content") or "" for choice in event["choices"])
            now = time.monotonic()
            if piece and first:
                self.longest_wait_s = max(self.longest_wait_s, now - begin)
            elif piece:
                self.longest_silence_s = max(self.longest_silence_s, now - last)
            if piece:
                first, last = False, now
            text += piece
        connection.close()
        if not ended:
            raise AssertionError(f"the stream ended early, after: {text}")
        self.answers.append(text)

    def run(self, end):
        try:
            while time.monotonic() < end:
                self.ask()
        except Exception as error:  # pylint: disable=broad-except  # whatever it is, the test says it
            self.error = error


class HostileClients(unittest.TestCase):
    def test_others_get_every_answer_and_memory_holds(self):
        with tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            keys.write("\n".join(GOOD_KEYS + BAD_KEYS) + "\n")
            keys.flush()
            with Server("--api-key-file", keys.name, "--kv-memory", "512MiB", "--access-log", "off",
                        "--max-connections", str(MAX_CONNECTIONS)) as server:
                group = memory_cgroup(server.process.pid)
                try:
                    self.attack(server)
                finally:
                    server.process.kill()
                    server.process.wait()
                    if group:
                        group.rmdir()

    def attack(self, server):
        clients = [Client(server, key, f"Tell me something about the number {i}.") for i, key in enumerate(GOOD_KEYS)]
        for client in clients:
            client.ask()  # alone: what it must get again
            client.longest_silence_s = client.longest_wait_s = 0.0
        script = pathlib.Path(__file__).with_name("hostile_clients.py")
        with subprocess.Popen([sys.executable, script, server.host, str(server.port), str(SECONDS), *BAD_KEYS],
                              stdout=subprocess.PIPE, text=True) as attackers:
            end = time.monotonic() + SECONDS
            threads = [threading.Thread(target=client.run, args=(end,)) for client in clients]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            attacks = json.loads(attackers.communicate()[0])
        peak = peak_bytes(server.process.pid)
        print(json.dumps(attacks, indent=1))
        print(f"answers: {sum(len(c.answers) - 1 for c in clients)}; longest silence "
              f"{max(c.longest_silence_s for c in clients):.3f} s, longest wait for a first token "
              f"{max(c.longest_wait_s for c in clients):.2f} s; the server's peak: {peak / 2**20:.0f} MiB")
        for client in clients:
            self.assertIsNone(client.error)
            self.assertGreater(len(client.answers), 1)
            self.assertEqual(set(client.answers), {client.answers[0]})
        self.assertIsNone(server.process.poll())
        self.assertLess(peak, MEMORY_LIMIT)
        for name in {name for name, counts in attacks.items() if name[0] in "1267" and name[1] == " "}:
            self.assertFalse({status for status in attacks[name] if status not in ("400", "413", "429", "503", "closed")},
                             f"{name}: {attacks[name]}")
        status, _, _ = server.get("/health")
        self.assertEqual(status, 200)


def peak_bytes(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) * 1024 for line in text.splitlines() if line.startswith("VmHWM:"))


if __name__ == "__main__":
    unittest.main()
