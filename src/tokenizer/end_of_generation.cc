#include "tokenizer/end_of_generation.h"

#include <algorithm>
#include <array>

namespace octavo {

namespace {

using std::string_view_literals::operator""sv;

// Ends of a turn, a message or a document, and the three fill-in-the-middle tokens that separate files.
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

template <class Texts>
bool contains(const Texts& texts, std::string_view text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

}  // namespace

bool is_known_end_text(std::string_view text) { return contains(kEndTexts, text); }

bool is_known_control_text(std::string_view text) {
  return is_known_end_text(text) || contains(kOtherControlTexts, text);
}

}  // namespace octavo
