#!/usr/bin/env python3
"""Compares conversations that are brought into the shapes of chat templates with what Python's jinja2 makes of them.

    template_caps.py --program SHAPE_CONVERSATIONS --templates FOLDER [--page DOCS/CHAT_TEMPLATES.md [--write]]

Each *.jinja of the folder renders agents' conversations: those of template_conversations.py that a client can send, and
those below, which most templates take only in another shape. The program gives the shaped values and its prompt;
jinja2 must make the same bytes of the same values, with `continue_final_message` as transformers has it, and raise
where the program fails. What users, systems and tools say in agents' conversations must be in the prompt.

With a page, its table of templates must be the one that the program's answers give; --write puts it there.
Prints what differs; exit code 1 if anything does.
"""
import argparse
import json
import pathlib
import subprocess
import sys

import compare_templates
import jinja_environment
from made_section import problem_of_section
from template_conversations import SPACED, TOOLS, UNICODE, call, conversations, message

BEGIN, END = "<!-- made by tools/template_caps.py -->", "<!-- end of what is made -->"
MARK = "CONTINUE_FINAL_MESSAGE_TAG "


def is_sendable(names):
    """A client's: texts or parts of text as contents, known settings."""
    def is_text(content):
        return (content is None or isinstance(content, str)
                or isinstance(content, list) and all("text" in part for part in content))
    return names["messages"] and all("role" in m and is_text(m.get("content")) for m in names["messages"])


def shaped(names):
    rest = {key: value for key, value in names.items()
            if key not in ("messages", "tools", "add_generation_prompt", "bos_token", "eos_token")}
    return {"messages": names["messages"], "tools": names.get("tools"), "names": rest,
            "add_generation_prompt": names["add_generation_prompt"]}


def agents():
    """What agents send, and the texts that must be in the prompt."""
    one = call("get_weather", '{"city": "Zürich", "days": [1, 2.5, null]}', "call_AbCd0123456789xYz")
    other = call("search_files", '{"query": "a \\"b\\""}', "call_0")
    results = [message("tool", "12 °C", tool_call_id="call_AbCd0123456789xYz"),
               message("tool", "[]", tool_call_id="call_0")]
    user, answer = message("user", "Ask?"), message("assistant", "Told.")
    yield [message("system", "Sys one."), message("system", "Sys two."), user]
    yield [message("system", "Sys one."), message("developer", "Dev."), user, answer, message("user", "More?")]
    yield [user, answer, message("system", "Late."), message("user", "More?")]
    yield [user, answer, message("system", "Late.")]
    yield [message("system", "Only.")]
    yield [message("developer", "Dev."), user, message("user", "Again?")]
    yield [user, answer, message("assistant", "And more."), message("user", "Fine.")]
    yield [message("system", SPACED), message("system", UNICODE), message("user", [
        {"type": "text", "text": "Part one."}, {"type": "text", "text": "Part two."}])]
    yield [user, message("assistant", None, tool_calls=[one]), results[0]]
    yield [user, message("assistant", "Look.", tool_calls=[one]), results[0], message("assistant", "Cold."), user]
    yield [user, message("assistant", None, tool_calls=[one, other]), *results]
    yield [user, message("assistant", "", tool_calls=[one], reasoning_content="Hm."), results[0],
           message("system", "Late."), message("user", "More?")]
    yield [user, message("assistant", "Told.", reasoning_content="Why not?"), message("user", "More?")]
    yield [user, message("assistant", "Look.", tool_calls=[one], reasoning_content="Hm."), results[0]]
    called = message("assistant", None, tool_calls=[one])
    yield [user, called, results[0], message("user", "Stop!")]
    yield [user, called, message("user", "Stop!"), results[0], message("user", "Well?")]
    yield [answer, user, message("assistant", ""), message("user", "More?")]
    yield [user, results[0], answer, called, message("system", "Late."), results[0], answer]
    yield [answer]
    picture = {"type": "image"}
    yield [message("user", [picture, {"type": "text", "text": "Shown?"}, picture]), answer,
           message("user", [picture])]
    yield [message("system", [{"type": "text", "text": "Sys one."}, picture]), user]
    yield [user, called,
           message("tool", [{"type": "text", "text": "12 °C"}, picture], tool_call_id="call_AbCd0123456789xYz")]


