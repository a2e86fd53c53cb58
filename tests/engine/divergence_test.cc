// A prompt that comes again and parts from what was computed says where, to the client whose prompts they are, and to
// nobody else.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::make_request;
using test::TestEngine;

// Blocks of 4 tokens.
Request prompt_of(std::vector<TokenId> tokens, int max_tokens = 8) {
  Request request = make_request(1, max_tokens);
  request.tokens = std::move(tokens);
  return request;
}

std::vector<TokenId> counting(int count) {
  std::vector<TokenId> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(5 + i % 20);
  return tokens;
}

int diverged_at(TestEngine& engine, Request request) { return engine.run(std::move(request)).stats.diverged_at; }

TEST(Divergence, IsThePositionOfTheFirstOtherToken) {
  for (int changed = 4; changed < 20; ++changed) {
    TestEngine engine;
    EXPECT_EQ(diverged_at(engine, prompt_of(counting(20))), -1);
    std::vector<TokenId> tokens = counting(20);
    tokens[static_cast<std::size_t>(changed)] = 3;
    EXPECT_EQ(diverged_at(engine, prompt_of(tokens)), changed) << changed;
    EXPECT_EQ(engine->stats().diverged_prompts, 1U);
  }
}

TEST(Divergence, AConversationThatGoesOnDoesNotPart) {
  TestEngine engine;
  const Answer first = engine.run(prompt_of(counting(10)));
  std::vector<TokenId> tokens = counting(10);
  tokens.insert(tokens.end(), first.tokens.begin(), first.tokens.end());
  tokens.insert(tokens.end(), {7, 8, 9, 10, 11});
  EXPECT_EQ(diverged_at(engine, prompt_of(tokens)), -1);
  EXPECT_EQ(diverged_at(engine, prompt_of(counting(10))), -1);  // again, or a part of it
  EXPECT_EQ(diverged_at(engine, prompt_of(counting(7))), -1);
  EXPECT_EQ(engine->stats().diverged_prompts, 0U);
}

// As by a template that leaves the reasoning of earlier turns out.
TEST(Divergence, AnAnswerThatComesBackOtherwisePartsWhereItChanged) {
  TestEngine engine;
  const Answer first = engine.run(prompt_of(counting(10), 12));
  std::vector<TokenId> tokens = counting(10);
  tokens.insert(tokens.end(), first.tokens.begin() + 6, first.tokens.end());
  tokens.insert(tokens.end(), {7, 8, 9});
  int same = 0;  // by chance
  while (first.tokens[static_cast<std::size_t>(same)] == tokens[static_cast<std::size_t>(10 + same)]) ++same;
  EXPECT_EQ(diverged_at(engine, prompt_of(tokens)), 10 + same);
}

TEST(Divergence, OfSeveralTheOneFollowedLongestCounts) {
  TestEngine engine;
  for (const int changed : {17, 16, 19}) {
    std::vector<TokenId> tokens = counting(20);
    tokens[static_cast<std::size_t>(changed)] = 2;
    engine.run(prompt_of(tokens));
  }
  EXPECT_EQ(diverged_at(engine, prompt_of(counting(20))), 19);
}

TEST(Divergence, NobodyLearnsWhereHePartsFromOthers) {
  std::vector<TokenId> tokens = counting(20);
  tokens[14] = 3;
  for (const bool other_domain : {false, true}) {
    TestEngine engine;
    Request theirs = prompt_of(counting(20));
    theirs.owner = "them";
    engine.run(theirs);
    Request mine = prompt_of(tokens);
    mine.owner = other_domain ? "them" : "me";
    mine.cache_domain = other_domain ? "another" : "";
    EXPECT_EQ(diverged_at(engine, mine), -1);
    EXPECT_EQ(engine->stats().diverged_prompts, 0U);
    Request again = prompt_of(counting(20));
    again.owner = mine.owner;
    again.cache_domain = mine.cache_domain;
    // In one domain all of it is there, though it is theirs; in another nothing is but what was mine.
    EXPECT_EQ(diverged_at(engine, again), other_domain ? 14 : -1);
  }
}

TEST(Divergence, EveryChoiceSaysIt) {
  TestEngine engine;
  engine.run(prompt_of(counting(20)));
  std::vector<TokenId> tokens = counting(20);
  tokens[9] = 3;
  Request request = prompt_of(tokens);
  request.num_choices = 3;
  const RequestId id = engine.submit(request);
  engine->run();
  for (int choice = 0; choice < 3; ++choice) EXPECT_EQ(engine.answer(id, choice).stats.diverged_at, 9);
  EXPECT_EQ(engine->stats().diverged_prompts, 1U);
}

TEST(Divergence, WithoutAPrefixCacheNobodyKnows) {
  TestEngine engine({.prefix_cache = false});
  engine.run(prompt_of(counting(20)));
  std::vector<TokenId> tokens = counting(20);
  tokens[9] = 3;
  EXPECT_EQ(diverged_at(engine, prompt_of(tokens)), -1);
}

TEST(Divergence, GroupsWithWindowsChangeNothing) {
  TestEngine engine({.runner = {.windows = {5, 0}}});
  engine.run(prompt_of(counting(20)));
  std::vector<TokenId> tokens = counting(20);
  tokens[13] = 3;
  EXPECT_EQ(diverged_at(engine, prompt_of(tokens)), 13);
}

}  // namespace
}  // namespace octavo
