// One call for completions, of any API, from its body to the last byte of its answer. When it ends, for whatever
// reason, the engine's requests end with it.
//
// Belongs to the coroutine that answers; the I/O thread.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/call/call_run.h"
#include "api/llama/llama_slots.h"
#include "api/responses/response_store.h"
#include "server/active_completions.h"
#include "server/body_reader.h"
#include "server/call_progress.h"
#include "server/compile_queue.h"
#include "server/event_queue.h"
#include "server/metrics.h"
#include "server/model_table.h"
#include "server/picture_fetches.h"
#include "server/responder.h"
#include "server/stream_heartbeat.h"

namespace octavo::server {

struct ServerOptions;

class CompletionHandler {
 public:
  /// The parts of the server that completions share. They outlive the completions.
  struct Shared {
    const ServerOptions& options;
    const Responder& responder;
    BodyReader& bodies;
    PictureFetches& pictures;
    CompileQueue& compiling;
    ModelTable& models;
    ResponseStore& responses;
    ActiveCompletions& active;  // has this one as long as it lives
    Mailbox& mailbox;
    BufferBudget& held;
    Metrics& metrics;
  };

  CompletionHandler(const Shared& shared, Exchange& exchange);
  ~CompletionHandler();
  CompletionHandler(const CompletionHandler&) = delete;
  CompletionHandler& operator=(const CompletionHandler&) = delete;

  /// `id`: the answer's, 16 hexadecimal digits, different for each call.
  asio::awaitable<void> run(const Api& api, BodyReader::Addressing how, std::string id);
  /// Ends the answer with an error: the server gives up.
  void abort(const ApiError& error);
  /// Ends a call that has not reached the engine: the engine takes no more requests.
  void begin_drain();
  /// Called several times a second.
  void tick(Clock::time_point now);
  const ApiKey& key() const { return exchange_.key; }
  /// Appends the call's choices that have not ended, once the engine has them.
  void append_running(std::vector<RunningAnswer>& running) const;

 private:
  /// The bytes held besides those that the writer holds.
  struct Unsent {
    std::size_t call_bytes = 0;     // the call's prompts, where the answer repeats them, and its warnings
    std::size_t written_bytes = 0;  // the part of a stream that is being written
    std::string bytes = {};         // the part of a stream that was made meanwhile
    BufferedAnswer held = {};       // counts all three

    std::optional<ApiError> hold() { return held.hold_own(call_bytes + written_bytes + bytes.size()); }
  };

  /// The work on other threads for the call before the engine has it: its pictures are fetched, its body is read, its
  /// constraint is compiled.
  struct Work {
    std::stop_source stop = {};  // asked for when the call is given up
    bool is_under_way = false;   // the work is done, or waits for its turn
    Clock::time_point begin = {};
    std::optional<Clock::time_point> deadline = {};
  };

  /// The events that were taken from the engine.
  struct Taken {
    bool is_last = false;   // all choices have ended with them
    bool is_shown = false;  // the client gets them
  };

  asio::awaitable<ApiResult<CompletionCall>> parse(const Api& api, AddressedBody body);
  /// Compiles the call's constraint, as long as the request's deadline, the client and the server allow.
  asio::awaitable<ApiResult<void>> compile(CompletionCall& call);
  /// Sends the whole stream of a call that has no room in the context.
  asio::awaitable<void> refuse_in_stream(const Api& api, const ApiError& error, std::string_view id);
  /// Sends the whole answer to a body that unloads its model.
  asio::awaitable<void> unload(ModelSlot& slot, const Api& api);
  /// Sets the parts of the requests that the server knows and the body does not: owner, cache domain, time limits.
  ApiResult<void> complete(CompletionCall& call) const;
  /// Counts what the call holds for the answer. Error: it is too much.
  ApiResult<void> hold(const CompletionCall& call);
  /// Submits the requests; of a call for vectors, as many as may be in the engine at once. The call outlives them.
  asio::awaitable<ApiResult<void>> submit(CompletionCall& call);
  /// Submits requests that were left. Error: the engine takes none, and none of the call's is running.
  ApiResult<void> submit_more();
  /// Whether the engine has told all ends that will come.
  bool is_over() const;
  asio::awaitable<void> answer_whole(AnswerWriter& writer);
  asio::awaitable<void> write_piece(AnswerWriter& writer);
  asio::awaitable<void> answer_stream(AnswerWriter& writer, std::string_view content_type);
  /// Takes events as long as the stream's first ones may be an error with a status of its own. False: it was.
  asio::awaitable<bool> wait_for_status(AnswerWriter& writer);
  /// Counts bytes of a stream that are about to be written. True: they are too many, and `out` is the error instead.
  bool hold_written(std::string& out, AnswerWriter& writer);
  /// Called after the engine has pushed events, of which `waiting_bytes` wait now.
  void on_events(std::size_t waiting_bytes);
  /// Takes the events from the engine.
  void take_items();
  /// Writes the events that were taken; returns the bytes to send of a streamed call. The last event ends the model's
  /// lease.
  std::string write_items(AnswerWriter& writer);
  /// Writes them like write_items(), but leaves long work to the threads that read bodies.
  asio::awaitable<std::string> write_long_items(AnswerWriter& writer);
  bool has_long_items(const AnswerWriter& writer) const;
  /// Notes the event, and appends to `out` what a stream has before it. False: the writer does not need it.
  bool is_for_writer(const EventQueue::Item& item, AnswerWriter& writer, std::string& out);
  void cancel() noexcept;

  const Shared shared_;
  Exchange& exchange_;
  HttpConnection& connection_;
  ModelLease model_;                 // from the body on, until the engine has told the last event
  ModelMetrics* metrics_ = nullptr;  // the model's; null before the body was read
  AnswerWriter* writer_ = nullptr;   // run()'s; null before anything is submitted
  std::shared_ptr<EventQueue> queue_;
  std::vector<EventQueue::Item> items_;
  Taken taken_;
  std::shared_ptr<CallRun> run_ = {};  // null before the requests are submitted
  bool waits_for_room_ = false;        // the engine's queue is full, and none of the call's requests is running
  std::optional<CallProgress> progress_ = {};
  Unsent unsent_;
  Work work_;
  std::optional<StreamHeartbeat> heartbeat_;  // for a stream
  BufferedAnswer held_;                       // for an answer that is made as a whole
  std::optional<ApiError> given_up_ = {};     // why the server ends the answer, if it does
};

}  // namespace octavo::server
