// Pictures in prompts: encoded once, when rows need them, within their memory; and never another one's answer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <thread>

#include "engine/test_engine.h"
#include "support/temp_folder.h"

namespace octavo {
namespace {

using test::add_picture;
using test::FakeEncoderCounts;
using test::FakeEncoderOptions;
using test::made_up_picture;
using test::make_request;
using test::reference_answer;
using test::TestEngine;
using test::TestEngineOptions;
using ::testing::HasSubstr;

struct Seeing {
  explicit Seeing(TestEngineOptions options = {}, FakeEncoderOptions encoder = {}) : counts(encoder.counts) {
    options.encoder = std::move(encoder);
    engine.emplace(std::move(options));
  }

  std::shared_ptr<FakeEncoderCounts> counts;
  std::optional<TestEngine> engine;
};

Request with_picture(int prompt, int first, std::uint8_t name, int rows = 2, int columns = 5) {
  Request request = make_request(prompt, 6);
  for (TokenId& token : request.tokens) token %= test::kPlaceholder;
  add_picture(request, first, made_up_picture(rows, columns, name));
  return request;
}

TEST(Pictures, AnAnswerDependsOnThePicture) {
  Seeing seeing;
  for (const std::uint8_t name : {1, 2, 1}) {
    const Request request = with_picture(12, 5, name);
    EXPECT_TRUE(seeing.engine->run(request).same_tokens(reference_answer(request, 32))) << int{name};
  }
  EXPECT_FALSE(reference_answer(with_picture(12, 5, 1), 32).same_tokens(reference_answer(with_picture(12, 5, 2), 32)));
  EXPECT_EQ(seeing.counts->begun, 2);
}

/// A prompt with a picture whose rows of tokens have a token of the text behind each.
Request with_rows_apart(std::uint8_t name, int rows, int columns) {
  Request request = with_picture(12, 5, name, rows, columns);
  const PromptPicture whole = request.pictures.front();
  request.pictures.clear();
  for (int row = 0; row < rows; ++row) {
    const std::int32_t first = whole.first + row * (columns + 1);
    request.pictures.push_back({.first = first, .count = columns, .index = row * columns, .picture = whole.picture});
    request.tokens.insert(request.tokens.begin() + first + columns, TokenId{3});
  }
  return request;
}

TEST(Pictures, TextsMayStandBetweenTheRowsOfOne) {
  TestEngineOptions options;
  options.picture_memory.max_bytes = 40 * 8;
  Seeing seeing(std::move(options));
  for (int i = 0; i < 2; ++i) {
    const Request request = with_rows_apart(1, 8, 5), other = with_rows_apart(2, 8, 5);
    EXPECT_TRUE(seeing.engine->run(request).same_tokens(reference_answer(request, 32)));
    EXPECT_TRUE(seeing.engine->run(other).same_tokens(reference_answer(other, 32)));
  }
  EXPECT_EQ(seeing.counts->begun, 2) << "prefixes have them";
}

TEST(Pictures, TilesOfOneCountAsOne) {
  Seeing seeing;
  Request request = with_picture(10, 2, 1);
  add_picture(request, 14, made_up_picture(5, 2, 2));
  auto first = std::make_shared<PreparedPicture>(*request.pictures[0].picture);
  first->ends_picture = false;
  request.pictures[0].picture = first;
  EXPECT_TRUE(seeing.engine->run(request).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(seeing.counts->begun, 2);
  EXPECT_EQ((*seeing.engine)->stats().pictures.encoded, 1U);
}

TEST(Pictures, ManyWhoAskForOneAtOnceHaveItEncodedOnce) {
  Seeing seeing;
  const Request request = with_picture(12, 5, 1);
  std::vector<RequestId> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(seeing.engine->submit(request));
  (*seeing.engine)->run();
  for (const RequestId id : ids)
    EXPECT_TRUE(seeing.engine->answer(id).same_tokens(reference_answer(request, 32))) << id;
  EXPECT_EQ(seeing.counts->begun, 1);
  EXPECT_EQ((*seeing.engine)->stats().pictures.encoded, 1U);
  EXPECT_EQ((*seeing.engine)->stats().pictures.found, 7U);
}

TEST(Pictures, AnotherCacheDomainEncodesAnew) {
  Seeing seeing;
  Request request = with_picture(12, 5, 1);
  seeing.engine->run(request);
  request.cache_domain = "another";
  seeing.engine->run(request);
  EXPECT_EQ(seeing.counts->begun, 2);
}

TEST(Pictures, ACachedPrefixNeedsNone) {
  TestEngineOptions options;
  options.picture_memory.max_bytes = 10 * 8;  // one picture's vectors
  Seeing seeing(std::move(options));
  const Request first = with_picture(16, 2, 1);
  seeing.engine->run(first);
  seeing.engine->run(with_picture(16, 2, 2));  // in its place
  const test::Answer again = seeing.engine->run(first);
  EXPECT_GE(again.stats.cached_tokens, 12);
  EXPECT_TRUE(again.same_tokens(reference_answer(first, 32)));
  EXPECT_EQ(seeing.counts->begun, 2);
}

TEST(Pictures, APrefixOnDiskNeedsNone) {
  const test::TempFolder folder;
  const auto options = [&] {
    return TestEngineOptions{.kv_store = {.folder = folder.path() / "store", .min_compute_s = 0, .write_share = 1}};
  };
  const Request request = with_picture(20, 2, 1);
  Seeing(options()).engine->run(request);
  Seeing other(options());
  const test::Answer answer = other.engine->run(request);
  EXPECT_TRUE(answer.same_tokens(reference_answer(request, 32)));
  EXPECT_GE(answer.stats.stored_tokens, 16);
  EXPECT_EQ(other.counts->begun, 0);
  const Request another = with_picture(20, 2, 2);
  const test::Answer of_another = other.engine->run(another);
  EXPECT_TRUE(of_another.same_tokens(reference_answer(another, 32)));
  EXPECT_EQ(of_another.stats.stored_tokens, 0);
  EXPECT_EQ(other.counts->begun, 1);
}

TEST(Pictures, WhatTakesItsEncoderLongIsKeptOnDiskThoughItsRowsAreFew) {
  const test::TempFolder folder;
  for (const double min_compute_s : {0.15, 3600.0}) {
    FakeEncoderOptions encoder;
    encoder.before_piece = [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); };
    const std::filesystem::path store = folder.path() / std::to_string(min_compute_s);
    Seeing({.kv_store = {.folder = store, .min_compute_s = min_compute_s, .write_share = 1}}, std::move(encoder))
        .engine->run(with_picture(20, 2, 1));
    const auto files = std::filesystem::recursive_directory_iterator(store);
    const auto is_run = [](const auto& entry) { return entry.path().extension() == ".run"; };
    EXPECT_EQ(std::ranges::any_of(files, is_run), min_compute_s < 1);
  }
}

TEST(Pictures, ARequestWithMoreThanTheirMemoryGoesThroughIt) {
  TestEngineOptions options;
  options.picture_memory.max_bytes = 10 * 8;
  Seeing seeing(std::move(options));
  Request request = with_picture(10, 2, 1);
  for (const std::uint8_t name : {2, 3, 4})
    add_picture(request, static_cast<int>(request.tokens.size()) - 1, made_up_picture(5, 2, name));
  EXPECT_TRUE(seeing.engine->run(request).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(seeing.counts->begun, 4);
}

TEST(Pictures, RequestsThatTakeEachOthersMemoryAllEnd) {
  TestEngineOptions options;
  options.picture_memory.max_bytes = 2 * 10 * 8;
  Seeing seeing(std::move(options));
  std::vector<std::pair<RequestId, Request>> asked;
  for (std::uint8_t name = 1; name <= 6; ++name) {
    Request request = with_picture(10, 2, name);
    add_picture(request, 14, made_up_picture(5, 2, static_cast<std::uint8_t>(100 + name)));
    asked.emplace_back(seeing.engine->submit(request), request);
  }
  (*seeing.engine)->run();
  for (const auto& [id, request] : asked)
    EXPECT_TRUE(seeing.engine->answer(id).same_tokens(reference_answer(request, 32))) << id;
}

TEST(Pictures, OneThatHasNoRoomIsRefusedWithBothNumbers) {
  TestEngineOptions options;
  options.picture_memory.max_bytes = 9 * 8;
  Seeing seeing(std::move(options));
  EXPECT_THAT(seeing.engine->refusal(with_picture(10, 2, 1)),
              HasSubstr("found 10 tokens, but the memory of pictures has room for 9"));
}

TEST(Pictures, WrongPlacesAreRefused) {
  Seeing seeing;
  Request request = with_picture(10, 2, 1);
  request.pictures[0].first = 3;
  EXPECT_THAT(seeing.engine->refusal(request), HasSubstr("pictures[0]: found other tokens in its place than 31"));
  request.pictures[0].first = 200;
  EXPECT_THAT(seeing.engine->refusal(request), HasSubstr("pictures[0]: found tokens 200 to 210"));
  request.pictures[0] = {.first = 2, .count = 11, .picture = request.pictures[0].picture};
  EXPECT_THAT(seeing.engine->refusal(request), HasSubstr("found 11 tokens and no picture of so many"));
  for (const std::int32_t index : {-1, 2, std::numeric_limits<std::int32_t>::max()}) {
    request.pictures[0] = {.first = 2, .count = 9, .index = index, .picture = request.pictures[0].picture};
    EXPECT_THAT(seeing.engine->refusal(request), HasSubstr("found 9 tokens and no picture of so many")) << index;
  }
  TestEngine blind;
  EXPECT_THAT(blind.refusal(with_picture(10, 2, 1)), HasSubstr("reads texts alone"));
}

TEST(Pictures, ARequestWhosePictureCannotBeEncodedFailsAndOthersGoOn) {
  Seeing seeing({}, {.failing_name = 7});
  const Request good = with_picture(12, 5, 1);
  const RequestId failing = seeing.engine->submit(with_picture(12, 5, 7)), other = seeing.engine->submit(good);
  (*seeing.engine)->run();
  EXPECT_EQ(seeing.engine->answer(failing).finish, FinishReason::kFailed);
  EXPECT_TRUE(seeing.engine->answer(other).same_tokens(reference_answer(good, 32)));
  EXPECT_TRUE(seeing.engine->all_blocks_free());
}

TEST(Pictures, OthersGoOnWhileOneIsEncoded) {
  std::atomic<bool> may_go_on = false;
  Seeing seeing({}, {.before_piece = [&] {
                  while (!may_go_on) std::this_thread::yield();
                }});
  const Request seen = with_picture(12, 5, 1), text = make_request(9, 6, 3);
  TestEngine& engine = *seeing.engine;
  const RequestId waiting = engine.submit(seen), other = engine.submit(text);
  // The encoder holds the threads within its piece, so that a step of the engine waits for it.
  const std::jthread opener([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    may_go_on = true;
  });
  engine->run();
  EXPECT_TRUE(engine.answer(waiting).same_tokens(reference_answer(seen, 32)));
  EXPECT_TRUE(engine.answer(other).same_tokens(reference_answer(text, 32)));
}

TEST(Pictures, NobodysPictureIsNotEncodedToItsEnd) {
  std::atomic<int> pieces = 0;
  Seeing seeing({}, {.before_piece = [&] { ++pieces; }});
  TestEngine& engine = *seeing.engine;
  const RequestId id = engine.submit(with_picture(12, 5, 1, 10, 10));
  while (seeing.counts->begun == 0) engine->step();
  engine->cancel(id);
  const Request text = make_request(9, 6, 3);
  EXPECT_TRUE(engine.run(text).same_tokens(reference_answer(text, 32)));
  for (int i = 0; i < 1000 && seeing.counts->ended == 0; ++i) {
    engine.run(text);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(seeing.counts->ended, 1);
}

TEST(Pictures, IdleMemoryIsGivenBackAndEncodedAgain) {
  Seeing seeing;
  TestEngine& engine = *seeing.engine;
  const Request request = with_picture(12, 5, 1);
  engine.run(request);
  EXPECT_GT(engine->stats().pictures.bytes, 0U);
  engine->release_memory(false);
  EXPECT_GT(engine->stats().pictures.bytes, 0U);
  engine->release_memory(true);
  EXPECT_EQ(engine->stats().pictures.bytes, 0U);
  EXPECT_TRUE(engine.run(request).same_tokens(reference_answer(request, 32)));
  EXPECT_EQ(seeing.counts->begun, 2);
}

TEST(Pictures, SeveralChoicesOfAPictureAreThoseOfEachAlone) {
  Seeing seeing;
  Request request = with_picture(12, 5, 1);
  request.num_choices = 3;
  const RequestId id = seeing.engine->submit(request);
  (*seeing.engine)->run();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(seeing.engine->answer(id, i).same_tokens(reference_answer(request, 32, {}, i))) << i;
}

TEST(Pictures, RotationsReadTheirGrid) {
  Sequence sequence;
  sequence.given.turns_by_grid = true;
  sequence.given.rows = {{.first = 2, .count = 6}, {.first = 9, .count = 4}};
  const auto grid = [](int rows, int columns) {
    return std::make_shared<PictureRows>(PictureRows{.grid_rows = rows, .grid_columns = columns});
  };
  sequence.given.pictures = {grid(2, 3), grid(4, 1)};
  EXPECT_EQ(sequence.rope_position(1), RopePosition(1));
  EXPECT_EQ(sequence.rope_position(2), RopePosition(2, 0, 0));
  EXPECT_EQ(sequence.rope_position(6), RopePosition(2, 1, 1));
  EXPECT_EQ(sequence.rope_position(8), RopePosition(5));  // behind the longer side
  EXPECT_EQ(sequence.rope_position(10), RopePosition(6, 1, 0));
  EXPECT_EQ(sequence.rope_position(13), RopePosition(10));
  EXPECT_EQ(sequence.rope_position(20), RopePosition(17));
  sequence.given.turns_by_grid = false;
  EXPECT_EQ(sequence.rope_position(10), RopePosition(10));
}

TEST(Pictures, ProgressIsToldWhileOneIsEncoded) {
  std::atomic<int> told = 0, pieces = 0;
  FakeEncoderOptions encoder;
  encoder.before_piece = [&] {  // each row is waited for until the client knows of the one before it
    while (told < pieces) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ++pieces;
  };
  Seeing seeing({}, std::move(encoder));
  Request request = with_picture(12, 5, 1);
  std::vector<PromptProgress> progress;
  request.on_prompt_progress = [&](const PromptProgress& now) {
    progress.push_back(now);
    if (now.encoded_tokens > 0) told = now.encoded_tokens;
  };
  seeing.engine->run(request);
  int before = 0, most = 0;
  for (const PromptProgress& now : progress) {
    EXPECT_GE(now.computed_tokens + now.encoded_tokens, before) << "the sum falls";
    before = now.computed_tokens + now.encoded_tokens;
    if (now.computed_tokens == 5) most = std::max(most, now.encoded_tokens);
  }
  EXPECT_GE(most, 9) << "of ten rows";
  EXPECT_EQ(progress.back().computed_tokens, 22);
  EXPECT_EQ(progress.back().encoded_tokens, 0);
}

}  // namespace
}  // namespace octavo
