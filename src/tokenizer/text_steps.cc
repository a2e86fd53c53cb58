#include "tokenizer/text_steps.h"

#include <algorithm>
#include <limits>

#include "base/to_size.h"

namespace octavo {

namespace {

using Kind = TextStep::Kind;
using When = TextStep::When;

constexpr std::size_t kMaxBytes = to_size(std::numeric_limits<std::int32_t>::max());  // offsets are 32-bit

/// Bytes that a byte of text may become by the step.
std::size_t growth_of(const TextStep& step) {
  switch (step.kind) {
    case Kind::kNormalize: return step.form == Normalization::kNfkc || step.form == Normalization::kNfkd ? 11 : 3;
    case Kind::kPrepend: return 1;
    case Kind::kReplace: return std::max<std::size_t>(1, (step.to.size() + step.from.size() - 1) / step.from.size());
  }
  return 1;
}

std::size_t count(std::string_view text, std::string_view part) {
  if (part.size() == 1) return to_size(std::ranges::count(text, part.front()));
  std::size_t result = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++result;
  return result;
}

/// `out` is `text` with `num_places` of `from` replaced.
void replace(std::string_view text, const TextStep& step, std::size_t num_places, std::string& out) {
  out.clear();
  out.reserve(text.size() - num_places * step.from.size() + num_places * step.to.size());
  for (std::size_t i = 0; i < num_places; ++i) {
    const std::size_t at = text.find(step.from);
    out.append(text.substr(0, at)).append(step.to);
    text.remove_prefix(at + step.from.size());
  }
  out.append(text);
}

std::unexpected<Error> too_long(std::size_t size) {
  return fail("the text has {} bytes once it is normalized; at most {} can be tokenized", size, kMaxBytes);
}

bool is_prepended(const TextStep& step, std::string_view text, bool is_first) {
  if (step.when == When::kAlways) return true;
  return (step.when == When::kUnlessThere || is_first) && !text.starts_with(step.to);
}

}  // namespace

Result<TextSteps> TextSteps::create(std::vector<TextStep> steps) {
  if (steps.size() > kMaxSteps) return fail("found {} changes of text, expected at most {}", steps.size(), kMaxSteps);
  std::size_t growth = 1;
  for (const TextStep& step : steps) {
    if (step.from.size() > kMaxTextBytes || step.to.size() > kMaxTextBytes)
      return fail("found a text of {} bytes to put in or to replace, expected at most {}",
                  std::max(step.from.size(), step.to.size()), kMaxTextBytes);
    growth *= growth_of(step);
    if (growth > kMaxGrowth)
      return fail("found changes by which a byte of text may become {}, expected at most {}", growth, kMaxGrowth);
  }
  TextSteps result;
  result.steps_ = std::move(steps);
  return result;
}

bool TextSteps::normalizes() const {
  return std::ranges::any_of(steps_, [](const TextStep& step) { return step.kind == Kind::kNormalize; });
}

std::optional<std::size_t> TextSteps::max_shrink() const {
  std::size_t shrink = 1;
  for (const TextStep& step : steps_) {
    if (step.kind == Kind::kReplace && step.to.empty()) return std::nullopt;
    if (step.kind == Kind::kReplace) shrink *= (step.from.size() + step.to.size() - 1) / step.to.size();
    if (step.kind == Kind::kNormalize) shrink *= kMaxShrink;
  }
  return shrink;
}

bool TextSteps::remove(std::string_view from) const {
  bool is_removed = false;
  for (const TextStep& step : steps_) {
    if (step.kind == Kind::kReplace && step.from == from) is_removed = true;
    const bool brings_it = step.kind == Kind::kNormalize || step.to.find(from) != std::string::npos;
    if (brings_it || from.size() > 1) is_removed = false;  // a longer one may be put together
  }
  return is_removed;
}

Result<std::string_view> TextSteps::apply(std::string_view text, bool is_first, Scratch& scratch) const {
  for (const TextStep& step : steps_) {
    if (text.empty()) break;
    std::string& out = scratch.other;
    if (step.kind == Kind::kNormalize) {
      if (is_surely_normalized(text, step.form)) continue;
      out = normalize(text, step.form);
    } else if (step.kind == Kind::kPrepend) {
      if (!is_prepended(step, text, is_first)) continue;
      out.clear();
      out.reserve(step.to.size() + text.size());
      out.append(step.to).append(text);
    } else {
      const std::size_t num_places = count(text, step.from);
      if (num_places == 0) continue;
      const std::size_t size = text.size() + num_places * step.to.size() - num_places * step.from.size();
      if (size > kMaxBytes) return too_long(size);
      replace(text, step, num_places, out);
    }
    if (out.size() > kMaxBytes) return too_long(out.size());
    std::swap(scratch.text, scratch.other);
    text = scratch.text;
  }
  return text;
}

}  // namespace octavo
