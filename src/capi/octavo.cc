// The functions of include/octavo.h: they check arguments, find handles, and turn results into statuses.
#include "octavo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "api/tokenize_handler.h"
#include "base/error.h"
#include "capi/call.h"
#include "capi/callback_scope.h"
#include "capi/constraint_mask.h"
#include "capi/event_queue.h"
#include "capi/handles.h"
#include "capi/loaded_model.h"
#include "capi/model_facts.h"
#include "capi/model_server.h"
#include "capi/sized.h"
#include "capi/work_stop.h"
#include "cli/process_context.h"
#include "cli/terminal/context.h"
#include "json/json_document.h"
#include "octavo/request_work.h"
#include "octavo/version.h"

namespace octavo::capi {
namespace {

constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 20;
constexpr JsonLimits kBodyLimits{.max_bytes = kMaxBodyBytes, .max_memory_bytes = 8 * kMaxBodyBytes};

CallError wrong(std::string message) { return CallError::of(OCTAVO_INVALID, std::move(message)); }

/// Runs work that may fail or throw, and gives its status. No exception passes.
template <class Work>
octavo_status guarded(const Work& work) noexcept {
  try {
    const CallResult<void> done = work();
    return done ? OCTAVO_OK : remember(done.error());
  } catch (const std::bad_alloc&) {
    return remember({.status = OCTAVO_NO_MEMORY});
  } catch (const std::exception& error) {
    return remember(CallError::of(OCTAVO_FAILED, error.what()));
  }
}

/// Fails where a pointer that is needed is null.
template <class T>
CallResult<void> need(const T* pointer, std::string_view name) {
  if (pointer != nullptr) return {};
  return std::unexpected(wrong(fmt::format("{}: found a null pointer", name)));
}

/// Gives a copy of `text` to the caller.
void give(std::string_view text, octavo_text& caller) {
  auto* const data = static_cast<char*>(std::malloc(text.size() + 1));
  if (data == nullptr) throw std::bad_alloc();
  std::memcpy(data, text.data(), text.size());
  data[text.size()] = '\0';
  caller = {.data = data, .size = text.size()};
}

/// Fails where the size of a struct was not set.
template <class T>
CallResult<void> check_size(const T& given) {
  if (has_size(given)) return {};
  return std::unexpected(wrong(
      fmt::format("size: found {}, expected {}, the struct's, or that of another version, which ends with a field",
                  given.size, sizeof(T))));
}

/// Fails where a number is larger than it may be, as one that was negative is.
CallResult<void> check_number(std::size_t found, std::size_t most, std::string_view name) {
  if (found <= most) return {};
  return std::unexpected(wrong(fmt::format("{}: found {}, expected at most {}", name, found, most)));
}

CallResult<std::string_view> text_of(const char* text, std::size_t size, std::string_view name) {
  OCTAVO_TRY_VOID(check_number(size, OCTAVO_MAX_BYTES, name));
  if (text == nullptr) return std::string_view();
  return size > 0 ? std::string_view(text, size) : std::string_view(text);
}

/// Fails where an array with elements is null, or has more elements than it may.
template <class T>
CallResult<void> check_array(const T* elements, std::size_t count, std::string_view name) {
  OCTAVO_TRY_VOID(check_number(count, OCTAVO_MAX_COUNT, fmt::format("the number of {}", name)));
  return count > 0 ? need(elements, name) : CallResult<void>();
}

/// Fails inside a callback: what `what` names may wait for callbacks.
CallResult<void> check_may_wait(std::string_view what) {
  if (!CallbackScope::is_inside()) return {};
  return std::unexpected(
      wrong(fmt::format("found {} in a callback, expected it outside of callbacks: it may wait for them", what)));
}

/// A caller's struct, which may be null.
template <class T>
CallResult<T> read_options(const T* given) {
  if (given != nullptr) OCTAVO_TRY_VOID(check_size(*given));
  return read_sized(given);
}

CallResult<std::shared_ptr<LoadedModel>> find_model(octavo_handle handle) {
  return Handles::instance().find<LoadedModel>(handle, "model");
}

CallResult<boost::json::object> read_body(std::string_view text) {
  auto body = parse_json_object(text.empty() ? "{}" : text, kBodyLimits);
  if (!body) return std::unexpected(CallError::of(to_api_error(std::move(body.error()))));
  return std::move(*body);
}

const Api* find_api(std::string_view path) {
  for (const Api& api : all_apis())
    for (const std::string_view one : api.paths)
      if (!one.empty() && one == path) return &api;
  return nullptr;
}

CallResult<CallRequest> read_request(const octavo_request& asked) {
  const std::string_view path = asked.api == nullptr ? "/v1/completions" : asked.api;
  const Api* const api = find_api(path);
  if (api == nullptr)
    return std::unexpected(
        wrong(fmt::format("api: found '{}', expected a path of the server's, such as /v1/chat/completions", path)));
  if (asked.form > OCTAVO_TOKENS)
    return std::unexpected(wrong(fmt::format("form: found {}, expected OCTAVO_JSON or OCTAVO_TOKENS", asked.form)));
  if (asked.pins != 0 && (asked.form != OCTAVO_TOKENS || asked.wants_logits != 0))
    return std::unexpected(wrong("pins: found OCTAVO_JSON or wants_logits beside it, expected OCTAVO_TOKENS alone"));
  if (asked.wants_logits != 0 && asked.form != OCTAVO_TOKENS)
    return std::unexpected(wrong("wants_logits: found OCTAVO_JSON beside it, expected OCTAVO_TOKENS"));
  OCTAVO_TRY(const std::string_view text, text_of(asked.body, asked.body_size, "body_size"));
  OCTAVO_TRY(auto body, read_body(text));
  OCTAVO_TRY_VOID(check_array(asked.tokens, asked.num_tokens, "tokens"));
  if (asked.num_tokens > 0 && api->name != "openai_completion" && api->name != "llama_completion")
    return std::unexpected(wrong(fmt::format("tokens: found them beside {}, expected /v1/completions", path)));
  return CallRequest{.api = api,
                     .body = std::move(body),
                     .body_bytes = text.size(),
                     .prompt = {asked.tokens, asked.num_tokens},
                     .form = static_cast<octavo_form>(asked.form),
                     .wants_logits = asked.wants_logits != 0,
                     .pins = asked.pins != 0,
                     .tag = asked.tag};
}

CallResult<void> submit(octavo_handle model_handle, octavo_handle queue_handle, const octavo_request* asked,
                        std::uint64_t* id) {
  OCTAVO_TRY(auto model, find_model(model_handle));
  OCTAVO_TRY(auto queue, Handles::instance().find<EventQueue>(queue_handle, "queue"));
  if (model->has_failed()) return std::unexpected(CallError::of(engine_failed()));
  OCTAVO_TRY(const octavo_request given, read_options(asked));
  OCTAVO_TRY(auto request, read_request(given));
  OCTAVO_TRY(auto call, Call::parse(std::move(model), std::move(queue), std::move(request)));
  call->enlist();
  if (id != nullptr) *id = call->id();
  return call->start();
}

CallResult<TokenizeCall> read_tokenize_call(std::string_view path, std::string_view text) {
  TokenizeCall call;
  if (path == "/tokenize") {
    call.answer = answer_tokenize;
  } else if (path == "/detokenize") {
    call.answer = answer_detokenize;
  } else if (path == "/apply-template") {
    call.answer = answer_apply_template;
  } else {
    return std::unexpected(
        wrong(fmt::format("path: found '{}', expected /tokenize, /detokenize or /apply-template", path)));
  }
  OCTAVO_TRY(auto body, read_body(text));
  call.body = std::move(body);
  return call;
}

CallResult<void> answer(octavo_handle handle, std::string_view path, std::string_view body, octavo_text& json) {
  OCTAVO_TRY(auto model, find_model(handle));
  OCTAVO_TRY(auto call, read_tokenize_call(path, body));
  call.responses.body_bytes = body.size();
  const StopOfCall stop(model->stop_token());
  BufferedAnswer held(model->held());
  auto told = answer_by(std::move(call), *model->engine().text(), model->served(), held, stop.token());
  if (!told) return std::unexpected(stop.tell(std::move(told.error())));
  give(*told, json);
  return {};
}

CallResult<void> tokenize(octavo_handle handle, std::string_view text, std::uint32_t flags,
                          std::span<std::int32_t> tokens, std::size_t& count) {
  OCTAVO_TRY(auto model, find_model(handle));
  if ((flags & ~(OCTAVO_ADD_SPECIAL | OCTAVO_PARSE_SPECIAL)) != 0)
    return std::unexpected(wrong(fmt::format("flags: found {}, expected those of octavo_tokenize()", flags)));
  const StopOfCall stop(model->stop_token());
  RequestWork work(stop.token());
  const auto found = model->engine().text()->tokenize(text, {.add_special = (flags & OCTAVO_ADD_SPECIAL) != 0,
                                                             .parse_special = (flags & OCTAVO_PARSE_SPECIAL) != 0,
                                                             .work = &work});
  if (!found) return std::unexpected(stop.tell(found.error()));
  count = found->size();
  std::ranges::copy(std::span(*found).first(std::min(count, tokens.size())), tokens.begin());
  return {};
}

}  // namespace
}  // namespace octavo::capi

