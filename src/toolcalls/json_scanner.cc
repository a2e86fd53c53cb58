#include "toolcalls/json_scanner.h"

#include "base/ascii.h"

namespace octavo {
namespace {

bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

}  // namespace

JsonScanner::Status JsonScanner::push(char c) {
  switch (at_) {
    case At::kValue: return is_white_space(c) && !depth_.empty() ? Status::kMore : begin_value(c);
    case At::kFirstItem:
      if (is_white_space(c)) return Status::kMore;
      return c == ']' ? close(c) : begin_value(c);
    case At::kFirstKey:
      if (is_white_space(c)) return Status::kMore;
      return c == '}' ? close(c) : begin_key(c);
    case At::kKey: return is_white_space(c) ? Status::kMore : begin_key(c);
    case At::kColon:
      if (c == ':') at_ = At::kValue;
      return c == ':' || is_white_space(c) ? Status::kMore : Status::kBad;
    case At::kBehindValue: return behind_value(c);
    case At::kString:
    case At::kEscape:
    case At::kHex: return in_string(c);
    case At::kWord:
      if (word_.front() != c) return Status::kBad;
      word_.remove_prefix(1);
      return word_.empty() ? end_value() : Status::kMore;
    case At::kNumber: return in_number(c);
  }
  return Status::kBad;
}

JsonScanner::Status JsonScanner::begin_value(char c) {
  if (c == '{' || c == '[') {
    if (depth_.size() == kMaxDepth) return Status::kBad;
    depth_.push_back(c == '{');
    at_ = c == '{' ? At::kFirstKey : At::kFirstItem;
    return Status::kMore;
  }
  if (c == '"') {
    at_ = At::kString;
    is_key_ = false;
    return Status::kMore;
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (word.front() != c) continue;
    word_ = word.substr(1);
    at_ = At::kWord;
    return Status::kMore;
  }
  if (c != '-' && !is_digit(c)) return Status::kBad;
  at_ = At::kNumber;
  number_ = c == '-' ? Number::kMinus : c == '0' ? Number::kZero : Number::kWhole;
  return Status::kMore;
}

JsonScanner::Status JsonScanner::begin_key(char c) {
  at_ = At::kString;
  is_key_ = true;
  return c == '"' ? Status::kMore : Status::kBad;
}

JsonScanner::Status JsonScanner::end_value() {
  at_ = At::kBehindValue;
  return depth_.empty() ? Status::kDone : Status::kMore;
}

JsonScanner::Status JsonScanner::close(char c) {
  if (depth_.back() != (c == '}')) return Status::kBad;
  depth_.pop_back();
  return end_value();
}

JsonScanner::Status JsonScanner::behind_value(char c) {
  if (is_white_space(c)) return Status::kMore;
  if (c == '}' || c == ']') return close(c);
  at_ = depth_.back() ? At::kKey : At::kValue;
  return c == ',' ? Status::kMore : Status::kBad;
}

JsonScanner::Status JsonScanner::in_string(char c) {
  if (at_ == At::kHex) {
    if (!is_hex(c)) return Status::kBad;
    if (--num_hex_ == 0) at_ = At::kString;
  } else if (at_ == At::kEscape) {
    at_ = c == 'u' ? At::kHex : At::kString;
    num_hex_ = 4;
    if (std::string_view("\"\\/bfnrtu").find(c) == std::string_view::npos) return Status::kBad;
  } else if (c == '\\') {
    at_ = At::kEscape;
  } else if (c == '"') {
    if (!is_key_) return end_value();
    at_ = At::kColon;
  } else if (static_cast<unsigned char>(c) < 0x20) {
    return Status::kBad;
  }
  return Status::kMore;
}

JsonScanner::Status JsonScanner::in_number(char c) {
  if (next_of_number(c)) return Status::kMore;
  if (!number_is_whole()) return Status::kBad;
  if (depth_.empty()) return Status::kEnded;
  return behind_value(c);
}

/// Moves on by a byte that a number may have here.
bool JsonScanner::next_of_number(char c) {
  using enum Number;
  const auto go = [this](Number to) {
    number_ = to;
    return true;
  };
  switch (number_) {
    case kMinus: return c == '0' ? go(kZero) : is_digit(c) && go(kWhole);
    case kZero:
    case kWhole:
      if (is_digit(c)) return number_ == kWhole;
      return c == '.' ? go(kPoint) : (c == 'e' || c == 'E') && go(kExponent);
    case kPoint: return is_digit(c) && go(kFraction);
    case kFraction: return is_digit(c) || ((c == 'e' || c == 'E') && go(kExponent));
    case kExponent: return c == '+' || c == '-' ? go(kSign) : is_digit(c) && go(kPower);
    case kSign: return is_digit(c) && go(kPower);
    case kPower: return is_digit(c);
  }
  return false;
}

std::uint8_t json_type_of(std::string_view text) {
  text = trimmed(text);
  if (text.empty()) return 0;
  JsonScanner scanner;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const JsonScanner::Status status = scanner.push(text[i]);
    if (status == JsonScanner::Status::kMore) continue;
    if (status != JsonScanner::Status::kDone || i + 1 != text.size()) return 0;
    switch (text.front()) {
      case '{': return kJsonObject;
      case '[': return kJsonArray;
      case '"': return kJsonString;
      case 'n': return kJsonNull;
      default: return kJsonBoolean;
    }
  }
  return scanner.is_whole_number() ? kJsonNumber : 0;
}

}  // namespace octavo
