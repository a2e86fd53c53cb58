// Pictures whose rows see each other: they are computed together, in pieces between steps, and count when all are
// there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::add_picture;
using test::made_up_picture;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::HasSubstr;

TestEngineOptions joining(TestEngineOptions options = {}) {
  options.encoder.emplace();
  options.runner.joint_rows = 64;
  return options;
}

Request text_of(int prompt, int tokens, std::uint64_t seed = 1) {
  Request request = make_request(prompt, tokens, seed);
  for (TokenId& token : request.tokens) token %= test::kPlaceholder;
  return request;
}

Request with_picture(int prompt, int first, std::uint8_t name, int rows = 2, int columns = 5) {
  Request request = text_of(prompt, 6);
  add_picture(request, first, made_up_picture(rows, columns, name));
  return request;
}

TEST(JointPass, AnswersDependOnThePictureWhereverItStands) {
  for (const std::vector<int>& windows : {std::vector<int>{0}, {0, 3}, {7}}) {
    TestEngine engine(joining({.runner = {.windows = windows}}));
    for (const int first : {0, 5, 12}) {
      for (const int name : {1, 2}) {
        const Request request = with_picture(12, first, static_cast<std::uint8_t>(name));
        EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32, engine.runner().windows())))
            << first << ", " << name;
      }
    }
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_EQ(engine.runner().num_joint_passes(), 6);
  }
}

TEST(JointPass, NoChunkEndsInAPicture) {
  for (const int chunk : {1, 4, 7, 512}) {
    TestEngine engine(joining({.limits = {.max_step_tokens = chunk}}));
    Request request = with_picture(12, 5, 1, 5, 9);
    add_picture(request, 53, made_up_picture(5, 2, 2));
    EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32))) << chunk;
    EXPECT_EQ(engine.runner().num_joint_passes(), 2);
    EXPECT_EQ(engine.runner().num_joint_pieces(), 23 + 5);
  }
}

TEST(JointPass, StreamsGoOnBetweenThePieces) {
  TestEngine engine(joining());
  engine.run(with_picture(12, 5, 1, 6, 10));  // so that its vectors are there
  const Request stream = text_of(4, 90, 3), seen = with_picture(12, 4, 1, 6, 10);
  const int pieces = engine.runner().num_joint_pieces();
  const RequestId first = engine.submit(stream);
  while (engine.answer(first).tokens.empty()) engine->step();
  const RequestId second = engine.submit(seen);
  while (engine.runner().num_joint_pieces() == pieces) engine->step();
  const std::size_t before = engine.answer(first).tokens.size();
  while (engine.runner().num_joint_pieces() < pieces + 25) engine->step();
  EXPECT_GE(engine.answer(first).tokens.size(), before + 23) << "a token for each piece";
  EXPECT_TRUE(engine.answer(second).tokens.empty());
  engine->run();
  EXPECT_TRUE(engine.answer(first).same_tokens(reference_answer(stream, 32)));
  EXPECT_TRUE(engine.answer(second).same_tokens(reference_answer(seen, 32)));
}

TEST(JointPass, APieceOfKeysLeavesThoseOfTheRestTheirSize) {
  TestEngine engine(joining());
  const RequestId id = engine.submit(with_picture(12, 5, 1, 6, 10));
  while (engine.runner().num_joint_pieces() == 0) engine->step();
  const std::uint64_t first = engine.runner().most_joint_rest();
  engine->run();
  EXPECT_GE(engine.runner().most_joint_rest(), 8 * first) << "pieces that take no time grow";
  EXPECT_FALSE(engine.answer(id).tokens.empty());
}

TEST(JointPass, ManyWithOnePictureHaveTheirOwnAnswers) {
  TestEngine engine(joining());
  std::vector<std::pair<RequestId, Request>> asked;
  for (std::uint64_t i = 0; i < 16; ++i) {
    Request request = with_picture(16, 2, 1);
    request.tokens.back() = static_cast<TokenId>(i);
    asked.emplace_back(engine.submit(request), request);
  }
  engine->run();
  for (const auto& [id, request] : asked) EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(engine.runner().num_joint_passes(), 1) << "the others find it cached";
}

