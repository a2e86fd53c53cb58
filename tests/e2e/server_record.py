"""The record of the server's exchanges: requests as record/*.json has them, answers as record/*.answers has them, and wrong
values as record/wrong_values.tsv has them. What differs from run to run or between machines is masked."""
import contextlib
import copy
import http.client
import json
import pathlib
import re

import support
from server_support import Server

FOLDER = pathlib.Path(__file__).parent / "record"
TEMPLATES = support.TEST_DATA / "templates"
SHOWN_HEADERS = ("content-type", "allow", "www-authenticate", "retry-after", "cache-control", "x-accel-buffering",
                 "access-control-allow-origin", "access-control-allow-methods", "access-control-allow-headers", "vary")
# A fixed level of the instruction set, so that every machine computes the same; one thread and little memory.
# How many tokens are drafted depends on time; the answers do not.
COMMON = ("--isa", "avx2", "--threads", 1, "--kv-memory", "64MiB", "--max-sequences", 8, "--keepalive-interval", 0,
          "--draft", "off",
          "--access-log", "off")
KEY = "a-key-of-the-record-0123456789"
OTHER_KEY = "another-key-of-the-record-0123"

# Texts of numbers and ids that are no part of what is recorded, as (pattern, what stands for it).
MASKS = [(re.compile(pattern), mask) for pattern, mask in (
    (re.escape(str(support.TEST_DATA)), "TEST_DATA"),
    (r'("system_fingerprint":)"[^"]*"(,"seed":)\d+', r'\1"FINGERPRINT"\2"SEED"'),
    (r'("settings_fingerprint":)"set_[0-9a-f]{16}"', r'\1"SETTINGS"'),
    (r'("system_fingerprint":)"[^"]*"', r'\1"FINGERPRINT"'),
    (r'("(?:created|created_at|completed_at|expires_at|modified_at)":)(?:\d+(?:\.\d+)?|"(?!9999)[^"]*")', r'\1"TIME"'),
    (r'("[a-z_]*(?:_ms|_per_second|_duration|duration_s)":)-?[\d.e+-]+', r'\1"TIME"'),
    (r'("(?:version|build_info|octavo)":)"[^"]*"', r'\1"VERSION"'),
    (r'("(?:digest|size)":)(?:"[^"]*"|\d+)', r'\1"OF THE FILE"'),
    (r'("(?:model_path|tokenizer_path)":)"[^"]*"', r'\1"PATH"'),
    (r'("timestamp":)"[^"]*"', r'\1"TIME"'),
    (r'("(?:num_used_tokens|token_usage|gen_throughput|cache_hit_rate|utilization)":)[\d.e+-]+', r'\1"LOAD"'),
    (r"(tiny-[a-z0-9]+-)[0-9a-f]{16}", r"\1DIGEST"),
    # Logarithms differ in their last digits between C libraries.
    (r"(?<=[:\[,])(-\d+\.\d{3})\d+", r"\1"),
)]
ID = re.compile(r"""(?:(?<=[a-z][-_])|(?<="))[0-9a-f]{16,}(?=["_'-])""")
# A prompt is read in one step or in several, as the time of a step allows; the report of all of it always comes.
PARTIAL_PROGRESS = re.compile(r'"prompt_progress":\{"total":(\d+),"cache":\d+,"processed":(?!\1,)')


