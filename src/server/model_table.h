// The models of a server: which there are, which are in memory, and who waits for one.
//
// A request finds its model by a name, waits for its load with a LoadWait, and holds it as a ModelLease until the
// engine has told all of its answer, whether the client has read it or not. Models are loaded when somebody waits for
// them, one at a time, in the order of the waits. Where memory for another one is wanted, one that nobody uses goes,
// the least recently used first, once it was left for as long as loading it took. If all are in use, one that has had
// its turn takes no new request, ends those that it has, and goes. So no model starves behind another that is always in
// use. A load that another model waits for has its time too: one that is not done by then is stopped, and has failed.
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

  /// `options` outlive it. `on_change` is called on other threads when advance() has something to do; it must not
  /// throw.
  ModelTable(const ServerOptions& options, std::vector<ModelEntry> entries, std::function<void()> on_change);
  ~ModelTable();
  ModelTable(const ModelTable&) = delete;
  ModelTable& operator=(const ModelTable&) = delete;

  /// Begins to load the models that are to be there at the start.
  void start();
  /// All of these are there.
  bool is_started() const;
  /// Acts on what has happened: several times a second, and after each on_change. What happened is told by slots().
  void advance(Clock::time_point now);
  /// Other models are offered from now on. Requests that run are not touched.
  void replace(std::vector<ModelEntry> entries, Clock::time_point now);
  /// No model is loaded any more, what is being loaded is stopped; whoever waits for one is refused; engines take
  /// nothing new.
  void drain();
  /// Waits for engines to end.
  void stop();

  /// The model of that name, else one that takes any; of no name: the first one that serves such calls, as far as that
  /// is known without a load, else the first one. Null: there is none.
  ModelSlot* find(std::string_view name, Serves serves = nullptr);
  /// When a model that serves goes, if nobody uses it any more; none: never.
  std::optional<Clock::time_point> expiry(const ModelSlot& slot, Clock::time_point now) const;
  /// Loads a model for nobody in particular. Errors: it is there or on its way; as those of a LoadWait.
  ApiResult<void> preload(ModelSlot& slot, const std::string& owner, Clock::time_point now);
  /// The client wants the model no more. It goes as soon as nobody uses it; false: it stays, because others have used
  /// it within the time that they want it kept. Error: clients may not say so.
  ApiResult<bool> unload(ModelSlot& slot, const std::string& client, Clock::time_point now);
  const std::list<ModelSlot>& slots() const { return slots_; }
  std::list<ModelSlot>& slots() { return slots_; }
  /// The 404 of a model that is not there.
  ApiError not_found(std::string_view name) const;
  std::uint64_t memory_taken() const;
  /// The policy of all requests, whichever model they are for.
  const RequestPolicy& policy() const { return options_.requests; }
  /// Why the server cannot go on, if so: a model for the start cannot be loaded, or an engine has failed.
  const Error* failure() const;
  bool has_failed_engine() const;

  /// A request that waits for its model.
  class LoadWait {
   public:
    /// `owner`: the client, by whom the queue is shared fairly. `on_over` is called when is_over() has become true, but
    /// not in here.
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
  /// How long a model stays after the requests of clients that do not say.
  std::chrono::milliseconds kept() const;
  /// The name under which a client says how long a model stays.
  std::string speaker(const std::string& client) const {
    return options_.models.clients_are_one ? std::string() : client;
  }
  void end_waits(Clock::time_point now);
  std::optional<ApiResult<ModelLease>> answer_to(const LoadWait& wait, Clock::time_point now) const;
  void unload_unused(Clock::time_point now);
  /// Loads the model that is waited for first, or makes room for it.
  void load_next(Clock::time_point now);
  void make_room(const LoadWait& wait, Clock::time_point now);
  /// Stops the load that is under way where this one has waited long enough. False: there is none.
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
