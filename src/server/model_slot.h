// One model of a server, loaded or not: what is known of it, its engine, and how many requests use it.
//
// Owned by the ModelTable; the I/O thread. Loading and unloading happen on threads of their own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "api/call/completion.h"
#include "server/engine_host.h"
#include "server/model_uses.h"

namespace octavo::server {

/// A model that the server can load.
struct ModelEntry {
  /// The model's names, the first of which is its id. Empty: they follow from what is loaded (model_id()).
  std::vector<std::string> names = {};
  LoadEngine load = {};
  std::string version = {};        // the version of what `load` makes: an engine of another version is outdated
  std::uint64_t memory_bytes = 0;  // the most for weights and KV memory
  bool is_loaded_at_start = false;
  bool takes_any_name = false;                             // any name that no other model has means this one
  std::function<void(SamplingParams&)> set_sampling = {};  // the operator's, over the model's own; none: as it is
  /// The facts in the head of its file: architecture, name, vectors, context, weights and layers. None: nobody has read
  /// it, and the model is known only once it is loaded.
  std::optional<ModelInfo> head = {};
};

/// Takes the name that stands for every name, "*", out of a model's; whether it was there.
bool take_any_name(std::vector<std::string>& names);

class ModelSlot {
 public:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t {
    kUnloaded,
    kLoading,
    kServing,
    kClosing,    // it finishes what runs, and takes nothing new
    kUnloading,  // its engine is being destroyed, or its load stopped
  };
  struct Times {
    Clock::time_point load_begin = {};  // when the current load began, or else the last one
    Clock::time_point load_failed = {}, loaded = {}, last_use = {};
    Clock::duration of_load = {}, of_failed_load = {};  // how long the last ones took
  };

  /// `on_change` is called on other threads when update() has something to do; it must not throw.
  ModelSlot(ModelEntry entry, std::chrono::milliseconds stall_timeout, std::function<void()> on_change);
  ModelSlot(const ModelSlot&) = delete;
  ModelSlot& operator=(const ModelSlot&) = delete;

  /// The model's id; empty until a model without names is loaded.
  const std::string& id() const { return id_; }
  /// Whether `name` is one of the model's own names.
  bool answers_to(std::string_view name) const;
  const ModelEntry& entry() const { return entry_; }
  State state() const { return state_; }
  bool is_in_memory() const { return state_ != State::kUnloaded; }
  /// The memory that it takes when loaded: of a loaded model the memory that was taken, else what its entry says.
  std::uint64_t memory_bytes() const;

  /// When the server learned of it, in seconds since 1970.
  std::int64_t created() const { return created_; }

  /// The engine, while the slot serves or closes; else null.
  Engine* engine() const;
  /// The model in the form that requests use; null before it was first loaded.
  const std::shared_ptr<const ServedModel>& model() const { return model_; }
  /// The facts about the model when it was last loaded; none: it never was.
  const std::optional<ModelInfo>& info() const { return info_; }
  /// The facts that are known without a load: info(), or what the file's head says, if the entry was not loaded in its
  /// present form. Null: there are none.
  const ModelInfo* known() const;
  /// The error of the last load, if it failed.
  const std::optional<Error>& load_error() const { return load_error_; }
  /// Whether the engine has ended with an exception, and is driven no more.
  bool has_failed() const { return host_ && host_->failed() && host_->engine() != nullptr; }
  const Error& failure() const { return host_->error(); }

  void begin_load(Clock::time_point now);
  /// Unloads the model. A load that this stops has not failed.
  void begin_unload();
  /// Stops the current load, which has failed then, for the reason `why`.
  void give_up_load(Error why, Clock::time_point now);
  void close();
  void reopen();
  /// Waits for its threads to end.
  void stop();
  /// Takes the results of its threads. True: the state has changed.
  bool update(Clock::time_point now, const RequestPolicy& policy);
  /// Replaces its entry; its engine stays until it is closed.
  void replace(ModelEntry entry, const RequestPolicy& policy);
  /// Whether its entry is gone, or what is loaded is not what is offered now.
  bool is_outdated() const { return is_removed_ || (is_in_memory() && loaded_version_ != entry_.version); }
  void remove() { is_removed_ = true; }
  bool is_removed() const { return is_removed_; }

  std::uint64_t num_loads() const { return num_loads_; }
  int num_leases() const { return num_leases_; }
  const Times& times() const { return times_; }
  /// The clients that have used it since it was loaded.
  ModelUses& uses() { return uses_; }
  const ModelUses& uses() const { return uses_; }
  /// Looks at the engine's progress.
  void observe(const EngineStats& stats, Clock::time_point now) { progress_.update(stats, now); }
  bool has_stalled(Clock::time_point now) const { return progress_.stalled(now); }

 private:
  friend class ModelLease;

  void note_failed_load(Error why, Clock::time_point now);
  void take_model(const RequestPolicy& policy);

  ModelEntry entry_;
  const std::function<void()> on_change_;
  std::string id_;
  const std::int64_t created_;
  State state_ = State::kUnloaded;
  std::string loaded_version_;
  std::shared_ptr<const ServedModel> model_;
  std::optional<ModelInfo> info_;
  std::optional<Error> load_error_;
  Times times_;
  ModelUses uses_;
  std::uint64_t num_loads_ = 0;
  int num_leases_ = 0;
  bool is_removed_ = false;
  ProgressWatch progress_;
  std::unique_ptr<EngineHost> host_;
  std::atomic<bool> is_unloaded_ = false;  // set by unloader_
  std::jthread unloader_;                  // destroyed first: joined
};

/// The use of a loaded model by one request. The slot must outlive it, and keeps its engine that long.
class ModelLease {
 public:
  ModelLease() = default;
  /// A client's lease of a slot that serves.
  ModelLease(ModelSlot& slot, const std::string& client);
  ~ModelLease() { end(); }
  ModelLease(ModelLease&& other) noexcept;
  ModelLease& operator=(ModelLease&& other) noexcept;

  explicit operator bool() const { return slot_ != nullptr; }
  Engine& engine() const { return *slot_->engine(); }
  const ServedModel& model() const { return *model_; }
  const std::string& id() const { return slot_->id(); }
  bool has_failed() const { return slot_->has_failed(); }
  /// Sets how long the client wants the model to stay after its last request.
  void set_keep_alive(std::chrono::milliseconds time) { use_->keep_alive = time; }

 private:
  void end() noexcept;

  ModelSlot* slot_ = nullptr;
  ModelUses::Use* use_ = nullptr;
  std::shared_ptr<const ServedModel> model_;  // as it was when the request came
};

}  // namespace octavo::server
