#include "engine/drive/step_sampler.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/to_size.h"

namespace octavo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFollow = 0.2;         // the weight of the newest sample in Sequence::draw_ms
constexpr double kMostTimesLonger = 4;  // the most by which a sample may exceed that average

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

/// Makes the next `count` choices of a request and lists their first samples, which are copies of `like`.
void list_choices(Samples& samples, ActiveRequest& request, int count, const Sample& like, RequestTable& requests) {
  if (!requests.make_choices(request, count)) {
    samples.all.push_back(like);
    return;
  }
  for (int i = request.num_begun - count; i < request.num_begun; ++i) {
    samples.all.push_back(like);
    samples.all.back().choice = request.choices[to_size(i)].get();
  }
}

}  // namespace

StepSampler::StepSampler(ThreadPool& threads, int vocab_size, int num_drawable, Math math)
    : threads_(threads), vocab_size_(vocab_size), num_drawable_(num_drawable) {
  for (int i = 0; i < threads.num_threads(); ++i) {
    scratches_.emplace_back(vocab_size, math);
    allowed_.emplace_back(mask_words(to_size(num_drawable)));
  }
}

void StepSampler::list_beginning(StepPlan& plan, RequestTable& requests) {
  for (const auto& [prompt, number] : plan.beginning) {
    ActiveRequest* request = requests.find(prompt->params.id);
    if (request == nullptr) continue;  // a callback of this step has cancelled it
    const Sample like{
        .row = request->last_row, .position = prompt->num_tokens(), .request = request, .choice = nullptr, .token = {}};
    list_choices(plan.samples, *request, number, like, requests);
  }
}

void StepSampler::list(StepPlan& plan, const LogitSlice& slice, RequestTable& requests) const {
  const std::size_t row_size = to_size(vocab_size_);
  for (std::size_t i = 0; i < slice.rows.size(); ++i) {
    const LogitRow& row = slice.rows[i];
    if (!row.draws) continue;
    const ScheduledSequence& planned = plan.sequences[to_size(row.planned)];
    const Sequence& sequence = *planned.sequence;
    if (!sequence.is_running()) continue;  // a callback of this step has cancelled it
    if (row.drafted >= 0) {                // a row of a drafted token
      Sample& last = plan.samples.all.back();
      if (last.num_drafted++ == 0) last.first_drafted = row.drafted;
      continue;
    }
    ActiveRequest& request = *requests.find(sequence.params.id);
    Sample sample{.row = slice.logits.subspan(i * row_size, row_size),
                  .position = row.position + 1,
                  .request = &request,
                  .choice = nullptr,
                  .token = {},
                  .planned = row.planned,
                  .logit_row = slice.first + static_cast<int>(i)};
    if (&sequence != &request.prompt) {
      sample.choice = request.choices[to_size(sequence.params.choice)].get();
      plan.samples.all.push_back(sample);
      continue;
    }
    int count = std::max(1, planned.num_beginning);
    // Without memory to keep the row, no choice can begin in a later step: all begin now.
    if (count < sequence.num_choices() && !requests.keep_last_row(request, sample.row)) count = sequence.num_choices();
    list_choices(plan.samples, request, count, sample, requests);
  }
}

void StepSampler::start_choices(const Samples& samples, RequestTable& requests) {
  for (const Sample& sample : samples.all)
    if (sample.choice != nullptr && sample.request->is_reading) requests.start_choices(*sample.request);
}

void StepSampler::draw_listed(Samples& samples) {
  const std::span<Sample> listed = std::span(samples.all).subspan(samples.num_drawn);
  const Clock::time_point begin = Clock::now();
  threads_.for_ranges(listed.size(), 1, [&](std::size_t from, std::size_t to, int worker) {
    for (Sample& sample : listed.subspan(from, to - from)) {
      if (sample.choice == nullptr) continue;
      const Clock::time_point start = Clock::now();
      draw(sample, worker);
      sample.ms = milliseconds(Clock::now() - start);
    }
  });
  samples.num_drawn = samples.all.size();
  samples.ms += milliseconds(Clock::now() - begin);
}

void StepSampler::draw_behind(Sample& sample, int num_rows) {
  const Clock::time_point start = Clock::now();
  sample.row = {sample.row.data() + num_rows * vocab_size_, to_size(vocab_size_)};
  sample.position += num_rows;
  sample.num_drafted -= num_rows;
  sample.logit_row += num_rows;
  draw(sample, 0);
  sample.ms = milliseconds(Clock::now() - start);
}

/// Follows the cost of samples. One during which the thread lost its processor says little about the next, however long
/// it took.
void StepSampler::follow_cost(const Sample& sample, double event_ms) const {
  if (sample.choice == nullptr) return;
  const double ms = sample.ms / threads_.num_threads() + event_ms;
  for (Sequence* sequence : {&sample.choice->sequence, &sample.request->prompt}) {
    double& known = sequence->draw_ms;
    known = known == 0 ? ms : (1 - kFollow) * known + kFollow * std::min(ms, kMostTimesLonger * known);
  }
}

void StepSampler::draw(Sample& sample, int worker) {
  const ActiveRequest& request = *sample.request;
  const DrawKey key{.seed = request.sampling.seed,
                    .choice = request.choice_index(*sample.choice),
                    .position = static_cast<std::uint32_t>(sample.position)};
  std::span<const MaskWord> allowed;
  if (sample.choice->constraint.is_on()) {
    allowed = find_allowed(sample, worker);
    if (allowed.empty()) {
      sample.token = {.token = -1, .logprob = 0};
      return;
    }
  }
  sample.token =
      octavo::sample(sample.row, num_drawable_, request.sampling, key, scratches_[to_size(worker)],
                     request.draw_context(*sample.choice, sample.position, allowed), sample.choice->top_logprobs);
}

/// The tokens that the constraint allows. Empty: it allows none, or none is known.
std::span<const MaskWord> StepSampler::find_allowed(const Sample& sample, int worker) {
  const ConstraintState& constraint = sample.choice->constraint;
  if (!sample.choice->is_constrained()) {
    std::vector<MaskWord>& allowed = allowed_[to_size(worker)];
    constraint.allow_all_but_ends(allowed);
    return allowed;
  }
  NextMask& mask = sample.choice->mask;
  if (mask.state == NextMask::State::kTooLarge || mask.state == NextMask::State::kFailed || constraint.is_spent())
    return {};
  OCTAVO_CHECK(mask.state == NextMask::State::kReady, "a sample of request {} without its mask", sample.request->id);
  if (sample.request->may_open_reasoning(*sample.choice)) allow_token(mask.bits, to_size(sample.request->opening_mark));
  const bool is_any = std::ranges::any_of(mask.bits, [](MaskWord word) { return word != 0; });
  return is_any ? std::span<const MaskWord>(mask.bits) : std::span<const MaskWord>();
}

}  // namespace octavo
