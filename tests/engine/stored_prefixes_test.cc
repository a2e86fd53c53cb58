// Prefixes on disk: another engine goes on from what one has computed, with the answers that it gives alone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "engine/test_engine.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using test::Answer;
using test::kRecurrent;
using test::make_request;
using test::reference_answer;
using test::StateTokens;
using test::TempFolder;
using test::TestEngine;
using test::TestEngineOptions;

namespace fs = std::filesystem;

class StoredPrefixes : public testing::TestWithParam<std::vector<int>> {
 protected:
  TestEngineOptions options(int num_blocks = 64) const {
    return {.runner = {.num_blocks = num_blocks, .windows = GetParam(), .state_bytes = sizeof(StateTokens)},
            .kv_store = {.folder = folder_.path() / "store", .min_compute_s = 0, .write_share = 1}};
  }
  static Answer expected(TestEngine& engine, const Request& request, int choice = 0) {
    return reference_answer(request, 32, engine.runner().windows(), choice);
  }
  /// Until what is written has ended, which holds its blocks.
  static bool gets_free(TestEngine& engine) {
    for (int i = 0; i < 5000 && !engine.all_blocks_free(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      engine->step();
    }
    return engine.all_blocks_free();
  }
  /// Makes a change to every file of blocks.
  void change_files(const std::function<void(const fs::path&)>& change) const {
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path()))
      if (entry.path().extension() == ".run") change(entry.path());
  }

  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, StoredPrefixes,
                         testing::Values(std::vector{0}, std::vector{0, 0, 6}, std::vector{9},
                                         std::vector{kRecurrent, 0}, std::vector{kRecurrent, 0, 6},
                                         std::vector{0, test::chunks_of(8)}, std::vector{0, test::chunks_of(10)}),
                         [](const auto& tested) { return "Number" + std::to_string(tested.index); });

TEST_P(StoredPrefixes, AnotherEngineReadsWhatOneHasComputed) {
  const Request request = make_request(30, 12);
  {
    TestEngine first(options());
    EXPECT_TRUE(first.run(request).same_tokens(expected(first, request)));
  }
  TestEngine second(options());
  const Answer answer = second.run(request);
  EXPECT_TRUE(answer.same_tokens(expected(second, request)));
  EXPECT_EQ(answer.stats.cached_tokens, 28) << "the last whole block before the last token";
  EXPECT_EQ(answer.stats.stored_tokens, 28);
  EXPECT_EQ(second.runner().num_rows(), 2 + 11);
  EXPECT_TRUE(gets_free(second));
  EXPECT_EQ(second->stats().kv_store.hits, 1);
}

TEST_P(StoredPrefixes, AConversationGoesOnFromItsLastAnswer) {
  Request request = make_request(20, 13);
  {
    TestEngine first(options());
    const Answer answer = first.run(request);
    request.tokens.insert(request.tokens.end(), answer.tokens.begin(), answer.tokens.end());
  }
  const std::vector<TokenId> more = make_request(7, 1, 5).tokens;
  request.tokens.insert(request.tokens.end(), more.begin(), more.end());
  TestEngine second(options());
  const Answer answer = second.run(request);
  EXPECT_TRUE(answer.same_tokens(expected(second, request)));
  const bool is_recurrent = GetParam().front() == kRecurrent;  // a state stands where a prompt ended
  EXPECT_GE(answer.stats.stored_tokens, is_recurrent ? 16 : 32);
}

TEST_P(StoredPrefixes, WhoNeedsTheSameBlocksWaitsForOneRead) {
  const Request request = make_request(40, 5);
  {
    TestEngine(options()).run(request);
  }
  TestEngine second(options());
  std::vector<RequestId> ids;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Request other = request;
    other.sampling.seed = seed;
    other.tokens.push_back(static_cast<TokenId>(seed));
    ids.push_back(second.submit(other));
  }
  second->run();
  EXPECT_EQ(second->stats().kv_store.hits, 1);
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    Request other = request;
    other.sampling.seed = seed;
    other.tokens.push_back(static_cast<TokenId>(seed));
    EXPECT_TRUE(second.answer(ids[seed - 1]).same_tokens(expected(second, other)));
    EXPECT_GE(second.answer(ids[seed - 1]).stats.stored_tokens, 36);
  }
}

TEST_P(StoredPrefixes, OtherDomainsDoNotFindThem) {
  Request request = make_request(30, 3);
  request.cache_domain = "one";
  {
    TestEngine(options()).run(request);
  }
  TestEngine second(options());
  request.cache_domain = "two";
  EXPECT_EQ(second.run(request).stats.stored_tokens, 0);
  request.cache_domain = "one";
  EXPECT_EQ(second.run(request).stats.stored_tokens, 28);
}

