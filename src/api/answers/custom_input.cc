#include "api/answers/custom_input.h"

#include <utility>

#include "toolcalls/json_text.h"

namespace octavo {
namespace {

constexpr std::string_view kBefore = "{\"input\":\"", kSpace = " \t\r\n";
constexpr std::size_t kMaxHeldSpace = 64;
constexpr std::size_t kUnit = 6, kPair = 12;  // the bytes of an escape \uXXXX, and of a pair of surrogates

bool is_high_surrogate(std::string_view escape) {
  return (escape[2] == 'd' || escape[2] == 'D') && std::string_view("89abAB").contains(escape[3]);
}

}  // namespace

std::string CustomInput::push(std::string_view arguments) {
  std::string out;
  for (const char c : arguments) add(c, out);
  return out;
}

std::string CustomInput::finish() {
  std::string out;
  if (at_ == At::kBefore) out = std::exchange(held_, {});
  if (at_ == At::kEscape && held_.size() >= kUnit) {
    held_.resize(kUnit);
    end_escape(out);
  }
  at_ = At::kBehind;
  return out;
}

void CustomInput::add(char c, std::string& out) {
  switch (at_) {
    case At::kBefore: return add_before(c, out);
    case At::kText: return add_text(c, out);
    case At::kEscape: return add_escape(c, out);
    case At::kOther: out += c; return;
    case At::kBehind: return;
  }
}

void CustomInput::add_before(char c, std::string& out) {
  held_ += c;
  const bool is_in_name = num_found_ > 1 && num_found_ < kBefore.find(':');
  if (c == kBefore[num_found_]) {
    ++num_found_;
  } else if (is_in_name || !kSpace.contains(c) || held_.size() > kBefore.size() + kMaxHeldSpace) {
    at_ = At::kOther;
    out += std::exchange(held_, {});
    return;
  }
  if (num_found_ < kBefore.size()) return;
  at_ = At::kText;
  held_.clear();
}

void CustomInput::add_text(char c, std::string& out) {
  if (c == '"') {
    at_ = At::kBehind;
  } else if (c == '\\') {
    at_ = At::kEscape;
    held_ = c;
  } else {
    out += c;
  }
}

void CustomInput::add_escape(char c, std::string& out) {
  // The first escape of a surrogate pair waits for the second one, if a backslash follows.
  if (held_.size() == kUnit && c != '\\') {
    end_escape(out);
    return add_text(c, out);
  }
  held_ += c;
  const std::size_t size = held_.size();
  const bool is_unit = held_[1] == 'u';
  const bool is_whole =
      !is_unit || size == kPair || (size == kUnit && !is_high_surrogate(held_)) || (size == kUnit + 2 && c != 'u');
  if (is_whole) end_escape(out);
}

void CustomInput::end_escape(std::string& out) {
  out += text_of_json('"' + std::exchange(held_, {}) + '"');
  at_ = At::kText;
}

}  // namespace octavo
