#include "cli/batch/batch.h"

#include <chrono>
#include <future>
#include <ostream>
#include <utility>

#include "api/call/call_run.h"
#include "base/error.h"
#include "base/to_size.h"
#include "cli/terminal/interrupt.h"

namespace octavo::cli {
namespace {

/// How many lines may be done and wait for an earlier one, as a multiple of the answers that are made at once.
constexpr int kReadAhead = 4;

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace

/// A line of the batch, from reading to writing.
struct BatchRun::Item {
  std::uint64_t line = 0, num_bytes = 0;
  BatchCall call;
  std::unique_ptr<CompletionResponse> response = {};
  std::shared_ptr<CallRun> run = {};
  std::string result = {};  // set when it is done
  bool is_done = false, has_failed = false;
};

BatchRun::BatchRun(Engine& engine, const ServedModel& model, BatchSettings settings, BatchInput& input,
                   std::ostream& out)
    : engine_(engine), model_(model), settings_(settings), input_(input), out_(out) {}

BatchRun::~BatchRun() { stop(); }

Result<BatchProgress> BatchRun::run(const std::function<void(const BatchProgress&)>& on_progress) {
  const InterruptGuard guard;
  for (;;) {
    read_ahead();
    OCTAVO_TRY_VOID(write_finished());
    on_progress(progress_);
    if (items_.empty() && input_ended_) break;
    if (guard.interrupted()) {
      progress_.interrupted = true;
      break;
    }
    engine_.step();
  }
  stop();
  return progress_;
}

bool BatchRun::has_room() const {
  return num_active_ < to_size(settings_.parallel) && items_.size() < to_size(kReadAhead) * to_size(settings_.parallel);
}

void BatchRun::read_ahead() {
  BatchInputLine line;
  while (!input_ended_ && has_room()) {
    if (!input_.next(line)) {
      input_ended_ = true;
      return;
    }
    const std::uint64_t num_bytes = line.end - std::exchange(num_bytes_read_, line.end);
    if (line.number < settings_.first_line) {
      progress_.skipped_bytes += num_bytes;
      continue;
    }
    auto item = std::make_unique<Item>(Item{.line = line.number, .num_bytes = num_bytes, .call = {.call = {}}});
    if (line.is_too_long) {
      item->call.call = std::unexpected(
          ApiError{.status = 413,
                   .message = fmt::format("found more than {} bytes, expected at most so many", kMaxBatchLineBytes),
                   .code = "line_too_long"});
    } else {
      item->call = parse_batch_line(line.text, line.number, settings_.defaults, *engine_.text(), model_);
    }
    start(*items_.emplace_back(std::move(item)));
  }
}

/// Compiles the call's constraint. That may wait for memory of answers in progress, so these go on meanwhile.
ApiResult<void> BatchRun::compile(CompletionCall& call) {
  if (!call.constraint) return {};
  auto compiled = std::async(std::launch::async, [&] { return compile_constraint(call, *engine_.text(), {}); });
  while (compiled.wait_for(std::chrono::seconds(0)) != std::future_status::ready && engine_.step()) {
  }
  return compiled.get();
}

void BatchRun::start(Item& item) {
  if (!item.call.call) return finish(item, item.call.call.error());
  CompletionCall& call = *item.call.call;
  if (const auto compiled = compile(call); !compiled) return finish(item, compiled.error());
  const std::string id = fmt::format("{}-batch-{}", call.is_chat ? "chatcmpl" : "cmpl", item.line);
  item.response = std::make_unique<CompletionResponse>(call, engine_.text(), model_, id, unix_time());
  CallPrompts prompts = prompts_of(call);
  prompts.on_event = [this, &item](std::size_t prompt, const TokenEvent& event) { take(item, prompt, event); };
  item.run = std::make_shared<CallRun>(engine_, std::move(prompts));
  const Result<void> submitted = item.run->go_on(item.run);
  num_active_ += item.run->num_choices();
  if (submitted) return;
  finish(item, to_api_error(submitted.error()));
  item.run->cancel();
}

void BatchRun::take(Item& item, std::size_t prompt, const TokenEvent& event) {
  if (event.token >= 0) ++progress_.tokens;
  if (event.finish != FinishReason::kNone) --num_active_;
  if (item.is_done) return;
  item.response->on_event(RequestEvent(event, prompt));
  if (!item.response->done()) return;
  if (const ApiError* error = item.response->error()) return finish(item, *error);
  item.result = batch_answer(item.line, item.call.custom_id, item.response->finish());
  set_done(item);
  item.response.reset();  // freed early, as the line may wait long for an earlier one
  item.call.call = CompletionCall();
}

void BatchRun::finish(Item& item, const ApiError& error) {
  item.result = batch_error(item.line, item.call.custom_id, error);
  item.has_failed = true;
  set_done(item);
}

void BatchRun::set_done(Item& item) {
  item.is_done = true;
  ++progress_.done;
  progress_.done_bytes += item.num_bytes;
}

Result<void> BatchRun::write_finished() {
  if (settings_.as_finished) {
    for (const auto& item : items_)
      if (item->is_done) OCTAVO_TRY_VOID(write(*item));
    std::erase_if(items_, [](const auto& item) { return item->is_done; });
  }
  while (!items_.empty() && items_.front()->is_done) {
    OCTAVO_TRY_VOID(write(*items_.front()));
    items_.pop_front();
  }
  return {};
}

Result<void> BatchRun::write(const Item& item) {
  out_ << item.result << std::flush;
  if (!out_) return fail("cannot write the answers");
  ++(item.has_failed ? progress_.failed : progress_.answered);
  if (item.has_failed && progress_.first_failed == 0) progress_.first_failed = item.line;
  progress_.last_line = item.line;
  return {};
}

/// Ends all answers in progress; nothing of them is written.
void BatchRun::stop() {
  for (const auto& item : items_) {
    item->is_done = true;
    if (item->run) item->run->cancel();
  }
  items_.clear();
}

}  // namespace octavo::cli
