#include "engine/draws.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFollow = 0.2;         // of the newest draw in Sequence::draw_ms
constexpr double kMostTimesLonger = 4;  // than the draws before it

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

}  // namespace

Draws::Draws(ThreadPool& threads, int vocab_size, int num_drawable, int max_sequences)
    : threads_(threads), vocab_size_(vocab_size), num_drawable_(num_drawable) {
  for (int i = 0; i < threads.num_threads(); ++i) {
    scratches_.emplace_back(vocab_size);
    allowed_.emplace_back(mask_words(to_size(num_drawable)));
  }
  draws_.reserve(to_size(max_sequences));
}

void Draws::clear() {
  draws_.clear();
  num_sampled_ = 0;
  ms_ = 0;
}

void Draws::list_beginning(std::span<Sequence* const> prompts, RequestTable& requests) {
  for (const Sequence* prompt : prompts) {
    ActiveRequest* request = requests.find(prompt->asked.id);
    if (request == nullptr) continue;  // cancelled by a callback of this step
    const Draw like{
        .row = request->last_row, .position = prompt->num_tokens(), .request = request, .choice = nullptr, .token = {}};
    list_choices(*request, prompt->notes.num_beginning, like, requests);
  }
}

void Draws::list(std::span<const ScheduledSequence> plan, const LogitSlice& slice, RequestTable& requests) {
  const std::size_t row_size = to_size(vocab_size_);
  for (std::size_t i = 0; i < slice.rows.size(); ++i) {
    const LogitRow& row = slice.rows[i];
    if (!row.draws) continue;
    const Sequence& sequence = *plan[to_size(row.planned)].sequence;
    if (!sequence.has_rows()) continue;  // cancelled by a callback of this step
    ActiveRequest& request = *requests.find(sequence.asked.id);
    Draw draw{.row = slice.logits.subspan(i * row_size, row_size),
              .position = row.position + 1,
              .request = &request,
              .choice = nullptr,
              .token = {}};
    if (&sequence != &request.prompt) {
      draw.choice = request.choices[to_size(sequence.asked.choice)].get();
      draws_.push_back(draw);
      continue;
    }
    int count = std::max(1, sequence.notes.num_beginning);
    // Without memory for the row there is no later step to begin in.
    if (count < sequence.seats() && !requests.keep_last_row(request, draw.row)) count = sequence.seats();
    list_choices(request, count, draw, requests);
  }
}

void Draws::list_choices(ActiveRequest& request, int count, const Draw& like, RequestTable& requests) {
  if (!requests.make_choices(request, count)) {
    draws_.push_back(like);
    return;
  }
  for (int i = request.num_begun - count; i < request.num_begun; ++i) {
    draws_.push_back(like);
    draws_.back().choice = request.choices[to_size(i)].get();
  }
}

void Draws::start_choices(RequestTable& requests) {
  for (const Draw& draw : draws_)
    if (draw.choice != nullptr && draw.request->is_reading) requests.start_choices(*draw.request);
}

void Draws::sample_listed() {
  const std::span<Draw> draws = std::span(draws_).subspan(num_sampled_);
  const Clock::time_point begin = Clock::now();
  threads_.for_ranges(draws.size(), 1, [&](std::size_t from, std::size_t to, int worker) {
    for (Draw& draw : draws.subspan(from, to - from)) {
      if (draw.choice == nullptr) continue;
      const Clock::time_point start = Clock::now();
      sample(draw, worker);
      draw.ms = milliseconds(Clock::now() - start);
    }
  });
  num_sampled_ = draws_.size();
  ms_ += milliseconds(Clock::now() - begin);
}

/// One that the system took off its processor says little about the next, however long that was.
void Draws::follow_cost(const Draw& draw, double event_ms) const {
  if (draw.choice == nullptr) return;
  const double ms = draw.ms / threads_.num_threads() + event_ms;
  for (Sequence* sequence : {&draw.choice->sequence, &draw.request->prompt}) {
    double& known = sequence->draw_ms;
    known = known == 0 ? ms : (1 - kFollow) * known + kFollow * std::min(ms, kMostTimesLonger * known);
  }
}

void Draws::sample(Draw& draw, int worker) {
  const ActiveRequest& request = *draw.request;
  const DrawKey key{.seed = request.sampling.seed,
                    .choice = request.choice_index(*draw.choice),
                    .position = static_cast<std::uint32_t>(draw.position)};
  std::span<const MaskWord> allowed;
  if (draw.choice->constraint.is_on()) {
    allowed = find_allowed(draw, worker);
    if (allowed.empty()) {
      draw.token = {.token = -1, .logprob = 0};
      return;
    }
  }
  draw.token = octavo::sample(draw.row, num_drawable_, request.sampling, key, scratches_[to_size(worker)],
                              request.draw_context(*draw.choice, draw.position, allowed), draw.choice->top_logprobs);
}

/// Empty: there is no token that the constraint allows, or none is known.
std::span<const MaskWord> Draws::find_allowed(const Draw& draw, int worker) {
  const ConstraintState& constraint = draw.choice->constraint;
  if (!draw.choice->is_constrained()) {
    std::vector<MaskWord>& allowed = allowed_[to_size(worker)];
    constraint.allow_all_but_ends(allowed);
    return allowed;
  }
  NextMask& mask = draw.choice->mask;
  if (mask.state == NextMask::State::kTooLarge || constraint.is_spent()) return {};
  OCTAVO_CHECK(mask.state == NextMask::State::kReady, "a draw of request {} without its mask", draw.request->id);
  if (draw.request->may_open_reasoning(*draw.choice)) allow_token(mask.bits, to_size(draw.request->opening_mark));
  const bool is_any = std::ranges::any_of(mask.bits, [](MaskWord word) { return word != 0; });
  return is_any ? std::span<const MaskWord>(mask.bits) : std::span<const MaskWord>();
}

}  // namespace octavo