TEST_P(StoredPrefixes, ADamagedFileIsComputedAnew) {
  const Request request = make_request(30, 12);
  {
    TestEngine(options()).run(request);
  }
  change_files([](const fs::path& path) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-3, std::ios::end);
    const int byte = file.peek();
    file.seekp(-3, std::ios::end);
    file.put(static_cast<char>(byte ^ 1));
  });
  TestEngine second(options());
  const Answer answer = second.run(request);
  EXPECT_TRUE(answer.same_tokens(expected(second, request)));
  EXPECT_LT(answer.stats.stored_tokens, 28);
  EXPECT_GE(second->stats().kv_store.corrupt, 1);
  EXPECT_TRUE(gets_free(second));
}

TEST_P(StoredPrefixes, ACancelledRequestDoesNotDisturbTheRead) {
  const Request request = make_request(30, 12);
  {
    TestEngine(options()).run(request);
  }
  TestEngine second(options());
  const RequestId cancelled = second.submit(request), other = second.submit(request);
  second->cancel(cancelled);
  second->run();
  EXPECT_EQ(second.answer(cancelled).finish, FinishReason::kCancelled);
  EXPECT_TRUE(second.answer(other).same_tokens(expected(second, request)));
  const RequestId alone = second.submit(make_request(30, 4, 9));
  second->cancel(alone);
  second->run();
  EXPECT_EQ(second.answer(alone).finish, FinishReason::kCancelled);
  EXPECT_TRUE(second->check_integrity());
}

TEST_P(StoredPrefixes, WhatAnIdleEngineHasGivenUpIsReadAgain) {
  const Request request = make_request(30, 12);
  TestEngine engine(options());
  engine.run(request);
  EXPECT_TRUE(gets_free(engine));  // it is written
  engine->release_memory(true);
  const Answer answer = engine.run(request);
  EXPECT_TRUE(answer.same_tokens(expected(engine, request)));
  EXPECT_EQ(answer.stats.stored_tokens, 28);
}

TEST_P(StoredPrefixes, ADrainEndsWhenWhatWaitsForTheDiskIsAnswered) {
  const Request request = make_request(30, 12);
  {
    TestEngine(options()).run(request);
  }
  TestEngine second(options());
  const RequestId id = second.submit(request);
  second->drain();
  second->run_until({});
  EXPECT_TRUE(second.answer(id).same_tokens(expected(second, request)));
}

// Preemption, cancels, forks, shared beginnings and a disk that is always behind, in little memory.
TEST_P(StoredPrefixes, NothingIsLostInLittleMemory) {
  std::mt19937 random(7);
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  for (int engine = 0; engine < 6; ++engine) {
    TestEngine tested(options(20 + below(20)));
    std::map<RequestId, Request> asked;
    std::vector<RequestId> cancelled;
    for (int round = 0; round < 40; ++round) {
      Request request = make_request(8 + below(32), 1 + below(12), static_cast<std::uint64_t>(1 + below(3)));
      request.num_choices = 1 + below(2);
      const RequestId id = tested.submit(request);
      asked.emplace(id, request);
      for (int steps = below(6); steps > 0; --steps) {
        tested->step();
        const Result<void> intact = tested->check_integrity();
        ASSERT_TRUE(intact) << intact.error().message;
      }
      if (below(8) == 0) {
        tested->cancel(id);
        cancelled.push_back(id);
      }
    }
    tested->run();
    for (const auto& [id, request] : asked) {
      if (std::ranges::find(cancelled, id) != cancelled.end()) continue;
      for (int choice = 0; choice < request.num_choices; ++choice)
        EXPECT_TRUE(tested.answer(id, choice).same_tokens(expected(tested, request, choice)));
    }
    EXPECT_TRUE(tested->check_integrity());
  }
}

TEST(StoredPrefixesFolder, OneThatIsOpenToOthersIsRefused) {
  const TempFolder folder;
  fs::permissions(folder.path(), fs::perms::all);
  EXPECT_THROW(TestEngine({.kv_store = {.folder = folder.path()}}), std::runtime_error);
}

TEST(StoredPrefixesFolder, WhereNothingCanBeKeptALineSaysWhy) {
  const TempFolder folder;
  std::string told;
  const TestEngine engine(
      {.prefix_cache = false,
       .kv_store = {.folder = folder.path() / "store", .on_warning = [&](const std::string& words) { told = words; }}});
  EXPECT_THAT(told, testing::HasSubstr("no prefix cache"));
  EXPECT_FALSE(fs::exists(folder.path() / "store"));
}

TEST(StoredPrefixesPrice, WhatIsComputedSoonIsNotKept) {
  const TempFolder folder;
  {
    TestEngine({.kv_store = {.folder = folder.path() / "store", .min_compute_s = 1000}}).run(make_request(60, 3));
  }
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) EXPECT_NE(entry.path().extension(), ".run");
}

}  // namespace
}  // namespace octavo
