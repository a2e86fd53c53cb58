// Sampling settings that a model's file asks for, under the keys that llama.cpp writes (general.sampling.*).
//
// Read once at load, then immutable.
#pragma once

#include <optional>

#include "base/error.h"
#include "octavo/engine.h"
#include "source/model_source.h"

namespace octavo {

struct SamplingDefaults {
  std::optional<float> temperature = {};  // general.sampling.temp
  std::optional<int> top_k = {};          // general.sampling.top_k
  std::optional<float> top_p = {};        // general.sampling.top_p
  std::optional<float> min_p = {};        // general.sampling.min_p

  /// Absent keys are no error. A value of another type or out of range is: it names the file, key and value.
  static Result<SamplingDefaults> read(const ModelSource& source);
  SamplingParams over(SamplingParams params) const;
};

}  // namespace octavo
