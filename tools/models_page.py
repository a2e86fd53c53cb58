#!/usr/bin/env python3
"""Makes the tables of docs/models.md of what the tests hold Octavo to.

    tools/models_page.py --root . [--write]

The words of a family are those that tools/tokenizer_truth.py compares; the end of the assistant's
turn and the reasoning of a template are what tests/chat/template_ends.inc and template_reasoning.inc say, which
tests compare with what is found. Written by hand are MODELS, which have which words and templates, and BY_TEXT.
Prints why the page is not what this script makes, or puts it there; exit code 1 if it is not. Each template of the
tests must be in one row, each family of words too, and each test that the page names must be there.
"""
import argparse
import pathlib
import re
import sys
from typing import NamedTuple

import tokenizer_truth
from made_section import problem_of_section

BEGIN, END = "<!-- made by tools/models_page.py -->", "<!-- end of what is made -->"
FILE = "the file says"  # words that no family of the table above is known to be the original of

TESTS = (
    ("words: ids and texts", "tokenizer.IdsEqualTheOriginals"),
    ("chat template: text", "template.TemplatesEqualJinja2"),
    ("chat template: shapes of conversations", "chat.ShapedConversationsEqualJinja2"),
    ("chat template: control texts in messages", "ControlTexts.AreTheTemplatesOwnInNoFieldOfAnyTemplate"),
    ("the same, as tokens", "ControlTexts.BecomeNoControlTokensInAnyVocabulary"),
    ("reasoning", "ReasoningMarks.EachTemplateOfTheTestDataHasItsFamilyAndItsPromptsEnd"),
    ("end of the turn", "EndTokens.EachTemplateOfTheTestDataEndsTheAssistantsTurn"),
    ("ends that the vocabulary names", "EndOfGeneration.ByTextInEachFamily"),
    ("some end in each vocabulary", "EndTokens.EveryVocabularyOfTheTestDataHasOne"),
)


class Model(NamedTuple):
    name: str
    words: str  # a family of tokenizer_truth.py, another value of tokenizer.ggml.pre, or FILE
    templates: tuple = ()


MODELS = (
    Model("Apertus", FILE, ("Apertus-8B-Instruct",)),
    Model("Apriel", FILE, ("Apriel-1.6-15b-Thinker-fixed", "unsloth-Apriel-1.5")),
    Model("Bielik 3", FILE, ("Bielik-11B-v3.0-Instruct",)),
    Model("Command R, R7B", "command-r", ("CohereForAI-c4ai-command-r-plus-tool_use",
                                          "CohereForAI-c4ai-command-r7b-12-2024-tool_use")),
    Model("Command, mixtures", "cohere2moe", ("Cohere2MoE",)),
    Model("DBRX", "dbrx"),
    Model("DeepSeek LLM", "deepseek-llm"),
    Model("DeepSeek Coder", "deepseek-coder"),
    Model("DeepSeek V3, V4, R1", "deepseek-v3", (
        "deepseek-ai-DeepSeek-V3.1", "deepseek-ai-DeepSeek-V3.2", "deepseek-ai-DeepSeek-V4",
        "deepseek-ai-DeepSeek-V4-Flash-0731", "llama-cpp-deepseek-r1")),
    Model("DeepSeek R1 Distill Qwen", "deepseek-r1-qwen", ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B",)),
    Model("EXAONE 3.5", "exaone"),
    Model("Falcon", "falcon"),
    Model("Falcon 3", "falcon3"),
    Model("Gemma 2, 3", "gemma3 (SentencePiece)", ("google-gemma-2-2b-it",)),
    Model("Gemma 4", "gemma4 (SentencePiece)", ("google-gemma-4-31B-it", "google-gemma-4-31B-it-interleaved")),
    Model("GigaChat 3", "gigachat", ("GigaChat3-10B-A1.8B", "GigaChat3.1-10B-A1.8B")),
    Model("GLM 4", "glm4", ("GLM-4.6", "GLM-4.7-Flash")),
    Model("Glimmer", FILE, ("muse-glimmer",)),
    Model("GPT-2", "gpt-2"),
    Model("gpt-oss", "gpt-4o", ("openai-gpt-oss-120b",)),
    Model("Granite", FILE, ("ibm-granite-granite-3.3-2B-Instruct", "ibm-granite-granite-4.0", "ibm-granite-granite-4.1")),
    Model("Hy3", FILE, ("tencent-Hy3",)),
    Model("Kimi", FILE, ("Kimi-K2-Instruct", "Kimi-K2-Thinking", "Kimi-K3", "moonshotai-Kimi-K2")),
    Model("Laguna", "laguna", ("poolside-Laguna-S-2.1", "poolside-Laguna-XS-2.1", "poolside-Laguna-XS.2")),
    Model("LFM2", "lfm2", ("LFM2-8B-A1B", "LFM2.5-8B-A1B", "LFM2.5-Instruct")),
    Model("Ling 2", "bailingmoe2"),
    Model("Ling 3", FILE, ("inclusionai-ling-3.0-flash",)),
    Model("Llama 2, Mistral 7B", "llama (SentencePiece)"),
    Model("Llama 3, its derivatives", "llama-bpe", (
        "meta-llama-Llama-3.1-8B-Instruct", "meta-llama-Llama-3.2-3B-Instruct", "meta-llama-Llama-3.3-70B-Instruct",
        "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
        "deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "fireworks-ai-llama-3-firefunction-v2",
        "meetkai-functionary-medium-v3.1", "meetkai-functionary-medium-v3.2")),
    Model("MiniCPM 5", "minicpm5", ("openbmb-MiniCPM5-1B",)),
    Model("MiniMax", FILE, ("MiniMax-M1", "MiniMax-M2", "MiniMax-M3")),
    Model("MiMo", "qwen2", ("MiMo-VL",)),
    Model("Mistral Nemo, Small 3, Ministral 3, Devstral", "tekken", (
        "mistralai-Mistral-Nemo-Instruct-2407", "Mistral-Small-3.2-24B-Instruct-2506",
        "mistralai-Ministral-3-14B-Reasoning-2512", "unsloth-mistral-Devstral-Small-2507")),
    Model("Nemotron", FILE, ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "NVIDIA-Nemotron-Nano-v2")),
    Model("OLMo", "olmo"),
    Model("Phi 2", "phi-2"),
    Model("Phi 3", "phi-3 (SentencePiece)", ("microsoft-Phi-3.5-mini-instruct",)),
    Model("Pixtral", "pixtral"),
    Model("Qwen 2.5, 3, QwQ, Coder", "qwen2", ("Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B", "Qwen-QwQ-32B",
                                               "Qwen3-Coder")),
    Model("Qwen 3.5", "qwen35", ("Qwen3.5-4B",)),
    Model("Refact", "refact"),
    Model("Reka Edge", FILE, ("Reka-Edge",)),
    Model("RWKV", FILE, ("llama-cpp-rwkv-world",)),
    Model("Seed-OSS", FILE, ("ByteDance-Seed-OSS",)),
    Model("SmolLM, SmolLM2", "smollm"),
    Model("SmolLM3", "llama-bpe", ("HuggingFaceTB-SmolLM3-3B",)),
    Model("Solar Open", "solar-open", ("upstage-Solar-Open-100B",)),
    Model("Spark 2.5", "spark2_5", ("Spark2.5",)),
    Model("StarCoder 2", "starcoder"),
    Model("Step 3.5", FILE, ("StepFun3.5-Flash",)),
)


