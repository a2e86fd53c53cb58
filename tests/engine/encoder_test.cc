// Encoders through the whole engine: vectors and scores against a plain computation, and the same bits in any company.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_info.h"
#include "octavo/engine.h"
#include "support/temp_file.h"
#include "support/tiny_encoder.h"

namespace octavo::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kArchitectures[] = {"bert",           "jina-bert-v3", "nomic-bert",
                                          "nomic-bert-moe", "modern-bert",  "gemma-embedding"};

std::vector<std::int32_t> text_of(int length, int seed = 1) {
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<std::int32_t> tokens(static_cast<std::size_t>(length));
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % TinyEncoder::kWords);
  return tokens;
}

EngineOptions options_of(const TempFile& file) {
  return {.model_path = file.path(), .num_threads = 2, .kv_memory_bytes = 64U << 20, .itl_target_ms = 0};
}

struct Given {
  std::vector<float> rows;
  FinishReason finish = FinishReason::kNone;
};

Request request_of(const std::vector<std::int32_t>& tokens, std::optional<Pooling> pooling, Given& given) {
  Request request{.tokens = tokens, .max_tokens = -1};
  request.embedding.pooling = pooling;
  request.embedding.on_rows = [&given](int, int, std::span<const float> rows) {
    given.rows.insert(given.rows.end(), rows.begin(), rows.end());
  };
  return request;
}

void submit(Engine& engine, Request request, Given& given) {
  const auto id = engine.submit(std::move(request), [&given](const TokenEvent& event) { given.finish = event.finish; });
  ASSERT_TRUE(id) << id.error().message;
}

std::vector<float> vector_of(Engine& engine, const std::vector<std::int32_t>& tokens,
                             std::optional<Pooling> pooling = {}) {
  Given given;
  submit(engine, request_of(tokens, pooling, given), given);
  engine.run();
  EXPECT_EQ(given.finish, FinishReason::kLength);
  return given.rows;
}

double distance(const std::vector<float>& found, const std::vector<double>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  double most = 0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
    most = std::max(most, std::abs(static_cast<double>(found[i]) - expected[i]));
  return most;
}

TEST(Encoders, VectorsAreThoseOfAPlainComputation) {
  for (const char* arch : kArchitectures) {
    const TinyEncoder model(arch);
    const TempFile file(model.bytes(1), ".gguf");
    EngineOptions options = options_of(file);
    options.kv_type = KvType::kF32;
    const auto engine = Engine::load(options);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_FALSE((*engine)->info().embedding.generates);
    EXPECT_EQ((*engine)->info().embedding.pooling, Pooling::kMean);
    for (const int length : {1, 2, 17, 33, 90, 300})
      EXPECT_LT(distance(vector_of(**engine, text_of(length)), model.mean(text_of(length))), 2e-5)
          << arch << ", " << length;
  }
}

TEST(Encoders, EachPoolingTakesItsRows) {
  const TinyEncoder model("bert");
  const TempFile file(model.bytes(), ".gguf");
  EngineOptions options = options_of(file);
  options.kv_type = KvType::kF32;
  const auto engine = Engine::load(options);
  ASSERT_TRUE(engine) << engine.error().message;
  const auto tokens = text_of(70);
  const TinyEncoder::Rows rows = model.rows(tokens);
  EXPECT_LT(distance(vector_of(**engine, tokens, Pooling::kCls), rows.front()), 2e-5);
  EXPECT_LT(distance(vector_of(**engine, tokens, Pooling::kLast), rows.back()), 2e-5);
  std::vector<double> all;
  for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
  EXPECT_LT(distance(vector_of(**engine, tokens, Pooling::kNone), all), 2e-5);
}

TEST(Encoders, ScoresAreThoseOfTheirHeads) {
  for (const char* arch : {"bert", "modern-bert"}) {
    const TinyEncoder model(arch, 3, true);
    const TempFile file(model.bytes(), ".gguf");
    const auto engine = Engine::load(options_of(file));
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_EQ((*engine)->info().embedding.pooling, Pooling::kRank);
    EXPECT_EQ((*engine)->info().embedding.labels.size(), 1U);
    for (const int length : {2, 40, 100}) {
      const auto tokens = text_of(length, length);
      const auto scores = vector_of(**engine, tokens);
      ASSERT_EQ(scores.size(), 1U);
      EXPECT_NEAR(scores[0], model.score(tokens), 2e-3) << arch;
    }
  }
}

TEST(Encoders, ThePartsOfAPairAreToldApart) {
  const TinyEncoder model("bert", 2, true);
  const TempFile file(model.bytes(), ".gguf");
  const auto engine = Engine::load(options_of(file));
  ASSERT_TRUE(engine) << engine.error().message;
  const auto tokens = text_of(20);
  std::vector<std::uint8_t> types(20, 0);
  std::fill(types.begin() + 8, types.end(), 1);
  Given pair, plain;
  Request request = request_of(tokens, {}, pair);
  request.token_types = types;
  submit(**engine, std::move(request), pair);  // in one step with a text that has no parts
  submit(**engine, request_of(tokens, {}, plain), plain);
  (*engine)->run();
  EXPECT_NEAR(pair.rows[0], model.score(tokens, types), 2e-3);
  EXPECT_NEAR(plain.rows[0], model.score(tokens), 2e-3);
  EXPECT_GT(std::abs(pair.rows[0] - plain.rows[0]), 1e-3F);
  request = request_of(tokens, {}, pair);
  request.token_types.assign(20, 2);
  const auto refused = (*engine)->submit(std::move(request), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "token_types: found 2, expected 0 to 1");
}

