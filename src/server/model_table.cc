#include "server/model_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "api/fields/keep_alive.h"
#include "base/text.h"

namespace octavo::server {
namespace {

using State = ModelSlot::State;

constexpr std::size_t kMaxNamed = 10;                                        // the most models that an error lists
constexpr ModelTable::Clock::duration kLoadAgain = std::chrono::seconds(5);  // after an attempt that failed, at least

ApiError not_loaded(const ModelSlot& slot) {
  return unavailable(fmt::format("the model '{}' cannot be loaded: {}", slot.id(), slot.load_error()->message),
                     "model_not_loaded");
}

}  // namespace

ModelTable::ModelTable(const ServerOptions& options, std::vector<ModelEntry> entries, std::function<void()> on_change)
    : options_(options), on_change_(std::move(on_change)) {
  for (ModelEntry& entry : entries) slots_.emplace_back(std::move(entry), options_.models.stall_timeout, on_change_);
}

ModelTable::~ModelTable() { stop(); }

void ModelTable::start() {
  for (ModelSlot& slot : slots_)
    if (slot.entry().is_loaded_at_start) slot.begin_load(Clock::now());
}

void ModelTable::stop() {
  for (ModelSlot& slot : slots_) slot.stop();
}

bool ModelTable::is_started() const {
  return std::ranges::all_of(slots_, [](const ModelSlot& slot) {
    return !slot.entry().is_loaded_at_start || slot.model() != nullptr || slot.is_removed();
  });
}

ModelSlot* ModelTable::find(std::string_view name, Serves serves) {
  ModelSlot* any = nullptr;
  for (ModelSlot& slot : slots_) {
    if (slot.is_removed()) continue;
    const bool is_meant = name.empty() ? serves == nullptr || serves_calls(slot, serves) : slot.answers_to(name);
    if (is_meant) return &slot;
    if (any == nullptr && (name.empty() || slot.entry().takes_any_name)) any = &slot;
  }
  return any;
}

bool ModelTable::serves_calls(const ModelSlot& slot, Serves serves) const {
  const ModelInfo* known = slot.known();
  return known != nullptr && serves(*known, policy());
}

ApiError ModelTable::not_found(std::string_view name) const {
  std::vector<std::string> ids;
  for (const ModelSlot& slot : slots_)
    if (!slot.is_removed() && ids.size() < kMaxNamed) ids.push_back(fmt::format("'{}'", slot.id()));
  const std::string_view more = slots_.size() > kMaxNamed ? ", ..." : "";
  return {.status = 404,
          .message = ids.size() == 1 ? fmt::format("there is no model '{}', only {}", printable(name), ids.front())
                                     : fmt::format("model: found '{}', expected one of {}{}", printable(name),
                                                   fmt::join(ids, ", "), more),
          .param = "model",
          .code = "model_not_found"};
}

std::uint64_t ModelTable::memory_taken() const {
  std::uint64_t bytes = 0;
  for (const ModelSlot& slot : slots_)
    if (slot.is_in_memory()) bytes += slot.memory_bytes();
  return bytes;
}

const Error* ModelTable::failure() const {
  for (const ModelSlot& slot : slots_) {
    if (slot.has_failed()) return &slot.failure();
    const bool is_missing = slot.entry().is_loaded_at_start && slot.model() == nullptr;
    if (is_missing && slot.load_error()) return &*slot.load_error();
  }
  return nullptr;
}

bool ModelTable::has_failed_engine() const { return std::ranges::any_of(slots_, &ModelSlot::has_failed); }

void ModelTable::drain() {
  is_draining_ = true;
  for (ModelSlot& slot : slots_) {
    if (slot.state() == State::kLoading) slot.begin_unload();
    if (Engine* engine = slot.engine(); engine != nullptr && !slot.has_failed()) engine->drain();
  }
  end_waits(Clock::now());
}

void ModelTable::replace(std::vector<ModelEntry> entries, Clock::time_point now) {
  std::list<ModelSlot> before = std::exchange(slots_, {});
  std::unordered_map<std::string, std::list<ModelSlot>::iterator> offered;  // slots by id
  for (auto slot = before.begin(); slot != before.end(); ++slot)
    if (!slot->is_removed()) offered.try_emplace(slot->id(), slot);
  for (ModelEntry& entry : entries) {
    const auto same = entry.names.empty() ? offered.end() : offered.find(entry.names.front());
    if (same == offered.end()) {
      slots_.emplace_back(std::move(entry), options_.models.stall_timeout, on_change_);
    } else {
      same->second->replace(std::move(entry), options_.requests);
      slots_.splice(slots_.end(), before, same->second);
      offered.erase(same);
    }
  }
  for (ModelSlot& slot : before) slot.remove();
  slots_.splice(slots_.end(), before);
  advance(now);
}

void ModelTable::advance(Clock::time_point now) {
  for (ModelSlot& slot : slots_) {
    if (!slot.update(now, options_.requests)) continue;
    if (Engine* engine = slot.engine(); engine != nullptr && is_draining_ && !slot.has_failed()) engine->drain();
  }
  end_waits(now);  // before a model that was loaded for them could be unloaded again
  std::erase_if(preloads_, [](const auto& wait) { return wait->is_over(); });
  if (!is_draining_) {
    unload_unused(now);
    load_next(now);
  }
  std::erase_if(slots_, [&](const ModelSlot& slot) {
    return slot.is_removed() && !slot.is_in_memory() &&
           std::ranges::none_of(waits_, [&](const LoadWait* wait) { return &wait->slot_ == &slot; });
  });
}

void ModelTable::unload_unused(Clock::time_point now) {
  for (ModelSlot& slot : slots_) {
    if (slot.has_failed()) continue;
    if (slot.state() == State::kServing && slot.is_outdated()) slot.close();
    const auto expires = expiry(slot, now);
    const bool is_idle = slot.state() == State::kServing && expires && now >= *expires;
    const bool goes = slot.state() == State::kClosing || is_idle;
    if (goes && slot.num_leases() == 0) slot.begin_unload();
  }
}

std::chrono::milliseconds ModelTable::kept() const {
  return options_.models.idle_unload.count() > 0 ? options_.models.idle_unload : kKeptForever;
}

std::optional<ModelTable::Clock::time_point> ModelTable::expiry(const ModelSlot& slot, Clock::time_point now) const {
  if (options_.models.clients_unload && !slot.uses().empty()) {
    const Clock::time_point until = slot.uses().wanted_until(now, kept());
    return until == Clock::time_point::max() ? std::nullopt : std::optional(until);
  }
  if (kept() == kKeptForever) return std::nullopt;
  return (slot.num_leases() > 0 ? now : slot.times().last_use) + kept();
}

ApiResult<void> ModelTable::preload(ModelSlot& slot, const std::string& owner, Clock::time_point now) {
  const bool is_coming = std::ranges::any_of(preloads_, [&](const auto& wait) { return &wait->slot_ == &slot; });
  if (is_coming || slot.state() == State::kServing || slot.state() == State::kLoading)
    return std::unexpected(invalid_value("model", fmt::format("the model '{}' is already running", slot.id())));
  auto wait = std::make_unique<LoadWait>(*this, slot, owner, std::function<void()>(), now);
  if (!wait->is_over()) {
    preloads_.push_back(std::move(wait));
    return {};
  }
  if (const ApiResult<ModelLease> lease = wait->take(); !lease) return std::unexpected(lease.error());
  return {};
}

ApiResult<bool> ModelTable::unload(ModelSlot& slot, const std::string& client, Clock::time_point now) {
  if (!options_.models.clients_unload)
    return std::unexpected(unsupported("model", "this server keeps its model in memory, as it has no other"));
  const std::string own = speaker(client);
  slot.uses().release(own);
  if (!is_draining_) unload_unused(now);
  return !slot.is_in_memory() || slot.uses().wanted_until(now, kept(), &own) <= now;
}

void ModelTable::load_next(Clock::time_point now) {
  const auto next = std::ranges::find_if(
      waits_, [](const LoadWait* wait) { return !wait->is_over() && wait->slot_.state() == State::kUnloaded; });
  if (next != waits_.end()) return make_room(**next, now);
  // All that wanted the room have left.
  const bool is_wanted = std::ranges::any_of(waits_, [](const LoadWait* wait) {
    return !wait->is_over() && (wait->slot_.state() == State::kUnloading || wait->slot_.state() == State::kLoading);
  });
  if (is_wanted) return;
  for (ModelSlot& slot : slots_)
    if (slot.state() == State::kClosing && !slot.is_outdated()) slot.reopen();
}

void ModelTable::make_room(const LoadWait& wait, Clock::time_point now) {
  if (answer_to(wait, now)) return;  // the wait ends with an error soon
  if (await_load(wait, now)) return;
  const std::uint64_t limit = options_.models.memory_bytes;
  const std::uint64_t wanted = wait.slot_.entry().memory_bytes;
  if (limit == 0 || memory_taken() + wanted <= limit) return wait.slot_.begin_load(now);
  std::uint64_t staying = 0;
  for (const ModelSlot& slot : slots_)
    if (slot.state() == State::kServing) staying += slot.memory_bytes();
  while (staying + wanted > limit) {
    ModelSlot* slot = next_to_go(wait, now);
    if (slot == nullptr) return;  // none may be unloaded yet
    staying -= slot->memory_bytes();
    slot->close();
    if (slot->num_leases() == 0) slot->begin_unload();
  }
}

bool ModelTable::await_load(const LoadWait& wait, Clock::time_point now) {
  const auto loading =
      std::ranges::find_if(slots_, [](const ModelSlot& slot) { return slot.state() == State::kLoading; });
  if (loading == slots_.end()) return false;
  // Without the models for the start there is no server.
  if (loading->entry().is_loaded_at_start && loading->model() == nullptr) return true;
  const bool had_turn = now - std::max(wait.since_, loading->times().load_begin) >= options_.models.max_wait / 2;
  if (!had_turn) return true;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - loading->times().load_begin).count();
  loading->give_up_load({fmt::format("it was not there after {} s, and others are waited for", seconds)}, now);
  return true;
}

