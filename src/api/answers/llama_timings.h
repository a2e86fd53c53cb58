// The member `timings` of an answer, as llama.cpp's server writes it for programs that start it: the tokens of the
// prompt and of the answer, and the time of both.
//
// A value; any thread.
#pragma once

#include <cstdint>

#include "json/json_writer.h"
#include "octavo/request.h"

namespace octavo {

class LlamaTimings {
 public:
  /// Adds a choice that has ended. A prompt is counted once, with its first choice, though all of them report it.
  /// Choices are made side by side: their tokens add up, and the longest time counts.
  void add(const RequestStats& stats, bool is_first_choice);
  /// Writes the member `timings`.
  void write(JsonWriter json) const;

 private:
  std::int64_t prompt_tokens_ = 0, cached_tokens_ = 0, generated_tokens_ = 0;
  std::int64_t drafted_tokens_ = 0, accepted_tokens_ = 0;
  double prompt_s_ = 0, generated_s_ = 0;  // from the first step to the first token, and from there to the end
};

}  // namespace octavo