/// Sixteen that ask at once, each by its last tokens; gives their ids with what was asked.
std::vector<std::pair<RequestId, Request>> ask_sixteen(TestEngine& engine, const Request& request, int num_own) {
  std::vector<std::pair<RequestId, Request>> asked;
  for (int i = 0; i < 16; ++i) {
    Request own = request;
    for (int token = 0; token < num_own; ++token)
      own.tokens[own.tokens.size() - 1 - static_cast<std::size_t>(token)] = (i + token) % test::kPlaceholder;
    asked.emplace_back(engine.submit(own), own);
  }
  return asked;
}

TEST(JointPass, ManyWithOnePictureShareItsBlocksWhereverTheyBegin) {
  for (const double step_ms : {0.0, 0.05})
    for (const int chunk : {3, 64})
      for (int first = 0; first < 9; ++first) {
        SCOPED_TRACE(testing::Message() << "first " << first << ", chunk " << chunk << ", " << step_ms << " ms");
        TestEngine engine(joining({.limits = {.max_step_tokens = chunk, .max_sequences = 16, .step_ms = step_ms}}));
        const int end = first + 10,
                  blocks_end = (end + 3) / 4 * 4;  // the block in which the picture ends is shared, too
        const Request request = with_picture(blocks_end - 10 + 3, first, 1);
        const auto asked = ask_sixteen(engine, request, 3);
        engine->run();
        for (const auto& [id, own] : asked) EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(own, 32)));
        EXPECT_EQ(engine.runner().num_joint_passes(), 1);
        EXPECT_EQ(engine.runner().num_joint_pieces(), 5);
      }
}

TEST(JointPass, RowsInABlockThatNobodySharesAreComputedAlone) {
  TestEngine engine(joining());
  const Request request = with_picture(6, 3, 1);  // rows 3 to 13; the last block is each one's own
  const auto asked = ask_sixteen(engine, request, 3);
  engine->run();
  for (const auto& [id, own] : asked) EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(own, 32)));
  EXPECT_EQ(engine.runner().num_joint_passes(), 16);
  EXPECT_EQ(engine.runner().num_joint_pieces(), 5 + 15) << "of the others one row each";
}

TEST(JointPass, TwoPicturesInOneBlockAreComputedOnceEach) {
  TestEngine engine(joining());
  engine.run(with_picture(2, 1, 1)), engine.run(with_picture(2, 1, 2));  // so that both have vectors
  const int passes = engine.runner().num_joint_passes();
  Request request = with_picture(9, 3, 1);  // rows 3 to 13
  add_picture(request, 14, made_up_picture(2, 5, 2));
  const auto asked = ask_sixteen(engine, request, 4);
  engine->run();
  for (const auto& [id, own] : asked) EXPECT_TRUE(engine.answer(id).same_tokens(reference_answer(own, 32)));
  EXPECT_EQ(engine.runner().num_joint_passes(), passes + 2);
}

TEST(JointPass, AnotherGoesOnWhereTheFirstIsCancelled) {
  for (const int pieces : {0, 3}) {
    TestEngine engine(joining());
    const auto asked = ask_sixteen(engine, with_picture(9, 2, 1), 3);
    while (engine.runner().num_joint_passes() == 0 || engine.runner().num_joint_pieces() < pieces) engine->step();
    engine->cancel(asked.front().first);
    engine->run();
    for (std::size_t i = 1; i < asked.size(); ++i)
      EXPECT_TRUE(engine.answer(asked[i].first).same_tokens(reference_answer(asked[i].second, 32)));
    EXPECT_EQ(engine.runner().num_joint_passes(), 2);
  }
}