ModelSlot* ModelTable::next_to_go(const LoadWait& wait, Clock::time_point now) {
  ModelSlot* next = nullptr;
  for (ModelSlot& slot : slots_) {
    if (slot.state() != State::kServing || slot.has_failed()) continue;
    const bool had_turn = now - std::max(wait.since_, slot.times().loaded) >= options_.models.turn;
    const bool is_left = slot.num_leases() == 0 && now - slot.times().last_use >= slot.times().of_load;
    if (!had_turn && !is_left) continue;
    const auto order = [](const ModelSlot& s) { return std::pair(s.num_leases() > 0, s.times().last_use); };
    if (next == nullptr || order(slot) < order(*next)) next = &slot;
  }
  return next;
}

std::optional<ApiResult<ModelLease>> ModelTable::answer_to(const LoadWait& wait, Clock::time_point now) const {
  ModelSlot& slot = wait.slot_;
  if (is_draining_) return std::unexpected(shutting_down());
  if (has_failed_engine()) return std::unexpected(engine_failed());
  if (slot.is_removed()) return std::unexpected(not_found(slot.id()));
  if (slot.state() == State::kServing) return ModelLease(slot, speaker(wait.owner_));
  if (slot.load_error() && now - slot.times().load_failed < std::max(kLoadAgain, slot.times().of_failed_load))
    return std::unexpected(not_loaded(slot));
  const std::uint64_t limit = options_.models.memory_bytes, wanted = slot.entry().memory_bytes;
  if (limit > 0 && wanted > limit)
    return std::unexpected(ApiError{.status = 503,
                                    .message = fmt::format("the model '{}' takes {} bytes with its KV memory, "
                                                           "models may take {} together",
                                                           slot.id(), wanted, limit),
                                    .type = "server_error",
                                    .code = "model_too_large"});
  if (now - wait.since_ > options_.models.max_wait)
    return std::unexpected(
        unavailable(fmt::format("the model '{}' could not be loaded within {} s: others are in use", slot.id(),
                                std::chrono::duration_cast<std::chrono::seconds>(options_.models.max_wait).count()),
                    "model_busy"));
  return std::nullopt;
}

