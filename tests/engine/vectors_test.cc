// Vectors of a prompt's rows, made by a model that writes: whatever the chunks, the memory and the company.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::FakeRunner;
using test::make_request;
using test::TestEngine;
using ::testing::HasSubstr;

constexpr std::size_t kWidth = FakeRunner::kWidth;

/// Rows of all positions, as the fake model has them.
std::vector<float> rows_of(const std::vector<TokenId>& tokens) {
  std::vector<float> rows(tokens.size() * kWidth);
  std::uint64_t state = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    state = test::next_state(state, tokens[i], static_cast<int>(i));
    FakeRunner::fill_logits(state, std::span(rows).subspan(i * kWidth, kWidth));
  }
  return rows;
}

std::vector<float> expected(const std::vector<TokenId>& tokens, Pooling pooling) {
  const std::vector<float> rows = rows_of(tokens);
  if (pooling == Pooling::kNone) return rows;
  if (pooling == Pooling::kCls) return {rows.begin(), rows.begin() + kWidth};
  if (pooling == Pooling::kLast) return {rows.end() - kWidth, rows.end()};
  std::vector<float> sum(kWidth, 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i) sum[i % kWidth] += rows[i];
  for (float& x : sum) x /= static_cast<float>(tokens.size());
  return sum;
}

struct Vectors {
  std::vector<float> rows;
  int next = 0;

  Request request(int prompt_tokens, Pooling pooling, std::uint64_t seed = 1) {
    Request request = make_request(prompt_tokens, -1, seed);
    request.embedding = {.pooling = pooling, .on_rows = [this](int first, int count, std::span<const float> given) {
                           EXPECT_EQ(first, next) << "rows come in order, without gaps";
                           EXPECT_EQ(given.size(), static_cast<std::size_t>(count) * kWidth);
                           next = first + count;
                           rows.insert(rows.end(), given.begin(), given.end());
                         }};
    return request;
  }
};

constexpr Pooling kPoolings[] = {Pooling::kNone, Pooling::kMean, Pooling::kCls, Pooling::kLast};

TEST(Vectors, AreTheSameWhateverTheChunks) {
  for (const int chunk : {1, 7, 64, 512})
    for (const Pooling pooling : kPoolings) {
      TestEngine engine({.limits = {.max_step_tokens = chunk}});
      Vectors vectors;
      const Request request = vectors.request(150, pooling);
      const test::Answer answer = engine.run(request);
      EXPECT_EQ(vectors.rows, expected(request.tokens, pooling)) << chunk << ' ' << pooling_name(pooling);
      EXPECT_EQ(answer.finish, FinishReason::kLength);
      EXPECT_EQ(answer.num_last_events, 1);
      EXPECT_TRUE(answer.tokens.empty());
      EXPECT_TRUE(engine.all_blocks_free());
    }
}

TEST(Vectors, ComeBesideAnswersThatAreNotChangedByThem) {
  TestEngine engine(
      {.runner = {.num_blocks = 1024}, .limits = {.max_step_tokens = 40}, .draft = {.mode = DraftMode::kAuto}});
  std::vector<RequestId> chats;
  std::vector<Vectors> vectors(12);
  std::vector<Request> requests;
  for (int i = 0; i < 12; ++i) {
    chats.push_back(engine.submit(make_request(10 + 5 * i, 40, static_cast<std::uint64_t>(i + 1))));
    requests.push_back(vectors[static_cast<std::size_t>(i)].request(20 + 9 * i, kPoolings[i % 4],
                                                                    static_cast<std::uint64_t>(100 + i)));
    engine.submit(requests.back());
  }
  engine->run();
  for (int i = 0; i < 12; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_TRUE(engine.answer(chats[at]).same_tokens(
        test::reference_answer(make_request(10 + 5 * i, 40, static_cast<std::uint64_t>(i + 1)), 32)));
    EXPECT_EQ(vectors[at].rows, expected(requests[at].tokens, kPoolings[i % 4])) << i;
  }
}

TEST(Vectors, OfTheLastRowShareACachedPrefix) {
  for (const Pooling pooling : {Pooling::kLast, Pooling::kMean}) {
    TestEngine engine;
    engine.run(make_request(64, 1));
    Vectors vectors;
    const Request request = vectors.request(64, pooling);
    const test::Answer answer = engine.run(request);
    EXPECT_EQ(vectors.rows, expected(request.tokens, pooling));
    EXPECT_EQ(answer.stats.cached_tokens, pooling == Pooling::kLast ? 60 : 0) << "a mean needs every row";
  }
}

