// The sampling settings that a model asks for: in its file, under the keys that llama.cpp writes (general.sampling.*,
// tokenizer.ggml.suppress_tokens) and an own key for a folder's bad_words_ids; and in a generation_config.json
// (generation_config.h), which goes before the file.
//
// Read once at load, then immutable.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"
#include "sampler/sampler_order.h"
#include "source/model_source.h"

namespace octavo {

inline constexpr std::size_t kMaxBadWords = 1024;

struct SamplingDefaults {
  std::optional<float> temperature = {};         // general.sampling.temp
  std::optional<int> top_k = {};                 // top_k
  std::optional<float> top_p = {};               // top_p
  std::optional<float> min_p = {};               // min_p
  std::optional<float> typical_p = {};           // only in a generation_config.json
  std::optional<float> xtc_probability = {};     // xtc_probability
  std::optional<float> xtc_threshold = {};       // xtc_threshold
  std::optional<float> repetition_penalty = {};  // penalty_repeat
  std::optional<int> penalty_window = {};        // penalty_last_n; there -1 means all tokens
  std::optional<int> mirostat = {};              // mirostat: a version, or 0 for none
  std::optional<float> mirostat_tau = {};        // mirostat_tau
  std::optional<float> mirostat_eta = {};        // mirostat_eta
  std::optional<SamplerOrder> order = {};        // sequence
  std::vector<TokenId> suppressed = {};          // tokenizer.ggml.suppress_tokens: never drawn
  std::vector<TokenId> end_tokens = {};  // of a generation_config.json: they end an answer, beside the words' own
  /// bad_words_ids: an answer may not draw the last token of one that it would complete. A file has them one after
  /// another, each with a -1 at its end.
  std::vector<std::vector<TokenId>> bad_words = {};

  /// Reads the settings of a file. Absent keys are no errors; values of another type or out of range are, with file,
  /// key and value.
  static Result<SamplingDefaults> read(const ModelSource& source);
  SamplingParams over(SamplingParams params) const;
  /// The settings of `first`, and where it has none, these; lists have those of both.
  SamplingDefaults behind(const SamplingDefaults& first) const;
  /// The settings that are there, by their keys, as texts for people.
  std::vector<std::pair<std::string, std::string>> described() const;
};

}  // namespace octavo
