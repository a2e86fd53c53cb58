#include "tokenizer/text/text_steps.h"

#include <algorithm>
#include <limits>

#include "base/to_size.h"
#include "base/utf8.h"

namespace octavo {

namespace {

using Kind = TextStep::Kind;
using When = TextStep::When;

constexpr std::size_t kMaxBytes = to_size(std::numeric_limits<std::int32_t>::max());  // offsets are 32-bit

/// The most bytes that a byte of text may become by the step.
std::size_t growth_of(const TextStep& step) {
  switch (step.kind) {
    case Kind::kNormalize: return step.form == Normalization::kNfkc || step.form == Normalization::kNfkd ? 11 : 3;
    case Kind::kChange:  // two bytes may become three, and three bytes five with spaces around them
      return step.change == CharacterChange::kSetHanApart || step.change == CharacterChange::kLowerCase ? 2 : 1;
    case Kind::kReplace: return std::max<std::size_t>(1, (step.to.size() + step.from.size() - 1) / step.from.size());
    case Kind::kReplaceRuns: return std::max<std::size_t>(1, (step.to.size() + 1) / 2);
    case Kind::kReplaceMapped: return step.charsmap->max_growth();
    case Kind::kMarkWords: return step.to.size() + 1;
    case Kind::kPrepend:
    case Kind::kTrim: return 1;
  }
  return 1;
}

std::size_t count(std::string_view text, std::string_view part) {
  if (part.size() == 1) return to_size(std::ranges::count(text, part.front()));
  std::size_t result = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string_view::npos; at += part.size()) ++result;
  return result;
}

/// Sets `out` to `text` with `num_places` of `from` replaced.
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

void replace_runs(std::string_view text, const TextStep& step, std::string& out) {
  const char from = step.from.front();
  out.clear();
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] != from) {
      out += text[i++];
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of(from, i), text.size());
    out += end - i > 1 ? std::string_view(step.to) : text.substr(i, 1);
    i = end;
  }
}

std::string_view trimmed(std::string_view text, const TextStep& step, const CodePointSet& spaces) {
  if (step.trims_begin) text.remove_prefix(leading_bytes(text, spaces));
  if (step.trims_end) text.remove_suffix(trailing_bytes(text, spaces));
  return text;
}

void mark_words(std::string_view text, std::string_view mark, const CodePointSet& spaces, std::string& out) {
  out.clear();
  out.reserve(text.size() + mark.size());
  for (bool begins_word = true; !text.empty();) {
    if (const std::size_t space = leading_bytes(text, spaces); space > 0) {
      text.remove_prefix(space);
      begins_word = true;
      continue;
    }
    if (begins_word && !text.starts_with(mark)) out += mark;
    begins_word = false;
    const std::size_t length = std::min(utf8_announced_length(text.front()), text.size());
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
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
  const bool needs_spaces = std::ranges::any_of(
      steps, [](const TextStep& step) { return step.kind == Kind::kTrim || step.kind == Kind::kMarkWords; });
  if (needs_spaces) result.spaces_ = white_space();
  result.steps_ = std::move(steps);
  return result;
}

bool TextSteps::need_characters() const {
  return std::ranges::any_of(steps_, [](const TextStep& step) {
    return step.kind != Kind::kPrepend && step.kind != Kind::kReplace && step.kind != Kind::kReplaceRuns;
  });
}

std::optional<std::size_t> TextSteps::max_shrink() const {
  std::size_t shrink = 1;
  for (const TextStep& step : steps_) {
    switch (step.kind) {
      case Kind::kNormalize: shrink *= kMaxShrink; break;
      case Kind::kPrepend: break;
      case Kind::kReplace:
        if (step.to.empty()) return std::nullopt;
        shrink *= (step.from.size() + step.to.size() - 1) / step.to.size();
        break;
      case Kind::kChange:
      case Kind::kReplaceRuns:
      case Kind::kTrim:
      case Kind::kReplaceMapped:
      case Kind::kMarkWords: return std::nullopt;
    }
  }
  return shrink;
}

bool TextSteps::remove(std::string_view from) const {
  bool is_removed = false;
  for (const TextStep& step : steps_) {
    if (step.kind == Kind::kReplace && step.from == from) is_removed = true;
    const bool may_bring_any =
        step.kind == Kind::kNormalize || step.kind == Kind::kChange || step.kind == Kind::kReplaceMapped;
    const bool brings_it = may_bring_any || step.to.find(from) != std::string::npos;
    if (brings_it || from.size() > 1) is_removed = false;  // removals may put a longer one together
  }
  return is_removed;
}

Result<bool> TextSteps::apply_step(const TextStep& step, std::string_view text, bool is_first, Scratch& scratch) const {
  std::string& out = scratch.other;
  switch (step.kind) {
    case Kind::kNormalize:
      if (is_surely_normalized(text, step.form)) return false;
      out = normalize(text, step.form);
      return true;
    case Kind::kChange: change_characters(text, step.change, out); return true;
    case Kind::kPrepend:
      if (!is_prepended(step, text, is_first)) return false;
      out.clear();
      out.reserve(step.to.size() + text.size());
      out.append(step.to).append(text);
      return true;
    case Kind::kReplace: {
      const std::size_t num_places = count(text, step.from);
      if (num_places == 0) return false;
      const std::size_t size = text.size() + num_places * step.to.size() - num_places * step.from.size();
      if (size > kMaxBytes) return too_long(size);
      replace(text, step, num_places, out);
      return true;
    }
    case Kind::kReplaceRuns: replace_runs(text, step, out); return true;
    case Kind::kReplaceMapped: step.charsmap->apply(text, out); return true;
    case Kind::kTrim: out = trimmed(text, step, spaces_); return true;
    case Kind::kMarkWords: mark_words(text, step.to, spaces_, out); return true;
  }
  return false;
}

Result<std::string_view> TextSteps::apply(std::string_view text, bool is_first, Scratch& scratch) const {
  for (const TextStep& step : steps_) {
    if (text.empty()) break;
    OCTAVO_TRY(const bool is_changed, apply_step(step, text, is_first, scratch));
    if (!is_changed) continue;
    if (scratch.other.size() > kMaxBytes) return too_long(scratch.other.size());
    std::swap(scratch.text, scratch.other);
    text = scratch.text;
  }
  return text;
}

}  // namespace octavo
