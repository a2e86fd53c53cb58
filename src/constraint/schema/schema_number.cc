#include "constraint/schema/schema_number.h"

#include <algorithm>
#include <charconv>
#include <compare>
#include <string>

#include "base/to_size.h"
#include "constraint/regex/character_dfa.h"

namespace octavo {
namespace {

constexpr std::uint64_t kMaxModulus = 1 << 12;

/// Compares digits that come one by one with those of a number, without signs.
class DigitComparison {
 public:
  explicit DigitComparison(const Decimal& to) : whole_(to.integer_digits()), fraction_(to.fraction_digits()) {}

  /// How many digits have come, of the whole part or of the fraction, and how they compare so far.
  struct State {
    std::int16_t place = 0;
    std::int8_t order = 0;
    auto operator<=>(const State&) const = default;
  };

  /// The state after a digit of the whole part; the zero before a point does not count.
  State after_whole(State state, char digit) const {
    if (to_size(state.place) < whole_.size() && state.order == 0)
      state.order = order(digit, whole_[to_size(state.place)]);
    if (to_size(state.place) <= whole_.size()) ++state.place;
    return state;
  }
  /// The state after the last digit of the whole part.
  State at_point(State state) const {
    if (to_size(state.place) != whole_.size()) state.order = to_size(state.place) < whole_.size() ? -1 : 1;
    state.place = 0;
    return state;
  }
  State after_fraction(State state, char digit) const {
    if (state.order != 0) return state;
    const char other = to_size(state.place) < fraction_.size() ? fraction_[to_size(state.place)] : '0';
    state.order = order(digit, other);
    if (to_size(state.place) < fraction_.size()) ++state.place;
    return state;
  }
  /// The order at the end of a number with a point, or of at_point(): below 0, 0 or above.
  int result(State state) const {
    if (state.order != 0) return state.order;
    return to_size(state.place) < fraction_.size() ? -1 : 0;
  }

 private:
  static std::int8_t order(char a, char b) { return static_cast<std::int8_t>(a < b ? -1 : a > b ? 1 : 0); }

  std::string whole_, fraction_;
};

/// The remainder of digits by a divisor, in units of the last digit that may count.
struct Modulus {
  std::uint64_t modulus = 1;
  std::uint32_t num_fraction = 0;  // digits after the point; later ones are zeros
};

std::optional<Modulus> modulus_of(const Decimal& divisor) {
  const std::string fraction = divisor.fraction_digits(), digits = divisor.integer_digits() + fraction;
  Modulus result{.modulus = 0, .num_fraction = static_cast<std::uint32_t>(fraction.size())};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.modulus);
  if (error != std::errc() || result.modulus == 0 || result.modulus > kMaxModulus) return std::nullopt;
  return result;
}

/// Follows the characters of a number. A state is a value; a character leads to another one.
class NumberFollower {
 public:
  enum class Part : std::uint8_t { kBegin, kMinus, kZero, kWhole, kPoint, kFraction, kDead };
  struct State {
    Part part = Part::kBegin;
    bool is_negative = false;
    bool has_value = false;          // a digit other than 0
    bool has_fraction = false;       // a digit other than 0 after the point
    std::uint32_t num_fraction = 0;  // digits after the point, as far as divisors count them
    std::vector<DigitComparison::State> comparisons = {};
    std::vector<std::uint64_t> rests = {};
    auto operator<=>(const State&) const = default;
  };

  NumberFollower(const NumberRange& range, std::vector<Modulus> moduli) : range_(range), moduli_(std::move(moduli)) {
    if (range.minimum) bounds_.push_back(range.minimum->value);
    if (range.maximum) bounds_.push_back(range.maximum->value);
    bounds_.insert(bounds_.end(), range.other_values.begin(), range.other_values.end());
    for (const Decimal& bound : bounds_) comparisons_.emplace_back(bound);
    for (const Modulus& modulus : moduli_) most_fraction_ = std::max(most_fraction_, modulus.num_fraction);
  }

  State start() const {
    return {.comparisons = std::vector<DigitComparison::State>(comparisons_.size()),
            .rests = std::vector<std::uint64_t>(moduli_.size())};
  }

  State after(State state, char c) const {
    switch (state.part) {
      case Part::kBegin:
        if (c != '-') return after_first(std::move(state), c);
        state.part = Part::kMinus;
        state.is_negative = true;
        return state;
      case Part::kMinus: return after_first(std::move(state), c);
      case Part::kZero: return c == '.' ? at_point(std::move(state)) : dead();
      case Part::kWhole:
        if (c == '.') return at_point(std::move(state));
        return c == '-' ? dead() : after_whole(std::move(state), c);
      case Part::kPoint:
      case Part::kFraction: return c == '-' || c == '.' ? dead() : after_fraction(std::move(state), c);
      case Part::kDead: return state;
    }
    return state;
  }

  bool accepts(State state) const {
    if (state.part == Part::kZero || state.part == Part::kWhole) {
      if (range_.kind == NumberKind::kFraction) return false;
      for (std::size_t i = 0; i < comparisons_.size(); ++i)
        state.comparisons[i] = comparisons_[i].at_point(state.comparisons[i]);
    } else if (state.part != Part::kFraction) {
      return false;
    }
    if (state.is_negative && !state.has_value) return false;
    if (range_.kind == NumberKind::kFraction && !state.has_fraction) return false;
    return is_in_range(state) && is_divisible(state);
  }