TEST(JointPass, ACachedPrefixMayEndInAPicture) {
  TestEngine engine(joining());
  const Request first = with_picture(14, 2, 1, 2, 7);  // rows 2 to 16, then other texts in the block behind
  engine.run(first);
  EXPECT_EQ(engine.runner().num_joint_pieces(), 7);
  Request other = with_picture(10, 1, 1, 2, 7);
  engine.run(other);  // another text before it
  EXPECT_EQ(engine.runner().num_joint_pieces(), 14);
  Request question = with_picture(3, 2, 1, 3, 5);
  engine.run(question);
  const int before = engine.runner().num_joint_pieces();
  question.tokens.back() = (question.tokens.back() + 1) % test::kPlaceholder;
  const test::Answer answer = engine.run(question);  // rows 2 to 17: four blocks are cached, and one row is left
  EXPECT_EQ(answer.stats.cached_tokens, 16);
  EXPECT_EQ(engine.runner().num_joint_pieces(), before + 1);
  EXPECT_TRUE(answer.same_tokens(reference_answer(question, 32)));
}

TEST(JointPass, ACancelledOneLeavesNothing) {
  for (int pieces = 0; pieces < 6; ++pieces) {
    TestEngine engine(joining());
    const Request seen = with_picture(12, 5, 1), text = text_of(9, 6, 3);
    const RequestId id = engine.submit(seen);
    while (engine.runner().num_joint_passes() == 0 || engine.runner().num_joint_pieces() < pieces) engine->step();
    const std::uint64_t published = engine->stats().kv.blocks_cached;
    engine->cancel(id);
    EXPECT_TRUE(engine.all_blocks_free());
    EXPECT_EQ(engine.answer(id).finish, FinishReason::kCancelled);
    EXPECT_TRUE(engine.run(text).same_tokens(reference_answer(text, 32)));
    EXPECT_TRUE(engine.run(seen).same_tokens(reference_answer(seen, 32)));
    EXPECT_LE(published, 4U) << "what stands before the picture";
    EXPECT_TRUE(engine->check_integrity());
  }
}

