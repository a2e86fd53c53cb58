#include "api/call/prompt_logprobs.h"

#include <cmath>
#include <ranges>
#include <utility>

#include "sampler/softmax.h"
#include "sampler/top_tokens.h"

namespace octavo {

double log_sum_exp(std::span<const float> logits, Math math) {
  const float max = max_logit(logits);
  return static_cast<double>(max) + math.log(softmax_total(logits, max));
}

PromptLogprobs::PromptLogprobs(std::vector<TokenId> tokens, std::span<const PromptPicture> pictures, int num_tokens,
                               int num_top, Math math)
    : math_(math),
      tokens_(std::move(tokens)),
      num_tokens_(to_size(num_tokens)),
      num_top_(std::min(to_size(num_top), num_tokens_)),
      logprobs_(tokens_.size()),
      ranks_(tokens_.size()),
      top_(tokens_.size() * num_top_) {
  for (const PromptPicture& picture : pictures)
    std::ranges::fill(std::span(tokens_).subspan(to_size(picture.first), to_size(picture.count)), kNoText);
}

void PromptLogprobs::add_rows(int first_position, int vocab_size, std::span<const float> logits) {
  const auto width = to_size(vocab_size);
  // The logits at a position are those of the next token.
  for (std::size_t row = 0; (row + 1) * width <= logits.size(); ++row) {
    const std::size_t position = to_size(first_position) + row + 1;
    if (position >= tokens_.size()) return;
    if (tokens_[position] != kNoText) add_row(position, logits.subspan(row * width, num_tokens_));
  }
}

void PromptLogprobs::add_row(std::size_t position, std::span<const float> row) {
  const double log_total = log_sum_exp(row, math_);
  const float logit = finite_logit(row[to_size(tokens_[position])]);
  logprobs_[position] = static_cast<float>(static_cast<double>(logit) - log_total);
  const auto goes_first = [&, id = to_size(tokens_[position])](std::size_t other) {
    const float here = finite_logit(row[other]);
    return here > logit || (here == logit && other < id);
  };
  ranks_[position] =
      1 + static_cast<int>(std::ranges::count_if(std::views::iota(std::size_t{0}, row.size()), goes_first));
  find_top_tokens(row, log_total, std::span(top_).subspan(position * num_top_, num_top_));
}

}  // namespace octavo
