// Vectors and scores of texts, which a model can make of a prompt beside tokens.
//
//     octavo::Request request{.tokens = *engine->text()->tokenize("a text", {}), .max_tokens = -1};
//     request.embedding.on_rows = [&](int, int, std::span<const float> rows) { vector.assign(rows.begin(), rows.end());
//     };
//
// Values; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/bits.h"
#include "octavo/picture.h"
#include "octavo/request_work.h"
#include "octavo/result.h"
#include "octavo/token.h"

namespace octavo {

/// The way in which the rows of a text's tokens become one vector.
enum class Pooling : std::uint8_t {
  kNone,  // all rows stay: a vector for each token
  kMean,  // the mean of the rows
  kCls,   // the first token's row
  kLast,  // the last token's row
  kRank,  // scores: the model's ranking head over the row that the model's kind takes
};
/// The name of a pooling: "none", "mean", "cls", "last" or "rank".
std::string_view pooling_name(Pooling pooling);
/// The pooling of that name; none: there is no such pooling.
std::optional<Pooling> find_pooling(std::string_view name);

/// Words that a model's maker wants in front of a text of one kind, by the name of the kind: "query", "document".
struct NamedPrompt {
  std::string name;
  std::string text;
};

/// The vectors that a model makes.
struct EmbeddingInfo {
  bool generates = true;             // false: an encoder, which predicts no next token
  Pooling pooling = Pooling::kLast;  // the file's; where it names none: the last row if the model generates, else the
                                     // mean
  int width = 0;                     // the number of floats in a vector
  std::vector<std::string> labels = {};   // for the ranking head's scores; "" where the file has no name. Empty:
                                          // the model has no such head
  bool names_pooling = false;             // whether the file names a pooling: the model is made for vectors
  std::vector<NamedPrompt> prompts = {};  // the prompts for its texts
  std::string default_prompt = {};        // the name of the default prompt before a text; empty: none

  /// The words before a text: those of the prompt of that name, those of the default one where no name is given, and
  /// none for the empty name. Error: there is no such prompt; it lists the names that exist.
  Result<std::string_view> prompt_text(const std::optional<std::string>& name) const;
};

/// A request's part about vectors. It needs no `max_tokens`: -1 makes nothing else.
struct EmbeddingParams {
  std::optional<Pooling> pooling = {};  // none: the model's (EmbeddingInfo::pooling)
  /// If set, it gets the prompt's vectors as the model makes them, not normalized: the number of the first one, how
  /// many, and float32 [number, width]. With a pooling it is one vector; with kNone one for each token, in order and in
  /// pieces; with kRank the scores. The callback must not throw. The rows that the pooling reads are computed whatever
  /// is cached.
  std::function<void(int first, int count, std::span<const float> rows)> on_rows = {};
};

/// A text, or a query and a document, as tokens of the model.
struct EmbeddingPrompt {
  std::vector<TokenId> tokens = {};
  std::vector<std::uint8_t> token_types = {};  // [tokens]; empty: all 0
  std::vector<PromptPicture> pictures = {};    // in their order, as for Request::pictures
  bool is_cut = false;                         // whether the text was longer than it may be, and has lost its end
};

/// The tokens of a query, kept from its first prompt for its prompts with other documents.
struct QueryTokens {
  std::vector<TokenId> ids = {};
  bool is_made = false;
};

struct EmbeddingPromptOptions {
  std::size_t max_tokens = 0;  // 0: the model's context
  bool cuts = false;           // whether a longer text loses its end; otherwise it is refused (kContextOverflow)
  bool add_special = true;     // whether the tokens that the model's maker puts around a text are added
  std::optional<std::string> prompt_name = {};  // the prompt before a single text (EmbeddingInfo::prompt_text)
  /// ModelText::rank_prompt() takes the query's tokens from here, or leaves them here, so that the query is read once
  /// for all of its documents, with options that are alike except for a `max_tokens` that may become less. In a
  /// template, words can form across the query's ends, so there it is read with each document. Null: the query has one
  /// document.
  QueryTokens* query = nullptr;
  RequestWork* work = nullptr;  // as in TokenizeOptions
};

/// Divides a vector. p = 2: by its Euclidean length; other p above 0: by the sum of magnitudes to the power p, to the
/// power 1 / p; 0: by the largest magnitude / 32760; -1: not at all. Zeros stay zeros. `bits`: the model's
/// (ModelInfo::bits).
void normalize(std::span<float> vector, int p = 2, Bits bits = Bits::kNative);

}  // namespace octavo