def servers():
    """Name -> (model, arguments): each is started when the first exchange wants it."""
    small = support.tiny_model("tiny-qwen3")
    return {
        # Reasons and calls tools.
        "agent": (small, ["--served-model-name", "agent", "--served-model-name", "by-another-name",
                          "--chat-template", TEMPLATES / "Qwen-Qwen3-0.6B.jinja"]),
        # The options that change what a request may have and what is made of it.
        "strict": (small, ["--served-model-name", "strict", "--served-model-name", "*", "--image-placeholder", "[image]",
                           "--additional-properties", "as_written", "--chat-template",
                           TEMPLATES / "Qwen-Qwen2.5-7B-Instruct.jinja", "--api-key", f"{KEY},{OTHER_KEY}",
                           "--cors-origin", "http://page.example", "--no-ui", "--no-slots", "--max-body-size", "16KiB",
                           "--max-json-depth", 8, "--max-answer-size", "64KiB", "--max-stored-size", 0, "--max-tokens", 3,
                           "--max-queued", 3, "--max-client-priority", 5, "--reasoning-format", "none"]),
        # Fills gaps; no chat template.
        "coder": (support.tiny_model("tiny-llama", support.TEST_DATA / "ggml-vocab-deepseek-coder.gguf"),
                  ["--served-model-name", "coder", "--allow-pull"]),
        # Makes vectors, and ranks.
        "vectors": (support.ranking_model(small), ["--served-model-name", "vectors", "--embedding", "--pooling", "mean"]),
    }


class Servers:
    """The servers that were asked, each with one connection; a context manager."""

    def __init__(self):
        self.known, self.running, self.stack = servers(), {}, contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def connection(self, name):
        if name not in self.running:
            model, arguments = self.known[name]
            server = self.stack.enter_context(Server(*COMMON, *arguments, model=model))
            self.running[name] = http.client.HTTPConnection(server.host, server.port, timeout=support.TIMEOUT_S)
            self.stack.callback(self.running[name].close)
        return self.running[name]

    def ask(self, name, method, path, headers, body):
        """(status, headers, body as bytes)"""
        connection = self.connection(name)
        host = {} if "Host" in headers else {"Host": "localhost"}
        connection.request(method, path, body, {**host, **headers})
        response = connection.getresponse()
        return response.status, response.headers, response.read()


class RecordFile:
    """The exchanges of one file, in order. `values` stand where a request has "$NAME", a long text where it has
    {"$repeat": [TEXT, COUNT]}; `defaults` are the fields of each
    body by its "METHOD PATH" that the body itself does not have."""

    def __init__(self, path):
        self.path = path
        held = json.loads(path.read_text(encoding="utf-8"))
        self.values, self.defaults, self.exchanges = held["values"], held["defaults"], held["exchanges"]
        names = [exchange["name"] for exchange in self.exchanges]
        if len(set(names)) != len(names):
            raise AssertionError(f"{path.name}: an exchange's name is there twice: {sorted(names)}")

    def filled(self, value):
        if isinstance(value, str) and value.startswith("$") and value[1:] in self.values:
            return self.filled(self.values[value[1:]])
        if isinstance(value, list):
            return [self.filled(item) for item in value]
        if isinstance(value, dict) and "$repeat" in value:
            unit, count = value["$repeat"]
            return unit * count
        return {key: self.filled(item) for key, item in value.items()} if isinstance(value, dict) else value

    def body(self, exchange, ids):
        """The bytes that are sent. Each exchange has a salt of its own unless it names one: what it finds cached and
        where its prompt parts from earlier ones do not depend on the exchanges before it."""
        if "text" in exchange:
            return exchange["text"].encode("utf-8")
        if "body" not in exchange:
            return None
        body = self.filled(exchange["body"])
        if isinstance(body, dict):
            body = {**self.filled(self.defaults.get(exchange["request"], {})), **body}
            if "says" in exchange:  # the answer that a constraint makes of it
                body.setdefault("guided_choice", [exchange["says"]])
            body.setdefault("cache_salt", exchange["name"])
        return with_ids(json.dumps(body, ensure_ascii=False), ids).encode("utf-8")

    def answers_path(self):
        return self.path.with_suffix(".answers")

    def recorded(self):
        """Name -> text of the answer."""
        if not self.answers_path().exists():
            return {}
        text = "\n" + self.answers_path().read_text(encoding="utf-8").removesuffix("\n")
        parts = [part.split("\n", 1) for part in text.split("\n=== ")[1:]]
        return dict(parts)

    def write(self, answers):
        text = "".join(f"=== {name}\n{answer}\n" for name, answer in answers.items())
        self.answers_path().write_text(text, encoding="utf-8")

    def run(self, asked):
        """Name -> text of the answer, of all exchanges in order."""
        ids, answers = {}, {}
        for exchange in self.exchanges:
            method, path = exchange["request"].split(" ", 1)
            headers = {"Content-Type": "application/json", **exchange.get("headers", {})}
            status, given, body = asked.ask(exchange.get("server", "agent"), method, with_ids(path, ids), headers,
                                            self.body(exchange, ids))
            text = body.decode("utf-8")
            found = re.search(r'"id":"(resp_[0-9a-f]+)"', text)
            if found and found.group(1) not in ids.values():
                ids[exchange["name"]] = found.group(1)
            answers[exchange["name"]] = shown(exchange, status, given, text, ids)
        return answers


