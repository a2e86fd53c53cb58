#!/usr/bin/env python3
"""What one client's stream feels of each attack on its server, and what the server's memory does.

    attacks.py --program build/release/octavo [-m MODEL.gguf] [--rows WORDS] [--seconds 8] [--list]

Each row of ATTACKS gets a server of its own on a free port of 127.0.0.1. A victim, which is another client (another
address) in a process of its own, reads a stream of tokens, one after another, and asks for the tokens of 18 bytes ten
times a second. Once its stream runs, the attack begins and lasts for --seconds. The table has, of that time:

  the longest silence between two tokens of a stream, also as a multiple of the target of 50 ms, and tokens a second;
  the longest wait for a stream's first token, and for the 18 bytes' tokens;
  the most memory above what the server had before (VmHWM and VmRSS of /proc);
  the answers that the attacker got: "as expected", or those that were not.

The goals: a silence of at most 4 targets, at most 400 MiB more memory. A new attack is a row. Nothing is sent to
another machine, and a row ends by itself. --rows takes those whose name has one of the words, as "--rows mask,slow".
"""
import argparse
import collections
import contextlib
import dataclasses
import itertools
import json
import multiprocessing
import os
import pathlib
import resource
import socket
import tempfile
import threading
import time
import typing

import served

TARGET_S = 0.05
ATTACKER = "127.0.0.2"
GRACE_S = 0.5    # behind the attack, still counted
PATIENCE_S = 30  # of the victim, with one answer
MAX_REQUESTS = 2000  # of one row
MIB = served.MIB


# The victim, in a process of its own: what it measures must not wait for the attackers' Python.

def watch_streams(server_port, model, max_tokens, tokens, first_waits, ended):
    prompt = "The quick brown fox"
    body = {"prompt": prompt, "max_tokens": max_tokens, "stream": True, "ignore_eos": True, "model": model}
    if model is None:
        del body["model"]
    request = served.post_bytes("/v1/completions", body)
    stream = 0
    while not ended.is_set():
        stream += 1
        begin, last = time.monotonic(), None
        try:
            with socket.create_connection(("127.0.0.1", server_port), PATIENCE_S) as client:
                client.sendall(request)
                for line in client.makefile("rb"):
                    now = time.monotonic()
                    if not line.startswith(b"data: {") or ended.is_set():
                        if ended.is_set() or line.startswith(b"data: [DONE]"):
                            break
                        continue
                    if last is None:
                        first_waits.append((now, now - begin))
                    last = now
                    tokens.append((stream, now))
        except OSError:
            pass
        if last is None:
            first_waits.append((time.monotonic(), time.monotonic() - begin))
            time.sleep(0.1)


def watch_texts(server_port, waits, ended):
    request = served.post_bytes("/tokenize", {"prompt": "eighteen bytes txt"})
    while not ended.wait(0.1):
        begin = time.monotonic()
        with contextlib.suppress(OSError):
            with socket.create_connection(("127.0.0.1", server_port), PATIENCE_S) as client:
                client.sendall(request)
                client.recv(1 << 16)
        waits.append((time.monotonic(), time.monotonic() - begin))


def victim(server_port, model, max_tokens, begun, ended, results):
    tokens, first_waits, text_waits = [], [], []
    threads = [threading.Thread(target=watch_streams, daemon=True,
                                args=(server_port, model, max_tokens, tokens, first_waits, ended)),
               threading.Thread(target=watch_texts, args=(server_port, text_waits, ended), daemon=True)]
    for thread in threads:
        thread.start()
    while len(tokens) < 20 and not ended.is_set():
        time.sleep(0.05)
    begun.set()
    ended.wait()
    time.sleep(0.2)  # what waits still is not waited for: it counts as it stands
    results.put({"tokens": list(tokens), "first": list(first_waits), "texts": list(text_waits),
                 "end": time.monotonic()})


def felt(result, begin, end):
    """Between two times: longest silence, tokens a second, longest waits for a first token and for a text's tokens."""
    silence = 0.0
    for (stream, a), (other, b) in itertools.pairwise(result["tokens"]):
        if stream == other and b >= begin and a <= end:
            silence = max(silence, b - a)
    last = result["tokens"][-1][1] if result["tokens"] else begin
    silence = max(silence, end - last)  # a stream that has not gone on by then
    inside = sum(begin <= at <= end for _, at in result["tokens"])
    waits = [max((wait for at, wait in result[name] if begin <= at), default=0.0) for name in ("first", "texts")]
    return silence, inside / (end - begin), *waits