def read_ends(path):
    """Template -> the texts that end the assistant's turn."""
    return dict(re.findall(r'^\{"(.+?)", "(.*)"\},$', path.read_text(encoding="utf-8"), re.MULTILINE))


def read_reasoning(path):
    """Template -> the row of docs/reasoning.md."""
    return dict(re.findall(r'^\{"(.+?)", \{"(.+?)",', path.read_text(encoding="utf-8"), re.MULTILINE))


# Ends by the text of a token that the template of the tests does not write, or not alone.
BY_TEXT = {"MiniMax-M2": "[e~[", "MiniMax-M3": "[e~[", "fireworks-ai-llama-3-firefunction-v2": "<|eot_id|>",
           "openai-gpt-oss-120b": "<|return|> <|call|>"}


def end_shown(text):
    if text == "":
        return "–"
    return " ".join(f"`{end}`" for end in text.replace("<eos-of-file>", "EOS").split()).replace("|", "\\|")


def words_of(model):
    """The cell of a model's words; docs/tokenizers.md has the original that each family was compared with."""
    is_proved = model.words == FILE or model.words in tokenizer_truth.FAMILIES
    return model.words if is_proved else f"{model.words} (unproved)"


def rows(ends, reasoning):
    yield "| models | words | chat template | reasoning | end of the turn |"
    yield "|---|---|---|---|---|"
    for model in MODELS:
        for template in model.templates or ("",):
            cells = (model.name, words_of(model), template or "–", reasoning.get(template, "–"),
                     end_shown(BY_TEXT.get(template, ends.get(template, ""))))
            yield "| " + " | ".join(cells) + " |"


def test_rows():
    yield "| of | test |"
    yield "|---|---|"
    for subject, test in TESTS:
        yield f"| {subject} | `{test}` |"


def missing_tests(root):
    """Tests of the page that are not there."""
    text = "\n".join(path.read_text(encoding="utf-8") for pattern in ("CMakeLists.txt", "*.cc")
                     for path in sorted((root / "tests").rglob(pattern)))
    for _, test in TESTS:
        group, name = test.split(".")
        if f"NAME {test}" not in text and f"({group}, {name})" not in text:
            yield f"tools/models_page.py: no test {test}"


def problems_of_models(ends):
    listed = [template for model in MODELS for template in model.templates]
    for template in sorted(set(listed) | set(ends)):
        if listed.count(template) != 1 or template not in ends:
            yield (f"tools/models_page.py: {template} is in {listed.count(template)} rows, expected in one, and "
                   f"{'is' if template in ends else 'is not'} in template_ends.inc")
    for family in tokenizer_truth.FAMILIES:
        if all(model.words != family for model in MODELS):
            yield f"tools/models_page.py: no row has the words {family}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="of the repository")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    data = args.root / "tests" / "chat"
    ends, reasoning = read_ends(data / "template_ends.inc"), read_reasoning(data / "template_reasoning.inc")
    made = "\n".join([BEGIN, *rows(ends, reasoning), "", *test_rows(), END])
    problems = [*problems_of_models(ends), *missing_tests(args.root)]
    if problem := problem_of_section(args.root / "docs" / "models.md", BEGIN, END, made, args.write):
        problems.append(problem)
    print("\n".join(problems) or "docs/models.md is what this script makes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