using namespace octavo::capi;

void octavo_last_error(octavo_error* error) {
  if (error != nullptr) tell_last_error(*error);
}

const char* octavo_version(void) { return OCTAVO_VERSION_STRING; }
int octavo_interface(void) { return OCTAVO_INTERFACE; }

void octavo_text_free(octavo_text* text) {
  if (text == nullptr) return;
  std::free(text->data);
  *text = {};
}

octavo_status octavo_close(octavo_handle handle) {
  return guarded([&] { return Handles::instance().close(handle); });
}

octavo_status octavo_stop_open(octavo_handle* stop) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(stop, "stop"));
    *stop = Handles::instance().add(std::make_shared<WorkStop>());
    return {};
  });
}

octavo_status octavo_stop_calls(octavo_handle stop) {
  return guarded([&]() -> CallResult<void> {
    std::stop_token token;
    if (stop != 0) {
      OCTAVO_TRY(const auto found, Handles::instance().find<WorkStop>(stop, "stop"));
      token = found->token();
    }
    WorkStop::give_to_thread(std::move(token));
    return {};
  });
}

octavo_status octavo_load(const octavo_load_options* options, octavo_handle* model) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(model, "model"));
    OCTAVO_TRY(const octavo_load_options asked, read_options(options));
    OCTAVO_TRY_VOID(check_array(asked.options, asked.num_options, "options"));
    if (asked.model != nullptr && *asked.model == '\0')
      return std::unexpected(
          wrong("model: found an empty text, expected the name of a model, or a null pointer for the default one"));
    std::shared_ptr<LoadedModel> shares;
    if (asked.shares != 0) {
      OCTAVO_TRY(auto other, find_model(asked.shares));
      shares = std::move(other);
    }
    std::stop_token stop;
    if (asked.stop != 0) {
      OCTAVO_TRY(const auto found, Handles::instance().find<WorkStop>(asked.stop, "stop"));
      stop = found->token();
    }
    OCTAVO_TRY(auto loaded, LoadedModel::load(asked, shares, stop));
    *model = Handles::instance().add(std::move(loaded));
    return {};
  });
}