# The attackers.

class Answers:
    """Statuses by number, from many threads. "open": the attack was over first."""

    def __init__(self):
        self.counts, self.lock = collections.Counter(), threading.Lock()

    def add(self, what):
        with self.lock:
            self.counts[what] += 1


class Attack(threading.Thread):
    """One connection after another that sends these requests in turn, until the time is over."""

    def __init__(self, server, requests, end, answers, limit, address, hang_up_s):
        super().__init__(daemon=True)
        self.server, self.requests, self.end, self.answers = server, requests, end, answers
        self.limit, self.address, self.hang_up_s = limit, address, hang_up_s

    def run(self):
        for _ in range(self.limit):
            if time.monotonic() >= self.end or (request := next(self.requests, None)) is None:
                return
            try:
                self.answers.add(self.ask(request))
            except TimeoutError:
                self.answers.add("open")
            except OSError:
                self.answers.add("closed")
            time.sleep(0.01)

    def ask(self, request):
        left = max(0.1, self.end - time.monotonic())
        with contextlib.closing(self.server.connect(self.address, left)) as client:
            client.sendall(request)
            if self.hang_up_s is not None:
                time.sleep(self.hang_up_s)
                return "left"
            status, error = 0, b""
            for line in client.makefile("rb"):
                if not status:
                    status = int(line.split()[1])
                if b'"error":{' in line and status == 200:
                    error = b", then an error"
                if time.monotonic() > self.end:
                    return "open"
                client.settimeout(max(0.1, self.end - time.monotonic()))
            return f"{status}{error.decode()}" if status else "closed"


class Turns:
    """An iterator that threads share."""

    def __init__(self, values):
        self.values, self.lock = iter(values), threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.values)


def flood(bodies, path="/v1/completions", at_once=4, addresses=1, hang_up_s=None):
    """Sends these bodies (a function makes them) again and again, so many at once."""
    def attack(server, end, answers):
        made = [served.post_bytes(path, body) for body in bodies()]
        requests = Turns(itertools.islice(itertools.cycle(made), MAX_REQUESTS))
        threads = [Attack(server, requests, end, answers, MAX_REQUESTS, f"127.0.0.{2 + i % addresses}", hang_up_s)
                   for i in range(at_once)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()) + 1)
    return attack


def completions(*fields, **same):
    """Bodies with these fields each, which all else is the same of."""
    return lambda: [{"prompt": "a", "max_tokens": 200, "stream": True, "ignore_eos": True, **same, **one}
                    for one in fields]


def chat(**fields):
    return {"messages": [{"role": "user", "content": "a"}], "max_tokens": 2, **fields}


def regexes(*patterns):
    return completions(*({"guided_regex": pattern} for pattern in patterns))


def grammars(*texts):
    return completions(*({"grammar": text} for text in texts))


def schemas(*values):
    return completions(*({"guided_json": value} for value in values))


