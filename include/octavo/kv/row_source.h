// The source of a sequence's rows. Each row is a token, or a place in something else that was given, such as a picture.
//
// Every row has a token. That of a given row is a placeholder, so that whoever reads the text of a sequence finds
// tokens alone, and a row counts as a token in every length. What was given has a digest, and a row is one place in it:
// hashes of blocks cover both, and a hit compares both. Most sequences have tokens only; that costs an empty list.
//
// A view, for one thread at a time like what it looks at, which must outlive it.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "octavo/token.h"

namespace octavo {

/// The digest of something that was given: a hash of all that its rows are made of, for which nobody can make two
/// things collide (SHA-256, for one).
struct RowDigest {
  std::array<std::uint8_t, 32> bytes = {};
  friend bool operator==(const RowDigest&, const RowDigest&) = default;
};

/// Consecutive rows of a sequence that are consecutive places in one thing that was given.
struct GivenRows {
  std::int32_t first = 0;  // the first row in the sequence
  std::int32_t count = 0;
  std::int32_t index = 0;  // the place of the first row in what was given
  RowDigest digest = {};

  std::int32_t end() const { return first + count; }
  friend bool operator==(const GivenRows&, const GivenRows&) = default;
};
static_assert(std::has_unique_object_representations_v<GivenRows>);  // its bytes are hashed

class RowSource {
 public:
  RowSource() = default;
  /// Makes a source of tokens alone: from a vector, an array or a span of them.
  template <class Tokens>
    requires std::convertible_to<const Tokens&, std::span<const TokenId>>
  RowSource(const Tokens& tokens) : tokens_(tokens) {}  // NOLINT(google-explicit-constructor)
  /// `given`: pieces in ascending order that do not overlap, each as long as it can be: the same rows cut into other
  /// pieces do not count as equal. Pieces before and after the tokens are left out.
  RowSource(std::span<const TokenId> tokens, std::span<const GivenRows> given) : tokens_(tokens), given_(given) {
    if (has_given()) narrow();
  }

  std::size_t size() const { return tokens_.size(); }
  bool empty() const { return tokens_.empty(); }
  /// The tokens of all rows, placeholders included.
  std::span<const TokenId> tokens() const { return tokens_; }
  /// Whether some of the rows are given.
  bool has_given() const { return !given_.empty(); }
  /// Calls visit(GivenRows) for the given rows among these, in order; rows are counted from the first of these.
  template <class Visit>
  void for_given(const Visit& visit) const {
    for (std::size_t i = 0; i < given_.size(); ++i) visit(given(i));
  }

  RowSource first(std::size_t count) const { return subspan(0, count); }
  /// The rows [begin, begin + count), or all from `begin` on.
  RowSource subspan(std::size_t begin, std::size_t count = std::dynamic_extent) const {
    RowSource part;
    part.tokens_ = tokens_.subspan(begin, count);
    if (!has_given()) return part;
    part.given_ = given_;
    part.offset_ = offset_ + static_cast<std::int32_t>(begin);
    part.narrow();
    return part;
  }

  /// The number of leading rows that two sources have in common.
  friend std::size_t common_rows(const RowSource& a, const RowSource& b);
  friend bool operator==(const RowSource& a, const RowSource& b) {
    if (!a.has_given() && !b.has_given()) return std::ranges::equal(a.tokens_, b.tokens_);
    return a.size() == b.size() && common_rows(a, b) == a.size();
  }

 private:
  /// The part of piece `i` among these rows, counted from the first of these.
  GivenRows given(std::size_t i) const;
  /// Leaves out the pieces without a row among these.
  void narrow();

  std::span<const TokenId> tokens_;
  std::span<const GivenRows> given_;
  std::int32_t offset_ = 0;  // the pieces' number of the first row
};

}  // namespace octavo
