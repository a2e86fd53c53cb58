#!/usr/bin/env python3
"""Clients that mean harm, all at once: what docs/reliability.md lists that a stranger could do to a server.

    hostile_clients.py HOST PORT SECONDS [KEY...]

Each attack runs in a loop until the time is over, with the given API keys in turn, on bodies made once. At the end it
prints one JSON object: attack -> status (or "closed" where the server ended the connection) -> how often. A server is
judged by what its other clients got meanwhile (test_server_hostile.py), not by these figures.
"""
import asyncio
import collections
import itertools
import json
import sys
import time

MIB = 1 << 20
LONG_TEXT = "the quick brown fox jumps over the lazy dog " * (7 * MIB // 44)
PACE_S = 0.05  # between two tries of one attacker: the attackers' own work must not be what slows the server


def http(path, body, key=None, version="1.1", headers=""):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    authorization = f"Authorization: Bearer {key}\r\n" if key else ""
    head = (f"POST {path} HTTP/{version}\r\nHost: localhost\r\nContent-Type: application/json\r\n{authorization}{headers}"
            f"Content-Length: {len(body)}\r\n\r\n")
    return head.encode() + body


class Attackers:
    def __init__(self, host, port, seconds, keys):
        self.host, self.port, self.end = host, port, time.monotonic() + seconds
        self.keys = itertools.cycle(keys or [None])
        self.counts = collections.defaultdict(collections.Counter)

    async def send(self, name, request, slowly=None, read=True):
        """Sends, reads the answer's status and then the rest: as fast as it comes, or `slowly` (bytes, seconds)."""
        try:
            reader, writer = await asyncio.open_connection(self.host, self.port, limit=256)
            try:
                writer.write(request)
                await writer.drain()
                if not read:
                    await asyncio.sleep(10)
                    return
                status = (await reader.readline()).split()
                self.counts[name][status[1].decode() if len(status) > 1 else "closed"] += 1
                size, pause = slowly or (1 << 16, 0)
                while time.monotonic() < self.end and await reader.read(size):
                    await asyncio.sleep(pause)
            finally:
                writer.close()
        except (OSError, ValueError):
            self.counts[name]["closed"] += 1

    async def repeat(self, name, make, **kwargs):
        while time.monotonic() < self.end:
            await self.send(name, make(next(self.keys)), **kwargs)
            await asyncio.sleep(PACE_S)

    def attacks(self):
        """(name, request of a key, how it is sent, how many at a time)"""
        def fixed(path, body):
            body = json.dumps(body).encode()
            return lambda key: http(path, body, key)

        keys = json.dumps({f"{i:012x}": 0 for i in range(300_000)})
        many_keys = f'{{"prompt": "a", "unknown": {keys}}}'.encode()
        prompts = [f"a{i}" for i in range(1024)]
        slow = {"slowly": (1, 29)}
        yield "1 an object of 300,000 keys", lambda key: http("/v1/completions", many_keys, key), {}, 2
        yield ("2 a cache_salt of 7 MiB for 1,024 prompts",
               fixed("/v1/completions", {"prompt": prompts, "max_tokens": 1, "cache_salt": "s" * (7 * MIB)}), {}, 2)
        yield "3 a long answer of /tokenize, not read", fixed("/tokenize", {"prompt": LONG_TEXT}), slow, 8
        yield ("3 a long answer of /detokenize, not read",
               fixed("/detokenize", {"tokens": [28] * 1_000_000}), slow, 8)
        yield ("4 long prompts with 128 choices each",
               fixed("/v1/completions", {"prompt": ["w " * 2000] * 8, "n": 128, "max_tokens": 2000, "stream": True}),
               {}, 8)
        yield ("5 bodies that never end, without a key",
               lambda key: http("/v1/completions", b"x" * (7 * MIB), None, headers="X-A: b\r\n")[:-1], {"read": False}, 16)
        yield ("5 bodies that never end, with a key",
               lambda key: http("/v1/completions", b" " * (7 * MIB), key)[:-1], {"read": False}, 16)
        yield ("5 requests sent behind one another, answers not read",
               lambda key: http("/v1/completions", {"prompt": "a", "max_tokens": 1000, "ignore_eos": True}, key)
               + http("/v1/completions", b" " * (7 * MIB), key), slow, 16)
        yield "6 a text that cannot fit", fixed("/v1/completions", {"prompt": LONG_TEXT, "max_tokens": 1}), {}, 4
        yield ("6 one word of 7 MiB", fixed("/v1/completions", {"prompt": "a" * (7 * MIB), "max_tokens": 1}), {}, 4)
        yield ("7 an echo of 4 MiB with log-probabilities",
               fixed("/v1/completions", {"prompt": ["a b c d e f g h " * 256] * 1000, "echo": True, "logprobs": 20,
                                         "max_tokens": 0}), {}, 2)
        yield ("8 another host's name",
               lambda key: http("/v1/completions", {"prompt": "a"}, key).replace(b"localhost", b"evil.example"), {}, 1)
        yield ("10 a head start of hours",
               fixed("/v1/completions", {"prompt": "a", "n": 128, "priority": -1000, "max_tokens": 2000,
                                         "ignore_eos": True, "stream": True}), {}, 4)
        yield ("10 every place",
               fixed("/v1/completions", {"prompt": "a", "n": 128, "max_tokens": 2000, "ignore_eos": True,
                                         "stream": True}), {}, 4)
        yield ("11 whole answers, read a byte in 29 s",
               fixed("/v1/completions", {"prompt": "a", "n": 16, "max_tokens": 200, "logprobs": 20,
                                         "ignore_eos": True}), slow, 16)
        yield ("12 a head and one byte of a body",
               lambda key: b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx",
               {"read": False}, 64)
        yield ("12 what needs no key, not read",
               lambda key: b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50, slow, 32)
        yield ("13 many unknown tools, not read",
               fixed("/v1/responses", {"input": "a", "max_output_tokens": 1, "stream": True,
                                       "tools": [{"type": "web_search"}] * 50_000}), slow, 8)
        yield ("13 echoes of many choices, not read",
               fixed("/v1/completions", {"prompt": "w " * 2000, "echo": True, "n": 128, "max_tokens": 1,
                                         "stream": True}), slow, 8)

    async def run(self):
        tasks = [asyncio.create_task(self.repeat(name, make, **how))
                 for name, make, how, number in self.attacks() for _ in range(number)]
        await asyncio.wait(tasks, timeout=max(0.0, self.end - time.monotonic()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return {name: dict(count) for name, count in sorted(self.counts.items())}


def main():
    host, port, seconds, *keys = sys.argv[1:]
    print(json.dumps(asyncio.run(Attackers(host, int(port), float(seconds), keys).run()), indent=1))


if __name__ == "__main__":
    main()