def continued():
    """Conversations whose last message goes on."""
    yield [message("user", "Count."), message("assistant", "1, 2,")]
    yield [message("user", "Count."), message("assistant", "1, 2, ")]
    yield [message("user", "Count."), message("assistant", "  1\n\n")]
    yield [message("user", "Count."), message("assistant", "")]
    yield [message("system", "S"), message("user", "A"), message("assistant", "A"), message("user", "A"),
           message("assistant", "A")]
    yield [message("user", "Count."), message("assistant", "<think>\nx\n</think>\n\n1,")]


# Not what a client of OpenAI's API sends: names that one template alone reads.
NAMES_OF_FIREFUNCTION = {"functions": '[{"name": "get_weather"}]', "datetime": "Mar 09 2025 14:05:07 GMT"}


def jobs():
    found = [shaped(names) for names in conversations() if is_sendable(names)]
    found += [{"messages": messages, "tools": TOOLS if index % 2 else None, "names": {}, "is_agent": True}
              for messages in agents() for index in range(2)]
    found += [{"messages": messages, "add_generation_prompt": False, "continue_final_message": True}
              for messages in continued()]
    found += [{"messages": messages, "names": NAMES_OF_FIREFUNCTION} for messages in agents()]
    return found


def shows_calls(compiled):
    """Whether jinja2 writes a call of a tool in any of the forms that clients send."""
    for arguments in ({"qkey": "Qargument"}, '{"qkey": "Qargument"}'):
        for content in ({"content": ""}, {"content": None}, {}):
            for results in ([], [message("tool", "12", tool_call_id="abcdefghi")]):
                turn = {"role": "assistant", **content, "tool_calls": [
                    {"id": "abcdefghi", "type": "function", "function": {"name": "qtool", "arguments": arguments}}]}
                try:
                    text = compiled.render(messages=[message("user", "Ask?"), turn, *results], tools=None,
                                           add_generation_prompt=True, bos_token="<s>", eos_token="</s>")
                except Exception:  # noqa: BLE001, whatever rendering raises
                    continue
                if "qtool" in text and "Qargument" in text:
                    return True
    return False


def cut_at_mark(rendered, text):
    """transformers' continue_final_message, on what was rendered with the mark."""
    if text.strip() not in rendered or MARK.strip() not in rendered:
        raise ValueError("the final message does not appear in the chat")
    place = rendered.rindex(MARK.strip())
    if rendered[place:place + len(MARK)] == MARK:
        return rendered[:place]
    return rendered[:place].rstrip()


def render(compiled, names, is_continued):
    if not is_continued:
        return compiled.render(**names)
    last = names["messages"][-1]
    content = last["content"]
    if isinstance(content, list):
        text = content[-1]["text"]
        content[-1]["text"] += MARK
    else:
        text = content
        last["content"] += MARK
    return cut_at_mark(compiled.render(**names), text)


def difference(compiled, conversation, result):
    """What differs, in one line, or None; and whether the template refused the conversation."""
    refused = "error" in result
    if "names" not in result:
        return None, refused
    try:
        expected = render(compiled, result["names"], conversation.get("continue_final_message", False))
    except Exception as error:  # noqa: BLE001, whatever rendering raises
        return None if refused else f"jinja2 raises {error!r}; octavo gives a text", refused
    if refused:
        return f"octavo: {result['error']}; jinja2 gives {expected[:60]!r}", True
    if result["prompt"] == expected:
        return None, False
    at = next((i for i, (a, b) in enumerate(zip(result["prompt"], expected)) if a != b), 0)
    return f"octavo {result['prompt'][max(0, at - 30):at + 40]!r}, jinja2 {expected[max(0, at - 30):at + 40]!r}", False


