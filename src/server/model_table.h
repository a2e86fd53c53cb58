// The models of a server: which there are, which are in memory, and which requests wait for one.
//
// A request finds its model by a name, waits for its load with a LoadWait, and holds it with a ModelLease until the
// engine has told all of its answer, read by the client or not. Models are loaded when requests wait for them, one at a
// time, in the order of the waits. Where another model needs memory, an unused one is unloaded: the least recently used
// first, once it was unused for as long as loading it took. If all are in use, one that has had its turn takes no new
// request, finishes those that it has, and is unloaded. So no model starves behind another that is always in use. A
// load that keeps another model waiting is bounded, too: after that time it is stopped, and has failed.
//
// Owned by the server; the I/O thread.
#pragma once

#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/api.h"
#include "api/call/api_error.h"
#include "server/model_slot.h"
#include "server/server_options.h"

namespace octavo::server {

class ModelTable {
 public:
  using Clock = ModelSlot::Clock;

  /// `options` must outlive it. `on_change` is called on other threads when advance() has something to do; it must not
  /// throw.
  ModelTable(const ServerOptions& options, std::vector<ModelEntry> entries, std::function<void()> on_change);
  ~ModelTable();
  ModelTable(const ModelTable&) = delete;
  ModelTable& operator=(const ModelTable&) = delete;

  /// Begins to load the models for the start.
  void start();
  /// Whether all models for the start are loaded.
  bool is_started() const;
  /// Acts on what has happened. Called several times a second, and after each on_change. slots() then tells what has
  /// happened.
  void advance(Clock::time_point now);
  /// Replaces the models that are offered. Running requests are not touched.
  void replace(std::vector<ModelEntry> entries, Clock::time_point now);
  /// Loads no model any more, stops the current load, and refuses all that wait; engines take no new requests.
  void drain();
  /// Waits for engines to end.
  void stop();

  /// The model with this name, else one that takes any name. Empty name: the first model that serves such calls, as far
  /// as that is known without a load, else the first one. Null: there is none.
  ModelSlot* find(std::string_view name, Serves serves = nullptr);
  /// When a serving model will be unloaded if nobody uses it any more; none: never.
  std::optional<Clock::time_point> expiry(const ModelSlot& slot, Clock::time_point now) const;
  /// Loads a model that no request waits for. Errors: it is loaded or being loaded; those of a LoadWait.
  ApiResult<void> preload(ModelSlot& slot, const std::string& owner, Clock::time_point now);
  /// Notes that the client does not want the model any more. True: it is unloaded as soon as nobody uses it; false: it
  /// stays for others, which want it kept after their last use. Error: clients may not say so.
  ApiResult<bool> unload(ModelSlot& slot, const std::string& client, Clock::time_point now);
  const std::list<ModelSlot>& slots() const { return slots_; }
  std::list<ModelSlot>& slots() { return slots_; }
  /// The error (404) for a model that does not exist.
  ApiError not_found(std::string_view name) const;
  std::uint64_t memory_taken() const;
  /// The policy for requests, whichever model they are for.
  const RequestPolicy& policy() const { return options_.requests; }
  /// The reason why the server cannot go on, if there is one: a model for the start cannot be loaded, or an engine has
  /// failed.
  const Error* failure() const;
  bool has_failed_engine() const;

  /// A request's wait for its model.
  class LoadWait {
   public:
    /// `owner`: the client, by which the queue is shared fairly. `on_over` is called when is_over() has become true,
    /// but not from the constructor.
    LoadWait(ModelTable& table, ModelSlot& slot, std::string owner, std::function<void()> on_over,
             Clock::time_point now);
    ~LoadWait();
    LoadWait(const LoadWait&) = delete;
    LoadWait& operator=(const LoadWait&) = delete;

    bool is_over() const { return result_.has_value(); }
    ApiResult<ModelLease> take() { return std::move(*result_); }

   private:
    friend class ModelTable;

    void end(ApiResult<ModelLease> result);

    ModelTable& table_;
    ModelSlot& slot_;
    const std::string owner_;
    std::function<void()> on_over_;
    const Clock::time_point since_;
    std::optional<ApiResult<ModelLease>> result_;
    bool is_listed_ = false;
    std::list<LoadWait*>::iterator place_;
  };

 private:
  bool serves_calls(const ModelSlot& slot, Serves serves) const;
  bool has_room_for(const std::string& owner) const;
  /// How long a model stays after requests of clients that do not say.
  std::chrono::milliseconds kept() const;
  /// The name under which a client says how long a model stays.
  std::string speaker(const std::string& client) const {
    return options_.models.clients_are_one ? std::string() : client;
  }
  void end_waits(Clock::time_point now);
  std::optional<ApiResult<ModelLease>> answer_to(const LoadWait& wait, Clock::time_point now) const;
  void unload_unused(Clock::time_point now);
  /// Loads the model that the first wait is for, or makes room for it.
  void load_next(Clock::time_point now);
  void make_room(const LoadWait& wait, Clock::time_point now);
  /// Stops the current load where this wait has lasted long enough. False: nothing is being loaded.
  bool await_load(const LoadWait& wait, Clock::time_point now);
  ModelSlot* next_to_go(const LoadWait& wait, Clock::time_point now);

  const ServerOptions& options_;
  const std::function<void()> on_change_;
  std::list<ModelSlot> slots_;
  std::list<LoadWait*> waits_;  // in the order in which they came
  std::vector<std::unique_ptr<LoadWait>> preloads_;
  bool is_draining_ = false;
};

}  // namespace octavo::server
