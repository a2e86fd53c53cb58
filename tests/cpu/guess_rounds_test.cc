// Guesses of a draft head: the words that it looks at, and that it draws as the sampler does.
#include "cpu/guess_rounds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "kernels/dispatch.h"
#include "sampler/sampler_cases.h"

namespace octavo {
namespace {

using test::random_logits;

/// Rows of logits as the products of a matrix: row s of the input picks them from the matrix's column s.
class Rounds {
 public:
  explicit Rounds(const std::vector<std::vector<float>>& rows) : rows_(rows), num_rows_(static_cast<int>(rows.size())) {
    const std::size_t vocab = rows[0].size(), cols = rows.size();
    weights_.resize(vocab * cols);
    for (std::size_t s = 0; s < cols; ++s)
      for (std::size_t token = 0; token < vocab; ++token) weights_[token * cols + s] = rows[s][token];
    matrix_ = {.type = DType::kF32,
               .rows = static_cast<std::int64_t>(vocab),
               .cols = num_rows_,
               .file = std::as_bytes(std::span(weights_)).data()};
    context_.scratch = PanelScratch(panel_bytes(DType::kF32, num_rows_), pool_.num_threads());
    input_.resize(cols * cols);
    for (std::size_t s = 0; s < cols; ++s) input_[s * cols + s] = 1;
    logits_.resize(vocab * cols);
    int8_ = context_.make_quantized_rows(num_rows_);
  }

  /// A sequence for each row, whose last token stands at `position`, with so many guesses of words up to the common
  /// ones and `candidates`.
  std::vector<GuessedToken> guess(std::int32_t position, int count, const GuessDraw& draw,
                                  const std::vector<std::int32_t>& candidates = {}) {
    GuessBatch batch;
    batch.clear();
    for (int s = 0; s < num_rows_; ++s) {
      batch.rows.add_row(0, position + s, position + s);
      batch.rows.seq_begin.push_back(s + 1);
      batch.rows.kv_len.push_back(position + s + count);
      batch.num_guesses.push_back(count);
      batch.draws.push_back(draw);
      batch.draws.back().choice += static_cast<std::uint32_t>(s);
      batch.candidates.insert(batch.candidates.end(), candidates.begin(), candidates.end());
      batch.candidate_begin.push_back(static_cast<std::int32_t>(batch.candidates.size()));
    }
    const ThreadPool::Step workers(pool_);
    rounds_.begin(batch, matrix_);
    while (rounds_.next() != nullptr) rounds_.choose(context_, int8_.view(input_.data(), num_rows_), logits_.data());
    return {rounds_.guesses().begin(), rounds_.guesses().end()};
  }

  /// The token that the sampler draws from row `s`, `ahead` tokens behind the last one of guess().
  TokenId sampled(std::size_t s, std::int32_t position, int ahead, const GuessDraw& draw, int top_k) {
    const auto vocab = static_cast<int>(rows_[s].size());
    SamplerScratch scratch(vocab);
    const SamplingParams params{
        .temperature = draw.temperature, .top_k = top_k, .top_p = draw.top_p, .min_p = draw.min_p};
    const DrawKey key{.seed = draw.seed,
                      .choice = draw.choice + static_cast<std::uint32_t>(s),
                      .position = static_cast<std::uint32_t>(position + ahead) + static_cast<std::uint32_t>(s)};
    return sample(rows_[s], vocab, params, key, scratch).token;
  }

