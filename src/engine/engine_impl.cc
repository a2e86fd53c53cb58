#include "engine/engine_impl.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/to_size.h"
#include "chat/infill_prompt.h"
#include "engine/drive/calibrate.h"
#include "engine/embedding_prompt.h"

namespace octavo {
namespace {

auto out_of_memory() { return fail_as(ErrorKind::kOutOfMemory, "out of memory while taking a request"); }
auto draining() { return fail_as(ErrorKind::kDraining, "the engine is draining: it takes no further request"); }

/// Steps have a time to keep, or the rows of drafts a price, which wants the model's work.
CostModel cost_of(const ModelInfo& info) {
  return info.work ? CostModel(info.work->attention, info.work->experts, info.num_threads)
                   : CostModel({}, {}, info.num_threads);
}

bool prices_steps(const EngineParts& parts) {
  return parts.limits.step_ms > 0 || (parts.draft.mode != DraftMode::kOff && parts.info.work != nullptr);
}

VectorRules vector_rules(const EngineParts& parts) {
  const RunnerInfo& runner = parts.runner->info();
  const EmbeddingInfo& embedding = parts.info.embedding;
  return {.is_encoder = runner.is_encoder,
          .pooling = embedding.pooling,
          .of_head = runner.head_pooling,
          .has_scores = !embedding.labels.empty(),
          .width = runner.width,
          .num_token_types = std::max(1, runner.num_token_types)};
}

}  // namespace

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(EngineParts parts) {
  const StateRoom& room = parts.runner->info().room;
  const std::int64_t capacity = std::min<std::int64_t>(parts.info.max_context, room.longest_sequence());
  if (capacity < 2) return fail("KV memory: found room for {} tokens, expected at least 2", capacity);
  parts.info.max_context = static_cast<int>(capacity);
  parts.limits.max_context = parts.info.max_context;
  parts.limits.max_step_tokens = std::min(parts.limits.max_step_tokens, parts.runner->info().max_rows);
  OCTAVO_TRY(std::unique_ptr<KvCacheManager> kv,
             KvCacheManager::create(room, parts.prefix_cache, {}, parts.info.fingerprint + parts.info.file_hash));
  return std::unique_ptr<EngineImpl>(new EngineImpl(std::move(parts), std::move(kv)));
}

EngineImpl::EngineImpl(EngineParts parts, std::unique_ptr<KvCacheManager> kv)
    : parts_(std::move(parts)),
      kv_(std::move(kv)),
      num_drawable_(parts_.words.num_drawable(parts_.runner->info().vocab_size)),
      cost_(cost_of(parts_.info)),
      queue_(parts_.queue_bounds),
      scheduler_(parts_.limits, *kv_, prices_steps(parts_) ? &cost_ : nullptr),
      plan_(scheduler_.make_plan()),
      statistics_(scheduler_, *kv_),
      drafting_(parts_.draft, scheduler_.limits().max_sequences, parts_.words, num_drawable_,
                parts_.runner->info().has_draft_head, statistics_.counts()),
      requests_(*kv_, scheduler_, plan_, parts_.words, drafting_, statistics_.counts()),
      masks_(parts_.resources->impl().threads, num_drawable_),
      answers_(parts_.words, *parts_.runner, requests_, masks_, statistics_.counts()),
      step_(step_parts(), num_drawable_, Math(parts_.info.bits), parts_.profile),
      driver_({.scheduler = scheduler_,
               .requests = requests_,
               .answers = answers_,
               .step = step_,
               .statistics = statistics_,
               .active_engines = parts_.resources->impl().active_engines,
               .inbox = inbox_}),
      request_limits_{.max_context = parts_.info.max_context,
                      .vocab_size = parts_.runner->info().vocab_size,
                      .num_drawable = num_drawable_,
                      .max_choices = scheduler_.limits().max_sequences,
                      .max_pinned = scheduler_.pins().max_tokens(),
                      .vectors = vector_rules(parts_),
                      .words = parts_.words},
      maker_(parts_.words, num_drawable_, parts_.sampling_defaults.suppressed, kv_->hashing(), request_limits_.vectors),
      constraints_(parts_.words, num_drawable_) {}

StepParts EngineImpl::step_parts() {
  return {.kv = *kv_,
          .runner = *parts_.runner,
          .threads = parts_.resources->impl().threads,
          .active_engines = parts_.resources->impl().active_engines,
          .scheduler = scheduler_,
          .cost = cost_,
          .plan = plan_,
          .requests = requests_,
          .answers = answers_,
          .masks = masks_,
          .drafting = drafting_,
          .inbox = inbox_,
          .counts = statistics_.counts()};
}

EngineStats EngineImpl::stats() const {
  EngineStats stats = driver_.stats();
  stats.constraint_bytes = constraints_.automaton_bytes();
  stats.mask_bytes = constraints_.mask_bytes();
  return stats;
}

void EngineImpl::calibrate(const std::stop_token& stop) {
  octavo::calibrate(step_parts(), parts_.info.max_context, stop);
}

Result<RequestId> EngineImpl::submit(Request request, TokenCallback on_event) {
  OCTAVO_TRY(const int max_generated, check_request(request, request_limits_));
  OCTAVO_TRY_VOID(constraints_.check(request.constraint.get()));
  if (driver_.is_closed()) return draining();
  const RequestId id = next_id_++;
  try {
    const auto num_tokens = static_cast<std::int64_t>(request.tokens.size()) * request.num_choices +
                            static_cast<std::int64_t>(request.prediction.size());
    OCTAVO_TRY(QueueUsage::Place place, queue_.enter(request.owner, num_tokens));
    std::unique_ptr<ActiveRequest> active = maker_.make(id, std::move(request), std::move(on_event), max_generated);
    active->place = std::move(place);
    if (driver_.submit(active)) return id;
    if (driver_.is_closed()) return draining();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return out_of_memory();
}

void EngineImpl::cancel(RequestId id) {
  if (id == 0 || id >= next_id_) return;  // nobody's yet
  driver_.cancel(id);
}

Result<std::vector<TokenId>> EngineImpl::tokenize(std::string_view text, const TokenizeOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->tokenizer().encode(text, options);
}

std::string EngineImpl::detokenize(std::span<const TokenId> tokens) const {
  const Tokenizer* tokenizer = parts_.words.tokenizer();
  const auto is_known = [&](TokenId id) { return id >= 0 && id < parts_.words.num_tokens(); };
  std::vector<TokenId> known;
  std::ranges::copy_if(tokens, std::back_inserter(known), is_known);
  return tokenizer == nullptr ? std::string() : tokenizer->decode(known);
}

std::string EngineImpl::vocabulary_text(TokenId token) const {
  if (token < 0 || token >= parts_.words.num_tokens()) return {};
  return std::string(parts_.words.tokenizer()->vocab().text(token));
}

Result<std::vector<TokenId>> EngineImpl::apply_chat_template(std::span<const ChatMessage> messages,
                                                             const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->apply_chat_template(messages, options);
}

Result<ChatPrompt> EngineImpl::chat_prompt(std::span<const ChatMessage> messages,
                                           const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->chat_prompt(messages, options);
}

Result<EmbeddingPrompt> EngineImpl::embedding_prompt(std::string_view text,
                                                     const EmbeddingPromptOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  const auto words = parts_.info.embedding.prompt_text(options.prompt_name);
  if (!words) return fail("prompt_name: {}", words.error().message);
  if (words->empty()) return make_embedding_prompt(chat->tokenizer(), text, limited(options));
  return make_embedding_prompt(chat->tokenizer(), std::string(*words) + std::string(text), limited(options));
}

Result<EmbeddingPrompt> EngineImpl::rank_prompt(std::string_view query, std::string_view document,
                                                const EmbeddingPromptOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  if (parts_.info.embedding.labels.empty())
    return fail("{} has no ranking head: it scores no documents", parts_.info.name);
  OCTAVO_TRY(EmbeddingPrompt prompt,
             make_rank_prompt(chat->tokenizer(), parts_.rank_template, query, document, limited(options)));
  if (parts_.runner->info().num_token_types < 2) prompt.token_types.clear();  // the model does not tell them apart
  return prompt;
}

EmbeddingPromptOptions EngineImpl::limited(EmbeddingPromptOptions options) const {
  const auto context = to_size(parts_.info.max_context);
  options.max_tokens = options.max_tokens == 0 ? context : std::min(options.max_tokens, context);
  return options;
}

Result<InfillPrompt> EngineImpl::infill_prompt(const InfillText& text, std::size_t max_tokens) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return make_infill_prompt(*chat, text, max_tokens);
}

Result<std::string> EngineImpl::render_chat_template(std::span<const ChatMessage> messages,
                                                     const ChatTemplateOptions& options) const {
  OCTAVO_TRY(const ChatTokenizer* chat, parts_.words.require());
  return chat->render_chat_template(messages, options);
}

Result<std::shared_ptr<const Constraint>> EngineImpl::compile_constraint(const ConstraintSource& source,
                                                                         const std::stop_token& stop) const {
  OCTAVO_TRY(std::shared_ptr<const CompiledConstraint> compiled, constraints_.compile(source, stop));
  return compiled;
}

SamplingParams EngineImpl::default_sampling(SamplingParams defaults) const {
  return parts_.sampling_defaults.over(defaults);
}

}  // namespace octavo
