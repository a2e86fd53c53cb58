// One call: a request of the caller's, which may be several of the engine's, and the way of its events.
//
//     caller's thread                  engine's thread                 a thread that polls
//     parse, compile, start() ───────▶ News ─────▶ EventQueue ───────▶ write() ─▶ EventBatch
//
// A call lives as long as the engine or a queue refers to it. Members say which thread uses them.
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

/// The caller's part of a call, after it was read.
struct CallRequest {
  const Api* api = nullptr;
  boost::json::object body = {};
  std::uint64_t body_bytes = 0;
  std::span<const TokenId> prompt = {};  // token ids that replace the body's prompt; empty: they do not
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
  /// Lists the call under its number, so that whoever knows the number can cancel it.
  void enlist();
  /// Hands the requests to the engine; called once, after enlist(). Error: the engine takes none of them.
  CallResult<void> start();
  /// Ends what is under way; the last event says so. Any thread.
  void cancel();
  /// Lets the call end with an error, where no event of the engine's will come any more. Any thread.
  void abort();
  /// Notes that the system had no memory for news of the engine. The engine's thread.
  void note_lost_news() noexcept { has_lost_news_ = true; }
  /// The data that the queue keeps in the call.
  CallPlace& place() { return place_; }
  const CallPlace& place() const { return place_; }
  /// Makes events of a piece of news. One thread at a time. True: the last event is among them, and leave() is next.
  bool write(News news, EventBatch& batch);
  /// Forgets the call, which has ended, except for its pins. Called without a lock: it may cancel.
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
  const std::size_t num_answers_;  // the choices of all prompts
  std::atomic<bool> has_lost_news_ = false;
  CallPlace place_;
  std::atomic<bool> is_cancelled_ = false;
  std::atomic<bool> is_refused_ = false;  // octavo_submit() has given an error

  /// How the call ends.
  struct Ending {
    std::mutex mutex = {};
    std::optional<ApiError> failure = {};  // guarded by the mutex
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
