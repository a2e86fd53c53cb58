#include "sampler/dry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace octavo {
namespace {

using ::testing::Each;

/// What each token loses, by the definition: the longest end of the sequence that also stands before an earlier place
/// of the token.
std::map<TokenId, double> reference(const Dry& dry, std::vector<TokenId> tokens, const std::vector<TokenId>& breakers) {
  if (dry.window > 0 && tokens.size() > static_cast<std::size_t>(dry.window))
    tokens.erase(tokens.begin(), tokens.end() - dry.window);
  const auto is_breaker = [&](TokenId token) { return std::ranges::find(breakers, token) != breakers.end(); };
  std::map<TokenId, double> penalties;
  const auto size = static_cast<int>(tokens.size());
  for (int next = 1; next < size; ++next) {
    int length = 0;
    while (length < next &&
           tokens[static_cast<std::size_t>(next - 1 - length)] == tokens[static_cast<std::size_t>(size - 1 - length)] &&
           !is_breaker(tokens[static_cast<std::size_t>(size - 1 - length)]))
      ++length;
    const TokenId token = tokens[static_cast<std::size_t>(next)];
    if (length == 0 || length < dry.allowed_length || is_breaker(token)) continue;
    penalties[token] = std::max(penalties[token], dry.multiplier * std::pow(dry.base, length - dry.allowed_length));
  }
  return penalties;
}

std::vector<float> apply(const Dry& dry, const std::vector<TokenId>& tokens,
                         const std::vector<TokenId>& breakers = {}) {
  DryPenalty penalty;
  std::vector<float> row(16, 0.0F);
  penalty.apply(row, dry, tokens, breakers);
  return row;
}

TEST(Dry, WhatContinuesARepetitionLosesMoreTheLongerItIs) {
  // "a b c c b c y a b c": a second c would make four of a repetition, y three.
  const std::vector<float> row =
      apply({.multiplier = 1, .base = 2, .allowed_length = 2}, {0, 1, 2, 2, 1, 2, 3, 0, 1, 2});
  EXPECT_FLOAT_EQ(row[2], -2);
  EXPECT_FLOAT_EQ(row[3], -1);
  EXPECT_FLOAT_EQ(row[0], 0);
  EXPECT_FLOAT_EQ(row[1], 0);
}

TEST(Dry, ABreakerEndsARepetition) {
  const Dry dry{.multiplier = 1, .base = 2, .allowed_length = 2};
  const std::vector<TokenId> tokens = {1, 2, 9, 3, 4, 5, 1, 2, 9, 3, 4};
  EXPECT_FLOAT_EQ(apply(dry, tokens)[5], -8);
  EXPECT_FLOAT_EQ(apply(dry, tokens, {9})[5], -1);
  EXPECT_THAT(apply(dry, tokens, {4, 9}), Each(0.0F));
}

TEST(Dry, ABreakerItselfLosesNothing) {
  const Dry dry{.multiplier = 1, .base = 2, .allowed_length = 1};
  EXPECT_FLOAT_EQ(apply(dry, {1, 2, 9, 1, 2})[9], -2);
  EXPECT_FLOAT_EQ(apply(dry, {1, 2, 9, 1, 2}, {9})[9], 0);
}

TEST(Dry, OnlyTheWindowIsLookedAt) {
  const Dry dry{.multiplier = 1, .base = 2, .allowed_length = 2, .window = 6};
  EXPECT_THAT(apply(dry, {1, 2, 3, 7, 7, 7, 7, 1, 2}), Each(0.0F));
}

TEST(Dry, AVeryLongRepetitionStaysFinite) {
  const std::vector<TokenId> tokens(5000, 3);
  const std::vector<float> row = apply({.multiplier = 10, .base = 10, .allowed_length = 1}, tokens);
  EXPECT_TRUE(std::isfinite(row[3]));
  EXPECT_LT(row[3], -1e29F);
}

RC_GTEST_PROP(Dry, AgreesWithTheDefinition, ()) {
  const auto tokens = *rc::gen::container<std::vector<TokenId>>(rc::gen::inRange(0, 4));
  const Dry dry{
      .multiplier = 0.75F, .base = 1.5F, .allowed_length = *rc::gen::inRange(0, 4), .window = *rc::gen::inRange(0, 30)};
  std::vector<TokenId> breakers;
  if (*rc::gen::arbitrary<bool>()) breakers.push_back(*rc::gen::inRange(0, 4));
  const std::map<TokenId, double> expected = reference(dry, tokens, breakers);
  const std::vector<float> row = apply(dry, tokens, breakers);
  for (TokenId token = 0; token < 4; ++token) {
    const auto found = expected.find(token);
    const double penalty = found == expected.end() ? 0 : found->second;
    RC_ASSERT(std::abs(-row[static_cast<std::size_t>(token)] - penalty) < 1e-4 * (1 + penalty));
  }
}

}  // namespace
}  // namespace octavo
