#include "engine/text/embedding_prompt.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace octavo {
namespace {

auto too_long(std::size_t found, std::size_t most) {
  return fail_as(ErrorKind::kContextOverflow, "text: found {} tokens, expected at most {}: the model reads no more",
                 found, most);
}

/// The text of the first tokens, without a character that would be cut in two.
std::string beginning_of(const Tokenizer& tokenizer, std::span<const TokenId> tokens) {
  const std::string text = tokenizer.decode(tokens);
  std::string whole = to_valid_utf8(text);
  if (whole.ends_with(kReplacementCharacter) && !text.ends_with(kReplacementCharacter))
    whole.resize(whole.size() - kReplacementCharacter.size());
  return whole;
}

/// Fills a template. Words form tokens across its seams, so how much a shorter document saves is known only once it is
/// cut.
Result<EmbeddingPrompt> fill_template(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                      std::string_view query, std::string_view document,
                                      const EmbeddingPromptOptions& options) {
  constexpr int kMostCuts = 8;
  OCTAVO_TRY(std::vector<TokenId> words,
             tokenizer.encode(document, {.add_special = false, .parse_special = false, .work = options.work}));
  std::string kept(document);
  for (int cuts = 0; cuts <= kMostCuts; ++cuts) {
    OCTAVO_TRY(std::vector<TokenId> tokens,
               tokenizer.encode_prompt(rank_template.parts(query, kept), Tokenizer::kAnyNumber, options.work));
    if (tokens.size() <= options.max_tokens) return EmbeddingPrompt{.tokens = std::move(tokens), .is_cut = cuts > 0};
    const std::size_t beyond = tokens.size() - options.max_tokens;
    if (!options.cuts || beyond > words.size()) return too_long(tokens.size(), options.max_tokens);
    words.resize(words.size() - beyond);
    kept = beginning_of(tokenizer, words);
  }
  return too_long(words.size(), options.max_tokens);
}

FrameOptions frame_options(const EmbeddingPromptOptions& options) {
  return {.max_tokens = options.max_tokens, .cuts = options.cuts, .work = options.work};
}

/// The tokens of a query, made by `make` unless an earlier prompt of the query has left them.
template <class Make>
Result<const std::vector<TokenId>*> tokens_of_query(QueryTokens& kept, const Make& make) {
  if (!kept.is_made) {
    OCTAVO_TRY(kept.ids, make());
    kept.is_made = true;
  }
  return &kept.ids;
}

Result<EmbeddingPrompt> prompt_of(Result<FramedText> framed) {
  if (!framed) return std::unexpected(std::move(framed.error()));
  return EmbeddingPrompt{
      .tokens = std::move(framed->ids), .token_types = std::move(framed->types), .is_cut = framed->is_cut};
}

/// Joins both texts, each with its special tokens but for those before the document, as llama.cpp does.
Result<EmbeddingPrompt> one_behind_the_other(const Tokenizer& tokenizer, std::string_view query,
                                             std::string_view document, const EmbeddingPromptOptions& options) {
  QueryTokens own;
  const auto make = [&]() -> Result<std::vector<TokenId>> {
    OCTAVO_TRY(FramedText framed,
               tokenizer.encode_framed(query, {.max_tokens = options.max_tokens, .work = options.work}));
    return std::move(framed.ids);
  };
  OCTAVO_TRY(const std::vector<TokenId>* first, tokens_of_query(options.query != nullptr ? *options.query : own, make));
  if (first->size() > options.max_tokens) return too_long(first->size(), options.max_tokens);
  const std::size_t front = tokenizer.text_prefix().size();
  FrameOptions rest = frame_options(options);
  rest.max_tokens = options.max_tokens - first->size() + front;
  OCTAVO_TRY(const FramedText second, tokenizer.encode_framed(document, rest));
  std::vector<TokenId> tokens = *first;
  tokens.insert(tokens.end(), second.ids.begin() + static_cast<std::ptrdiff_t>(front), second.ids.end());
  return EmbeddingPrompt{.tokens = std::move(tokens), .is_cut = second.is_cut};
}

}  // namespace

Result<EmbeddingPrompt> make_embedding_prompt(const Tokenizer& tokenizer, std::string_view text,
                                              const EmbeddingPromptOptions& options) {
  if (options.add_special) return prompt_of(tokenizer.encode_framed(text, frame_options(options)));
  OCTAVO_TRY(std::vector<TokenId> words,
             tokenizer.encode(text, {.add_special = false, .parse_special = false, .work = options.work}));
  const bool is_cut = words.size() > options.max_tokens;
  if (is_cut && !options.cuts) return too_long(words.size(), options.max_tokens);
  if (is_cut) words.resize(options.max_tokens);
  return EmbeddingPrompt{.tokens = std::move(words), .is_cut = is_cut};
}

Result<EmbeddingPrompt> make_rank_prompt(const Tokenizer& tokenizer, const RankTemplate& rank_template,
                                         std::string_view query, std::string_view document,
                                         const EmbeddingPromptOptions& options) {
  if (rank_template.is_there()) return fill_template(tokenizer, rank_template, query, document, options);
  if (!tokenizer.has_pairs()) return one_behind_the_other(tokenizer, query, document, options);
  QueryTokens own;
  const auto make = [&] { return tokenizer.encode_first(query, frame_options(options)); };
  OCTAVO_TRY(const std::vector<TokenId>* first, tokens_of_query(options.query != nullptr ? *options.query : own, make));
  return prompt_of(tokenizer.encode_second(*first, document, frame_options(options)));
}

}  // namespace octavo
