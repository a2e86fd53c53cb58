#include "chat/infill_marks.h"

#include <array>
#include <span>
#include <string_view>

namespace octavo {
namespace {

using namespace std::string_view_literals;

constexpr std::array kPrefixKeys = {"tokenizer.ggml.fim_pre_token_id"sv, "tokenizer.ggml.prefix_token_id"sv};
constexpr std::array kSuffixKeys = {"tokenizer.ggml.fim_suf_token_id"sv, "tokenizer.ggml.suffix_token_id"sv};
constexpr std::array kMiddleKeys = {"tokenizer.ggml.fim_mid_token_id"sv, "tokenizer.ggml.middle_token_id"sv};
constexpr std::array kRepositoryKeys = {"tokenizer.ggml.fim_rep_token_id"sv};
constexpr std::array kFileKeys = {"tokenizer.ggml.fim_sep_token_id"sv};

constexpr std::array kPrefixTexts = {"<|fim_prefix|>"sv, "<fim-prefix>"sv, "<fim_prefix>"sv,    "<｜fim▁begin｜>"sv,
                                     "<PRE>"sv,          "▁<PRE>"sv,       "<|code_prefix|>"sv, "<|prefix|>"sv};
constexpr std::array kSuffixTexts = {"<|fim_suffix|>"sv, "<fim-suffix>"sv, "<fim_suffix>"sv,    "<｜fim▁hole｜>"sv,
                                     "<SUF>"sv,          "▁<SUF>"sv,       "<|code_suffix|>"sv, "<|suffix|>"sv};
constexpr std::array kMiddleTexts = {"<|fim_middle|>"sv, "<fim-middle>"sv, "<fim_middle>"sv,    "<｜fim▁end｜>"sv,
                                     "<MID>"sv,          "▁<MID>"sv,       "<|code_middle|>"sv, "<|middle|>"sv};
constexpr std::array kRepositoryTexts = {"<|fim_repo|>"sv, "<|repo_name|>"sv, "<fim-repo>"sv, "<REPO>"sv,
                                         "<reponame>"sv};
constexpr std::array kFileTexts = {"<|file_sep|>"sv};

Result<std::optional<TokenId>> find_token(const ModelSource& source, const Vocab& vocab,
                                          std::span<const std::string_view> keys,
                                          std::span<const std::string_view> texts) {
  for (const std::string_view key : keys) {
    OCTAVO_TRY(const auto id, read_token_id(source, key, vocab.size()));
    if (id) return id;
  }
  for (const std::string_view text : texts)
    if (const TokenId id = vocab.find(text); id >= 0) return id;
  return std::nullopt;
}

}  // namespace

Result<std::optional<InfillMarks>> InfillMarks::find(const ModelSource& source, const Vocab& vocab) {
  OCTAVO_TRY(const auto prefix, find_token(source, vocab, kPrefixKeys, kPrefixTexts));
  OCTAVO_TRY(const auto suffix, find_token(source, vocab, kSuffixKeys, kSuffixTexts));
  OCTAVO_TRY(const auto middle, find_token(source, vocab, kMiddleKeys, kMiddleTexts));
  OCTAVO_TRY(const auto repository, find_token(source, vocab, kRepositoryKeys, kRepositoryTexts));
  OCTAVO_TRY(const auto file, find_token(source, vocab, kFileKeys, kFileTexts));
  if (!prefix || !suffix || !middle) return std::nullopt;
  return InfillMarks{.prefix = *prefix, .suffix = *suffix, .middle = *middle, .repository = repository, .file = file};
}

}  // namespace octavo