def varied(pattern, count=32):
    """Patterns that differ in a letter or two, so that none is remembered."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [pattern.replace("@", a + b) for a, b in itertools.islice(itertools.product(letters, letters), count)]


def heavy_grammar(letter, num_bytes=7950):
    """So many bytes of alternatives, each a class, a part of it and a long tail."""
    names = [f"r{i}" for i in range(num_bytes // 60)]
    rules = [f'{name} ::= [^f\\n]* [{letter}g-{chr(104 + i % 18)}] [^\\n]{{{40 + i % 50}}}'
             for i, name in enumerate(names)]
    text = "root ::= (" + " | ".join(names) + "){2}\n" + "\n".join(rules) + "\n"
    return text + "#" * (num_bytes - len(text))


def references_chain(length):
    definitions = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(length)}
    definitions[f"d{length}"] = {"type": "string"}
    return json.dumps({"$ref": "#/$defs/d0", "$defs": definitions})


def nested_schema(depth):
    return '{"items":' * depth + "{}" + "}" * depth


def many_classes(count):
    """A grammar of 6 bytes for each class, all of them different."""
    return "root ::= " + "".join(f"[{chr(0x100 + i % 64)}{chr(0x140 + i // 64)}]" for i in range(count)) + "\n"


def many_characters(count):
    """A schema whose pattern has so many different characters, one behind the other."""
    codes = (code for code in range(0x100, 0x110000) if not 0xD800 <= code < 0xE000)
    return json.dumps({"type": "string", "pattern": "".join(chr(code) for code in itertools.islice(codes, count))},
                      ensure_ascii=False)


def one_of_patterns(count):
    return {"oneOf": [{"type": "string", "pattern": f"^[a-z]*{chr(97 + i % 26)}[a-z0-9]{{{i + 2}}}$"}
                      for i in range(count)]}


def reference_bombs(server, end, answers):
    """One body keeps a reasoning item of 3 MiB, the others refer to it many times."""
    item = {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "x " * (3 * MIB // 2)}]}
    status, kept = server.ask("/v1/responses", {"input": [item, {"role": "user", "content": "hi"}],
                                                "max_output_tokens": 1}, ATTACKER)
    if status != 200:
        return answers.add(f"{status} for the item itself")
    _, listed = server.ask(f"/v1/responses/{kept['id']}/input_items", None, ATTACKER)
    [name] = [one["id"] for one in listed["data"] if one["type"] == "reasoning"]
    bodies = [{"input": [{"type": "item_reference", "id": name}] * count + [{"role": "user", "content": "hi"}],
               "max_output_tokens": 1, "stream": True} for count in (10, 100, 400)]
    flood(lambda: bodies, "/v1/responses", at_once=1)(server, end, answers)


def tools_with_definitions(num_properties, num_bytes):
    """A tool whose properties refer to one long definition."""
    parameters = {"type": "object", "properties": {f"p{i}": {"$ref": "#/$defs/d"} for i in range(num_properties)},
                  "$defs": {"d": {"type": "string", "description": "y" * num_bytes}}}
    tool = {"type": "function", "function": {"name": "t", "strict": True, "parameters": parameters}}
    return [{"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2, "tools": [tool]}]


def slow_readers(server, end, answers):
    """Finished answers that are read at 70 KiB/s, while the victim asks for another model."""
    body = served.post_bytes("/v1/completions", {"model": "first", "prompt": "a", "n": 32, "max_tokens": 100,
                                                 "logprobs": 20, "ignore_eos": True})
    clients = []
    for _ in range(2):
        clients.append(server.connect(ATTACKER, 1))
        clients[-1].sendall(body)
    while time.monotonic() < end:
        for client in clients:
            with contextlib.suppress(OSError):
                client.settimeout(0.01)
                client.recv(3500)
        time.sleep(0.05)
    answers.add("open")
    for client in clients:
        client.close()


def silent_connections(said=b""):
    """As many connections that say so much, and nothing more, as the server takes, renewed as it closes them."""
    def attack(server, end, answers):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 8192)), hard))
        count = min(4096, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
        clients = []
        try:
            while time.monotonic() < end:
                for _ in range(min(256, count - len(clients))):
                    with contextlib.suppress(OSError):
                        clients.append(server.connect(ATTACKER, 1))
                        clients[-1].sendall(said)
                if len(clients) >= count:  # the victim must still be heard; those that were closed are opened anew
                    alive = []
                    for client in clients:
                        client.setblocking(False)
                        try:
                            if client.recv(1 << 12):
                                answers.add("refused")
                            client.close()
                        except BlockingIOError:
                            alive.append(client)
                        except OSError:
                            client.close()
                    clients = alive
                status, _ = server.ask("/health", None, "127.0.0.3", 2)
                answers.add(f"/health {status}")
                time.sleep(0.05)
        finally:
            for client in clients:
                client.close()

    return attack


def unloads(server, end, answers):
    """One model's name, again and again."""
    _, listed = server.ask("/v1/models", None, ATTACKER)
    name = listed["data"][0]["id"]
    flood(lambda: [{"model": name}], "/models/unload", at_once=2)(server, end, answers)


