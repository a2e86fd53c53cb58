// One call: a request of the caller's, which may be several of the engine's, and the way of its events.
//
//     caller's thread                  engine's thread                 a thread that polls
//     parse, compile, start() ───────▶ News ─────▶ EventQueue ───────▶ write() ─▶ EventBatch
//
// It lives as long as the engine or a queue has something of it. Members say which thread has them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "api/api.h"
#include "api/call/call_run.h"
#include "capi/event_batch.h"
#include "capi/event_queue.h"
#include "capi/loaded_model.h"

namespace octavo::capi {

/// The caller's part of a call, read.
struct CallRequest {
  const Api* api = nullptr;
  boost::json::object body = {};
  std::uint64_t body_bytes = 0;
  std::span<const TokenId> prompt = {};  // the caller's, in place of the body's; empty: the body's
  octavo_form form = OCTAVO_JSON;
  bool wants_logits = false;
  bool pins = false;
  std::uint64_t tag = 0;
};

class Call : public std::enable_shared_from_this<Call> {
 public:
  /// Reads the body, makes prompts of it and compiles its constraint. Errors: those of the API.
  static CallResult<std::shared_ptr<Call>> parse(std::shared_ptr<LoadedModel> model, std::shared_ptr<EventQueue> queue,
                                                 CallRequest request);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::uint64_t id() const { return id_; }
  /// From now on it is found by its number, and cancelled by whoever knows that.
  void enlist();
  /// Hands the requests to the engine; once, after enlist(). Error: it takes none of them.
  CallResult<void> start();
  /// Ends what is under way; the last event says so. Any thread.
  void cancel();
  /// Lets the call end with an error, since no event of the engine's comes any more. Any thread.
  void abort();
  /// The system had no memory for news of the engine's. The engine's thread.
  void note_lost_news() noexcept { has_lost_news_ = true; }
  /// The queue has it.
  CallPlace& place() { return place_; }
  const CallPlace& place() const { return place_; }
  /// Makes events of a piece of news. One thread at a time. True: the last event is among them, and leave() is next.
  bool write(News news, EventBatch& batch);
  /// Forgets the call, which has ended, but for what it has pinned. It may cancel: no lock is held.
  void leave();

 private:
  Call(std::shared_ptr<LoadedModel> model, std::shared_ptr<EventQueue> queue, const CallRequest& request,
       CompletionCall call);
  CallPrompts prompts();
  std::optional<ApiError> submit_more();
  void on_event(std::size_t prompt, const TokenEvent& event);
  void on_logits(int first_row, std::span<const float> logits);
  void end_requests();
  void fail_with(ApiError error);
  void give_up();
  void refuse();

  ApiError failure();
  void write_news(News news, EventBatch& batch);
  void write_answer(const RequestEvent& event, EventBatch& batch);
  void write_token(const RequestEvent& event, EventBatch& batch);
  void write_text(std::string text, EventBatch& batch);
  void end(const ApiError* error, EventBatch& batch);
  void settle_pins();
  octavo_event event_of(octavo_event_kind kind) const;

  const std::uint64_t id_;
  const std::shared_ptr<LoadedModel> model_;
  const std::shared_ptr<EventQueue> queue_;
  const Api& api_;
  const octavo_form form_;
  const std::uint64_t tag_;
  const bool wants_logits_, pins_;
  CompletionCall call_;
  const std::size_t num_answers_;  // choices of all prompts
  std::atomic<bool> has_lost_news_ = false;
  CallPlace place_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> is_refused_ = false;  // octavo_submit() has given an error

  /// How it ends.
  struct Ending {
    std::mutex mutex = {};
    std::optional<ApiError> failure = {};  // with the lock
    std::atomic<bool> keeps_pins = false;  // the call has ended without an error
  } ending_;
  CallRun run_;

  // The thread that polls
  std::unique_ptr<AnswerWriter> writer_;
  bool has_begun_ = false, has_ended_ = false;
  std::size_t num_ended_ = 0;
  std::optional<ApiError> choice_error_ = {};
};

}  // namespace octavo::capi
