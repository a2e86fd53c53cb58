// The part of a call that vectors or scores of texts need beside the requests: the rows that the engine gives, and what
// is to be made of them.
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

inline constexpr std::size_t kMaxTexts = 2048;                          // the most texts of a call
inline constexpr std::size_t kMaxTokensOfTexts = std::size_t{1} << 20;  // the most in a call: 2,048 texts of 512 tokens

/// The most pairs of tokens in a call of several texts: each text's tokens squared, which is the work of attention. As
/// many as 4,096 texts of 512 tokens have, or 16 of 8,192. A single text may be as long as the context.
inline constexpr std::int64_t kMaxPairsOfTokens = std::int64_t{1} << 30;

/// The most requests of a call that the engine has at once, and (unless it is one request) the most tokens in their
/// prompts: a few steps of work, so that others' requests do not wait for thousands of texts.
inline constexpr std::size_t kMaxTextsAtOnce = 64;
inline constexpr std::size_t kMaxTokensAtOnce = std::size_t{1} << 16;

/// The rows that the engine gives for one prompt.
class TextRows {
 public:
  explicit TextRows(std::size_t num_floats) : expected_(num_floats) {}

  /// Adds rows. Called by the engine, so it must not throw.
  void add(std::span<const float> rows) noexcept;
  /// All floats; empty where there are fewer than expected, because no memory was left for them.
  std::vector<float> take() { return floats_.size() == expected_ ? std::move(floats_) : std::vector<float>(); }

 private:
  std::size_t expected_;
  std::vector<float> floats_ = {};
};

/// The kind of answer that is made of the texts.
enum class VectorTask : std::uint8_t {
  kVectors,      // a vector of each text, or of each token
  kRanks,        // scores of documents for one query
  kScores,       // scores of pairs
  kComparisons,  // cosines of pairs
};

struct VectorCall {
  VectorTask task = VectorTask::kVectors;
  VectorForm form = {};
  int norm = 2;                                      // normalize()'s argument for vectors that are shown
  Bits bits = Bits::kNative;                         // how the model computes
  int width = 0;                                     // the floats of a row
  bool has_rows_of_tokens = false;                   // for kVectors: the model pools nothing
  std::size_t num_queries = 0;                       // for kComparisons: the first requests, one or as many as others
  std::int64_t num_tokens = 0;                       // the tokens of all prompts
  std::int64_t num_pairs = 0;                        // the sum of each prompt's tokens squared
  std::string_view field = {};                       // the client's name of the field with the texts
  std::vector<std::string> documents = {};           // kept where the answer shows them
  std::vector<std::shared_ptr<TextRows>> rows = {};  // one for each request
};

}  // namespace octavo
