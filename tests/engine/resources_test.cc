// Engines of one process that share threads and KV memory: each answers as alone.
#include "octavo/resources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "octavo/engine.h"
#include "support/temp_file.h"
#include "support/tiny_model.h"
#include "test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::TempFile;
using test::TinyModel;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Result<std::unique_ptr<Engine>> try_load(const TempFile& file, std::shared_ptr<Resources> resources,
                                         std::uint64_t kv_memory_bytes = 0) {
  return Engine::load({.model_path = file.path(),
                       .kv_memory_bytes = kv_memory_bytes,
                       .max_step_tokens = 16,
                       .max_sequences = 4,
                       .resources = std::move(resources)});
}

/// A model, requests for it, and the answers.
class Party {
 public:
  explicit Party(const TinyModel& model) : file_(model.bytes(), ".gguf") {}

  void load(std::shared_ptr<Resources> resources, std::uint64_t kv_memory_bytes = 4 * kMiB) {
    auto engine = try_load(file_, std::move(resources), kv_memory_bytes);
    if (!engine) throw std::runtime_error(engine.error().message);
    engine_ = std::move(*engine);
  }
  /// Some with prompt logits, which are handed out in the middle of a step.
  void submit_all(int num_requests) {
    answers_.assign(static_cast<std::size_t>(num_requests), {});
    logits_.assign(static_cast<std::size_t>(num_requests), {});
    for (int i = 0; i < num_requests; ++i) {
      Request request = test::make_request(5 + 11 * i, 12, static_cast<std::uint64_t>(i + 1), 80);
      std::vector<float>& logits = logits_[static_cast<std::size_t>(i)];
      if (i % 2 == 0)
        request.on_prompt_logits = [this, &logits](int, std::span<const float> rows) {
          logits.insert(logits.end(), rows.begin(), rows.end());
          if (in_prompt_logits) in_prompt_logits();
        };
      Answer& answer = answers_[static_cast<std::size_t>(i)];
      const auto id = engine_->submit(std::move(request), [&answer](const TokenEvent& event) {
        if (event.token >= 0) {
          answer.tokens.push_back(event.token);
          answer.logprobs.push_back(event.logprob);
        }
        answer.text += event.text;
        if (event.finish != FinishReason::kNone) answer.finish = event.finish;
      });
      if (!id) throw std::runtime_error(id.error().message);
    }
  }
  void expect_same_as(const Party& other) const {
    ASSERT_EQ(answers_.size(), other.answers_.size());
    for (std::size_t i = 0; i < answers_.size(); ++i) {
      EXPECT_EQ(answers_[i].finish, FinishReason::kLength);
      EXPECT_TRUE(answers_[i].same_tokens(other.answers_[i])) << "request " << i;
      EXPECT_EQ(logits_[i], other.logits_[i]) << "request " << i;
    }
  }

  Engine& engine() { return *engine_; }
  void unload() { engine_.reset(); }
  const TempFile& file() const { return file_; }

  std::function<void()> in_prompt_logits;

 private:
  TempFile file_;
  std::unique_ptr<Engine> engine_;
  std::vector<Answer> answers_;
  std::vector<std::vector<float>> logits_;
};

const TinyModel kSmall{};
const TinyModel kOther{.arch = "gemma3", .layers = 6, .type = DType::kQ8_0, .seed = 5};
constexpr int kRequests = 5;

std::unique_ptr<Party> answers_alone(const TinyModel& model) {
  auto alone = std::make_unique<Party>(model);
  alone->load(nullptr);
  alone->submit_all(kRequests);
  alone->engine().run();
  return alone;
}

std::shared_ptr<Resources> make_resources(int num_threads, std::uint64_t kv_memory_bytes) {
  return Resources::create({.num_threads = num_threads, .kv_memory_bytes = kv_memory_bytes}).value();
}

TEST(Resources, EnginesThatOneThreadStepsInTurnAnswerAsAlone) {
  const auto resources = make_resources(3, 8 * kMiB);
  Party small(kSmall), other(kOther);
  small.load(resources);
  other.load(resources, 0);
  EXPECT_EQ(small.engine().info().num_threads, 3);
  small.submit_all(kRequests);
  other.submit_all(kRequests);
  while (static_cast<int>(small.engine().step()) + static_cast<int>(other.engine().step()) > 0) {
  }
  small.expect_same_as(*answers_alone(kSmall));
  other.expect_same_as(*answers_alone(kOther));
}

