#include "sampler/sampler_order.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::string_view kPenalties = "penalties", kDry = "dry";
constexpr std::array<std::string_view, kDefaultSamplerOrder.size()> kStepNames = {
    "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"};

struct OtherName {
  std::string_view name, first;
};
constexpr OtherName kOtherNames[] = {
    {"typical_p", "typ_p"}, {"typical", "typ_p"}, {"temp", "temperature"}, {"top_nsigma", "top_n_sigma"}};

/// A step's name with underscores; of several names, the step's first.
std::string canonical(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  const auto* const other = std::ranges::find(kOtherNames, std::string_view(text), &OtherName::name);
  return other == std::end(kOtherNames) ? text : std::string(other->first);
}

std::optional<SamplerStep> find_step(std::string_view name) {
  for (const SamplerStep step : kDefaultSamplerOrder)
    if (sampler_step_name(step) == name) return step;
  return std::nullopt;
}

}  // namespace

std::string_view sampler_step_name(SamplerStep step) { return kStepNames[to_size(step)]; }

std::string sampler_step_names(std::span<const SamplerStep> steps) {
  std::string names;
  for (const SamplerStep step : steps) names.append(names.empty() ? "" : ";").append(sampler_step_name(step));
  return names;
}

Result<SamplerOrder> SamplerOrder::parse(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(';', begin), text.size());
    if (end > begin) names.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parse(names);
}

Result<SamplerOrder> SamplerOrder::parse(const std::vector<std::string>& names) {
  SamplerOrder order;
  for (const std::string& given : names) {
    const std::string name = canonical(given);
    if (name == kPenalties || name == kDry) {
      bool& named = name == kDry ? order.has_dry : order.has_penalties;
      if (named) return fail("found {} twice, expected each step at most once", name);
      if (!order.steps.empty())
        return fail("found {} behind {}, expected it in front of all cuts", name,
                    sampler_step_name(order.steps.back()));
      named = true;
      continue;
    }
    const std::optional<SamplerStep> step = find_step(name);
    if (!step)
      return fail("found '{}', expected {}, {} or {}", given.substr(0, 40), kPenalties, kDry,
                  fmt::join(kStepNames, ", "));
    if (std::ranges::find(order.steps, *step) != order.steps.end())
      return fail("found {} twice, expected each step at most once", name);
    order.steps.push_back(*step);
  }
  if (order.steps.empty()) return fail("found no step that cuts or sets the temperature, expected one at least");
  return order;
}

void SamplerOrder::apply_to(SamplingParams& params) const {
  params.order = steps;
  if (!has_penalties) {
    params.repetition_penalty = 1;
    params.frequency_penalty = params.presence_penalty = 0;
  }
  if (!has_dry) params.dry.multiplier = 0;
}

}  // namespace octavo
