// A call for vectors or scores of texts, beside its requests: the rows as the engine gives them, and what becomes of
// them.
//
// The engine's thread fills the rows of a request; whoever has its last event reads them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/call/vector_form.h"
#include "octavo/request.h"

namespace octavo {

inline constexpr std::size_t kMaxTexts = 2048;                          // of a call
inline constexpr std::size_t kMaxTokensOfTexts = std::size_t{1} << 20;  // 2,048 texts of 512 tokens, all together

/// Pairs of tokens in a call of several texts, each text's tokens times themselves, which is what attention works on:
/// 4,096 texts of 512 tokens, or 16 of 8,192. One text alone may be as long as the context.
inline constexpr std::int64_t kMaxPairsOfTokens = std::int64_t{1} << 30;

/// Requests of a call that the engine has at once, and tokens in their prompts unless it is one alone: a few steps of
/// work, so that those of others are not behind thousands of texts.
inline constexpr std::size_t kMaxTextsAtOnce = 64;
inline constexpr std::size_t kMaxTokensAtOnce = std::size_t{1} << 16;

/// The rows that the engine gives of one prompt.
class TextRows {
 public:
  explicit TextRows(std::size_t num_floats) : expected_(num_floats) {}

  /// The engine's callback, which must not throw.
  void add(std::span<const float> rows) noexcept;
  /// All floats; nothing where there are not as many as there must be: no memory was left for them.
  std::vector<float> take() { return floats_.size() == expected_ ? std::move(floats_) : std::vector<float>(); }

 private:
  std::size_t expected_;
  std::vector<float> floats_ = {};
};

/// The thing that is made of the texts.
enum class VectorTask : std::uint8_t {
  kVectors,      // one of each, or of each token
  kRanks,        // the scores of documents for one query
  kScores,       // the scores of pairs
  kComparisons,  // the cosines of pairs
};

struct VectorCall {
  VectorTask task = VectorTask::kVectors;
  VectorForm form = {};
  int norm = 2;                                      // normalize()'s, of vectors that are shown
  Bits bits = Bits::kNative;                         // of the model
  int width = 0;                                     // floats of a row
  bool has_rows_of_tokens = false;                   // of kVectors: the model pools nothing
  std::size_t num_queries = 0;                       // of kComparisons: the first requests, one or as many as others
  std::int64_t num_tokens = 0;                       // of all prompts
  std::int64_t num_pairs = 0;                        // of their tokens, each prompt's with themselves
  std::string_view field = {};                       // of the texts, as the client names it
  std::vector<std::string> documents = {};           // where the answer shows them
  std::vector<std::shared_ptr<TextRows>> rows = {};  // beside each request
};

}  // namespace octavo