octavo_status octavo_info(octavo_handle handle, octavo_text* json) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(json, "json"));
    OCTAVO_TRY(auto model, find_model(handle));
    give(describe(model->engine().info()), *json);
    return {};
  });
}

octavo_status octavo_stats(octavo_handle handle, octavo_counts* counts) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(counts, "counts"));
    OCTAVO_TRY_VOID(check_size(*counts));
    OCTAVO_TRY(auto model, find_model(handle));
    const octavo::Engine& engine = model->engine();
    fill(*counts, counts_of(engine.stats(), engine.info()));
    return {};
  });
}

octavo_status octavo_step(octavo_handle handle, int32_t* has_more) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(check_may_wait("a step"));
    OCTAVO_TRY(auto model, find_model(handle));
    OCTAVO_TRY(const bool may_go_on, model->step());
    if (has_more != nullptr) *has_more = may_go_on ? 1 : 0;
    return {};
  });
}

octavo_status octavo_release_memory(octavo_handle handle, int32_t cached) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(check_may_wait("a release of memory"));
    OCTAVO_TRY(auto model, find_model(handle));
    model->engine().release_memory(cached != 0);
    return {};
  });
}

octavo_status octavo_tokenize(octavo_handle handle, const char* text, size_t size, uint32_t flags, int32_t* tokens,
                              size_t room, size_t* count) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(text, "text"));
    OCTAVO_TRY_VOID(need(count, "count"));
    if (room > 0) OCTAVO_TRY_VOID(need(tokens, "tokens"));
    OCTAVO_TRY(const std::string_view given, text_of(text, size, "size"));
    return tokenize(handle, given, flags, {tokens, room}, *count);
  });
}

