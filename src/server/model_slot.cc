#include "server/model_slot.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "api/call/settings_fingerprint.h"
#include "api/call/text.h"
#include "base/started_thread.h"
#include "base/utf8.h"

namespace octavo::server {

bool take_any_name(std::vector<std::string>& names) { return std::erase(names, "*") > 0; }

ModelSlot::ModelSlot(ModelEntry entry, std::chrono::milliseconds stall_timeout, std::function<void()> on_change)
    : entry_(std::move(entry)),
      on_change_(std::move(on_change)),
      created_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
                   .count()),
      progress_(stall_timeout) {
  if (!entry_.names.empty()) id_ = to_valid_utf8(entry_.names.front());
}

bool ModelSlot::answers_to(std::string_view name) const {
  return name == id_ || std::ranges::find(entry_.names, name) != entry_.names.end() ||
         (model_ && std::ranges::find(model_->aliases, name) != model_->aliases.end());
}

std::uint64_t ModelSlot::memory_bytes() const {
  const bool is_loaded = state_ == State::kServing || state_ == State::kClosing || state_ == State::kUnloading;
  return is_loaded && info_ ? info_->weight_bytes + info_->kv_arena_bytes : entry_.memory_bytes;
}

const ModelInfo* ModelSlot::known() const {
  const bool is_as_offered = engine() != nullptr || loaded_version_ == entry_.version;
  if (info_ && (is_as_offered || !entry_.head)) return &*info_;
  return entry_.head ? &*entry_.head : nullptr;
}

Engine* ModelSlot::engine() const {
  return state_ == State::kServing || state_ == State::kClosing ? host_->engine() : nullptr;
}

void ModelSlot::begin_load(Clock::time_point now) {
  load_error_.reset();
  times_.load_begin = now;
  uses_.clear();
  loaded_version_ = entry_.version;
  progress_.restart();
  host_ = std::make_unique<EngineHost>(entry_.load, on_change_);
  host_->start();
  state_ = State::kLoading;
}

void ModelSlot::begin_unload() {
  state_ = State::kUnloading;
  is_unloaded_ = false;
  const auto end = [this] {
    is_unloaded_ = true;
    on_change_();
  };
  try {
    unloader_ = start_thread(
        [host = std::move(host_), end](const std::stop_token&) mutable {
          host.reset();  // a load stops at its next piece; freeing gigabytes takes a while
          end();
        },
        [end](const Error&) { end(); });
  } catch (const std::exception&) {  // the system refuses a thread: the engine was destroyed on this one
    end();
  }
}

void ModelSlot::give_up_load(Error why, Clock::time_point now) {
  note_failed_load(std::move(why), now);
  begin_unload();
}

void ModelSlot::note_failed_load(Error why, Clock::time_point now) {
  load_error_ = std::move(why);
  times_.load_failed = now;
  times_.of_failed_load = now - times_.load_begin;
}

void ModelSlot::stop() {
  if (host_) host_->stop();
  if (unloader_.joinable()) unloader_.join();
}

void ModelSlot::close() { state_ = State::kClosing; }
void ModelSlot::reopen() { state_ = State::kServing; }

bool ModelSlot::update(Clock::time_point now, const RequestPolicy& policy) {
  if (state_ == State::kUnloading && is_unloaded_) {
    if (unloader_.joinable()) unloader_.join();
    state_ = State::kUnloaded;
    return true;
  }
  if (state_ != State::kLoading) return false;
  const EngineHost::State state = host_->state();
  if (state == EngineHost::State::kLoading) return false;
  if (host_->engine() == nullptr) {
    note_failed_load(host_->error(), now);
    host_.reset();
    state_ = State::kUnloaded;
    return true;
  }
  state_ = State::kServing;
  if (has_failed()) return true;
  ++num_loads_;
  times_.of_load = now - times_.load_begin;
  times_.loaded = times_.last_use = now;
  info_ = host_->engine()->info();
  if (id_.empty()) id_ = model_id(*info_);
  take_model(policy);
  return true;
}

void ModelSlot::take_model(const RequestPolicy& policy) {
  ServedModel model = ServedModel::of(*info_, id_, entry_.names);
  model.policy = policy;
  model.created = created_;
  model.takes_any_name = entry_.takes_any_name;
  model.sampling_defaults = engine()->text()->default_sampling({});
  if (entry_.set_sampling) entry_.set_sampling(model.sampling_defaults);
  model.settings = settings_fingerprint(model, *info_);
  model_ = std::make_shared<const ServedModel>(std::move(model));
}

void ModelSlot::replace(ModelEntry entry, const RequestPolicy& policy) {
  entry_ = std::move(entry);
  if (engine() != nullptr && !has_failed()) take_model(policy);
}

ModelLease::ModelLease(ModelSlot& slot, const std::string& client) : slot_(&slot), model_(slot.model_) {
  const ModelSlot::Clock::time_point now = ModelSlot::Clock::now();
  use_ = &slot.uses_.begin(client, now);
  ++slot.num_leases_;
  slot.times_.last_use = now;
}

ModelLease::ModelLease(ModelLease&& other) noexcept
    : slot_(std::exchange(other.slot_, nullptr)), use_(other.use_), model_(std::move(other.model_)) {}

ModelLease& ModelLease::operator=(ModelLease&& other) noexcept {
  if (this == &other) return *this;
  end();
  slot_ = std::exchange(other.slot_, nullptr);
  use_ = other.use_;
  model_ = std::move(other.model_);
  return *this;
}

void ModelLease::end() noexcept {
  if (slot_ == nullptr) return;
  const ModelSlot::Clock::time_point now = ModelSlot::Clock::now();
  --slot_->num_leases_;
  slot_->times_.last_use = now;
  ModelUses::end(*use_, now);
  slot_ = nullptr;
}

}  // namespace octavo::server