  /// How many parts a state has.
  std::size_t num_parts() const { return 1 + comparisons_.size() + moduli_.size(); }

  static State dead() { return {.part = Part::kDead}; }

 private:
  State after_first(State state, char c) const {
    if (c == '-' || c == '.') return dead();
    if (c != '0') return after_whole(std::move(state), c);
    state.part = Part::kZero;
    return state;
  }
  State after_whole(State state, char c) const {
    state.part = Part::kWhole;
    state.has_value = true;
    for (std::size_t i = 0; i < comparisons_.size(); ++i)
      state.comparisons[i] = comparisons_[i].after_whole(state.comparisons[i], c);
    for (std::size_t i = 0; i < moduli_.size(); ++i)
      state.rests[i] = (state.rests[i] * 10 + to_size(c - '0')) % moduli_[i].modulus;
    return state;
  }
  State at_point(State state) const {
    if (range_.kind == NumberKind::kInteger) return dead();
    state.part = Part::kPoint;
    for (std::size_t i = 0; i < comparisons_.size(); ++i)
      state.comparisons[i] = comparisons_[i].at_point(state.comparisons[i]);
    return state;
  }
  State after_fraction(State state, char c) const {
    state.part = Part::kFraction;
    state.has_value = state.has_value || c != '0';
    state.has_fraction = state.has_fraction || c != '0';
    for (std::size_t i = 0; i < comparisons_.size(); ++i)
      state.comparisons[i] = comparisons_[i].after_fraction(state.comparisons[i], c);
    for (std::size_t i = 0; i < moduli_.size(); ++i) {
      if (state.num_fraction < moduli_[i].num_fraction) {
        state.rests[i] = (state.rests[i] * 10 + to_size(c - '0')) % moduli_[i].modulus;
      } else if (c != '0') {
        return dead();
      }
    }
    state.num_fraction = std::min(state.num_fraction + 1, most_fraction_);
    return state;
  }

  bool is_in_range(const State& state) const {
    std::size_t next = 0;
    const auto order = [&] {
      const std::size_t i = next++;
      const bool is_negative = state.is_negative && state.has_value;
      if (is_negative != bounds_[i].is_negative()) return is_negative ? -1 : 1;
      const int of_digits = comparisons_[i].result(state.comparisons[i]);
      return is_negative ? -of_digits : of_digits;
    };
    if (range_.minimum && order() < (range_.minimum->is_exclusive ? 1 : 0)) return false;
    if (range_.maximum && order() > (range_.maximum->is_exclusive ? -1 : 0)) return false;
    while (next < bounds_.size())
      if (order() == 0) return false;
    return true;
  }
  bool is_divisible(const State& state) const {
    for (std::size_t i = 0; i < moduli_.size(); ++i) {
      std::uint64_t rest = state.rests[i];
      for (std::uint32_t digit = state.num_fraction; digit < moduli_[i].num_fraction; ++digit)
        rest = rest * 10 % moduli_[i].modulus;
      if (rest != 0) return false;
    }
    return true;
  }

  const NumberRange& range_;
  std::vector<Modulus> moduli_;
  std::vector<Decimal> bounds_;
  std::vector<DigitComparison> comparisons_;  // one for each bound
  std::uint32_t most_fraction_ = 0;
};

}  // namespace

std::optional<ExpressionId> write_number(const NumberRange& range, Grammar& grammar) {
  std::vector<Modulus> moduli;
  for (const Decimal& divisor : range.divisors) {
    const auto modulus = modulus_of(divisor);
    if (!modulus) return std::nullopt;
    moduli.push_back(*modulus);
  }
  const NumberFollower follower(range, std::move(moduli));
  static constexpr std::string_view kCharacters = "-.0123456789";
  const std::vector<CodePointSet> sets(kCharacters.begin(), kCharacters.end());
  const CharacterClasses classes(sets, grammar.work());
  const auto character_of = [&](std::uint32_t class_id) {
    const auto& members = classes.members[class_id];
    const auto is_member = std::ranges::find(members, true);
    return is_member == members.end() ? '\0' : kCharacters[to_size(is_member - members.begin())];
  };
  std::size_t num_steps = 0;
  const auto dfa =
      CharacterDfaBuilder(classes.ranges, classes.num_classes, grammar.work())
          .build(
              follower.start(),
              [&](NumberFollower::State state, std::uint32_t class_id) -> std::optional<NumberFollower::State> {
                const char c = character_of(class_id);
                num_steps += follower.num_parts();
                if (!grammar.work().add(follower.num_parts()) || num_steps > CharacterDfa::kMaxWork)
                  return std::nullopt;
                return std::optional(c == '\0' ? NumberFollower::dead() : follower.after(std::move(state), c));
              },
              [&](const NumberFollower::State& state) { return follower.accepts(state); });
  if (!dfa) return std::nullopt;
  return dfa->write([](Grammar& to, const CodePointSet& set) { return to.set(set); }, grammar);
}

}  // namespace octavo