void ModelTable::end_waits(Clock::time_point now) {
  for (auto place = waits_.begin(); place != waits_.end();) {
    LoadWait& wait = **place++;
    if (auto answer = answer_to(wait, now)) wait.end(std::move(*answer));
  }
}

bool ModelTable::has_room_for(const std::string& owner) const {
  const auto all = static_cast<std::int64_t>(waits_.size());
  const auto own = std::ranges::count_if(waits_, [&](const LoadWait* wait) { return wait->owner_ == owner; });
  const QueueBound bound = options_.queued_requests();
  return bound.has_room(all, 1) && bound.is_fair(all, own, 1);
}

ModelTable::LoadWait::LoadWait(ModelTable& table, ModelSlot& slot, std::string owner, std::function<void()> on_over,
                               Clock::time_point now)
    : table_(table), slot_(slot), owner_(std::move(owner)), since_(now) {
  result_ = table.answer_to(*this, now);
  if (result_) return;
  if (!table.has_room_for(owner_)) {
    result_ =
        std::unexpected(to_api_error({.message = fmt::format("too many requests wait for the model '{}'", slot.id()),
                                      .kind = ErrorKind::kQueueFull}));
    return;
  }
  place_ = table.waits_.insert(table.waits_.end(), this);
  is_listed_ = true;
  table.load_next(now);
  on_over_ = std::move(on_over);
}

ModelTable::LoadWait::~LoadWait() {
  if (is_listed_) table_.waits_.erase(place_);
}

void ModelTable::LoadWait::end(ApiResult<ModelLease> result) {
  result_ = std::move(result);
  table_.waits_.erase(place_);
  is_listed_ = false;
  if (on_over_) on_over_();
}

}  // namespace octavo::server
