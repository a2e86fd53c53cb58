// A model that was loaded through the C interface: its engine, the thread that drives the engine, and what its requests
// are read with.
//
// A handle stands for it, and its calls hold it. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "api/buffered_answer.h"
#include "api/call/completion.h"
#include "api/responses/response_store.h"
#include "capi/call_list.h"
#include "capi/callback_scope.h"
#include "capi/handles.h"
#include "capi/library_options.h"
#include "octavo/engine.h"

namespace octavo::capi {

class LoadedModel final : public Handled, public std::enable_shared_from_this<LoadedModel> {
 public:
  /// Loads a model, and drives it unless the caller does. `shares`: a model whose threads this one shares; null: none.
  /// `stop` ends the loading with OCTAVO_STOPPED.
  static CallResult<std::shared_ptr<LoadedModel>> load(const octavo_load_options& options,
                                                       const std::shared_ptr<LoadedModel>& shares,
                                                       const std::stop_token& stop);
  ~LoadedModel() override;

  Engine& engine() { return *engine_; }
  const ServedModel& served() const { return served_; }
  const LibraryOptions& options() const { return *options_; }
  ResponseStore& responses() { return responses_; }
  /// The memory of the answers that are being made.
  BufferBudget& held() { return held_; }
  CallList& calls() { return calls_; }
  /// Remembers the pins of a call that has ended, by its requests.
  void keep_pins(std::uint64_t call, std::vector<RequestId> requests);
  void give_back_pins(std::uint64_t call);
  /// Adds somebody else who hands requests to the engine: `end` cancels those when the model is closed.
  void add_guest(const void* guest, std::function<void()> end);
  void remove_guest(const void* guest);
  std::uint64_t next_call_id() { return next_call_++; }
  std::stop_token stop_token() const { return stop_.get_token(); }
  bool is_closed() const { return is_closed_; }
  bool has_failed() const { return has_failed_; }
  bool is_driven() const { return is_driven_; }
  /// Error: a thread of the library drives the model; the engine has failed.
  CallResult<bool> step();
  void close() override;
  bool is_closable() const override { return is_driven_ || !CallbackScope::is_inside(); }
  void abandon() override;

 private:
  LoadedModel(std::unique_ptr<LibraryOptions> options, std::shared_ptr<Resources> resources,
              std::unique_ptr<Engine> engine, bool is_driven);
  void drive(const std::stop_token& stop);
  void fail();
  void cancel_all();

  const std::unique_ptr<LibraryOptions> options_;
  const std::shared_ptr<Resources> resources_;
  const std::unique_ptr<Engine> engine_;
  const ServedModel served_;
  const bool is_driven_;
  ResponseStore responses_{ResponseStore::Limits{}};
  BufferBudget held_;
  CallList calls_;  // the calls that are not over yet
  std::mutex pins_mutex_;
  std::map<std::uint64_t, std::vector<RequestId>> pins_;  // the requests with pins, by their call
  std::mutex guests_mutex_;
  std::map<const void*, std::function<void()>> guests_;
  std::atomic<std::uint64_t> next_call_ = 1;
  std::atomic<bool> is_closed_ = false, has_failed_ = false;
  std::stop_source stop_;
  std::jthread thread_;
};

}  // namespace octavo::capi