TEST(JointPass, APreemptedOneBeginsAgain) {
  TestEngine engine(joining({.runner = {.num_blocks = 14}, .max_context = 56, .limits = {.max_sequences = 4}}));
  const Request seen = with_picture(6, 3, 1, 5, 6);
  const RequestId low = engine.submit(seen);
  while (engine.runner().num_joint_pieces() < 4) engine->step();
  Request urgent = text_of(40, 8, 5);
  urgent.priority = 5;
  const RequestId high = engine.submit(urgent);
  engine->run();
  EXPECT_TRUE(engine.answer(high).same_tokens(reference_answer(urgent, 32)));
  EXPECT_TRUE(engine.answer(low).same_tokens(reference_answer(seen, 32)));
  EXPECT_EQ(engine.runner().num_joint_passes(), 2);
  EXPECT_GE(engine.answer(low).stats.preemptions, 1);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(JointPass, SeveralChoicesBeginBehindIt) {
  for (const int first : {5, 12}) {  // also where the picture ends the prompt
    TestEngine engine(joining());
    Request request = with_picture(12, first, 1);
    request.num_choices = 3;
    const RequestId id = engine.submit(request);
    engine->run();
    for (int i = 0; i < 3; ++i)
      EXPECT_TRUE(engine.answer(id, i).same_tokens(reference_answer(request, 32, {}, i))) << i;
  }
}

TEST(JointPass, LogitsOfItsRowsAreHandedOutInOrder) {
  TestEngine engine(joining({.limits = {.max_step_tokens = 7}}));
  Request request = with_picture(12, 5, 1, 10, 6);
  int next = 0, rows_in_all = 0;
  request.on_prompt_logits = [&](int first_position, std::span<const float> rows) {
    EXPECT_EQ(first_position, next);
    next += static_cast<int>(rows.size() / 32);
    rows_in_all = next;
  };
  EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(rows_in_all, 72);
}

TEST(JointPass, APictureBeyondAWindowsMemoryIsRefusedWithBothNumbers) {
  TestEngine rolling(joining({.runner = {.num_blocks = 10, .windows = {8}}, .max_context = 200}));
  EXPECT_THAT(rolling.refusal(with_picture(2, 1, 1, 5, 5)),
              HasSubstr("found 25 tokens, but the KV memory has room for 24 that see each other"));
  const Request fitting = with_picture(60, 30, 1, 4, 6);
  EXPECT_TRUE(rolling.run(fitting).same_tokens(reference_answer(fitting, 32, rolling.runner().windows())));
}

/// Requests with pictures and without come, go and are cancelled, in little memory.
RC_GTEST_PROP(JointPassStorm, EveryAnswerIsTheOneThatItHasAlone, ()) {
  TestEngineOptions options = joining();
  options.runner.block_size = 1 << *rc::gen::inRange(0, 5);
  options.runner.num_blocks = std::max(2, (*rc::gen::inRange(64, 160)) / options.runner.block_size);
  const int window = *rc::gen::inRange(1, 40);
  options.runner.windows =
      *rc::gen::elementOf(std::vector<std::vector<int>>{{0}, {0, window}, {window, 0, 2 * window}, {window}});
  options.prefix_cache = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  options.max_context = 64;
  options.picture_memory.max_bytes = *rc::gen::element(30 * 8, 1 << 20);
  options.limits = {.max_step_tokens = *rc::gen::inRange(1, 40),
                    .max_sequences = *rc::gen::inRange(1, 10),
                    .step_ms = *rc::gen::element(0.0, 0.05),
                    .policy = *rc::gen::element(PrefillPriority::kPrefillFirst, PrefillPriority::kInterleaved,
                                                PrefillPriority::kDecodePriority)};
  TestEngine engine(std::move(options));
  std::map<RequestId, Request> asked;
  std::vector<RequestId> cancelled;
  const int num_actions = *rc::gen::inRange(1, 60);
  for (int action = 0; action < num_actions; ++action) {
    const int kind = *rc::gen::inRange(0, 10);
    if (kind < 4) {
      Request request =
          text_of(*rc::gen::inRange(2, 20), *rc::gen::inRange(1, 6), *rc::gen::inRange<std::uint64_t>(1, 4));
      const int num_pictures = *rc::gen::inRange(0, 3);
      for (int i = 0, at = 0; i < num_pictures && at < static_cast<int>(request.tokens.size()); ++i) {
        at = *rc::gen::inRange(at, static_cast<int>(request.tokens.size()) + 1);
        const auto picture = made_up_picture(*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 6),
                                             static_cast<std::uint8_t>(*rc::gen::inRange(1, 4)));
        add_picture(request, at, picture);
        at += picture->num_tokens() + 1;
      }
      request.num_choices = *rc::gen::weightedElement<int>({{4, 1}, {1, 3}});
      request.priority = *rc::gen::inRange(0, 3);
      request.owner = *rc::gen::element<std::string>("", "a", "b");
      if (engine.refusal(request) != "accepted") continue;
      asked.emplace(engine.submit(request), request);
    } else if (kind == 4 && !asked.empty()) {
      const auto one = std::next(asked.begin(), *rc::gen::inRange<std::ptrdiff_t>(0, std::ssize(asked)));
      engine->cancel(one->first);
      cancelled.push_back(one->first);
    } else {
      engine->step();
      const Result<void> intact = engine->check_integrity();
      RC_ASSERT(intact.has_value());
    }
  }
  engine->run();
  for (const auto& [id, request] : asked) {
    if (std::ranges::find(cancelled, id) != cancelled.end()) continue;
    for (int i = 0; i < request.num_choices; ++i)
      RC_ASSERT(engine.answer(id, i).same_tokens(reference_answer(request, 32, engine.runner().windows(), i)));
  }
  RC_ASSERT(engine.all_blocks_free());
}

}  // namespace
}  // namespace octavo
