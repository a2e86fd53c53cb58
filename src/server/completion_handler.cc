#include "server/completion_handler.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>
#include <tuple>

#include "api/call/api_error.h"
#include "api/fields/keep_alive.h"
#include "base/error.h"
#include "server/load_report.h"
#include "server/model_routes.h"
#include "server/queue_check.h"
#include "server/request_deadline.h"
#include "server/request_head.h"
#include "server/run_on.h"
#include "server/server_options.h"

namespace octavo::server {
namespace {

ApiError no_memory() {
  return {.status = 500,
          .message = "The server had no memory left for the answer.",
          .type = "server_error",
          .code = "internal_error"};
}

/// The domain within which prompts share cached blocks. It is short, since each prompt has it: a salt of any length
/// becomes a digest. A key's name never looks like a digest.
std::string cache_domain(std::string key_name, std::string_view salt) {
  if (salt.empty()) return key_name;
  const std::string text = key_name + '\n' + std::string(salt);
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

/// Takes constraints that the model remembers, without a wait: clients send the same schema with every request.
void take_remembered_constraints(CompletionCall& call, const ModelText& words) {
  const std::stop_source stopped;
  stopped.request_stop();
  std::ignore = compile_constraint(call, words, stopped.get_token());  // on error its turn is still to come
}

/// The warning of a client whose model will not stay as long as it wants, as the operator does not allow it.
std::optional<std::string> keep_alive_warning(std::chrono::milliseconds wanted, std::chrono::milliseconds most) {
  if (most.count() == 0 || wanted <= most) return std::nullopt;
  const auto seconds = [](std::chrono::milliseconds time) { return static_cast<double>(time.count()) / 1000; };
  const std::string found = wanted == kKeptForever ? "for ever" : fmt::format("{} s", seconds(wanted));
  return fmt::format("keep_alive: found {}, cut to {} s: this server keeps no model longer that nobody uses", found,
                     seconds(most));
}

bool asks_for_stream(const boost::json::object& body) {
  const boost::json::value* stream = body.if_contains("stream");
  return stream != nullptr && stream->is_bool() && stream->get_bool();
}

}  // namespace

CompletionHandler::CompletionHandler(const Shared& shared, Exchange& exchange)
    : shared_(shared), exchange_(exchange), connection_(exchange.connection), held_(shared.held, client_of(exchange)) {
  unsent_.held = BufferedAnswer(shared.held, client_of(exchange));
  queue_ =
      std::make_shared<EventQueue>(shared.mailbox, [this](std::size_t waiting_bytes) { on_events(waiting_bytes); });
  shared_.active.insert(this);
  connection_.set_on_hang_up([this] { cancel(); });
}

CompletionHandler::~CompletionHandler() {
  connection_.set_on_hang_up(nullptr);
  shared_.active.erase(this);
  queue_->close();
  cancel();
}

void CompletionHandler::cancel() noexcept {
  work_.stop.request_stop();
  if (!run_) return;
  run_->stop();
  if (!model_ || model_.has_failed()) return;  // a failed engine is driven no more
  try {
    run_->cancel();
  } catch (const std::exception&) {
    shared_.metrics.count_failure();  // there is no memory to cancel it: it runs to its end, unheard
  }
}

void CompletionHandler::abort(const ApiError& error) {
  given_up_ = error;
  cancel();
  connection_.wake().notify();
}

void CompletionHandler::begin_drain() {
  if (work_.is_under_way) abort(shutting_down());
  // A call that has begun is served to its end: the engine gets the rest of its requests before it takes no more.
  if (run_) run_->drop_bounds();
  if (const auto submitted = submit_more(); !submitted) abort(submitted.error());
}

void CompletionHandler::tick(Clock::time_point now) {
  if (work_.is_under_way && work_.deadline && now >= *work_.deadline) abort(deadline_over());
  if ((heartbeat_ && heartbeat_->is_due(now)) || waits_for_room_) connection_.wake().notify();
}

void CompletionHandler::append_running(std::vector<RunningAnswer>& running) const {
  if (!run_ || run_->is_stopped() || !model_ || model_.has_failed()) return;
  progress_->append_running(model_.id(), model_.engine().info(), run_->num_submitted(), running);
}

asio::awaitable<ApiResult<CompletionCall>> CompletionHandler::parse(const Api& api, AddressedBody body) {
  metrics_ = &shared_.metrics.of_model(body.model.id());
  if (shared_.active.is_draining()) co_return std::unexpected(shutting_down());
  work_.begin = Clock::now();
  if (const auto seconds = deadline_of(exchange_.request); seconds && *seconds > 0)
    work_.deadline = time_after(work_.begin, *seconds);
  work_.is_under_way = true;
  const auto unfetched = co_await shared_.pictures.fetch(exchange_, body, work_.stop.get_token());
  model_ = std::move(body.model);
  auto work = [&]() -> ApiResult<CompletionCall> {
    const ModelText& words = *model_.engine().text();
    OCTAVO_TRY(CompletionCall call, parse_call(api, std::move(body.object), words, model_.model(),
                                               {.store = &shared_.responses,
                                                .owner = exchange_.key.name,
                                                .client = client_of(exchange_),
                                                .body_bytes = body.num_bytes},
                                               work_.stop.get_token(), {}, &*unfetched));
    take_remembered_constraints(call, words);
    return call;
  };
  ApiResult<CompletionCall> parsed = std::unexpected(unfetched ? ApiError() : unfetched.error());
  if (unfetched) parsed = co_await run_on(shared_.bodies.threads(), work);
  work_.is_under_way = false;
  if (given_up_) co_return std::unexpected(*given_up_);
  co_return parsed;
}

// The engine counts a deadline from when it gets the request: time that was spent before is taken off here.
asio::awaitable<ApiResult<void>> CompletionHandler::compile(CompletionCall& call) {
  if (shared_.active.is_draining()) co_return std::unexpected(shutting_down());
  const Clock::time_point begin = Clock::now();
  const double deadline_s = call.requests.front().deadline_s;
  if (deadline_s > 0) work_.deadline = time_after(begin, deadline_s);
  work_.is_under_way = true;
  auto compiled = co_await shared_.compiling.compile(exchange_, call, *model_.engine().text(), work_.stop.get_token());
  work_.is_under_way = false;
  const Clock::time_point end = Clock::now();
  if (work_.deadline && end >= *work_.deadline) given_up_ = deadline_over();
  if (given_up_) co_return std::unexpected(*given_up_);
  for (Request& request : call.requests)
    if (request.deadline_s > 0)
      request.deadline_s = std::max(kLeastDeadlineS, request.deadline_s - seconds_between(begin, end));
  co_return compiled;
}

asio::awaitable<void> CompletionHandler::unload(ModelSlot& slot, const Api& api) {
  const auto goes = shared_.models.unload(slot, client_of(exchange_), Clock::now());
  if (!goes) co_return co_await shared_.responder.refuse(exchange_, goes.error());
  std::vector<std::string> warnings;
  if (!*goes) warnings.push_back(model_stays(slot.id()));
  HttpResponse response{.body = api.unloaded(slot.id(), warnings)};
  co_await shared_.responder.send(exchange_, response);
}

asio::awaitable<void> CompletionHandler::refuse_in_stream(const Api& api, const ApiError& error, std::string_view id) {
  HttpResponse response{.content_type = std::string(api.stream_type)};
  response.headers = {{"Cache-Control", "no-cache"}};
  response.body =
      api.refused_stream({.error = error, .model = model_.model().id, .id = id, .created = std::time(nullptr)});
  model_ = ModelLease();
  exchange_.record.streamed = true;
  co_await shared_.responder.send(exchange_, response);
}

ApiResult<void> CompletionHandler::complete(CompletionCall& call) const {
  ApiResult<double> deadline = deadline_of(exchange_.request);
  if (!deadline) return std::unexpected(deadline.error());
  if (*deadline > 0) deadline = std::max(kLeastDeadlineS, *deadline - seconds_between(work_.begin, Clock::now()));
  OCTAVO_TRY(const AskedPace pace, asked_pace(exchange_.request));
  if (auto fits = check_queue(call, shared_.options); !fits) return fits;
  if (call.keep_alive)
    if (auto warning = keep_alive_warning(*call.keep_alive, shared_.options.models.idle_unload))
      call.warnings.push_back(std::move(*warning));
  const std::string owner = client_of(exchange_), flow = flow_of(exchange_);
  const std::string domain =
      cache_domain(shared_.options.access.shared_cache ? std::string() : exchange_.key.name, call.user_cache_salt);
  for (Request& request : call.requests) {
    request.cache_domain = domain;
    request.hides_blocks = !call.user_cache_salt.empty();
    request.owner = owner;
    request.flow = flow;
    if (*deadline > 0 && (request.deadline_s == 0 || *deadline < request.deadline_s)) request.deadline_s = *deadline;
    pace.shorten(request);
  }
  return {};
}

ApiResult<void> CompletionHandler::hold(const CompletionCall& call) {
  unsent_.call_bytes = call.warnings.num_bytes();
  for (const CallPrompt& prompt : call.prompts)
    unsent_.call_bytes += prompt.text.size() + prompt.tokens.size() * sizeof(TokenId);
  if (auto too_large = unsent_.hold()) return std::unexpected(std::move(*too_large));
  return {};
}

asio::awaitable<ApiResult<void>> CompletionHandler::submit(CompletionCall& call) {
  progress_.emplace(call, shared_.options.engine.draft != DraftMode::kOff);
  if (call.stream) {
    heartbeat_.emplace(call, progress_->prompts(),
                       StreamHeartbeat::Intervals{.comment = shared_.options.answers.keepalive_interval,
                                                  .progress = shared_.options.answers.progress_interval},
                       Clock::now());
  }
  CallPrompts prompts = prompts_of(call);
  prompts.make = [make = std::move(prompts.make), queue = queue_](std::size_t prompt) -> Result<Request> {
    OCTAVO_TRY(Request request, make(prompt));
    request.on_prompt_progress = [queue, prompt](const PromptProgress& told) { queue->push(prompt, told); };
    return request;
  };
  prompts.on_event = [queue = queue_](std::size_t prompt, const TokenEvent& event) { queue->push(prompt, event); };
  run_ = std::make_shared<CallRun>(model_.engine(), std::move(prompts));
  if (!call.resumption) co_return submit_more();
  // Whatever follows an answer's tokens follows those that it had, and they may be many.
  auto work = [run = run_] { return run->go_on(run); };
  const Result<void> done = co_await run_on(shared_.bodies.threads(), work);
  co_return done ? ApiResult<void>() : std::unexpected(to_api_error(done.error()));
}

ApiResult<void> CompletionHandler::submit_more() {
  waits_for_room_ = false;
  const Result<void> done = run_ ? run_->go_on(run_) : Result<void>();
  if (done) return {};
  waits_for_room_ = done.error().kind == ErrorKind::kQueueFull && run_->is_bounded() && run_->num_submitted() > 0;
  if (!waits_for_room_) return std::unexpected(to_api_error(done.error()));
  return {};
}

bool CompletionHandler::is_over() const { return !run_->has_left() && queue_->num_ended() == run_->num_choices(); }

asio::awaitable<void> CompletionHandler::run(const Api& api, BodyReader::Addressing how, std::string id) {
  ApiResult<BodyResult> body = co_await shared_.bodies.read(exchange_, how);
  if (connection_.hung_up() || is_client_gone(body)) {
    exchange_.record.status = 499;
    co_return;
  }
  if (!body) co_return co_await shared_.responder.refuse(exchange_, body.error());
  if (const auto* about = std::get_if<NothingToCompute>(&*body)) co_return co_await unload(*about->slot, api);
  const bool is_streamed = asks_for_stream(std::get<AddressedBody>(*body).object);
  ApiResult<CompletionCall> call = co_await parse(api, std::get<AddressedBody>(std::move(*body)));
  if (!call && call.error().context_full && is_streamed && api.refused_stream != nullptr && !connection_.hung_up())
    co_return co_await refuse_in_stream(api, call.error(), id);
  ApiResult<void> ready = call ? complete(*call) : ApiResult<void>(std::unexpected(std::move(call.error())));
  if (ready) ready = hold(*call);
  if (ready && call->constraint && !connection_.hung_up()) ready = co_await compile(*call);
  if (connection_.hung_up()) {
    exchange_.record.status = 499;
    co_return;
  }
  std::unique_ptr<AnswerWriter> writer;
  if (ready) {
    writer = api.make_writer({.call = *call,
                              .words = model_.engine().text(),
                              .model = model_.model(),
                              .id = id,
                              .created = std::time(nullptr)});
    writer_ = writer.get();
    if (!call->stream) writer->leave_work();
    if (call->keep_alive) model_.set_keep_alive(*call->keep_alive);
    ready = co_await submit(*call);
  }
  if (!run_ || run_->num_submitted() == 0) model_ = ModelLease();
  if (!ready) {
    cancel();
    co_await shared_.responder.refuse(exchange_, ready.error());
    co_return;
  }
  if (const auto format = exchange_.request["endpoint-load-metrics-format"]; !format.empty() && model_)
    exchange_.load = orca_load(format, model_.engine().stats());
  exchange_.record.streamed = call->stream;
  if (!call->warnings.empty()) exchange_.record.warnings = static_cast<std::int64_t>(call->warnings.num_given());
  if (call->stream) {
    co_await answer_stream(*writer, api.stream_type);
  } else {
    co_await answer_whole(*writer);
  }
}

// A client that does not read must not hold the model: the engine's last events become bytes at once, whatever is still
// being written.
void CompletionHandler::on_events(std::size_t waiting_bytes) {
  connection_.wake().notify();
  if (!connection_.writing()) return;
  if (waiting_bytes > connection_.limits().max_unsent_bytes) return connection_.close();
  if (!is_over()) return;
  try {
    take_items();
    unsent_.bytes += write_items(*writer_);
    std::ignore = unsent_.hold();    // an error is told after the bytes before it are written
  } catch (const std::exception&) {  // most likely there is no memory
    connection_.close();
  }
}

void CompletionHandler::take_items() {
  taken_.is_last = is_over();
  taken_.is_shown = !given_up_;  // else these events are the end that cancel() made, and the client gets given_up_
  if (!queue_->take(items_)) given_up_ = no_memory();
}

bool CompletionHandler::is_for_writer(const EventQueue::Item& item, AnswerWriter& writer, std::string& out) {
  const RequestEvent& event = item.event;
  if (event.progress) {
    progress_->note_prompt(event);
    return false;
  }
  progress_->note_answer(item, exchange_, *metrics_);
  if (taken_.is_shown && heartbeat_) out += heartbeat_->before_event(event.prompt_index, writer);
  return taken_.is_shown;
}

std::string CompletionHandler::write_items(AnswerWriter& writer) {
  std::string out;
  for (const EventQueue::Item& item : items_)
    if (is_for_writer(item, writer, out)) out += writer.on_event(item.event);
  if (taken_.is_last) model_ = ModelLease();
  return out;
}

asio::awaitable<std::string> CompletionHandler::write_long_items(AnswerWriter& writer) {
  std::string out;
  for (const EventQueue::Item& item : items_) {
    if (!is_for_writer(item, writer, out)) continue;
    if (!writer.is_long(item.event)) {
      out += writer.on_event(item.event);
    } else {
      auto work = [&writer, &item] { return writer.on_event(item.event); };
      out += co_await run_on(shared_.bodies.threads(), work);
    }
  }
  if (taken_.is_last) model_ = ModelLease();
  co_return out;
}

bool CompletionHandler::has_long_items(const AnswerWriter& writer) const {
  return std::ranges::any_of(
      items_, [&](const EventQueue::Item& item) { return !item.event.progress && writer.is_long(item.event); });
}

asio::awaitable<void> CompletionHandler::answer_whole(AnswerWriter& writer) {
  while (!writer.done() && writer.error() == nullptr && !given_up_ && !connection_.hung_up()) {
    take_items();
    if (has_long_items(writer)) {
      co_await write_long_items(writer);
    } else {
      write_items(writer);
    }
    if (const auto more = given_up_ ? ApiResult<void>() : submit_more(); !more) given_up_ = more.error();
    if (auto too_large = held_.hold(writer.held_bytes())) given_up_ = std::move(too_large);
    if (writer.work_left() > 0 && !given_up_) {
      co_await write_piece(writer);
    } else if (items_.empty() && !given_up_) {
      co_await connection_.wake().wait();
    }
  }
  if (given_up_ || writer.error() != nullptr) {
    const ApiError error = given_up_ ? *given_up_ : *writer.error();
    cancel();
    co_await shared_.responder.refuse(exchange_, error);
  } else if (writer.done()) {
    HttpResponse whole;
    if (writer.held_bytes() > kMostBytesHere) {
      auto work = [&writer] { return writer.finish(); };
      whole.body = co_await run_on(shared_.bodies.threads(), work);
    } else {
      whole.body = writer.finish();
    }
    whole.held = std::move(held_);
    co_await shared_.responder.send(exchange_, whole);
  } else {
    exchange_.record.status = 499;
  }
}

bool CompletionHandler::hold_written(std::string& out, AnswerWriter& writer) {
  unsent_.written_bytes = out.size();
  const std::optional<ApiError> too_large = unsent_.hold();
  if (!too_large || writer.error() != nullptr) return false;
  out = writer.fail(*too_large);
  unsent_.written_bytes = out.size();
  std::ignore = unsent_.hold();
  return true;
}

/// Writes what is left: a single piece here, several on the threads that read bodies, one at a time, so that others'
/// work comes between.
asio::awaitable<void> CompletionHandler::write_piece(AnswerWriter& writer) {
  if (writer.work_left() <= kMostNumbersHere) {
    writer.work();
  } else {
    co_await run_on(shared_.bodies.threads(), [&writer] { writer.work(); });
  }
}

asio::awaitable<bool> CompletionHandler::wait_for_status(AnswerWriter& writer) {
  while (writer.may_be_refused() && !given_up_ && !connection_.hung_up()) {
    take_items();
    unsent_.bytes += write_items(writer);
    if (items_.empty()) co_await connection_.wake().wait();
  }
  if (connection_.hung_up()) exchange_.record.status = 499;
  if (!connection_.hung_up() && !given_up_ && writer.error() == nullptr) co_return true;
  cancel();
  if (!connection_.hung_up()) co_await shared_.responder.refuse(exchange_, given_up_ ? *given_up_ : *writer.error());
  co_return false;
}

asio::awaitable<void> CompletionHandler::answer_stream(AnswerWriter& writer, std::string_view content_type) {
  unsent_.bytes = writer.begin();
  if (writer.may_be_refused() && !co_await wait_for_status(writer)) co_return;
  bool connected = co_await shared_.responder.begin_stream(exchange_, content_type);
  bool ended = false;
  while (connected && !ended) {
    std::string out = std::exchange(unsent_.bytes, {});
    take_items();
    if (has_long_items(writer)) {
      out += co_await write_long_items(writer);
    } else {
      out += write_items(writer);
    }
    const std::optional<ApiError> too_large = held_.hold(writer.held_bytes());
    if (writer.error() != nullptr) {
      ended = true;
    } else if (too_large) {
      out += writer.fail(*too_large);
      ended = true;
    } else if (writer.done()) {
      out += writer.finish();
      ended = true;
    } else if (given_up_) {
      out += writer.fail(*given_up_);
      ended = true;
    } else {
      out += heartbeat_->take(Clock::now(), writer);
    }
    ended |= hold_written(out, writer);
    if (ended) cancel();
    if (connection_.hung_up()) {
      connected = false;
    } else if (ended || !out.empty()) {
      connected = co_await connection_.write_stream(out, ended);
      unsent_.written_bytes = 0;
      heartbeat_->sent(Clock::now());
    } else {
      co_await connection_.wake().wait();
    }
  }
  if (!connected) exchange_.record.status = 499;
}

}  // namespace octavo::server
