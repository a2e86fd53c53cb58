#include "engine/engine_impl.h"

#include <algorithm>
#include <utility>

namespace octavo {
namespace {

double seconds(ActiveRequest::Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

RequestStats stats_of(const ActiveRequest& request) {
  const ActiveRequest::Clock::time_point now = ActiveRequest::Clock::now();
  return {.prompt_tokens = request.sequence.prompt_tokens,
          .generated_tokens = request.num_generated(),
          .time_to_first_token_s = request.first_token ? seconds(*request.first_token - request.submitted) : 0,
          .total_s = seconds(now - request.submitted)};
}

}  // namespace

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(EngineParts parts) {
  const KvGeometry& geometry = parts.runner->kv_geometry();
  std::vector<BlockPool> pools;
  std::int64_t capacity = parts.info.max_context;
  for (const KvGeometry::Group& group : geometry.groups) {
    pools.emplace_back(group.num_blocks);
    capacity = std::min<std::int64_t>(capacity, static_cast<std::int64_t>(group.num_blocks) * geometry.block_size);
  }
  if (capacity < 2) return fail("KV memory: found room for {} tokens, expected at least 2", capacity);
  parts.info.max_context = static_cast<int>(capacity);
  parts.limits.max_step_tokens = std::min(parts.limits.max_step_tokens, parts.runner->max_rows());
  return std::unique_ptr<EngineImpl>(new EngineImpl(std::move(parts), std::move(pools)));
}

EngineImpl::EngineImpl(EngineParts parts, std::vector<BlockPool> pools)
    : parts_(std::move(parts)),
      num_drawable_(std::min(parts_.runner->vocab_size(), parts_.tokenizer->vocab_size())),
      pools_(std::move(pools)),
      scheduler_(parts_.limits, pools_),
      builder_(static_cast<int>(pools_.size()), parts_.runner->kv_geometry().block_size, parts_.limits) {
  for (int i = 0; i < parts_.threads->num_threads(); ++i) scratches_.emplace_back(parts_.runner->vocab_size());
  samples_.reserve(static_cast<std::size_t>(parts_.limits.max_sequences));
}

bool EngineImpl::step() {
  if (busy_ || scheduler_.empty()) return false;
  busy_ = true;
  const std::span<const ScheduledSequence> plan = scheduler_.schedule();
  builder_.build(plan);
  {
    const ThreadPool::Step workers(*parts_.threads);
    parts_.runner->forward(builder_.batch());
    read_logits(plan);
  }
  for (std::size_t i = 0; i < plan.size(); ++i) advance(plan[i], samples_[i]);
  end_step();
  return true;
}

// Samples every sequence that is up to date, and hands prompt logits out, in slices of what the runner holds at once.
void EngineImpl::read_logits(std::span<const ScheduledSequence> plan) {
  samples_.assign(plan.size(), {});
  const std::span<const LogitRow> rows = builder_.logit_rows();
  for (std::size_t first = 0; first < rows.size(); first += kMaxLogitRows) {
    const std::span<const LogitRow> slice =
        rows.subspan(first, std::min<std::size_t>(kMaxLogitRows, rows.size() - first));
    const std::span<const float> logits =
        parts_.runner->logits(static_cast<int>(first), static_cast<int>(slice.size()));
    sample_rows(plan, slice, logits);
    deliver_prompt_logits(plan, slice, logits);
  }
}

void EngineImpl::sample_rows(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                             std::span<const float> logits) {
  const auto vocab_size = static_cast<std::size_t>(parts_.runner->vocab_size());
  parts_.threads->for_ranges(rows.size(), 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto planned = static_cast<std::size_t>(rows[i].planned);
      const Sequence& sequence = *plan[planned].sequence;
      if (!sequence.samples || rows[i].position + 1 != sequence.num_tokens()) continue;
      const ActiveRequest* request = find(sequence.id);
      if (request == nullptr) continue;  // cancelled by a callback of this step
      const DrawKey key{.seed = request->sampling.seed, .position = static_cast<std::uint32_t>(sequence.num_tokens())};
      samples_[planned] = sample(logits.subspan(i * vocab_size, vocab_size), num_drawable_, request->sampling, key,
                                 scratches_[static_cast<std::size_t>(worker)]);
    }
  });
}

void EngineImpl::deliver_prompt_logits(std::span<const ScheduledSequence> plan, std::span<const LogitRow> rows,
                                       std::span<const float> logits) {
  const auto vocab_size = static_cast<std::size_t>(parts_.runner->vocab_size());
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    Sequence& sequence = *plan[static_cast<std::size_t>(rows[begin].planned)].sequence;
    while (end < rows.size() && rows[end].planned == rows[begin].planned) ++end;
    const int first = rows[begin].position;
    const int last = std::min(rows[end - 1].position, sequence.prompt_tokens - 1);
    if (first < sequence.prompt_logits_from || first > last) continue;
    ActiveRequest* request = find(sequence.id);
    if (request == nullptr) continue;  // cancelled by a callback of this step
    sequence.prompt_logits_from = last + 1;
    request->on_prompt_logits(
        first, logits.subspan(begin * vocab_size, static_cast<std::size_t>(last - first + 1) * vocab_size));
  }
}