TEST(Resources, EnginesThatTwoThreadsDriveAnswerAsAlone) {
  const auto resources = make_resources(2, 0);
  Party small(kSmall), other(kOther);
  small.load(resources);
  other.load(resources);
  std::thread of_small([&] { small.engine().run_until({}); });
  std::thread of_other([&] { other.engine().run_until({}); });
  small.submit_all(kRequests);
  other.submit_all(kRequests);
  for (Party* party : {&small, &other}) party->engine().drain();
  of_small.join();
  of_other.join();
  small.expect_same_as(*answers_alone(kSmall));
  other.expect_same_as(*answers_alone(kOther));
}

TEST(Resources, ACallbackMayStepAnotherEngine) {
  const auto resources = make_resources(2, 0);
  Party small(kSmall), other(kOther);
  small.load(resources);
  other.load(resources);
  other.submit_all(kRequests);
  small.in_prompt_logits = [&] { other.engine().step(); };
  small.submit_all(kRequests);
  small.engine().run();
  other.engine().run();
  small.expect_same_as(*answers_alone(kSmall));
  other.expect_same_as(*answers_alone(kOther));
}

TEST(Resources, AnEngineIsLoadedWhileAnotherOneSteps) {
  const auto resources = make_resources(2, 0);
  Party small(kSmall), other(kOther);
  small.load(resources);
  std::thread driver([&] { small.engine().run_until({}); });
  small.submit_all(kRequests);
  other.load(resources);
  small.engine().drain();
  driver.join();
  other.submit_all(kRequests);
  other.engine().run();
  small.expect_same_as(*answers_alone(kSmall));
  other.expect_same_as(*answers_alone(kOther));
}

TEST(Resources, TheSecondEngineGetsTheMemoryThatIsLeftAndTheFirstOnesIsFreeAgain) {
  const auto resources = make_resources(1, 1 * kMiB);
  EXPECT_EQ(resources->kv_memory_bytes(), 1 * kMiB);
  Party first(kSmall), second(kSmall);
  first.load(resources, kMiB / 4);
  const std::uint64_t of_first = first.engine().info().kv_arena_bytes;
  EXPECT_LE(of_first, kMiB / 4);
  EXPECT_EQ(resources->kv_memory_taken(), of_first);
  second.load(resources, 0);
  const std::uint64_t of_second = second.engine().info().kv_arena_bytes;
  EXPECT_GT(of_second, kMiB / 2);
  EXPECT_EQ(resources->kv_memory_taken(), of_first + of_second);
  EXPECT_LE(resources->kv_memory_taken(), kMiB);
  first.unload();
  EXPECT_EQ(resources->kv_memory_taken(), of_second);
  second.unload();
  EXPECT_EQ(resources->kv_memory_taken(), 0U);
}

TEST(Resources, MoreMemoryThanIsLeftIsAnErrorAndTakesNothing) {
  const auto resources = make_resources(1, 1 * kMiB);
  Party first(kSmall);
  first.load(resources, kMiB / 2);
  const std::uint64_t taken = resources->kv_memory_taken();
  const auto second = try_load(first.file(), resources, kMiB);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, AllOf(HasSubstr("KV memory: found"), HasSubstr("left of the 1048576"),
                                            HasSubstr("expected at least 1048576")));
  EXPECT_EQ(resources->kv_memory_taken(), taken);
}

TEST(Resources, AnEngineThatDoesNotLoadGivesItsMemoryBack) {
  const auto resources = make_resources(1, kMiB / 4);
  const TempFile file(kSmall.bytes(), ".gguf");
  const auto engine = Engine::load({.model_path = file.path(), .max_context = 1024, .resources = resources});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("max_context is 1024 tokens, but a KV memory of 262144 bytes holds"));
  EXPECT_EQ(resources->kv_memory_taken(), 0U);
}

TEST(Resources, OutlivesItsMakerInTheEngine) {
  auto resources = make_resources(2, 0);
  Party party(kSmall);
  party.load(std::move(resources));
  party.submit_all(kRequests);
  party.engine().run();
  party.expect_same_as(*answers_alone(kSmall));
}

TEST(Resources, NumbersOutOfRangeAreErrors) {
  const auto resources = Resources::create({.num_threads = -1});
  ASSERT_FALSE(resources);
  EXPECT_THAT(resources.error().message, HasSubstr("num_threads: found -1, expected 0 to 1024"));
  const TempFile file(kSmall.bytes(), ".gguf");
  const auto engine = Engine::load({.model_path = file.path(), .num_threads = 2, .resources = make_resources(1, 0)});
  ASSERT_FALSE(engine);
  EXPECT_THAT(engine.error().message, HasSubstr("num_threads: found 2 beside resources, which have 1; expected 0"));
}

}  // namespace
}  // namespace octavo