octavo_status octavo_detokenize(octavo_handle handle, const int32_t* tokens, size_t count, octavo_text* text) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(text, "text"));
    OCTAVO_TRY_VOID(check_array(tokens, count, "tokens"));
    OCTAVO_TRY(auto model, find_model(handle));
    give(model->engine().text()->detokenize({tokens, count}), *text);
    return {};
  });
}

octavo_status octavo_answer(octavo_handle handle, const char* path, const char* body, size_t size, octavo_text* json) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(path, "path"));
    OCTAVO_TRY_VOID(need(json, "json"));
    OCTAVO_TRY(const std::string_view given, text_of(body, size, "size"));
    return answer(handle, path, given, *json);
  });
}

octavo_status octavo_submit(octavo_handle model, octavo_handle queue, const octavo_request* request, uint64_t* id) {
  return guarded([&] { return submit(model, queue, request, id); });
}

octavo_status octavo_cancel(octavo_handle handle, uint64_t id) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY(auto model, find_model(handle));
    if (const auto call = model->calls().find(id)) call->cancel();
    model->give_back_pins(id);
    return {};
  });
}

octavo_status octavo_queue_open(const octavo_queue_options* options, octavo_handle* queue) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(queue, "queue"));
    OCTAVO_TRY(const octavo_queue_options asked, read_options(options));
    OCTAVO_TRY(auto opened, EventQueue::open(asked));
    *queue = Handles::instance().add(std::move(opened));
    return {};
  });
}

octavo_status octavo_queue_descriptor(octavo_handle handle, int32_t* descriptor) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(descriptor, "descriptor"));
    OCTAVO_TRY(auto queue, Handles::instance().find<EventQueue>(handle, "queue"));
    *descriptor = queue->descriptor();
    return {};
  });
}

octavo_status octavo_poll(octavo_handle handle, int32_t timeout_ms, octavo_events** events) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(events, "events"));
    *events = nullptr;
    if (timeout_ms != 0) OCTAVO_TRY_VOID(check_may_wait("a poll that waits"));
    OCTAVO_TRY(auto queue, Handles::instance().find<EventQueue>(handle, "queue"));
    OCTAVO_TRY(auto batch, queue->poll(timeout_ms));
    if (batch) *events = EventBatch::release(std::move(batch));
    return {};
  });
}

void octavo_events_free(octavo_events* events) { EventBatch::free(events); }

octavo_status octavo_constraint_open(octavo_handle handle, const char* kind, const char* text, size_t size,
                                     octavo_handle* constraint) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(kind, "kind"));
    OCTAVO_TRY_VOID(need(constraint, "constraint"));
    OCTAVO_TRY(const std::string_view given, text_of(text, size, "size"));
    OCTAVO_TRY(auto model, find_model(handle));
    OCTAVO_TRY(auto compiled, ConstraintMask::compile(std::move(model), kind, given));
    *constraint = Handles::instance().add(std::move(compiled));
    return {};
  });
}

octavo_status octavo_mask(octavo_handle handle, const int32_t* tokens, size_t count, uint32_t* words,
                          size_t num_words) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(words, "words"));
    OCTAVO_TRY_VOID(check_array(words, num_words, "words"));
    OCTAVO_TRY_VOID(check_array(tokens, count, "tokens"));
    OCTAVO_TRY(auto constraint, Handles::instance().find<ConstraintMask>(handle, "constraint"));
    return constraint->allow({tokens, count}, {words, num_words});
  });
}

octavo_status octavo_serve(octavo_handle handle, const char* const* options, size_t num_options, octavo_handle* server,
                           octavo_text* url) {
  return guarded([&]() -> CallResult<void> {
    OCTAVO_TRY_VOID(need(server, "server"));
    OCTAVO_TRY_VOID(check_array(options, num_options, "options"));
    OCTAVO_TRY_VOID(check_may_wait("the start of a server"));
    OCTAVO_TRY(auto model, find_model(handle));
    OCTAVO_TRY(auto started, ModelServer::start(model, {options, num_options}));
    if (url != nullptr) give(started->url(), *url);
    *server = Handles::instance().add(std::move(started));
    return {};
  });
}

int octavo_main(int argc, char** argv) {
  const bool has_all = argc > 0 && argv != nullptr && std::ranges::find(argv, argv + argc, nullptr) == argv + argc;
  return has_all ? octavo::cli::run_program(argc, argv) : octavo::cli::kWrongUsage;
}
