#!/usr/bin/env python3
"""Compares chat templates as Octavo renders them with Python's jinja2, byte for byte.

    compare_templates.py --program RENDER_TEMPLATES [--templates FOLDER]

Without a folder, the small templates of template_snippets.py. With one, each *.jinja in it, with the conversations of
template_conversations.py. Where jinja2 raises, Octavo must fail. Also checks where text came from: each message is
rendered a second time with a mark of its own in each of its texts, and a mark must be found in no text of another
origin. Prints what differs; exit code 1 if anything does.
"""
import argparse
import copy
import datetime
import json
import pathlib
import subprocess
import sys

import jinja_environment
import template_conversations
import template_snippets

NOW = datetime.datetime(2025, 3, 9, 14, 5, 7)
# The origins of src/template/values/text.h, and characters that no template has.
ORIGINS = ("template", "system", "user", "tool", "model")
MARKS = ("\ue000", "\ue001", "\ue002", "\ue003", "\ue004")


def origin_of_role(role):
    return {"system": 1, "developer": 1, "assistant": 4, "tool": 3}.get(role, 2)


def put_mark(value, mark):
    """The value with a mark within each text, where templates that look at its begin or end do not see it."""
    if isinstance(value, str):
        middle = len(value) // 2
        return value[:middle] + mark + value[middle:] if len(value) > 1 else value
    if isinstance(value, list):
        return [put_mark(item, mark) for item in value]
    if isinstance(value, dict):
        kept = ("role", "type", "id", "tool_call_id", "arguments")
        return {key: item if key in kept and isinstance(item, str) else put_mark(item, mark)
                for key, item in value.items()}
    return value


def marked(names):
    names = copy.deepcopy(names)
    names["messages"] = [put_mark(message, MARKS[origin_of_role(message.get("role"))]) for message in names["messages"]]
    if names.get("tools"):
        names["tools"] = put_mark(names["tools"], MARKS[3])
    return names


def render_with_python(sources, inputs, pairs):
    """A text, or an exception, for each pair."""
    environment = jinja_environment.make_environment(NOW)
    compiled = []
    for source in sources:
        try:
            compiled.append(environment.from_string(source))
        except Exception as error:  # noqa: BLE001, whatever compilation raises
            compiled.append(error)
    results = []
    for template, names in pairs:
        try:
            if isinstance(compiled[template], Exception):
                raise compiled[template]
            text = compiled[template].render(**copy.deepcopy(inputs[names]))
            text.encode("utf-8")  # a lone surrogate is no text
            results.append(text)
        except Exception as error:  # noqa: BLE001, whatever rendering raises
            results.append(error)
    return results


def render_with_octavo(program, sources, inputs, pairs):
    job = {"now": [NOW.year, NOW.month, NOW.day, NOW.hour, NOW.minute, NOW.second], "templates": sources,
           "inputs": inputs, "pairs": pairs}
    done = subprocess.run([program], input=json.dumps(job), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def difference(expected, found):
    """What differs, in one line, or None."""
    if isinstance(expected, Exception):
        if "error" in found:
            return None
        return f"jinja2 raises {type(expected).__name__}: {expected}; octavo gives a text"
    if "error" in found:
        return f"octavo fails: {found['error']}; jinja2 gives {expected[:60]!r}"
    text = "".join(span for _, span in found["spans"])
    if text == expected:
        return None
    at = next((i for i, (a, b) in enumerate(zip(text, expected)) if a != b), min(len(text), len(expected)))
    return f"at character {at}: octavo {text[max(0, at - 30):at + 30]!r}, jinja2 {expected[max(0, at - 30):at + 30]!r}"


def misplaced_mark(found):
    """A span that has the mark of another origin, in one line, or None."""
    for origin, text in found.get("spans", ()):
        for index, mark in enumerate(MARKS):
            if mark in text and index != origin:
                return f"text of {ORIGINS[index]} is in a span of {ORIGINS[origin]}: {text[:60]!r}"
    return None


def compare(program, names, sources, inputs, pairs):
    problems = []
    expected = render_with_python(sources, inputs, pairs)
    found = render_with_octavo(program, sources, inputs, pairs)
    for (template, conversation), wanted, got in zip(pairs, expected, found):
        problem = difference(wanted, got) or misplaced_mark(got)
        if problem:
            problems.append(f"{names[template]}, conversation {conversation}: {problem}")
    num_raised = sum(isinstance(result, Exception) for result in expected)
    print(f"{len(sources)} templates, {len(pairs)} renderings, of which {num_raised} raise; {len(problems)} differ")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--templates", type=pathlib.Path)
    args = parser.parse_args()
    if args.templates:
        files = sorted(args.templates.glob("*.jinja"))
        if not files:
            sys.exit(f"{args.templates}: no *.jinja in it")
        names, sources = [file.stem for file in files], [file.read_text(encoding="utf-8") for file in files]
        inputs = template_conversations.conversations()
        inputs += [marked(conversation) for conversation in inputs]
        pairs = [[t, c] for t in range(len(sources)) for c in range(len(inputs))]
    else:
        sources, inputs = template_snippets.SNIPPETS, [template_snippets.NAMES]
        names, pairs = sources, [[t, 0] for t in range(len(sources))]
    problems = compare(args.program, names, sources, inputs, pairs)
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
