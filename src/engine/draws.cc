#include "engine/draws.h"

#include <algorithm>
#include <utility>

#include "base/to_size.h"

namespace octavo {

Draws::Draws(ThreadPool& threads, int vocab_size, int num_drawable, int max_sequences)
    : threads_(threads), vocab_size_(vocab_size), num_drawable_(num_drawable) {
  for (int i = 0; i < threads.num_threads(); ++i) {
    scratches_.emplace_back(vocab_size);
    allowed_.emplace_back(mask_words(to_size(num_drawable)));
  }
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
    for (Draw& draw : draws.subspan(from, to - from))
      if (draw.choice != nullptr) sample(draw, logits.subspan((draw.row - first_row) * row_size, row_size), worker);
  });
}

void Draws::sample(Draw& draw, std::span<const float> row, int worker) {
  const ActiveRequest& request = *draw.request;
  const DrawKey key{.seed = request.sampling.seed,
                    .choice = request.choice_index(*draw.choice),
                    .position = static_cast<std::uint32_t>(draw.position)};
  std::span<MaskWord> allowed;
  if (draw.choice->constraint.is_on()) {
    allowed = allowed_[to_size(worker)];
    if (!find_allowed(draw, allowed)) {
      draw.token = {.token = -1, .logprob = 0};
      return;
    }
  }
  draw.token = octavo::sample(row, num_drawable_, request.sampling, key, scratches_[to_size(worker)],
                              request.draw_context(*draw.choice, draw.position, allowed), draw.choice->top_logprobs);
}

/// False: there is no token that the constraint allows.
bool Draws::find_allowed(const Draw& draw, std::span<MaskWord> allowed) const {
  std::ranges::fill(allowed, MaskWord{0});
  const ConstraintState& constraint = draw.choice->constraint;
  if (!draw.choice->is_constrained()) {
    constraint.allow_all_but_ends(allowed);
    return true;
  }
  if (!constraint.allow(allowed)) return false;
  if (draw.request->may_open_reasoning(*draw.choice)) allow_token(allowed, to_size(draw.request->opening_mark));
  return std::ranges::any_of(allowed, [](MaskWord word) { return word != 0; });
}

}  // namespace octavo