def idle_after_log_lines(server, end, answers):
    """Sixty requests whose log lines nobody can write; what the server computes behind them, while nobody asks."""
    for _ in range(60):
        server.ask("/health", None, ATTACKER)
    time.sleep(1)
    begin, before = time.monotonic(), server.processor_s()
    time.sleep(max(1.0, end - time.monotonic()))
    share = (server.processor_s() - before) / (time.monotonic() - begin)
    answers.add("idle" if share < 0.1 else f"{share:.2f} processors for nothing")
    answers.add("said" if "log" in server.messages().lower() else "nothing on standard error")


TOOLS_TEMPLATE = """{% if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
"""

HEAD_AND_BYTE = b"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{"

SAMPLERS = {"temperature": 0.9, "top_k": 50, "top_p": 0.95, "min_p": 0.02, "typical_p": 0.9, "top_n_sigma": 2.0,
            "xtc_probability": 0.5, "xtc_threshold": 0.1, "repetition_penalty": 1.1, "frequency_penalty": 0.1,
            "presence_penalty": 0.1, "dry_multiplier": 0.8, "logprobs": 5}


@dataclasses.dataclass
class Row:
    name: str
    attack: typing.Callable
    expected: typing.Container = ("200", "400", "open", "429", "503")
    args: tuple = ()
    victim_model: str | None = None
    victim_tokens: int = 4000
    has_victim: bool = True
    needs: tuple = ()  # of all answers one must be each of these


REFUSED = ("400", "429", "503", "open")
SERVED = ("200", "429", "503", "open")
WITH_TOOLS = ("--chat-template", "{folder}/tools.jinja")
TWO_MODELS = ("--models-memory", "330MiB", "--kv-memory", "96MiB", "--model-turn", "1", "--max-sequences", "64")

