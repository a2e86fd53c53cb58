// An agent's conversation: 20 turns of tool results and answers, 30,000 tokens in the end, a title asked for beside
// each, and the last turn edited. Every turn computes what is new in it, and little more.
#include <gtest/gtest.h>

#include "engine/test_engine.h"

namespace octavo {
namespace {

using test::Answer;
using test::kRecurrent;
using test::make_request;
using test::TestEngine;

constexpr int kTurns = 20, kNew = 1400, kAnswer = 100, kAsking = 5, kTitle = 40, kChunk = 512;
// Tokens whose keys and values are as large as a state: of Granite 4.0 H, of Qwen 3.5, and of LFM2.
constexpr int kLargestState = 6992, kLargeState = 1536, kSmallState = 16;

void append(std::vector<TokenId>& tokens, int count, std::uint64_t seed) {
  const Request more = make_request(count, 1, seed);
  tokens.insert(tokens.end(), more.tokens.begin(), more.tokens.end());
}

struct Layers {
  std::vector<int> windows;
  int interval;  // of checkpoints
};

class AgentConversation : public ::testing::TestWithParam<Layers> {
 protected:
  /// The prompt ends with a generation prompt.
  Request ask(std::vector<TokenId> tokens, int max_tokens) {
    append(tokens, kAsking, 999);
    Request request{.tokens = std::move(tokens),
                    .generation_prompt_tokens = kAsking,
                    .sampling = {.temperature = 0.8F, .seed = 5},
                    .max_tokens = max_tokens,
                    .ignore_eos = true};
    return request;
  }
  /// Runs the requests together; gives the rows of prompts that they took.
  int run(const std::vector<Request>& requests, std::vector<Answer>& answers) {
    const std::uint64_t before = engine_->stats().computed_tokens;
    std::vector<RequestId> ids;
    int decoded = 0;
    for (const Request& request : requests) {
      ids.push_back(engine_.submit(request));
      decoded += request.max_tokens - 1;
    }
    engine_->run();
    answers.clear();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      answers.push_back(engine_.answer(ids[i]));
      EXPECT_TRUE(answers[i].same_tokens(test::reference_answer(requests[i], 32, engine_.runner().windows())));
    }
    return static_cast<int>(engine_->stats().computed_tokens - before) - decoded;
  }
  /// A model without recurrent layers finds whole blocks, one with them what lies in front of a checkpoint.
  static int allowed(int new_tokens, int beside = 16) { return new_tokens * 11 / 10 + beside; }
  /// Tokens between the checkpoints of a prompt that no other shares.
  static int apart() { return GetParam().interval == 0 ? 16 : std::max(GetParam().interval, kChunk); }

  TestEngine engine_{{.runner = {.block_size = 16,
                                 .num_blocks = 2400,
                                 .windows = GetParam().windows,
                                 .num_snapshots = 26,
                                 .state_bytes = 8 * static_cast<std::size_t>(std::max(GetParam().interval, 1)),
                                 .max_rows = kChunk},
                      .max_context = 32'768}};
};

TEST_P(AgentConversation, EveryTurnComputesItsNewTokensAndLittleMore) {
  std::vector<TokenId> history;
  std::vector<Answer> answers;
  append(history, 600, 1);  // the system's prompt, and the tools
  int new_tokens = 600;
  for (int turn = 0; turn < kTurns; ++turn) {
    SCOPED_TRACE(turn);
    append(history, kNew - kAnswer - kAsking, 100 + static_cast<std::uint64_t>(turn));
    new_tokens += kNew - kAnswer - kAsking;
    std::vector<TokenId> titled = history;
    append(titled, kTitle, 7);
    const std::vector<Request> requests = {ask(history, kAnswer), ask(titled, 8)};
    // Beside the turn's own tokens the title's, which part from them within a block.
    EXPECT_LE(run(requests, answers), allowed(new_tokens + kAsking + kTitle + kAsking + 16));
    history = requests[0].tokens;
    history.insert(history.end(), answers[0].tokens.begin(), answers[0].tokens.end());
    new_tokens = 0;  // the answer was computed when it was drawn
  }
  EXPECT_GT(history.size(), 28'000U);

  std::vector<TokenId> edited(history.begin(), history.end() - kAnswer - kAsking - 200);
  append(edited, 300, 8);
  EXPECT_LE(run({ask(edited, 8)}, answers), allowed(300 + kAsking, apart()));
}

INSTANTIATE_TEST_SUITE_P(Engine, AgentConversation,
                         ::testing::Values(Layers{.windows = {0}, .interval = 0},
                                           Layers{.windows = {kRecurrent, 0}, .interval = kLargestState},
                                           Layers{.windows = {kRecurrent, 0}, .interval = kLargeState},
                                           Layers{.windows = {kRecurrent, 0}, .interval = kSmallState}),
                         [](const auto& given) {
                           return given.param.interval == kLargestState ? "Mamba2"
                                  : given.param.interval == kLargeState ? "Hybrid"
                                  : given.param.interval == kSmallState ? "ShortConvolutions"
                                                                        : "Dense";
                         });

}  // namespace
}  // namespace octavo
