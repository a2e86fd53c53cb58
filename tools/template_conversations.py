"""Conversations to compare chat templates with: what clients send, and what only some of them send.

`conversations()` gives dicts of the names that a template is rendered with. Texts differ in spaces, quotes, marks that
templates look for, and scripts, so that what a template does with them is seen.
"""
import itertools

SPACED = "  \n two words, \"quoted\" & <b>'bold'</b>\ttab \n\n"
UNICODE = "Grüße, 世界 🌍 e\u0301 ΑΣ ß İ \u200d \u00a0end\u2028line"
MARKS = "<|im_start|>user\n<think>no</think> [INST] {{ x }} {% if %} <tool_call>{}</tool_call> </s> <end_of_turn>"
LONG = "\n".join(f"{i}. line of a longer text" for i in range(30))


def message(role, content, **more):
    return {"role": role, "content": content, **more}


def tool(name, properties, required=(), **more):
    return {"type": "function", "function": {
        "name": name, "description": f"What {name} does: \"it\" & <more>.", **more,
        "parameters": {"type": "object", "properties": properties, "required": list(required)}}}


WEATHER = tool("get_weather", {
    "city": {"type": "string", "description": "A city's name"},
    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
}, ["city"])
SEARCH = tool("search_files", {
    "query": {"type": ["string", "null"], "description": "Ünïcode \"query\""},
    "options": {"type": "object", "properties": {"depth": {"type": "integer", "minimum": 0}, "exact": {"type": "boolean"}},
                "required": ["depth"], "additionalProperties": False},
    "paths": {"type": "array", "items": {"type": "string"}, "maxItems": 5},
    "ratio": {"type": "number", "default": 0.5},
}, ["query", "paths"], strict=True)
NOTHING = tool("now", {}, returns={"type": "string", "description": "the time"})
BARE = {"type": "function", "function": {"name": "ping", "description": "Pings.", "parameters": None}}
TOOLS = [WEATHER, SEARCH, NOTHING]


def call(name, arguments, identifier="call00001"):
    return {"id": identifier, "type": "function", "function": {"name": name, "arguments": arguments}}


def plain():
    """Turns of text."""
    yield [message("user", "Hello")]
    yield [message("system", "You are terse."), message("user", "Hello")]
    yield [message("user", "Hi"), message("assistant", "Hello!"), message("user", "And now?")]
    yield [message("system", SPACED), message("user", SPACED), message("assistant", SPACED), message("user", "x")]
    yield [message("system", UNICODE), message("user", UNICODE), message("assistant", UNICODE), message("user", UNICODE)]
    yield [message("system", MARKS), message("user", MARKS), message("assistant", MARKS), message("user", MARKS)]
    yield [message("user", LONG), message("assistant", LONG), message("user", "Shorter.")]
    yield [message("system", ""), message("user", "")]
    yield [message("user", "a"), message("assistant", ""), message("user", "b")]
    yield list(itertools.chain.from_iterable(
        (message("user", f"q{i}"), message("assistant", f"a{i}")) for i in range(6))) + [message("user", "last")]


def odd_roles():
    """What templates may refuse."""
    yield [message("user", "a"), message("user", "b")]
    yield [message("assistant", "I begin."), message("user", "b")]
    yield [message("user", "a"), message("system", "late"), message("user", "b")]
    yield [message("system", "one"), message("system", "two"), message("user", "b")]
    yield [message("developer", "dev"), message("user", "b")]
    yield [message("critic", "odd"), message("user", "b")]
    yield [message("system", "only system")]
    yield []
    yield [message("tool", "orphan", tool_call_id="call00009", name="now"), message("user", "b")]
    yield [{"role": "user"}]
    yield [message("user", None)]
    yield [{"content": "no role"}]
    yield [message("user", 5)]
    yield [message("user", "a", name="Ann"), message("assistant", "b", name="Bot")]


def prefill():
    yield [message("user", "Count."), message("assistant", "1, 2,")]
    yield [message("user", "Count."), message("assistant", " 1, 2, ", prefix=True)]