ATTACKS = [
    Row("nothing", lambda server, end, answers: time.sleep(max(0.0, end - time.monotonic()))),
    # 1: masks
    Row("mask: a class, a class of its part, 80 of a class", flood(regexes(r"[^qz\n]*[aeioubcd ][^qz\n]{80}"))),
    Row("mask: a capital and 8 to 64 behind it", flood(regexes(r"[^<>]*[A-Z][^<>]{8,64}$")), SERVED),
    Row("mask: yes or no between 300 of any", flood(regexes(r".{0,300}(yes|no).{0,300}")), SERVED),
    Row("mask: oneOf of 22 patterns", flood(schemas(one_of_patterns(22))), SERVED),
    Row("mask: tails of 200 and of 1,000", flood(regexes(r"[^\n]*[a-e][^\n]{200}", r"[^\n]*[a-e][^\n]{1000}"))),
    Row("mask: tails within tails", flood(regexes(r"(.*a.{12}){3}", r"([a-m]*[n-z][a-z]{40}){2}",
                                                  r"(a|b|ab)*c{50}.*[xyz].{60}"))),
    Row("mask: the same as a grammar", flood(grammars(
        'root ::= [^qz\\n]* [aeioubcd ] tail\ntail ::= [^qz\\n]{80}\n'))),
    Row("mask: the same as a property", flood(schemas({"type": "object", "required": ["a"], "properties": {
        "a": {"type": "string", "pattern": r"^[^qz]*[aeioubcd ][^qz]{80}$"}}}))),
    Row("mask: 32 different ones", flood(regexes(*varied(r"[^qz\n]*[@ou ][^qz\n]{80}")), at_once=8)),
    # 2: depth
    Row("depth: \"a\" and 100,000 stars", flood(grammars('root ::= "a"' + "*" * 100_000)), SERVED),
    Row("depth: groups within groups", flood(
        lambda: grammars("root ::= " + "(" * 100_000 + '"a"' + ")" * 100_000)()
        + regexes("(" * 30_000 + "a" + ")" * 30_000, "a" + "*" * 60_000)()), REFUSED),
    Row("depth: a schema 20,000 deep, 20,000 references", flood(
        lambda: schemas(nested_schema(20_000), references_chain(20_000), '{"not":' * 20_000 + "{}" + "}" * 20_000)())),
    Row("depth: a chain of 50,000 rules", flood(lambda: grammars(
        "root ::= r0\n" + "".join(f"r{i} ::= r{i + 1}\n" for i in range(50_000)) + 'r50000 ::= "a"\n')())),
    # 3: memory of constraints
    Row("memory: grammars of 7,950 bytes", flood(lambda: grammars(*(heavy_grammar(chr(97 + i)) for i in range(16)))())),
    Row("memory: counts within counts", flood(regexes(*varied(r"(@[a-z]{0,99}[0-9]{0,99}){0,99}")))),
    Row("memory: words, and a tail", flood(regexes(*varied(r"(\w{1,30}[ ,.]){1,40}.*[@iou].{30}")))),
    Row("memory: alternatives of long tails", flood(
        regexes(*varied(r"(.*[@cde].{40}|[^f]*[g-k].{50}){2}")), at_once=2)),
    # 4: references
    Row("references: an item of 3 MiB, 10 to 400 times", reference_bombs),
    Row("references: a definition of 6 MB, 800 properties", flood(
        lambda: tools_with_definitions(800, 6_000_000), "/v1/chat/completions", at_once=1), args=WITH_TOOLS),
    Row("references: a definition of 1 MB, 800 properties", flood(
        lambda: tools_with_definitions(800, 1_000_000), "/v1/chat/completions", at_once=2), args=WITH_TOOLS),
    # 5: compiling
    Row("compiling: two of one client, others tokenize", flood(
        regexes(*varied(r"[^q\n]*[@oubcd ][^q\n]{80}", 100)), at_once=2)),
    Row("compiling: clients that hang up", flood(regexes(*varied(r"[^z\n]*[@ubcd ][^z\n]{80}", 300)), at_once=8,
                                                 hang_up_s=0.1), ("left",)),
    Row("compiling: eight clients", flood(regexes(*varied(r"[^w\n]*[@ucd ][^w\n]{80}", 100)), at_once=8, addresses=8)),
    Row("compiling: 4,096 choices of 250 bytes", flood(lambda: completions(
        {"guided_choice": [f"{i:x}" * 60 for i in range(4096)]})())),
    # 6: character sets
    Row("sets: 100,000 classes", flood(lambda: grammars(many_classes(100_000))(), at_once=2)),
    Row("sets: 240,000 characters in a pattern", flood(lambda: schemas(many_characters(240_000))(), at_once=2)),
    # Texts
    Row("texts: 7 MiB to tokenize", flood(lambda: [{"prompt": "the quick brown fox " * (7 * MIB // 20)}], "/tokenize")),
    Row("texts: a word of 64 KiB", flood(lambda: [{"prompt": "a" * 65_000}, {"prompt": "\u0300" * 30_000},
                                                  {"prompt": " " * 65_000}], "/tokenize", at_once=8)),
    Row("texts: a query of spaces and 2,048 documents, left", flood(
        lambda: [{"query": " " * 60_000, "documents": ["a"] * 2048}], "/v1/rerank", at_once=2, hang_up_s=0.1),
        ("left",), ("--embedding",)),
    Row("texts: a structural tag of 60,000 marks", flood(lambda: [chat(response_format={
        "type": "structural_tag", "structures": [{"begin": "<" * 60_000, "schema": {"type": "object"}, "end": "</a>"}],
        "triggers": ["<"]})], "/v1/chat/completions")),
    Row("texts: 16 breakers of DRY, others each time", flood(completions(
        *({"dry_multiplier": 1, "dry_sequence_breakers": [f"{i}b{k}" for k in range(16)]} for i in range(64))))),
    Row("texts: 100,000 tools of an unknown type", flood(lambda: [
        {"input": "a", "stream": True, "max_output_tokens": 2, "tools": [{"type": f"t{i}"} for i in range(100_000)]}],
        "/v1/responses", at_once=2)),
    Row("texts: log-probabilities of 2,000 tokens", flood(completions(
        {"prompt": "word " * 2000, "max_tokens": 1, "echo": True, "logprobs": 5}))),
    # 7: slow readers
    Row("slow readers: of another model", slow_readers, args=TWO_MODELS, victim_model="second", victim_tokens=16),
    # 9: the access log
    Row("access log on a full disk", idle_after_log_lines, ("idle", "said"), ("--access-log", "/dev/full"),
        has_victim=False),
    # 10: connections
    Row("connections: 4,096 silent ones", silent_connections(), ("/health 200", "refused"), needs=("/health 200",)),
    Row("connections: 4,096 with a head and a byte", silent_connections(HEAD_AND_BYTE), ("/health 200", "refused"),
        needs=("/health 200",)),
    # 11: models
    Row("models: unloaded in a loop", unloads, ("200", "400", "403", "404", "409", "429", "open"),
        args=("--idle-unload", "3600"), victim_tokens=64),
    # 14: many choices
    Row("choices: n = 128", flood(completions({"n": 128}), at_once=1), SERVED),
    Row("choices: n = 128, three times", flood(completions({"n": 128}), at_once=3), SERVED),
    Row("choices: n = 128, all samplers", flood(completions({"n": 128, **SAMPLERS}), at_once=1), SERVED),
    Row("choices: n = 128 with a schema", flood(completions({"n": 128, "guided_json": {"type": "object"}}), at_once=1)),
    Row("all of the masks at once, from eight addresses", flood(
        lambda: regexes(r"[^qz\n]*[aeioubcd ][^qz\n]{80}", r".{0,300}(yes|no).{0,300}", *varied(r"(@.{9})*", 8))(),
        at_once=16, addresses=8)),
]


def models_of(row, model, folder):
    if row.args is not TWO_MODELS:
        return ["-m", model]
    names = [pathlib.Path(folder, f"{name}.gguf") for name in ("first", "second")]
    for name in names:
        with contextlib.suppress(FileExistsError):
            os.link(model, name) if os.stat(model).st_dev == os.stat(folder).st_dev else name.symlink_to(model)
    return ["-m", names[0], "-m", names[1]]


def told(row, answers, server):
    wrong = {what: count for what, count in answers.counts.items() if what not in row.expected}
    missing = [what for what in row.needs if what not in answers.counts]
    shown = ", ".join(f"{what}: {count}" for what, count in sorted(answers.counts.items()))
    if not server.is_alive():
        return f"**the server ended** ({shown})"
    return f"**not as expected** ({shown})" if wrong or missing else f"as expected ({shown})"


def measure(row, options, folder):
    args = [*models_of(row, options.model, folder), *(arg.replace("{folder}", folder) for arg in row.args)]
    if "--access-log" not in args:
        args += ["--access-log", "off"]
    with served.Server(options.program, *args) as server:
        begun, ended, results = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
        watching = multiprocessing.Process(target=victim, daemon=True, args=(
            server.port, row.victim_model, row.victim_tokens, begun, ended, results))
        if row.has_victim:
            watching.start()
            if not begun.wait(served.START_S):
                raise SystemExit("the victim's stream did not begin")
        before = server.status_mib("VmRSS")
        server.reset_peak()
        answers = Answers()
        begin = time.monotonic()
        row.attack(server, begin + options.seconds, answers)
        time.sleep(GRACE_S)
        end = time.monotonic()
        ended.set()
        memory = server.status_mib("VmHWM") - before if server.is_alive() else 0
        figures = [row.name]
        if row.has_victim:
            silence, rate, first, text = felt(results.get(timeout=60), begin, end)
            figures += [f"{silence:.3f} s", f"{silence / TARGET_S:.1f}", f"{rate:.0f}"]
            figures += [f"{first:.2f} s", f"{text:.2f} s"]
            watching.join(5)
            watching.kill()
        else:
            figures += [""] * 5
        return [*figures, f"{memory:.0f}", told(row, answers, server)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("-m", "--model", default=served.default_model())
    parser.add_argument("--rows", default="", help="words, divided by commas")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    words = [word.strip() for word in options.rows.split(",") if word.strip()]
    rows = [row for row in ATTACKS if not words or any(word in row.name for word in words)]
    if options.list:
        print(*(row.name for row in rows), sep="\n")
        return
    print("| attack | longest silence | times the target | tokens/s | first token at most | /tokenize at most "
          "| MiB above before | answers |\n|---|---:|---:|---:|---:|---:|---:|---|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "tools.jinja").write_text(TOOLS_TEMPLATE)
        for row in rows:
            print("| " + " | ".join(measure(row, options, folder)) + " |", flush=True)


if __name__ == "__main__":
    main()
