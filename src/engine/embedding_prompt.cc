#include "engine/embedding_prompt.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {
namespace {

/// The tokens that stand around a text.
struct Surroundings {
  std::vector<TokenId> front, behind;
};

Result<Surroundings> surroundings_of(const Tokenizer& tokenizer, bool add_special) {
  Surroundings around;
  if (!add_special) return around;
  const std::span<const TokenId> front = tokenizer.text_prefix();
  OCTAVO_TRY(const std::vector<TokenId> all, tokenizer.encode("", {.add_special = true, .parse_special = false}));
  around.front.assign(front.begin(), front.end());
  if (all.size() >= front.size() && std::ranges::equal(std::span(all).first(front.size()), front))
    around.behind.assign(all.begin() + std::ssize(front), all.end());
  return around;
}

auto too_long(std::size_t found, std::size_t most) {
  return fail_as(ErrorKind::kContextOverflow, "text: found {} tokens, expected at most {}: the model reads no more",
                 found, most);
}

/// The text of the first tokens, without a character that is cut in two.
std::string beginning_of(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  const std::string text = tokenizer.decode(tokens);
  std::string whole = to_valid_utf8(text);
  if (whole.ends_with(kReplacementCharacter) && !text.ends_with(kReplacementCharacter))
    whole.resize(whole.size() - kReplacementCharacter.size());
  return whole;
}

/// Words form across the seams of a template, so what a shorter document takes away is known when it is cut.
Result<EmbeddingPrompt> fill_template(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                      std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) {
  constexpr int kMostCuts = 8;
  OCTAVO_TRY(std::vector<TokenId> words, tokenizer.encode(document, {.add_special = false, .parse_special = false}));
  std::string kept(document);
  for (int cuts = 0; cuts <= kMostCuts; ++cuts) {
    OCTAVO_TRY(std::vector<TokenId> tokens, tokenizer.encode_prompt(rank_template.parts(query, kept)));
    if (tokens.size() <= options.max_tokens) return EmbeddingPrompt{.tokens = std::move(tokens), .is_cut = cuts > 0};
    const std::size_t beyond = tokens.size() - options.max_tokens;
    if (!options.cuts || beyond > words.size()) return too_long(tokens.size(), options.max_tokens);
    words.resize(words.size() - beyond);
    kept = beginning_of(tokenizer, words);
  }
  return too_long(words.size(), options.max_tokens);
}

}  // namespace

Result<EmbeddingPrompt> make_embedding_prompt(const Tokenizer& tokenizer, std::string_view text,
                                              const EmbeddingPromptOptions& options) {
  OCTAVO_TRY(const Surroundings around, surroundings_of(tokenizer, options.add_special));
  OCTAVO_TRY(std::vector<TokenId> words, tokenizer.encode(text, {.add_special = false, .parse_special = false}));
  const std::size_t num_special = around.front.size() + around.behind.size();
  EmbeddingPrompt prompt{.is_cut = words.size() + num_special > options.max_tokens};
  if (prompt.is_cut && !options.cuts) return too_long(words.size() + num_special, options.max_tokens);
  if (prompt.is_cut) words.resize(options.max_tokens - std::min(options.max_tokens, num_special));
  prompt.tokens = around.front;
  prompt.tokens.insert(prompt.tokens.end(), words.begin(), words.end());
  prompt.tokens.insert(prompt.tokens.end(), around.behind.begin(), around.behind.end());
  return prompt;
}

Result<EmbeddingPrompt> make_rank_prompt(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                         std::string_view query, std::string_view document,
                                         const EmbeddingPromptOptions& options) {
  if (rank_template.is_there()) return fill_template(tokenizer, rank_template, query, document, options);
  OCTAVO_TRY(const Surroundings around, surroundings_of(tokenizer, options.add_special));
  OCTAVO_TRY(const std::vector<TokenId> first, tokenizer.encode(query, {.add_special = false, .parse_special = false}));
  OCTAVO_TRY(std::vector<TokenId> second, tokenizer.encode(document, {.add_special = false, .parse_special = false}));
  EmbeddingPrompt prompt;
  const auto append = [&](const std::vector<TokenId>& tokens) {
    prompt.tokens.insert(prompt.tokens.end(), tokens.begin(), tokens.end());
  };
  append(around.front);
  append(first);
  append(around.behind);
  const std::size_t of_query = prompt.tokens.size(), all = of_query + second.size() + around.behind.size();
  prompt.is_cut = all > options.max_tokens;
  const std::size_t beyond = prompt.is_cut ? all - options.max_tokens : 0;
  if (prompt.is_cut && (!options.cuts || beyond > second.size())) return too_long(all, options.max_tokens);
  second.resize(second.size() - beyond);
  append(second);
  append(around.behind);
  prompt.token_types.assign(of_query, 0);
  prompt.token_types.resize(prompt.tokens.size(), 1);
  return prompt;
}

}  // namespace octavo
