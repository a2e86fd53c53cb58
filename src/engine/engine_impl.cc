#include "engine/engine_impl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <new>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "engine/drive/calibrate.h"
#include "kv_events/key_file.h"

namespace octavo {
namespace {

constexpr std::chrono::seconds kLongestFinish(10);  // for what is being stored, when the engine ends

auto out_of_memory() { return fail_as(ErrorKind::kOutOfMemory, "out of memory while taking a request"); }
auto draining() { return fail_as(ErrorKind::kDraining, "the engine is draining: it takes no further request"); }

/// Whether step times must be predicted, for a target or for the price of drafts, which needs the model's work.
bool prices_steps(const EngineParts& parts, const ModelInfo& info) {
  return parts.limits.step_ms > 0 || (parts.draft.mode != DraftMode::kOff && info.work != nullptr);
}

/// Whether prefixes are stored. Where they cannot be, although asked for, a warning says why.
bool is_stored(const EngineParts& parts) {
  const KvStoreSettings& settings = parts.kv_store;
  if (settings.folder.empty()) return false;
  std::string_view reason;
  if (!parts.prefix_cache) {
    reason = "this model has no prefix cache";
  } else if (parts.runner->block_memory() == nullptr) {
    reason = "its keys and values do not lie in blocks of this process: on a card, or in the contiguous layout";
  } else if (parts.runner->info().content_hash.basis != WeightsHash::Basis::kAllBytes) {
    reason = "without repack the weights are not read as a whole, so that nothing tells them from others for good";
  }
  if (!reason.empty() && settings.on_warning) settings.on_warning(fmt::format("no prefix is kept on disk: {}", reason));
  return reason.empty();
}

/// The most rows that a joint pass of any sequence has room for: a windowed group must hold them beside its window.
std::int64_t max_joint_tokens(const RunnerInfo& runner, int max_context) {
  std::int64_t most = runner.joint_rows;
  const StateLayout& layout = runner.room.layout;
  for (int g = 0; g < layout.num_groups() && most > 0; ++g) {
    const std::int64_t held = runner.room.num_blocks[to_size(g)], window = layout.group(g).window;
    if (window == 0 || held * layout.block_size >= max_context) continue;
    most = std::min(most, std::max<std::int64_t>(1, (held - 2) * layout.block_size - window));
  }
  return most;
}

VectorRules vector_rules(const RunnerInfo& runner, const EmbeddingInfo& embedding) {
  return {.is_encoder = runner.is_encoder,
          .pooling = embedding.pooling,
          .of_head = runner.head_pooling,
          .has_scores = !embedding.labels.empty(),
          .width = runner.width,
          .num_token_types = std::max(1, runner.num_token_types)};
}

}  // namespace

Result<std::unique_ptr<EngineImpl>> EngineImpl::create(EngineParts parts) {
  const RunnerInfo& runner = parts.runner->info();
  ModelInfo& info = parts.text.info;
  const std::int64_t capacity = std::min<std::int64_t>(info.max_context, runner.room.longest_sequence());
  if (capacity < 2) return fail("KV memory: found room for {} tokens, expected at least 2", capacity);
  info.max_context = parts.limits.max_context = static_cast<int>(capacity);
  parts.limits.max_step_tokens = std::min(parts.limits.max_step_tokens, runner.max_rows);
  parts.limits.joint_rows = runner.joint_rows;
  OCTAVO_TRY(Memory memory, make_memory(parts));
  const auto text =
      std::make_shared<const ModelTextImpl>(std::move(parts.text), runner.vocab_size, runner.num_token_types > 1);
  return std::unique_ptr<EngineImpl>(new EngineImpl(std::move(parts), text, std::move(memory)));
}

Result<EngineImpl::Memory> EngineImpl::make_memory(EngineParts& parts) {
  const RunnerInfo& runner = parts.runner->info();
  const ModelInfo& info = parts.text.info;
  Memory memory{.inbox = std::make_shared<Inbox>()};
  BlockHasher hasher;
  if (!parts.kv_events.key_file.empty()) {
    OCTAVO_TRY(const BlockHashKey key, read_block_hash_key(parts.kv_events.key_file));
    OCTAVO_TRY(hasher, make_block_hasher(key));
  }
  if (is_stored(parts)) {
    if (hasher)
      return fail("kv_events: found a key of their own, {}, beside prefixes on disk, whose key they have",
                  parts.kv_events.key_file.string());
    OCTAVO_TRY(const BlockHashKey key, KvStore::key_of(parts.kv_store.folder));
    OCTAVO_TRY(hasher, make_block_hasher(key));
    OCTAVO_TRY(memory.store, KvStore::open({.folder = parts.kv_store.folder,
                                            .max_bytes = parts.kv_store.max_bytes,
                                            .ttl = parts.kv_store.ttl,
                                            .write_share = parts.kv_store.write_share,
                                            .warn = parts.kv_store.on_warning},
                                           fmt::format("{}\n{}\n{}\n{}", info.name, info.fingerprint, info.file_hash,
                                                       runner.room.layout.name()),
                                           runner.room.layout, *parts.runner->block_memory(),
                                           [inbox = memory.inbox] { inbox->wake(); }));
  }
  OCTAVO_TRY(memory.kv, KvCacheManager::create(runner.room, parts.prefix_cache, std::move(hasher),
                                               info.fingerprint + info.file_hash));
  if (!parts.kv_events.address.empty()) OCTAVO_TRY_VOID(make_publisher(parts, memory));
  return memory;
}

Result<void> EngineImpl::make_publisher(const EngineParts& parts, Memory& memory) {
  const KvEventsSettings& settings = parts.kv_events;
  const int num_blocks = memory.kv->num_fed_blocks();
  if (num_blocks == 0)
    return fail(
        "kv_events: this model has no cached blocks that others could be told of: it has no prefix cache, or "
        "windows in all its layers");
  memory.feed = std::make_unique<BlockFeed>(num_blocks, memory.kv->block_size());
  memory.kv->set_feed(*memory.feed);
  const std::string topic = settings.topic ? settings.topic(parts.text.info) : std::string();
  auto publisher = KvPublisher::open(settings, topic, *memory.feed);
  if (!publisher) return fail("kv_events: {}", publisher.error().message);
  memory.publisher = std::move(*publisher);
  return {};
}

EngineImpl::EngineImpl(EngineParts parts, const std::shared_ptr<const ModelTextImpl>& text, Memory memory)
    : Engine(text),
      text_(*text),
      parts_(std::move(parts)),
      memory_(std::move(memory)),
      kv_(*memory_.kv),
      cost_(info().work ? CostModel(info().work->attention, info().work->experts) : CostModel({})),
      queue_(parts_.queue_bounds),
      scheduler_(parts_.limits, kv_, prices_steps(parts_, info()) ? &cost_ : nullptr),
      stored_(memory_.store ? std::optional<StoredPrefixes>(
                                  std::in_place, StoredPrefixes::Parts{*memory_.store, kv_, scheduler_, cost_},
                                  parts_.kv_store.min_compute_s)
                            : std::nullopt),
      plan_(scheduler_.make_plan()),
      statistics_(scheduler_, kv_),
      drafting_(parts_.draft, scheduler_.limits().max_sequences, text_.words(), text_.num_drawable(),
                parts_.runner->info().has_draft_head, statistics_.counts()),
      requests_(kv_, scheduler_, plan_, text_.words(), drafting_, statistics_.counts(), stored_ ? &*stored_ : nullptr),
      masks_(parts_.resources->impl().threads, text_.num_drawable()),
      pictures_(parts_.encoder
                    ? std::optional<PictureVectors>(std::in_place, *parts_.encoder, parts_.resources->impl().threads,
                                                    parts_.resources->impl().active_engines, parts_.picture_memory)
                    : std::nullopt),
      answers_(text_.words(), *parts_.runner, requests_, masks_, statistics_.counts()),
      step_(step_parts(), text_.num_drawable(), Math(info().bits), parts_.profile),
      driver_({.scheduler = scheduler_,
               .requests = requests_,
               .answers = answers_,
               .step = step_,
               .statistics = statistics_,
               .active_engines = parts_.resources->impl().active_engines,
               .inbox = *memory_.inbox,
               .stored = stored_ ? &*stored_ : nullptr}),
      request_limits_{.max_context = info().max_context,
                      .vocab_size = parts_.runner->info().vocab_size,
                      .num_drawable = text_.num_drawable(),
                      .max_choices = scheduler_.limits().max_sequences,
                      .max_pinned = scheduler_.pins().max_tokens(),
                      .vectors = vector_rules(parts_.runner->info(), info().embedding),
                      .max_picture_tokens = pictures_ ? pictures_->max_tokens() : 0,
                      .max_joint_tokens = max_joint_tokens(parts_.runner->info(), info().max_context),
                      .placeholder = text_.pictures() != nullptr ? text_.pictures()->rules().row_token() : -1,
                      .words = text_.words()},
      maker_(text_, kv_.hashing(), request_limits_.vectors, pictures_ ? &*pictures_ : nullptr) {}

StepParts EngineImpl::step_parts() {
  return {.kv = kv_,
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
          .inbox = *memory_.inbox,
          .counts = statistics_.counts(),
          .stored = stored_ ? &*stored_ : nullptr,
          .pictures = pictures_ ? &*pictures_ : nullptr};
}

EngineImpl::~EngineImpl() {
  if (stored_) stored_->finish_writes(kLongestFinish);
}

EngineStats EngineImpl::stats() const {
  EngineStats stats = driver_.stats();
  if (memory_.store) stats.kv_store = memory_.store->counts();
  if (pictures_) stats.pictures = pictures_->counts();
  stats.constraint_bytes = text_.constraints().automaton_bytes();
  stats.mask_bytes = text_.constraints().mask_bytes();
  return stats;
}

void EngineImpl::calibrate(const std::stop_token& stop) { octavo::calibrate(step_parts(), info().max_context, stop); }

Result<RequestId> EngineImpl::submit(Request request, TokenCallback on_event) {
  OCTAVO_TRY(const int max_generated, check_request(request, request_limits_));
  OCTAVO_TRY_VOID(text_.constraints().check(request.constraint.get()));
  if (driver_.is_closed()) return draining();
  const RequestId id = next_id_++;
  try {
    const auto num_tokens = static_cast<std::int64_t>(request.tokens.size()) * request.num_choices +
                            static_cast<std::int64_t>(request.prediction.size() + request.resumed_tokens.size());
    OCTAVO_TRY(QueueUsage::Place place, queue_.enter(request.owner, num_tokens));
    OCTAVO_TRY(std::unique_ptr<ActiveRequest> active,
               maker_.make(id, std::move(request), std::move(on_event), max_generated));
    active->place = std::move(place);
    if (driver_.submit(active)) return id;
    if (driver_.is_closed()) return draining();
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }
  return out_of_memory();
}

void EngineImpl::cancel(RequestId id) {
  if (id == 0 || id >= next_id_) return;  // no request has this number yet
  driver_.cancel(id);
}

}  // namespace octavo