def with_ids(text, ids):
    """The text with the ids of earlier exchanges' responses in the place of <id of NAME>, and with the part of them that
    the ids of their items have too in the place of <digits of NAME>."""
    text = re.sub(r"<id of ([^>]+)>", lambda match: ids.get(match.group(1), match.group(0)), text)
    return re.sub(r"<digits of ([^>]+)>", lambda match: ids[match.group(1)].removeprefix("resp_"), text)


def masked(text, ids=None):
    for pattern, mask in MASKS:
        text = pattern.sub(mask, text)
    names = {value.removeprefix("resp_"): f"ID of {name}" for name, value in (ids or {}).items()}
    return ID.sub(lambda match: names.setdefault(match.group(0), f"ID{len(names) - len(ids or {}) + 1}"), text)


def choice_of(event):
    found = re.search(r'"index":(\d+)', event)
    return int(found.group(1)) if found and '"choices":[{' in event else None


def in_order(text, is_of_several):
    """Events of a stream. Each event of the engine is written as one, whatever the load; but the choices of a call advance
    side by side, and which of them is told first is not fixed: their events are put in the order of the choices."""
    events = re.split(r"(?<=\n\n)", text)
    kept = [event for event in events if not PARTIAL_PROGRESS.search(event)]
    if is_of_several:
        first = next((i for i, event in enumerate(kept) if choice_of(event) is not None), 0)
        last = max((i for i, event in enumerate(kept) if choice_of(event) is not None), default=-1) + 1
        kept[first:last] = sorted(kept[first:last], key=lambda event: choice_of(event) or 0)
    return "".join(kept)


def shown(exchange, status, headers, text, ids):
    """An answer as the record has it: its status, the headers that matter, an empty line, its body."""
    lines = [str(status)]
    lines += [f"{name}: {headers[name]}" for name in SHOWN_HEADERS if name in headers]
    how = exchange.get("show", "all")
    if how == "names":  # of metrics
        text = "\n".join(line for line in text.split("\n") if line.startswith("# TYPE"))
    elif how == "beginning":
        text = text[:60]
    if "text/event-stream" in headers.get("content-type", ""):
        text = in_order(text, exchange.get("has_several_choices", False))
    return "\n".join(lines) + "\n\n" + masked(text, ids)


def with_value(body, path, value):
    """The body with this value at a path such as messages[0].content; "absent" takes the field away."""
    body = copy.deepcopy(body)
    steps = [int(step[1:-1]) if step.startswith("[") else step for step in re.findall(r"\[\d+\]|[^.\[]+", path)]
    holder = body
    for step, following in zip(steps, steps[1:]):
        empty = [] if isinstance(following, int) else {}
        if isinstance(holder, list):
            holder.extend({} for _ in range(step + 1 - len(holder)))
        elif not isinstance(holder.get(step), (dict, list)):
            holder[step] = empty
        holder = holder[step]
    if value == "absent":
        holder.pop(steps[-1], None)
    elif isinstance(holder, list):
        holder.extend(["a"] * (steps[-1] - len(holder)))
        holder[steps[-1]:steps[-1] + 1] = [value]
    else:
        holder[steps[-1]] = value
    return body