TEST(Encoders, BitsAreTheSameInAnyCompany) {
  constexpr int kLengths[] = {1, 3, 16, 17, 64, 65, 200, 300, 513, 640};
  for (const char* arch : kArchitectures)
    for (const DType type : {DType::kF32, DType::kQ8_0}) {
      const TinyEncoder model(arch, 2, false, type);
      const TempFile file(model.bytes(1), ".gguf");
      std::vector<std::vector<float>> alone;
      {
        EngineOptions options = options_of(file);
        options.num_threads = 1;
        const auto engine = Engine::load(options);
        ASSERT_TRUE(engine) << engine.error().message;
        for (const int length : kLengths) alone.push_back(vector_of(**engine, text_of(length, length)));
      }
      for (const int step_tokens : {1, 100, 512, 4096}) {
        EngineOptions options = options_of(file);
        options.max_step_tokens = step_tokens;
        const auto engine = Engine::load(options);
        ASSERT_TRUE(engine) << engine.error().message;
        std::vector<Given> given(std::size(kLengths));
        for (std::size_t i = std::size(kLengths); i-- > 0;)
          submit(**engine, request_of(text_of(kLengths[i], kLengths[i]), {}, given[i]), given[i]);
        (*engine)->run();
        for (std::size_t i = 0; i < std::size(kLengths); ++i)
          EXPECT_EQ(given[i].rows, alone[i]) << arch << ", " << kLengths[i] << " tokens, steps of " << step_tokens;
        EXPECT_EQ((*engine)->stats().kv.blocks_referenced, 0U);
      }
    }
}

TEST(Encoders, LevelsDifferByRoundingAlone) {
  const TinyEncoder model("modern-bert");
  const TempFile file(model.bytes(1), ".gguf");
  for (const IsaLevel level :
       {IsaLevel::kScalar, IsaLevel::kAvx2, IsaLevel::kAvx512Vnni, IsaLevel::kAmx, IsaLevel::kNeon}) {
    if (!parse_isa(isa_name(level))) continue;
    EngineOptions options = options_of(file);
    options.kv_type = KvType::kF32;
    options.isa = isa_name(level);
    const auto engine = Engine::load(options);
    ASSERT_TRUE(engine) << engine.error().message;
    EXPECT_LT(distance(vector_of(**engine, text_of(100)), model.mean(text_of(100))), 2e-5) << isa_name(level);
  }
}

TEST(Encoders, RefuseWhatTheyCannotDo) {
  const TinyEncoder model("bert");
  const TempFile file(model.bytes(), ".gguf");
  const auto engine = Engine::load(options_of(file));
  ASSERT_TRUE(engine) << engine.error().message;
  const auto refusal = [&](Request request) {
    const auto id = (*engine)->submit(std::move(request), {});
    return id ? "taken" : id.error().message;
  };
  EXPECT_THAT(refusal({.tokens = {1, 2}, .max_tokens = 5}),
              HasSubstr("this model is an encoder, which writes no text"));
  Given given;
  EXPECT_THAT(refusal(request_of({}, {}, given)), HasSubstr("tokens: found none"));
  EXPECT_THAT(refusal(request_of(text_of(701), {}, given)),
              HasSubstr("found a prompt of 701 tokens, expected at most 700"));
  EXPECT_THAT(refusal(request_of({TinyEncoder::kWords}, {}, given)), HasSubstr("expected a token id from 0 to 79"));
  EXPECT_THAT(refusal(request_of({1}, Pooling::kRank, given)), HasSubstr("this model has no ranking head"));
  Request odd = request_of({1, 2, 3}, {}, given);
  odd.token_types = {0, 1};
  EXPECT_THAT(refusal(std::move(odd)), HasSubstr("token_types: found 2, expected one for each of the 3 tokens"));
  EXPECT_EQ(vector_of(**engine, text_of(700)).size(), 64U) << "the whole context";
}

TEST(Encoders, ARankingHeadMustBeThereToBeAskedFor) {
  const TinyEncoder model("bert");
  const TempFile file(model.bytes(), ".gguf");
  EngineOptions options = options_of(file);
  options.pooling = Pooling::kRank;
  const auto engine = Engine::load(options);
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("pooling: found rank, expected none, mean, cls or last"));
}

TEST(Encoders, StepsOfSeveralTextsKeepTheirRows) {
  const TinyEncoder model("bert", 1);
  const TempFile file(model.bytes(1), ".gguf");
  EngineOptions options = options_of(file);
  options.max_step_tokens = 100;
  const auto engine = Engine::load(options);
  ASSERT_TRUE(engine) << engine.error().message;
  std::vector<Given> given(8);
  for (Given& one : given) submit(**engine, request_of(text_of(30), {}, one), one);
  submit(**engine, request_of(text_of(400), {}, given[0]), given[0]);
  (*engine)->run();
  EXPECT_EQ((*engine)->stats().steps, 4U) << "3 + 3 + 2 short ones, and the long one alone";
}

}  // namespace
}  // namespace octavo::test
