// Exact numbers, as JSON writes them, with which the bounds of a schema are compared.
//
// Plain values; any thread.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo {

class Decimal {
 public:
  /// The most digits before or behind the point. No bound of a schema has more that a text could come near to.
  static constexpr int kMaxDigits = 400;

  /// A number in JSON's form. No value: another text, or too many digits.
  static std::optional<Decimal> parse(std::string_view text);

  bool is_negative() const { return is_negative_; }
  bool is_zero() const { return digits_.empty(); }
  bool is_integer() const { return exponent_ >= 0; }
  /// The digits of the absolute value: before the point (empty below 1), and behind it without trailing zeros.
  std::string integer_digits() const;
  std::string fraction_digits() const;
  /// Whether the divisor divides the number. No value: the divisor has too many digits, or is zero.
  std::optional<bool> is_multiple_of(const Decimal& divisor) const;
  Decimal negated() const;

  bool operator==(const Decimal&) const = default;
  std::strong_ordering operator<=>(const Decimal& other) const;

 private:
  bool is_negative_ = false;  // false for zero
  std::string digits_;        // neither the first nor the last is 0
  int exponent_ = 0;          // the value is digits_ · 10^exponent_; 0 for zero
};

}  // namespace octavo
