#include "tokenizer/words/end_of_generation.h"

#include <algorithm>

namespace octavo {

namespace {

using std::string_view_literals::operator""sv;

// The ends of a turn, a message or a document, and the three fill-in-the-middle tokens that separate files.
constexpr std::array kEndTexts = {
    "<|eot_id|>"sv,
    "<|im_end|>"sv,
    "<|end|>"sv,
    "<|return|>"sv,
    "<|call|>"sv,
    "<|flush|>"sv,
    "<|calls|>"sv,
    "<end_of_turn>"sv,
    "<|endoftext|>"sv,
    "<|eom_id|>"sv,
    "<EOT>"sv,
    "_<EOT>"sv,
    "[EOT]"sv,
    "[EOS]"sv,
    "<|end_of_text|>"sv,
    "<eos>"sv,
    "<turn|>"sv,
    "<end_of_utterance>"sv,
    "[e~["sv,
    "<|tool_response>"sv,
    "<｜end▁of▁sentence｜>"sv,
    "<|fim_pad|>"sv,
    "<fim-pad>"sv,
    "<fim_pad>"sv,
    "<PAD>"sv,
    "[PAD]"sv,
    "<|fim_repo|>"sv,
    "<|repo_name|>"sv,
    "<fim-repo>"sv,
    "<REPO>"sv,
    "<reponame>"sv,
    "<|file_sep|>"sv,
    "<|eot|>"sv,                // Llama 4 (its tokenizer_config.json)
    "<|eom|>"sv,                // Llama 4
    "<|END_OF_TURN_TOKEN|>"sv,  // Command R (`transformers`, models/cohere)
    "[|endofturn|]"sv,          // EXAONE (`transformers`, models/exaone4)
    "<|EOT|>"sv,                // DeepSeek Coder (its tokenizer_config.json)
    "<|role_end|>"sv,           // Ling (its chat template)
    "<|endofassistant|>"sv,     // dots (llama.cpp, conversion/base.py)
};

// GLM 4 ends a turn with the mark of the next speaker (eos_token_id of zai-org/glm-4-9b-chat-hf,
// generation_config.json). In gpt-oss and Solar the end of one message among several is "<|end|>".
constexpr std::array kRules = {
    EndRule{"<|user|>", {"[gMASK]", "<|observation|>"}, true},
    EndRule{"<|observation|>", {"[gMASK]", "<|user|>"}, true},
    EndRule{"<|end|>", {"<|return|>", "<|call|>"}, false},
    EndRule{"<|end|>", {"<|flush|>", "<|calls|>"}, false},
    EndRule{"<|eom|>", {"<|start|>", "<|message|>"}, false},  // Glimmer's messages; it has <|eot|>
};

constexpr std::array kOtherControlTexts = {
    "</s>"sv,
    "<|fim_prefix|>"sv,
    "<fim-prefix>"sv,
    "<fim_prefix>"sv,
    "<｜fim▁begin｜>"sv,
    "<PRE>"sv,
    "▁<PRE>"sv,
    "<|code_prefix|>"sv,
    "<|prefix|>"sv,
    "<|fim_suffix|>"sv,
    "<fim-suffix>"sv,
    "<fim_suffix>"sv,
    "<｜fim▁hole｜>"sv,
    "<SUF>"sv,
    "▁<SUF>"sv,
    "<|code_suffix|>"sv,
    "<|suffix|>"sv,
    "<|fim_middle|>"sv,
    "<fim-middle>"sv,
    "<fim_middle>"sv,
    "<｜fim▁end｜>"sv,
    "<MID>"sv,
    "▁<MID>"sv,
    "<|code_middle|>"sv,
    "<|middle|>"sv,
};

constexpr std::array kKeys = {"tokenizer.ggml.eos_token_id"sv,     "tokenizer.ggml.eot_token_id"sv,
                              "tokenizer.ggml.eom_token_id"sv,     "tokenizer.ggml.fim_pad_token_id"sv,
                              "tokenizer.ggml.fim_rep_token_id"sv, "tokenizer.ggml.fim_sep_token_id"sv};

template <class Texts>
bool contains(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

bool is_known_end_text(std::string_view text) { return contains(kEndTexts, text); }

std::span<const std::string_view> end_token_keys() { return kKeys; }

std::span<const EndRule> end_rules() { return kRules; }

bool is_known_control_text(std::string_view text) {
  return is_known_end_text(text) || contains(kOtherControlTexts, text);
}

}  // namespace octavo
