#!/usr/bin/env python3
"""Two models in one server, many clients each, and memory for some of them: what its clients see.

    two_models.py FILE FILE [--octavo build/release/octavo] [--clients 16] [--rounds 3] [--tokens 64] [--fits 1.5]
                  [--kv-mib 64] [--model-turn SECONDS]

Every client asks one model for answers, one behind the other, streamed. Both models' clients begin at once. --fits is
the memory that the server is given, in models: at 1.5 it is three quarters of what both take with their KV memory, so
that they take turns; at 3 both stay. Each model's answers are first asked for alone; every answer must be the same then.

Prints one JSON line a model: requests, answers that differ, errors, loads, time to first token (in which is the wait
for the model), the time between tokens, in ms. The server's target is its default, 50 ms. Needs: aiohttp (on PyPI).
"""
import argparse
import asyncio
import json
import pathlib
import re
import subprocess
import time
import types
import urllib.request

import aiohttp

import load

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Server:
    """`octavo serve` on a free port; a context manager."""

    def __init__(self, octavo, *args):
        # What it says later fits the pipe: a line a model that cannot be loaded.
        self.process = subprocess.Popen([octavo, "serve", "--port", "0", *map(str, args)], stderr=subprocess.PIPE,
                                        stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            if match := re.search(r"ready at (\S+)", line):
                self.url = match.group(1)
                return
        raise RuntimeError(f"the server did not start: exit code {self.process.wait()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()

    def page(self, path):
        with urllib.request.urlopen(f"{self.url}{path}") as page:
            return page.read().decode()

    def loads(self):
        """How often each model was loaded, in the order of -m."""
        counts = dict(re.findall(r'^octavo:model_loads_total\{model_name="([^"]+)"\} (\S+)', self.page("/metrics"), re.M))
        return [int(float(counts[model["id"]])) for model in json.loads(self.page("/v1/models"))["data"]]


def prompts(a):
    """What each client asks, one list a client: the same for both models."""
    return [[f"{client}. Tell me a long story about {round_}, {load.WORDS[3 * client + round_]} and the sea."
             for round_ in range(a.rounds)] for client in range(a.clients)]


async def talk(client, questions, a):
    return [await client.ask(question, a.tokens) for question in questions]


async def ask_all(url, models, a):
    """{model: (client, answers[client][round])}, of all models at once."""
    timeout = aiohttp.ClientTimeout(total=900)
    connector = aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        clients = {model: load.Client(session, types.SimpleNamespace(url=url, model=model)) for model in models}
        talks = {model: [talk(clients[model], questions, a) for questions in prompts(a)] for model in models}
        answers = await asyncio.gather(*(asyncio.gather(*of_model) for of_model in talks.values()))
    return {model: (clients[model], told) for model, told in zip(models, answers)}


def run(a):
    files = {file.stem: file for file in a.files}
    kv = ("--kv-memory", f"{a.kv_mib}MiB", "--max-context", 1024)
    alone = {}
    for model, file in files.items():
        with Server(a.octavo, "-m", file, *kv) as server:
            alone[model] = asyncio.run(ask_all(server.url, [model], a))[model][1]
    mean = sum(file.stat().st_size for file in a.files) / 2 + (a.kv_mib << 20)
    turn = () if a.model_turn is None else ("--model-turn", a.model_turn)
    sources = [word for file in a.files for word in ("-m", file)]
    with Server(a.octavo, *sources, *kv, "--models-memory", int(a.fits * mean), *turn) as server:
        begin = time.perf_counter()
        together = asyncio.run(ask_all(server.url, list(files), a))
        wall, loads = time.perf_counter() - begin, server.loads()
    for (model, (client, answers)), num_loads in zip(together.items(), loads):
        differ = sum(one != other for mine, theirs in zip(answers, alone[model]) for one, other in zip(mine, theirs))
        print(json.dumps({"model": model, "requests": a.clients * a.rounds, "differ": differ,
                          "errors": len(client.errors), "loads": num_loads, "wall_s": round(wall, 1),
                          "ttft_ms": load.stats(client.ttft), "gap_ms": load.stats(client.gaps),
                          **({"first_error": client.errors[0]} if client.errors else {})}))


if __name__ == "__main__":
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs=2, type=lambda path: pathlib.Path(path).resolve())
    ap.add_argument("--octavo", default=ROOT / "build/release/octavo")
    ap.add_argument("--clients", type=int, default=16)
    ap.add_argument("--rounds", type=int, default=3)
    ap.add_argument("--tokens", type=int, default=64)
    ap.add_argument("--fits", type=float, default=1.5)
    ap.add_argument("--kv-mib", type=int, default=64)
    ap.add_argument("--model-turn", type=float)
    run(ap.parse_args())