void EngineImpl::advance(const ScheduledSequence& planned, const SampledToken& sampled) {
  ActiveRequest* request = find(planned.sequence->id);
  if (request == nullptr) return;  // cancelled by a callback of this step
  planned.sequence->num_computed += planned.num_tokens;
  if (planned.sequence->num_uncomputed() != 0) return;  // more of the prompt is left
  if (planned.sequence->samples) return append(*request, sampled);
  retire(*request);
  emit(*request, {.finish = FinishReason::kLength});
}

void EngineImpl::append(ActiveRequest& request, const SampledToken& sampled) {
  request.sequence.tokens.push_back(sampled.token);
  if (!request.first_token) request.first_token = ActiveRequest::Clock::now();
  const FinishReason finish = finish_reason(request, sampled.token);
  request.text.clear();
  request.bytes.clear();
  const auto show = [&](const StreamDecoder::Piece& piece) {
    request.text.append(piece.text);
    request.bytes.append(piece.bytes);
  };
  const bool shown = finish != FinishReason::kStop && !parts_.tokenizer->is_control(sampled.token);
  if (shown) show(request.decoder.push(sampled.token));
  if (finish != FinishReason::kNone) {
    show(request.decoder.flush());
    retire(request);
  }
  emit(request, {.token = sampled.token,
                 .logprob = sampled.logprob,
                 .text = request.text,
                 .bytes = request.bytes,
                 .finish = finish});
}

FinishReason EngineImpl::finish_reason(const ActiveRequest& request, TokenId token) const {
  if (!request.ignore_eos && parts_.tokenizer->is_end_of_generation(token)) return FinishReason::kStop;
  if (request.stops_at(token)) return FinishReason::kStop;
  return request.num_generated() == request.max_generated ? request.at_limit : FinishReason::kNone;
}

void EngineImpl::cancel(RequestId id) {
  ActiveRequest* request = find(id);
  if (request == nullptr) return;
  const bool outermost = !std::exchange(busy_, true);
  retire(*request);
  // Not through request->text: the caller may be a callback that still looks at it.
  const StreamDecoder::Piece held_back = request->decoder.flush();
  emit(*request, {.text = held_back.text, .bytes = held_back.bytes, .finish = FinishReason::kCancelled});
  if (outermost) end_step();
}

// Takes a request out of everything before its last event goes out, so that its blocks are free by then.
void EngineImpl::retire(ActiveRequest& request) {
  scheduler_.remove(request.sequence);
  request.finished = true;
  const auto it = requests_.find(request.sequence.id);
  retired_.push_back(std::move(it->second));
  requests_.erase(it);
}

void EngineImpl::emit(ActiveRequest& request, TokenEvent event) {
  event.request = request.sequence.id;
  if (request.finished) event.stats = stats_of(request);
  if (request.on_event) request.on_event(event);
}

void EngineImpl::end_step() {
#ifdef OCTAVO_INTEGRITY_CHECKS
  const Result<void> intact = check_integrity();
  OCTAVO_CHECK(intact.has_value(), "{}", intact.error().message);
#endif
  retired_.clear();
  busy_ = false;
}

ActiveRequest* EngineImpl::find(RequestId id) {
  const auto it = requests_.find(id);
  return it == requests_.end() ? nullptr : it->second.get();
}

Result<void> EngineImpl::check_integrity() {
  const int block_size = parts_.runner->kv_geometry().block_size;
  for (std::size_t group = 0; group < pools_.size(); ++group) {
    tables_.clear();
    for (const auto& [id, request] : requests_) {
      const Sequence& sequence = request->sequence;
      const BlockTable& table = sequence.tables[group];
      tables_.push_back(table.block_ids());
      if (sequence.num_computed > table.token_capacity()) {
        return fail("request {}: {} tokens computed, {} blocks of {} tokens in group {}", id, sequence.num_computed,
                    table.num_blocks(), block_size, group);
      }
      if (!sequence.admitted && table.num_blocks() != 0) {
        return fail("request {}: waits and holds {} blocks of group {}", id, table.num_blocks(), group);
      }
    }
    if (const Result<void> pool = pools_[group].check_integrity(tables_); !pool) {
      return fail("group {}: {}", group, pool.error().message);
    }
  }
  return {};
}

Result<std::vector<TokenId>> EngineImpl::tokenize(std::string_view text, const TokenizeOptions& options) const {
  return parts_.tokenizer->encode(text, options);
}

std::string EngineImpl::detokenize(std::span<const TokenId> tokens) const { return parts_.tokenizer->decode(tokens); }

Result<std::vector<TokenId>> EngineImpl::apply_chat_template(std::span<const ChatMessage> messages) const {
  return parts_.tokenizer->apply_chat_template(messages);
}

SamplingParams EngineImpl::default_sampling(SamplingParams defaults) const {
  return parts_.sampling_defaults.over(defaults);
}

}  // namespace octavo
