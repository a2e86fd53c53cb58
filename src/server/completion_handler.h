// One call for completions, by whatever API, from its body to the last byte of its answer. The engine's requests end
// with it, for whatever reason it ends.
//
// Lives in the coroutine that answers; the I/O thread.
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
  /// The parts of the server that completions share, which outlive them.
  struct Shared {
    const ServerOptions& options;
    const Responder& responder;
    BodyReader& bodies;
    PictureFetches& pictures;
    CompileQueue& compiling;
    ModelTable& models;
    ResponseStore& responses;
    ActiveCompletions& active;  // with this one, as long as it lives
    Mailbox& mailbox;
    BufferBudget& held;
    Metrics& metrics;
  };

  CompletionHandler(const Shared& shared, Exchange& exchange);
  ~CompletionHandler();
  CompletionHandler(const CompletionHandler&) = delete;
  CompletionHandler& operator=(const CompletionHandler&) = delete;

  /// `id`: the answer's, 16 hexadecimal digits that no other call has.
  asio::awaitable<void> run(const Api& api, BodyReader::Addressing how, std::string id);
  /// The server gives up: the error ends the answer.
  void abort(const ApiError& error);
  /// The engine takes no more requests: one that has not come to it ends.
  void begin_drain();
  /// Several times a second.
  void tick(Clock::time_point now);
  const ApiKey& key() const { return exchange_.key; }
  /// Its choices that have not ended, once the engine has them.
  void append_running(std::vector<RunningAnswer>& running) const;

 private:
  /// What is held beside what the writer holds.
  struct Unsent {
    std::size_t call_bytes = 0;     // of the call's prompts, as far as the answer repeats them, and its warnings
    std::size_t written_bytes = 0;  // of a stream, which are being written
    std::string bytes = {};         // the end of a stream, made meanwhile
    BufferedAnswer held = {};       // all three

    std::optional<ApiError> hold() { return held.hold_own(call_bytes + written_bytes + bytes.size()); }
  };

  /// What other threads do for the call before the engine has it: its pictures are fetched, its body
  /// is read, its constraints are compiled.
  struct Work {
    std::stop_source stop = {};  // asked for when the call is given up
    bool is_under_way = false;   // or waits to
    Clock::time_point begin = {};
    std::optional<Clock::time_point> deadline = {};
  };

  /// What came from the engine.
  struct Taken {
    bool is_last = false;   // with it all choices have ended
    bool is_shown = false;  // to the client
  };

  asio::awaitable<ApiResult<CompletionCall>> parse(const Api& api, AddressedBody body);
  /// The constraints of a call, as long as the request's deadline, the client and the server allow.
  asio::awaitable<ApiResult<void>> compile(CompletionCall& call);
  /// The whole stream of a call that the context has no room for.
  asio::awaitable<void> refuse_in_stream(const Api& api, const ApiError& error, std::string_view id);
  /// The whole answer to a body that lets its model go.
  asio::awaitable<void> unload(ModelSlot& slot, const Api& api);
  /// The parts of the requests that the server knows and the body does not: owner, cache domain, time limits.
  ApiResult<void> complete(CompletionCall& call) const;
  /// Counts what the call holds for the answer. Error: it is too much.
  ApiResult<void> hold(const CompletionCall& call);
  /// Gives the engine the requests, of a call for vectors as many as may be in work at once. The call outlives them.
  asio::awaitable<ApiResult<void>> submit(CompletionCall& call);
  /// Goes on with those that were left. Error: the engine takes none, and none is in work.
  ApiResult<void> submit_more();
  /// The engine has told all ends that come.
  bool is_over() const;
  asio::awaitable<void> answer_whole(AnswerWriter& writer);
  asio::awaitable<void> write_piece(AnswerWriter& writer);
  asio::awaitable<void> answer_stream(AnswerWriter& writer, std::string_view content_type);
  /// Takes events as long as the stream's first ones may be an error with a status of its own. False: it was.
  asio::awaitable<bool> wait_for_status(AnswerWriter& writer);
  /// Counts what is about to be written of a stream. True: it is too much, and the error is in its place.
  bool hold_written(std::string& out, AnswerWriter& writer);
  /// The engine has pushed events, of so many bytes as wait now.
  void on_events(std::size_t waiting_bytes);
  /// Takes what came from the engine.
  void take_items();
  /// Writes what was taken; the bytes to send of a streamed call. With the last event the lease of the model ends.
  std::string write_items(AnswerWriter& writer);
  /// The same, where the threads that read bodies write what takes long.
  asio::awaitable<std::string> write_long_items(AnswerWriter& writer);
  bool has_long_items(const AnswerWriter& writer) const;
  /// Notes the event, and adds to `out` what a stream says in front of it. False: that was all.
  bool is_for_writer(const EventQueue::Item& item, AnswerWriter& writer, std::string& out);
  void cancel() noexcept;

  const Shared shared_;
  Exchange& exchange_;
  HttpConnection& connection_;
  ModelLease model_;                 // from its body on, until the engine has told the last event
  ModelMetrics* metrics_ = nullptr;  // the model's, from its body on
  AnswerWriter* writer_ = nullptr;   // run()'s, before anything is submitted
  std::shared_ptr<EventQueue> queue_;
  std::vector<EventQueue::Item> items_;
  Taken taken_;
  std::shared_ptr<CallRun> run_ = {};  // once it is submitted
  bool waits_for_room_ = false;        // in the engine's queue, which is full, with nothing in work
  std::optional<CallProgress> progress_ = {};
  Unsent unsent_;
  Work work_;
  std::optional<StreamHeartbeat> heartbeat_;  // of a stream
  BufferedAnswer held_;                       // of an answer that is made whole
  std::optional<ApiError> given_up_ = {};     // why the server ends the answer, if it does
};

}  // namespace octavo::server
