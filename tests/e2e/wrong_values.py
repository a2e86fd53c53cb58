"""Wrong values: rows of record/wrong_values.tsv, each a value of one field that a server must refuse, or where the value
stands in the table of those that are taken, what shows that it is. A row has the API (BODIES), the field as the client
writes it, the value ("absent": the field is not there), what else the body has; and behind these, as the server answers it:
what is wrong with that answer today, the status, the code, the parameter and the message."""
import json
import re

import server_record

PATH = server_record.FOLDER / "wrong_values.tsv"
BLOCKS = ('"image"', '"document"')
HELLO = [{"role": "user", "content": "Hi"}]
# API -> server, request, the body that a wrong value is put in: a right one.
BODIES = {
    "chat": ("agent", "POST /v1/chat/completions", {"messages": HELLO, "max_tokens": 1, "temperature": 0}),
    "completions": ("agent", "POST /v1/completions", {"prompt": "Hi", "max_tokens": 1, "temperature": 0}),
    "responses": ("agent", "POST /v1/responses", {"input": HELLO, "max_output_tokens": 1, "temperature": 0}),
    "responses/input_tokens": ("agent", "POST /v1/responses/input_tokens", {"input": HELLO}),
    "messages": ("agent", "POST /v1/messages", {"messages": HELLO, "max_tokens": 1, "temperature": 0}),
    "messages/count_tokens": ("agent", "POST /v1/messages/count_tokens", {"messages": HELLO}),
    "api/chat": ("agent", "POST /api/chat", {"messages": HELLO, "stream": False,
                                             "options": {"num_predict": 1, "temperature": 0}}),
    "api/generate": ("agent", "POST /api/generate", {"prompt": "Hi", "stream": False,
                                                     "options": {"num_predict": 1, "temperature": 0}}),
    "api/generate raw": ("agent", "POST /api/generate", {"prompt": "Hi", "stream": False, "raw": True,
                                                         "options": {"num_predict": 1, "temperature": 0}}),
    # It is refused even where what it asks for is right: nothing is to be fetched.
    "api/pull": ("coder", "POST /api/pull", {"insecure": True}),
    "api/show": ("agent", "POST /api/show", {"model": "agent"}),
    "completion": ("agent", "POST /completion", {"prompt": "Hi", "n_predict": 1, "temperature": 0}),
    "infill": ("coder", "POST /infill", {"input_prefix": "def f(", "input_suffix": "return", "n_predict": 1,
                                         "temperature": 0}),
    "completions with a suffix": ("coder", "POST /v1/completions", {"prompt": "def f(", "suffix": "return",
                                                                    "max_tokens": 1, "temperature": 0}),
    "slots": ("agent", "POST /slots/0?action=save", {"filename": "a"}),
    "tokenize": ("agent", "POST /tokenize", {"prompt": "Hi"}),
    "tokenize messages": ("agent", "POST /tokenize", {"messages": HELLO}),
    "tokenize input": ("agent", "POST /tokenize", {"input": HELLO}),
    "tokenize content": ("agent", "POST /tokenize", {"content": "Hi"}),
    "detokenize": ("agent", "POST /detokenize", {"tokens": [1]}),
    "apply-template": ("agent", "POST /apply-template", {"messages": HELLO}),
    "models/load": ("agent", "POST /models/load", {"model": "agent"}),
    "models/unload": ("agent", "POST /models/unload", {"model": "agent"}),
    "embeddings": ("vectors", "POST /v1/embeddings", {"input": "Hi"}),
    "embedding": ("vectors", "POST /embedding", {"content": "Hi"}),
    "api/embed": ("vectors", "POST /api/embed", {"input": "Hi"}),
    "api/embeddings": ("vectors", "POST /api/embeddings", {"prompt": "Hi"}),
    "embed": ("vectors", "POST /embed", {"inputs": "Hi"}),
    "embed_all": ("vectors", "POST /embed_all", {"inputs": "Hi"}),
    "similarity": ("vectors", "POST /similarity", {"inputs": {"source_sentence": "Hi", "sentences": ["Ho", "Hu"]}}),
    "v1/embed": ("vectors", "POST /v1/embed", {"texts": ["Hi"]}),
    "v2/embed": ("vectors", "POST /v2/embed", {"texts": ["Hi"]}),
    "rerank": ("vectors", "POST /v1/rerank", {"query": "Hi", "documents": ["Ho", "Hu"]}),
    "score": ("vectors", "POST /v1/score", {"text_1": "Hi", "text_2": "Ho"}),
}


class Row:
    """One line of the table."""

    def __init__(self, line):
        columns = line.split("\t")
        self.api, self.path, self.value, self.beside = (columns + [""] * 4)[:4]
        self.recorded = "\t".join(columns[4:])

    def __str__(self):
        return "\t".join([self.api, self.path, self.value, self.beside])

    def answer(self, asked):
        """The columns behind those of the request."""
        server, request, base = BODIES[self.api]
        beside = json.loads(self.beside) if self.beside else {}
        value = self.value if self.value == "absent" else json.loads(self.value)
        body = {"cache_salt": str(self)[:200], **base, **beside}
        body = server_record.with_value(body, self.path, value)
        method, path = request.split(" ")
        status, _, text = asked.ask(server, method, path, {"Content-Type": "application/json"}, json.dumps(body))
        answer = json.loads(text)
        if status == 200:
            warnings = answer.get("warnings", []) if isinstance(answer, dict) else []
            told = [warning for warning in warnings if names(warning, self.path)]
            return "\t".join(["" if told else "accepted", "200", "", "", "; ".join(told)])
        error = answer.get("error", answer)  # Cohere's has a message and nothing around it
        error = error if isinstance(error, dict) else {"message": error}
        message, param = server_record.masked(error["message"]), error.get("param") or ""
        return "\t".join([self.fault_of(message, param), str(status), str(error.get("code") or ""), param, message])

    def place_of_block(self):
        """Anthropic's API names a block of the wrong kind by its place and its kind, and clients look for that."""
        return self.path.removesuffix("type") + json.loads(self.value) if self.value in BLOCKS else self.path

    def fault_of(self, message, param):
        """What is wrong with an error today; empty: it names the field as the client wrote it."""
        faults = []
        if not names(message, self.path) and not names(message, self.place_of_block()):
            named = re.match(r"[\w.\[\]-]+(?=: )", message)
            is_part = named and are_of_one_field(named.group(0), self.path)
            faults.append(f"names {'only ' if is_part else ''}{named.group(0)}" if named else "names no field")
        if param and not are_of_one_field(param, self.path):
            faults.append(f"param {param}")
        if re.search(r"\d\.\d{9,}", message):
            faults.append("a bound is not printed as it is")
        return ", ".join(faults)


def are_of_one_field(param, path):
    """Whether one of these is the other, or the beginning of its path."""
    return any(long == short or long.startswith((short + ".", short + "["))
               for long, short in ((param, path), (path, param)))


def names(message, path):
    return re.search(r"(?<![\w.\]])" + re.escape(path) + r"(?![\w])", message) is not None


class WrongValues:
    """The rows of the table, in order."""

    def __init__(self):
        self.rows = [Row(line) for line in PATH.read_text(encoding="utf-8").splitlines()]

    def answers(self, asked):
        """(row, its columns as they are answered now)"""
        return [(row, row.answer(asked)) for row in self.rows]

    @staticmethod
    def write(answers):
        PATH.write_text("".join(f"{row}\t{answer}\n" for row, answer in answers), encoding="utf-8")
