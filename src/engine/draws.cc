#include "engine/draws.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace octavo {

Draws::Draws(ThreadPool& threads, int vocab_size, int num_drawable, int max_sequences)
    : threads_(threads), vocab_size_(vocab_size), num_drawable_(num_drawable) {
  for (int i = 0; i < threads.num_threads(); ++i) scratches_.emplace_back(vocab_size);
  draws_.reserve(to_size(max_sequences));
}

void Draws::list(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows, std::size_t first_row,
                 RequestTable& requests) {
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (!rows[row].draws) continue;
    const Sequence& sequence = *plan[to_size(rows[row].planned)].sequence;
    if (!sequence.has_rows()) continue;  // cancelled by a callback of this step
    ActiveRequest& request = *requests.find(sequence.asked.id);
    const auto draw = [&](Choice* choice) {
      draws_.push_back({.row = first_row + row,
                        .position = rows[row].position + 1,
                        .request = &request,
                        .choice = choice,
                        .token = {}});
    };
    if (&sequence != &request.prompt) {
      draw(request.choices[to_size(sequence.asked.choice)].get());
    } else if (requests.make_choices(request)) {
      for (const std::unique_ptr<Choice>& choice : request.choices) draw(choice.get());
    } else {
      draw(nullptr);
    }
  }
}

void Draws::start_choices(RequestTable& requests) {
  for (const Draw& draw : draws_)
    if (draw.choice != nullptr && draw.request->is_reading) requests.start_choices(*draw.request);
}

void Draws::sample_rows(std::size_t first_row, std::size_t num_rows, std::span<const float> logits) {
  const auto begin = std::ranges::lower_bound(draws_, first_row, {}, &Draw::row);
  const auto end = std::ranges::lower_bound(draws_, first_row + num_rows, {}, &Draw::row);
  const std::span<Draw> draws(begin, end);
  const std::size_t row_size = to_size(vocab_size_);
  threads_.for_ranges(draws.size(), 1, [&](std::size_t from, std::size_t to, int worker) {
    for (Draw& draw : draws.subspan(from, to - from)) {
      if (draw.choice == nullptr) continue;
      const SamplingParams& params = draw.request->sampling;
      const DrawKey key{.seed = params.seed,
                        .choice = draw.request->choice_index(*draw.choice),
                        .position = static_cast<std::uint32_t>(draw.position)};
      draw.token = sample(logits.subspan((draw.row - first_row) * row_size, row_size), num_drawable_, params, key,
                          scratches_[to_size(worker)], draw.request->draw_context(*draw.choice, draw.position),
                          draw.choice->top_logprobs);
    }
  });
}

}  // namespace octavo
