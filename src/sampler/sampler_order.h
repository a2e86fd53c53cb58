// The order of sampling as a text: names of steps, as llama.cpp spells them, between semicolons.
//
//     penalties;dry;top_n_sigma;top_k;typ_p;top_p;min_p;xtc;temperature        the default
//
// A step that is not named is left out. Penalties and DRY change the row before anything is cut, so they may be named
// in front of the others only.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/sampling.h"

namespace octavo {

/// llama.cpp's name of a step.
std::string_view sampler_step_name(SamplerStep step);
/// The names of the steps between semicolons: "top_k;temperature".
std::string sampler_step_names(std::span<const SamplerStep> steps);

struct SamplerOrder {
  std::vector<SamplerStep> steps = {};  // the order; empty: no step was named
  bool has_penalties = false, has_dry = false;

  /// Errors: an unknown name, with the known ones; a name that occurs twice; penalties or dry after a cut.
  static Result<SamplerOrder> parse(std::string_view text);
  static Result<SamplerOrder> parse(const std::vector<std::string>& names);

  /// Puts the order into `params`; penalties and DRY that the order does not name are off.
  void apply_to(SamplingParams& params) const;
};

}  // namespace octavo
