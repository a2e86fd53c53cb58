#include "constraint/schema/decimal.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "base/to_size.h"

namespace octavo {
namespace {

constexpr std::size_t kMaxDivisorDigits = 15;

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  Decimal number;
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  std::size_t place = 0;
  std::int64_t exponent = 0;
  const auto take_digits = [&](bool is_fraction) {
    const std::size_t begin = place;
    for (; place < text.size() && is_digit(text[place]); ++place) {
      if (!number.digits_.empty() || text[place] != '0') number.digits_ += text[place];
      if (is_fraction) --exponent;
    }
    return place > begin;
  };
  if (!take_digits(false)) return std::nullopt;
  if (place < text.size() && text[place] == '.') {
    ++place;
    if (!take_digits(true)) return std::nullopt;
  }
  if (place < text.size() && (text[place] == 'e' || text[place] == 'E')) {
    ++place;
    if (place < text.size() && text[place] == '+') ++place;
    std::int64_t written = 0;
    const auto [end, error] = std::from_chars(text.data() + place, text.data() + text.size(), written);
    if (error != std::errc() || written > 4 * kMaxDigits || written < -4 * kMaxDigits) return std::nullopt;
    place = to_size(end - text.data());
    exponent += written;
  }
  if (place != text.size()) return std::nullopt;
  while (number.digits_.ends_with('0')) {
    number.digits_.pop_back();
    ++exponent;
  }
  if (number.digits_.empty()) return Decimal();
  const auto num_digits = static_cast<std::int64_t>(number.digits_.size());
  if (num_digits + exponent > kMaxDigits || exponent < -kMaxDigits) return std::nullopt;
  number.exponent_ = static_cast<int>(exponent);
  number.is_negative_ = is_negative;
  return number;
}

std::string Decimal::integer_digits() const {
  if (exponent_ >= 0) return digits_ + std::string(to_size(exponent_), '0');
  const auto num_fraction = to_size(-exponent_);
  return digits_.size() > num_fraction ? digits_.substr(0, digits_.size() - num_fraction) : std::string();
}

std::string Decimal::fraction_digits() const {
  if (exponent_ >= 0) return {};
  const auto num_fraction = to_size(-exponent_);
  if (digits_.size() >= num_fraction) return digits_.substr(digits_.size() - num_fraction);
  return std::string(num_fraction - digits_.size(), '0') + digits_;
}

std::optional<bool> Decimal::is_multiple_of(const Decimal& divisor) const {
  if (divisor.is_zero()) return std::nullopt;
  if (is_zero()) return true;
  // Both are whole numbers of 10^unit.
  const int unit = std::min(exponent_, divisor.exponent_);
  const std::string scaled = divisor.digits_ + std::string(to_size(divisor.exponent_ - unit), '0');
  if (scaled.size() > kMaxDivisorDigits) return divisor.exponent_ > exponent_ ? std::optional(false) : std::nullopt;
  std::uint64_t modulus = 0, rest = 0;
  for (const char c : scaled) modulus = modulus * 10 + to_size(c - '0');
  for (const char c : digits_) rest = (rest * 10 + to_size(c - '0')) % modulus;
  for (int i = unit; i < exponent_; ++i) rest = rest * 10 % modulus;
  return rest == 0;
}

Decimal Decimal::negated() const {
  Decimal number = *this;
  number.is_negative_ = !is_negative_ && !is_zero();
  return number;
}

std::strong_ordering Decimal::operator<=>(const Decimal& other) const {
  if (is_negative_ != other.is_negative_)
    return is_negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  if (is_zero() || other.is_zero()) return !is_zero() <=> !other.is_zero();
  const auto magnitude = [](const Decimal& number) {
    return static_cast<int>(number.digits_.size()) + number.exponent_;
  };
  const auto of_size = magnitude(*this) <=> magnitude(other);
  const std::strong_ordering order = of_size != 0 ? of_size : digits_ <=> other.digits_;
  return is_negative_ ? 0 <=> order : order;
}

}  // namespace octavo
