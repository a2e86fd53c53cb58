// Vectors and scores of texts: what a model makes of a prompt beside tokens.
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
  kNone,  // they stay: a vector for each token
  kMean,  // their mean
  kCls,   // the first token's
  kLast,  // the last token's
  kRank,  // scores: the model's ranking head over the row that its kind takes
};
/// "none", "mean", "cls", "last", "rank".
std::string_view pooling_name(Pooling pooling);
/// The pooling of that name; none: there is no such.
std::optional<Pooling> find_pooling(std::string_view name);

/// Words that a model's maker wants in front of a text of one kind, by the name of the kind: "query", "document".
struct NamedPrompt {
  std::string name;
  std::string text;
};

/// The vectors that a model makes.
struct EmbeddingInfo {
  bool generates = true;             // false: an encoder, which has no next token
  Pooling pooling = Pooling::kLast;  // the file's; where it says none, the last row of a model that generates, else the
                                     // mean
  int width = 0;                     // floats of a vector
  std::vector<std::string> labels = {};   // of the ranking head's scores; "" where the file has no name for one. None:
                                          // the model has no such head
  bool names_pooling = false;             // the file does: vectors are what the model is for
  std::vector<NamedPrompt> prompts = {};  // of its texts
  std::string default_prompt = {};        // the name of the one that stands in front of every text; empty: none does

  /// The words in front of a text: those of the prompt of that name, of the default one where no name is given, and
  /// nothing for the empty name. Error: there is no such prompt; it names those that there are.
  Result<std::string_view> prompt_text(const std::optional<std::string>& name) const;
};

/// A request's part about vectors. It needs no `max_tokens`: -1 makes nothing else.
struct EmbeddingParams {
  std::optional<Pooling> pooling = {};  // none: the model's (EmbeddingInfo::pooling)
  /// If set, it gets the prompt's vectors as the model gives them, not normalized: the number of the first, how many,
  /// and float32 [number, width]. One with pooling; with kNone one for each token, in order and in pieces; of kRank
  /// the scores. The callback must not throw. The prompt's rows that pooling reads are computed whatever is cached.
  std::function<void(int first, int count, std::span<const float> rows)> on_rows = {};
};

/// A text, or a query and a document, as tokens of the model.
struct EmbeddingPrompt {
  std::vector<TokenId> tokens = {};
  std::vector<std::uint8_t> token_types = {};  // of each token; empty: all 0
  std::vector<PromptPicture> pictures = {};    // in their order: Request::pictures
  bool is_cut = false;                         // the text was longer than it may be, and has lost its end
};

/// The tokens of a query, kept from the first of its prompts for those with other documents.
struct QueryTokens {
  std::vector<TokenId> ids = {};
  bool is_made = false;
};

struct EmbeddingPromptOptions {
  std::size_t max_tokens = 0;  // 0: the model's context
  bool cuts = false;           // a longer text loses its end; otherwise it is refused (kContextOverflow)
  bool add_special = true;     // the tokens that the model's maker puts around a text
  std::optional<std::string> prompt_name = {};  // of a single text (EmbeddingInfo::prompt_text)
  /// ModelText::rank_prompt() takes the query's tokens from here, or leaves them here: the query is read once for all
  /// of its documents, with options alike but for a `max_tokens` that may become less. In a template words form across
  /// the query's ends, so that it is read with each document. Null: the query has one document.
  QueryTokens* query = nullptr;
  RequestWork* work = nullptr;  // as in TokenizeOptions
};

/// Divides a vector: by its Euclidean length for 2, by the sum of magnitudes to the power p, to the power 1 / p, for
/// other p above 0, by the largest magnitude / 32760 for 0; for -1 it stays. Zeros stay zeros. `bits`: of the model
/// (ModelInfo::bits).
void normalize(std::span<float> vector, int p = 2, Bits bits = Bits::kNative);

}  // namespace octavo