TEST(Vectors, OutliveAPreemption) {
  TestEngine engine({.runner = {.num_blocks = 16}, .max_context = 64, .limits = {.max_step_tokens = 2}});
  Vectors none, mean;
  const Request first = none.request(40, Pooling::kNone, 3), second = mean.request(40, Pooling::kMean, 4);
  engine.submit(first);
  engine.submit(second);
  for (int i = 0; i < 12; ++i) engine->step();
  Request urgent = make_request(30, 20, 9);
  urgent.priority = 100;
  const RequestId chat = engine.submit(urgent);
  engine->run();
  EXPECT_GT(engine->stats().preemptions, 0U);
  EXPECT_EQ(none.rows, expected(first.tokens, Pooling::kNone));
  EXPECT_EQ(mean.rows, expected(second.tokens, Pooling::kMean));
  EXPECT_TRUE(engine.answer(chat).same_tokens(test::reference_answer(make_request(30, 20, 9), 32)));
}

TEST(Vectors, ANumberThatIsNotFiniteEndsTheRequest) {
  TestEngine engine({.runner = {.not_finite_hidden_token = 5}});
  Vectors bad, good;
  Request request = bad.request(20, Pooling::kMean);
  request.tokens[7] = 5;
  Request other = good.request(20, Pooling::kMean);
  std::ranges::replace(other.tokens, 5, 6);
  const RequestId id = engine.submit(request), other_id = engine.submit(other);
  engine->run();
  EXPECT_EQ(engine.answer(id).finish, FinishReason::kNotFinite);
  EXPECT_TRUE(bad.rows.empty());
  EXPECT_EQ(engine.answer(other_id).finish, FinishReason::kLength);
  EXPECT_EQ(good.rows, expected(other.tokens, Pooling::kMean));
}

TEST(Vectors, ACallbackMayCancelAllRequests) {
  TestEngine engine({.limits = {.max_step_tokens = 16}});
  std::vector<RequestId> ids;
  int called = 0;
  for (int i = 0; i < 6; ++i) {
    Request request = make_request(30, -1, static_cast<std::uint64_t>(i + 1));
    request.embedding = {.pooling = Pooling::kNone, .on_rows = [&](int, int, std::span<const float>) {
                           if (++called > 1) return;
                           for (const RequestId id : ids) engine->cancel(id);
                         }};
    ids.push_back(engine.submit(std::move(request)));
  }
  engine->run();
  EXPECT_EQ(called, 1);
  for (const RequestId id : ids) EXPECT_EQ(engine.answer(id).finish, FinishReason::kCancelled);
  EXPECT_TRUE(engine.all_blocks_free());
}

TEST(Vectors, RequestsThatAreWrongNameTheirField) {
  TestEngine engine;
  Vectors vectors;
  Request request = vectors.request(5, Pooling::kRank);
  EXPECT_THAT(engine.refusal(request), HasSubstr("embedding.pooling: found rank, expected another"));
  request = vectors.request(5, Pooling::kMean);
  request.max_tokens = 3;
  EXPECT_THAT(engine.refusal(request), HasSubstr("max_tokens: found 3 beside embedding.on_rows, expected -1"));
  request = vectors.request(5, static_cast<Pooling>(9));
  EXPECT_THAT(engine.refusal(request), HasSubstr("embedding.pooling: found 9, expected 0 to 4"));
}

TEST(Vectors, AreNormalizedByTheirLength) {
  std::vector<float> vector = {3, -4};
  normalize(vector);
  EXPECT_THAT(vector, ::testing::ElementsAre(0.6F, -0.8F));
  vector = {3, -4};
  normalize(vector, -1);
  EXPECT_THAT(vector, ::testing::ElementsAre(3, -4));
  normalize(vector, 1);
  EXPECT_THAT(vector, ::testing::ElementsAre(::testing::FloatEq(3.0F / 7), ::testing::FloatEq(-4.0F / 7)));
  vector = {3, -4};
  normalize(vector, 0);
  EXPECT_THAT(vector, ::testing::ElementsAre(::testing::FloatEq(24570), ::testing::FloatEq(-32760)));
  vector = {0, 0};
  normalize(vector);
  EXPECT_THAT(vector, ::testing::ElementsAre(0, 0));
}

TEST(Vectors, PoolingsHaveNames) {
  for (const Pooling pooling : kPoolings) EXPECT_EQ(find_pooling(pooling_name(pooling)), pooling);
  EXPECT_EQ(find_pooling("rank"), Pooling::kRank);
  EXPECT_FALSE(find_pooling("max"));
}

}  // namespace
}  // namespace octavo