def lost(caps, conversation, result):
    """A text of a user, a system or a tool that is not in the prompt, in one line, or None."""
    if "prompt" not in result or conversation.get("is_agent") is None:
        return None
    for wanted in conversation["messages"]:
        content = wanted.get("content")
        texts = [part.get("text", "") for part in content] if isinstance(content, list) else [content or ""]
        for text in texts:
            escaped = json.dumps(text, ensure_ascii=False)[1:-1]
            if wanted["role"] != "assistant" and text.strip() not in result["prompt"] \
                    and escaped.strip() not in result["prompt"]:
                return f"the prompt lacks {text!r}"
    return None


SYSTEMS = {"none": "before the user's text", "one": "one, first", "several": "several, first", "anywhere": "anywhere"}


def wants_names(answer):
    """Whether the template refuses all that has no names of its own."""
    return all("error" in result for conversation, result in zip(jobs(), answer["results"])
               if conversation.get("names") != NAMES_OF_FIREFUNCTION)


def row(name, answer):
    """A template's row of the page."""
    caps = answer["caps"]
    if wants_names(answer):
        return f"| {name} | wants names of its own |" + " – |" * 5
    contents = [word for word, key in (("text", "text"), ("parts", "parts")) if caps[key]]
    shown_pictures = [word for word, key in (("pictures", "pictures"), ("also in results", "result_pictures")) if caps[key]]
    calls = "as text"
    if caps["calls"]:
        details = [{"either": "dict or text", "dict": "dict", "text": "text"}[caps["arguments"]]]
        details += [word for word, holds in (
            ("one a message", not caps["parallel"]), ("text apart", caps["calls_alone"]),
            ("nine-letter ids", caps["short_ids"]), ("null content", caps["empty"] == "none")) if holds]
        calls = ", ".join(details)
    reasoning = {"none": "left out", "part": "a part `thinking`", "name": f"`{caps['reasoning_name']}`"}
    shown_tools = "described" if not caps["tools"] else "yes" if caps["tools_name"] == "tools" \
        else f"`{caps['tools_name']}`"
    others = [word for word, holds in (
        ("turns of one role are joined", not caps["repeats"]),
        (f"results: `{caps['result_role']}`" if caps["result_role"] else "results are a user's text",
         caps["result_role"] != "tool"), ("no prefill", not caps["prefill"])) if holds]
    cells = [name, SYSTEMS[caps["system"]], ", ".join([" or ".join(contents), *shown_pictures]), shown_tools, calls, reasoning[caps["reasoning"]],
             ", ".join(others)]
    return "| " + " | ".join(cells) + " |"


def table(files, answers):
    head = ("template", "system messages", "content", "tools", "calls: arguments", "earlier reasoning", "else")
    rows = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([BEGIN, *rows, *(row(f.stem, a) for f, a in zip(files, answers)), END])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--templates", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    files = sorted(args.templates.glob("*.jinja"))
    if not files:
        sys.exit(f"{args.templates}: no *.jinja in it")
    sources = [file.read_text(encoding="utf-8") for file in files]
    wanted = jobs()
    done = subprocess.run([args.program], input=json.dumps({"templates": sources, "conversations": wanted}),
                          capture_output=True, text=True, check=True)
    answers = json.loads(done.stdout)
    environment = jinja_environment.make_environment(compare_templates.NOW)
    problems, num_refused = [], 0
    for file, source, answer in zip(files, sources, answers):
        compiled = environment.from_string(source)
        if shows_calls(compiled) and not answer["caps"]["calls"]:
            problems.append(f"{file.stem}: jinja2 writes calls of tools; octavo finds no form for them")
        for index, (conversation, result) in enumerate(zip(wanted, answer["results"])):
            problem, refused = difference(compiled, conversation, result)
            num_refused += refused
            problem = problem or lost(answer["caps"], conversation, result)
            if problem:
                problems.append(f"{file.stem}, conversation {index}: {problem}")
    print(f"{len(files)} templates, {len(files) * len(wanted)} conversations, of which {num_refused} are refused; "
          f"{len(problems)} differ")
    if args.page:
        problem = problem_of_section(args.page, BEGIN, END, table(files, answers), args.write)
        problems += [problem] if problem else []
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
