"""What tools/check_real.py asks a model: the same of Octavo and of llama.cpp, by the API that both have.

Every function takes a model_server.ModelServer. Nothing here needs a package.
"""
import array
import json
import math
import struct

from model_server import Failure

QUESTION = [{"role": "user", "content": "Why is the sky blue?"}]
ANSWER = "light"  # a word of every right answer
NUM_GREEDY = 64
NUM_ANSWER = 512
REASONING_BUDGET = 256  # tokens; of what a model without reasoning makes nothing
PROMPT_TOKENS = 512     # of the timed prompt
NUM_LIKELIEST = 1000    # tokens of llama.cpp's distributions by themselves; the rest count as one
TOOL = {"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city now",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                   "additionalProperties": False}}}
SCHEMA = {"type": "object", "additionalProperties": False, "required": ["name", "year", "tags"],
          "properties": {"name": {"type": "string", "maxLength": 60}, "year": {"type": "integer"},
                         "tags": {"type": "array", "items": {"type": "string", "maxLength": 30}, "maxItems": 3}}}


def chat(server, messages, **fields):
    """The choice of an answer without chance."""
    body = {"messages": messages, "temperature": 0, "max_tokens": NUM_ANSWER, "reasoning_budget": REASONING_BUDGET,
            **fields}
    return server.post("/v1/chat/completions", body)["choices"][0]


def is_sane(text):
    """It is about the question, holds no marks or halves of characters, and does not say the same for ever."""
    words = text.lower().split()
    groups = list(zip(words, words[1:], words[2:]))
    return (ANSWER in text.lower() and not any(odd in text for odd in ("\ufffd", "<|", "|>"))
            and 2 * len(set(groups)) > len(groups))


def first_answer(server):
    """Whether it is right and what to show of it, as all that are tried."""
    text = (chat(server, QUESTION)["message"].get("content") or "").strip()
    return is_sane(text), text[:60] or "nothing"


def is_right_call(message):
    calls = message.get("tool_calls") or []
    if len(calls) != 1 or calls[0]["function"]["name"] != TOOL["function"]["name"]:
        return False
    arguments = read_json(calls[0]["function"]["arguments"])
    return isinstance(arguments, dict) and list(arguments) == ["city"] and isinstance(arguments["city"], str)


def tool_call(server):
    """yes: unasked; required: only where a call is required."""
    messages = [{"role": "user", "content": "What is the weather in Paris now? Call the tool."}]
    for choice, said in (("auto", "yes"), ("required", "required")):
        if is_right_call(chat(server, messages, tools=[TOOL], tool_choice=choice)["message"]):
            return True, said
    return False, "no right call"


def read_json(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def follows_schema(value):
    return (isinstance(value, dict) and sorted(value) == sorted(SCHEMA["required"]) and isinstance(value["name"], str)
            and isinstance(value["year"], int) and isinstance(value["tags"], list)
            and len(value["tags"]) <= 3 and all(isinstance(tag, str) for tag in value["tags"]))


def schema_answer(server):
    messages = [{"role": "user", "content": "Describe the Eiffel Tower as JSON with name, year and tags."}]
    form = {"type": "json_schema", "json_schema": {"name": "thing", "schema": SCHEMA}}
    text = chat(server, messages, response_format=form)["message"].get("content") or ""
    follows = follows_schema(read_json(text))
    return follows, "yes" if follows else f"another shape: {text[:60]}"


def makes_prompts(server):
    """The model has a template for conversations: a base model has none."""
    try:
        server.post("/apply-template", {"messages": QUESTION})
    except Failure:
        return False
    return True


def prompt_of_octavo(server, has_template):
    """The ids of a conversation's prompt by the model's template, or without one of the question alone."""
    return server.post("/tokenize", {"messages": QUESTION} if has_template else {"prompt": QUESTION[0]["content"]})["tokens"]


def prompt_of_llama_cpp(server, has_template):
    """The same: its texts are without the beginning that its ids get."""
    text = QUESTION[0]["content"]
    if has_template:
        text = server.post("/apply-template", {"messages": QUESTION})["prompt"]
    return server.post("/tokenize", {"content": text, "add_special": True, "parse_special": True})["tokens"]


def greedy_tokens(server, ids):
    """The likeliest tokens that follow, as far as the answer goes."""
    body = {"prompt": ids, "n_predict": NUM_GREEDY, "temperature": 0, "top_k": 1, "repeat_penalty": 1}
    try:
        return server.post("/completion", {**body, "return_tokens": True})["tokens"]
    except Failure:  # Octavo refuses the field. llama.cpp's probabilities leave out tokens that begin a character
        answer = server.post("/completion", {**body, "n_probs": 1})
        return [entry["id"] for entry in answer.get("completion_probabilities", [])]


def first_difference(one, other):
    """How many tokens are the same; None: all. The token that ends an answer may stand there or not."""
    shared = min(len(one), len(other))
    same = next((i for i in range(shared) if one[i] != other[i]), shared)
    return None if same == shared and abs(len(one) - len(other)) <= 1 else same


def speeds(server, ids):
    """Tokens/s of a prompt that nobody has read before, and of an answer behind it."""
    timings = server.post("/completion", {"prompt": ids, "n_predict": NUM_GREEDY, "temperature": 0, "ignore_eos": True,
                                          "cache_prompt": False})["timings"]
    return timings["prompt_per_second"], timings["predicted_per_second"]


def likeliest(server, ids):
    """{id: log-probability} of the next token. None: llama.cpp tells it of no token that begins a character."""
    answer = server.post("/completion", {"prompt": ids, "n_predict": 1, "temperature": 0, "n_probs": NUM_LIKELIEST,
                                         "cache_prompt": True})
    told = answer.get("completion_probabilities")
    return {entry["id"]: entry["logprob"] for entry in told[0]["top_logprobs"]} if told else None


class Logits:
    """The rows of a file of `octavo logits --out`: float32 [num_rows, vocab_size] in NumPy's format."""

    def __init__(self, path):
        self.file = open(path, "rb")
        if self.file.read(6) != b"\x93NUMPY":
            raise Failure(f"{path}: not in NumPy's format")
        self.file.read(2)  # its version
        header = self.file.read(struct.unpack("<H", self.file.read(2))[0]).decode()
        self.begin = self.file.tell()
        self.num_rows, self.width = (int(n) for n in header.split("(")[1].split(")")[0].split(","))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def row(self, index):
        self.file.seek(self.begin + 4 * index * self.width)
        row = array.array("f")
        row.fromfile(self.file, self.width)
        return row


def divergence(reference, row):
    """KL(reference || ours) in nats, the tokens that the reference does not name as one: a lower bound of the whole."""
    top = max(row)
    weights = [math.exp(logit - top) for logit in row]
    total = math.fsum(weights)
    kl = 0.0
    for token, logprob in reference.items():
        if logprob > -80:
            kl += math.exp(logprob) * (logprob - (row[token] - top - math.log(total)))
    rest = 1 - math.fsum(math.exp(logprob) for logprob in reference.values())
    our_rest = math.fsum(w for token, w in enumerate(weights) if token not in reference) / total
    if rest > 1e-6 and our_rest > 0:  # less is what its numbers are rounded by
        kl += rest * math.log(rest / our_rest)
    return max(kl, 0.0)


def divergences(server, ids, begin, logits):
    """One for each of the tokens ids[begin:] that is told, given those before it."""
    found = ((i, likeliest(server, ids[:i])) for i in range(begin, len(ids)))
    return [divergence(reference, logits.row(i - 1)) for i, reference in found if reference]
