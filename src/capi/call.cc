#include "capi/call.h"

#include <fmt/format.h>

#include <ctime>
#include <utility>

#include "api/answers/openai_finish.h"
#include "base/random_bytes.h"
#include "base/to_size.h"
#include "capi/work_stop.h"

namespace octavo::capi {
namespace {

ApiError lost() {
  return {.status = 503,
          .message = "the system had no memory for the answer",
          .type = "server_error",
          .code = "out_of_memory"};
}

ApiError too_much_news(std::size_t most) {
  ApiError error = lost();
  error.message =
      fmt::format("found events of more than {} bytes that wait to be polled, expected at most as many", most);
  return error;
}

}  // namespace

CallResult<std::shared_ptr<Call>> Call::parse(std::shared_ptr<LoadedModel> model, std::shared_ptr<EventQueue> queue,
                                              CallRequest request) {
  const StopOfCall stop(model->stop_token());
  const auto told = [&stop](ApiError error) { return std::unexpected(stop.tell(std::move(error))); };
  auto call = parse_call(*request.api, std::move(request.body), *model->engine().text(), model->served(),
                         {.store = &model->responses(), .owner = {}, .body_bytes = request.body_bytes}, stop.token(),
                         request.prompt);
  if (!call) return told(std::move(call.error()));
  if (call->constraint)
    if (auto compiled = compile_constraint(*call, *model->engine().text(), stop.token()); !compiled)
      return told(std::move(compiled.error()));
  if (call->vectors && request.form != OCTAVO_JSON)
    return told(invalid_value("form", "form: found OCTAVO_TOKENS, expected OCTAVO_JSON: vectors have no tokens"));
  return std::shared_ptr<Call>(new Call(std::move(model), std::move(queue), request, std::move(*call)));
}

Call::Call(std::shared_ptr<LoadedModel> model, std::shared_ptr<EventQueue> queue, const CallRequest& request,
           CompletionCall call)
    : id_(model->next_call_id()),
      model_(std::move(model)),
      queue_(std::move(queue)),
      api_(*request.api),
      form_(request.form),
      tag_(request.tag),
      wants_logits_(request.wants_logits),
      pins_(request.pins),
      call_(std::move(call)),
      num_answers_(call_.requests.size() * to_size(call_.n)),
      run_(model_->engine(), prompts()) {
  if (form_ == OCTAVO_JSON)
    writer_ = api_.make_writer({.call = call_,
                                .words = model_->engine().text(),
                                .model = model_->served(),
                                .id = fmt::format("{:016x}", random_seed()),
                                .created = std::time(nullptr)});
}

Call::~Call() = default;

void Call::enlist() {
  const std::shared_ptr<Call> self = shared_from_this();
  model_->calls().add(id_, self);
  queue_->calls().add(id_, self);
}

CallResult<void> Call::start() {
  if (auto error = submit_more()) {
    refuse();
    return std::unexpected(CallError::of(std::move(*error)));
  }
  if (model_->is_closed() || queue_->is_closed()) cancel();
  return {};
}

CallPrompts Call::prompts() {
  CallPrompts prompts = prompts_of(call_);
  prompts.make = [this, make = std::move(prompts.make)](std::size_t prompt) -> Result<Request> {
    OCTAVO_TRY(Request request, make(prompt));
    if (call_.stream && call_.return_progress && writer_)
      request.on_prompt_progress = [self = shared_from_this(), prompt](const PromptProgress& progress) {
        self->queue_->push({.call = self, .event = RequestEvent(progress, prompt)});
      };
    if (wants_logits_)
      request.on_prompt_logits = [self = shared_from_this()](int first, std::span<const float> logits) {
        self->on_logits(first, logits);
      };
    if (wants_logits_ || pins_) request.max_tokens = -1;
    request.pins = pins_;
    return request;
  };
  prompts.on_event = [this](std::size_t prompt, const TokenEvent& event) { on_event(prompt, event); };
  return prompts;
}

/// The error with which the engine takes no more prompts. None where the call was cancelled meanwhile: its end says so.
std::optional<ApiError> Call::submit_more() {
  const Result<void> done = run_.go_on(shared_from_this());
  if (done) return {};
  if (done.error().kind != ErrorKind::kStopped) return to_api_error(done.error());
  abort();
  return {};
}

void Call::on_event(std::size_t prompt, const TokenEvent& event) {
  try {
    if (!queue_->push({.call = shared_from_this(), .event = RequestEvent(event, prompt)})) give_up();
  } catch (const std::exception&) {
    queue_->note_lost_news(shared_from_this());
  }
  if (event.finish == FinishReason::kNone) return;
  if (auto error = submit_more()) fail_with(std::move(*error));
}

/// Ends the call with `error`.
void Call::fail_with(ApiError error) {
  {
    const std::lock_guard lock(ending_.mutex);
    ending_.failure = std::move(error);
  }
  abort();
}

void Call::on_logits(int first_row, std::span<const float> logits) {
  if (run_.is_stopped()) return;
  try {
    if (!queue_->push({.call = shared_from_this(),
                       .event = {},
                       .logits = std::vector<float>(logits.begin(), logits.end()),
                       .first_row = to_size(first_row)}))
      give_up();
  } catch (const std::exception&) {
    queue_->note_lost_news(shared_from_this());
  }
}

void Call::abort() { queue_->push({.call = shared_from_this(), .event = {}, .has_failed = true}); }

void Call::cancel() {
  is_cancelled_ = true;
  end_requests();
}

/// Cancels the requests. Those that wait in the call end as failed, since the engine never hears of them.
void Call::end_requests() {
  if (run_.cancel()) abort();
}

/// Ends the call because its news have no room: that end comes before those of its requests. The engine's thread.
void Call::give_up() {
  const bool is_first = !run_.is_stopped();
  fail_with(too_much_news(queue_->max_waiting_bytes()));
  if (is_first) end_requests();
}

// The caller never learns the call's number, so it is not told what became of the requests that the engine took.
void Call::refuse() {
  is_refused_ = true;
  cancel();
  model_->calls().remove(id_);
  queue_->calls().remove(id_);
}

octavo_event Call::event_of(octavo_event_kind kind) const {
  octavo_event told = {};
  told.request = id_;
  told.tag = tag_;
  told.kind = static_cast<std::uint32_t>(kind);
  told.token = -1;
  told.finish = "";
  return told;
}

bool Call::write(News news, EventBatch& batch) {
  if (has_ended_ || is_refused_) return false;
  write_news(std::move(news), batch);
  return has_ended_;
}

ApiError Call::failure() {
  if (has_lost_news_) return lost();
  const std::lock_guard lock(ending_.mutex);
  if (ending_.failure) return *ending_.failure;
  return is_cancelled_ ? *error_of(FinishReason::kCancelled) : engine_failed();
}

void Call::write_news(News news, EventBatch& batch) {
  if (has_lost_news_ || news.has_failed) {
    const ApiError error = failure();
    if (writer_ && call_.stream) write_text(writer_->fail(error), batch);
    return end(&error, batch);
  }
  if (!news.logits.empty()) {
    octavo_event told = event_of(OCTAVO_LOGITS);
    told.width = to_size(model_->engine().info().vocab_size);
    told.num_rows = news.logits.size() / told.width;
    told.first_row = news.first_row;
    return batch.add(told, {}, {}, std::move(news.logits));
  }
  writer_ ? write_answer(news.event, batch) : write_token(news.event, batch);
}

void Call::write_answer(const RequestEvent& event, EventBatch& batch) {
  if (call_.stream && !std::exchange(has_begun_, true)) write_text(writer_->begin(), batch);
  if (event.progress) return write_text(writer_->progress(event.prompt_index, *event.progress), batch);
  write_text(writer_->on_event(event), batch);
  if (const ApiError* error = writer_->error()) return end(error, batch);
  if (!writer_->done()) return;
  write_text(writer_->finish(), batch);
  end(nullptr, batch);
}

void Call::write_token(const RequestEvent& event, EventBatch& batch) {
  octavo_event told = event_of(OCTAVO_TOKEN);
  told.prompt = static_cast<std::uint32_t>(event.prompt_index);
  told.choice = event.choice;
  told.token = event.token;
  told.logprob = event.logprob;
  told.finish = finish_reason_name(event.finish).data();
  batch.add(told, event.reasoning + event.text);
  if (event.finish == FinishReason::kNone) return;
  if (auto error = error_of(event.finish, event.stats); error && !choice_error_) choice_error_ = std::move(error);
  if (++num_ended_ == num_answers_) end(choice_error_ ? &*choice_error_ : nullptr, batch);
}

void Call::write_text(std::string text, EventBatch& batch) {
  if (!text.empty()) batch.add(event_of(OCTAVO_TEXT), std::move(text));
}

void Call::end(const ApiError* error, EventBatch& batch) {
  octavo_event told = event_of(OCTAVO_END);
  std::string message, body;
  if (error != nullptr) {
    told.status = is_cancelled_ ? OCTAVO_STOPPED : CallError::of(*error).status;
    message = error->message;
    body = api_.error_body(*error);
  }
  batch.add(told, std::move(message), std::move(body));
  has_ended_ = true;
  ending_.keeps_pins = error == nullptr;
}

void Call::leave() {
  if (pins_) settle_pins();
  model_->calls().remove(id_);
  queue_->calls().remove(id_);
}

/// Gives pins back at once where the call was cancelled meanwhile, or where the engine had no room for another prompt.
void Call::settle_pins() {
  model_->keep_pins(id_, run_.requests());
  if (!ending_.keeps_pins || is_cancelled_) model_->give_back_pins(id_);
}

}  // namespace octavo::capi