 private:
  std::vector<std::vector<float>> rows_;
  int num_rows_;
  std::vector<float> weights_;
  WeightMatrix matrix_;
  ThreadPool pool_{2};
  ComputeContext context_{kernel_table(IsaLevel::kScalar), pool_, {}, kMaxLogitRows};
  std::vector<float> input_, logits_;
  QuantizedRows int8_;
  GuessRounds rounds_;
};

// Of the same logits the same number makes the same token, whatever the settings. A sampler that keeps more than ten
// words draws among others, too.
TEST(GuessRounds, TheSameLogitsGiveTheTokenThatTheSamplerDraws) {
  std::vector<std::vector<float>> rows;
  for (std::uint64_t seed = 0; seed < 5; ++seed) rows.push_back(random_logits(300, seed, 0.5 + double(seed)));
  rows[3][17] = rows[3][201] = rows[3][4] = 9;  // equal ones, above all others
  Rounds rounds(rows);
  int num_others = 0;
  for (const float temperature : {0.0F, 0.4F, 1.0F, 1.7F})
    for (const int top_k : {0, 1, 3, 10, 40})
      for (const auto& [top_p, min_p] : {std::pair{1.0F, 0.0F}, {0.8F, 0.0F}, {0.95F, 0.1F}})
        for (const std::uint64_t seed : {1U, 2U}) {
          const GuessDraw draw{.seed = seed << 40,
                               .choice = 7,
                               .temperature = temperature,
                               .top_k = top_k,
                               .top_p = top_p,
                               .min_p = min_p};
          const std::vector<GuessedToken> guesses = rounds.guess(31, 3, draw);
          const int kept = top_k == 0 ? GuessRounds::kDrawnAmong : std::min(top_k, GuessRounds::kDrawnAmong);
          for (std::size_t s = 0; s < rows.size(); ++s)
            for (int i = 0; i < 3; ++i) {
              const TokenId guessed = guesses[3 * s + static_cast<std::size_t>(i)].token;
              EXPECT_EQ(guessed, rounds.sampled(s, 31, i + 1, draw, kept)) << temperature << ' ' << top_k << ' ' << i;
              num_others += guessed != rounds.sampled(s, 31, i + 1, {}, 0) ? 1 : 0;
            }
        }
  EXPECT_GT(num_others, 400) << "guesses that are not the likeliest word";
}

TEST(GuessRounds, RareWordsAreDrawnWhereTheyAreCandidates) {
  std::vector<float> row = random_logits(kCommonTokens + 100, 3, 1);
  const std::vector<std::int32_t> candidates = {kCommonTokens + 5, kCommonTokens + 6, kCommonTokens + 90};
  for (int i = 0; i < 100; ++i) row[static_cast<std::size_t>(kCommonTokens + i)] = 4.0F + 0.01F * float(i % 7);
  Rounds rounds({row});
  std::vector<float> allowed = row;
  for (int i = 0; i < 100; ++i)
    if (std::ranges::find(candidates, kCommonTokens + i) == candidates.end())
      allowed[static_cast<std::size_t>(kCommonTokens + i)] = -1e30F;
  Rounds limited({allowed});
  std::set<TokenId> seen;
  for (std::int32_t position = 0; position < 60; ++position) {
    const GuessDraw draw{.seed = 5, .temperature = 1};
    const GuessedToken guessed = rounds.guess(position, 1, draw, candidates)[0];
    EXPECT_EQ(guessed.token, limited.sampled(0, position, 1, draw, GuessRounds::kDrawnAmong));
    seen.insert(guessed.token);
  }
  for (const std::int32_t candidate : candidates) EXPECT_TRUE(seen.contains(candidate)) << candidate;
}

TEST(GuessRounds, LogitsThatAreNoNumbersAreNothingToBeSureOf) {
  Rounds rounds({std::vector<float>(300, std::numeric_limits<float>::quiet_NaN())});
  for (const float temperature : {0.0F, 1.0F}) {
    const GuessDraw draw{.seed = 1, .temperature = temperature};
    const GuessedToken guessed = rounds.guess(4, 1, draw)[0];
    EXPECT_EQ(guessed.token, rounds.sampled(0, 4, 1, draw, GuessRounds::kDrawnAmong));
    EXPECT_EQ(guessed.chance, 0);
  }
}

// A drafter that is about as sure as a model of texts is, and whose logits are a little off.
TEST(GuessRounds, DrawsAgreeOftenerThanTheLikeliestWord) {
  std::vector<std::vector<float>> rows, off;
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    rows.push_back(random_logits(300, seed, 3));
    off.push_back(rows.back());
    const std::vector<float> noise = random_logits(300, seed + 1000, 0.5);
    for (std::size_t i = 0; i < noise.size(); ++i) off.back()[i] += noise[i];
  }
  Rounds model(rows), drafter(off);
  int num_drawn = 0, num_likeliest = 0;
  for (std::int32_t position = 0; position < 4000; position += 100) {
    const GuessDraw draw{.seed = 9, .temperature = 1};
    const std::vector<GuessedToken> drawn = drafter.guess(position, 1, draw),
                                    likeliest = drafter.guess(position, 1, {});
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const TokenId token = model.sampled(s, position, 1, draw, 0);
      num_drawn += drawn[s].token == token ? 1 : 0;
      num_likeliest += likeliest[s].token == token ? 1 : 0;
    }
  }
  EXPECT_GT(num_likeliest, 150) << "of 1280";
  EXPECT_GT(num_drawn, num_likeliest * 5 / 4);
}

}  // namespace
}  // namespace octavo