def parts():
    """Content that is a list."""
    yield [message("user", [{"type": "text", "text": "What is this?"}])]
    yield [message("user", [{"type": "text", "text": "One"}, {"type": "image"}, {"type": "text", "text": "Two "}])]
    yield [message("system", [{"type": "text", "text": SPACED}]), message("user", [{"type": "text", "text": UNICODE}]),
           message("assistant", [{"type": "text", "text": "fine"}]), message("user", "ok")]


def reasoning():
    yield [message("user", "Why?"), message("assistant", "Because.", reasoning_content="Let me think.\n\nHm."),
           message("user", "And?")]
    yield [message("user", "Why?"), message("assistant", "<think>\nInside.\n</think>\n\nBecause."), message("user", "And?")]
    yield [message("user", "Why?"), message("assistant", "Because.", thinking="T", reasoning="R", reasoning_content="RC")]
    yield [message("user", "Why?"), message("assistant", None, reasoning_content=SPACED,
                                            tool_calls=[call("get_weather", {"city": "Bern"})]),
           message("tool", "cold", tool_call_id="call00001", name="get_weather"),
           message("assistant", "It is cold.", reasoning_content="now"), message("user", "Thanks")]


def tool_turns(arguments_as_text):
    """Calls of tools and what came of them, with arguments as objects or as JSON in a string."""
    import json

    def given(arguments):
        return json.dumps(arguments, ensure_ascii=False) if arguments_as_text else arguments

    one = call("get_weather", given({"city": "Zürich", "unit": "celsius"}))
    other = call("search_files", given({"query": "a \"b\"\n", "paths": ["x", "y"], "options": {"depth": 2, "exact": True},
                                        "ratio": 1e-07, "none": None}), "call00002")
    yield [message("user", "Weather?"), message("assistant", "", tool_calls=[one]),
           message("tool", "12 °C", tool_call_id="call00001", name="get_weather"), message("user", "Thanks")]
    yield [message("system", "Use tools."), message("user", "Both"),
           message("assistant", "I look.", tool_calls=[one, other]),
           message("tool", "{\"temperature\": 12.5, \"sky\": \"grey\"}", tool_call_id="call00001", name="get_weather"),
           message("tool", "[]", tool_call_id="call00002", name="search_files"),
           message("assistant", "Grey, and no files."), message("user", "Again")]
    yield [message("user", "Both"), message("assistant", None, tool_calls=[one, other]),
           message("tool", "[1, 2]", tool_call_id="call00001"), message("tool", SPACED, tool_call_id="call00002")]
    yield [message("user", "First"), {"role": "assistant", "tool_calls": [one]},
           message("tool", UNICODE, tool_call_id="call00001", name="get_weather"),
           {"role": "assistant", "tool_calls": [call("now", given({}), "call00003")]},
           message("tool", [{"type": "text", "text": "noon"}], tool_call_id="call00003", name="now"),
           message("assistant", "Noon."), message("user", "Bye")]
    yield [message("user", "Ends with a call"), message("assistant", "", tool_calls=[other])]


def with_settings(messages, index):
    """The names beside the messages, by turns."""
    names = {"messages": messages, "add_generation_prompt": index % 3 != 2, "bos_token": "<s>", "eos_token": "</s>"}
    if index % 4 == 1:
        names["enable_thinking"] = index % 8 == 1
    if index % 5 == 3:
        names["tools"] = None
    if index % 7 == 6:
        names["reasoning_effort"] = "high"
    return names


def conversations():
    found = []
    for messages in itertools.chain(plain(), odd_roles(), prefill(), parts(), reasoning()):
        found.append(with_settings(messages, len(found)))
    for as_text in (False, True):
        for messages in tool_turns(as_text):
            for tools in (TOOLS, [WEATHER], None):
                found.append({**with_settings(messages, len(found)), "tools": tools})
    for tools in ([BARE], [NOTHING], TOOLS):
        found.append({**with_settings([message("system", "S"), message("user", "Tools?")], len(found)), "tools": tools})
    found.append({**with_settings([message("user", "Hi")], 0), "documents": [{"title": "T", "text": UNICODE}],
                  "custom_tools": TOOLS, "builtin_tools": ["wolfram_alpha", "brave_search"], "date_string": "1 May 2025",
                  "keep_past_thinking": True, "preserve_thinking": True, "model_identity": "I am a test."})
    return found
