#include "server/service.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/prepare/prepare_vectors.h"
#include "api/tokenize_handler.h"
#include "base/random_bytes.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "http/page_policy.h"
#include "octavo/version.h"
#include "server/chat_page.h"
#include "server/completion_handler.h"
#include "server/model_metrics.h"
#include "server/model_routes.h"
#include "server/ollama_models.h"
#include "server/ollama_pull.h"
#include "server/pull_handler.h"
#include "server/request_head.h"
#include "server/response_routes.h"
#include "server/run_on.h"

namespace octavo::server {
namespace {

ApiError not_served(std::string_view pattern, std::string_view option) {
  return {.status = 404,
          .message = fmt::format("there is no {} here: the server was started with {}", pattern, option),
          .code = "not_found"};
}

/// The words that programs wait behind which start llama.cpp's server.
HttpResponse loading_response() {
  return {.status = 503, .body = R"({"error":{"message":"Loading model","type":"unavailable_error","code":503}})"};
}

bool is_of_stored_response(Route route) {
  return route == Route::kResponse || route == Route::kDeleteResponse || route == Route::kResponseInput;
}

BodyReader::Addressing named_by(const RouteMatch& match) {
  return {.has_tags = match.route == Route::kOllamaShow || (match.api != nullptr && match.api->has_tags),
          .can_unload = match.route == Route::kAnswer && match.api->unloaded != nullptr,
          .ends_with_hang_up = match.route == Route::kAnswer,
          .is_about_slot = match.route == Route::kLoadModel || match.route == Route::kUnloadModel,
          .serves = match.route == Route::kApplyTemplate ? writes_text
                    : match.api != nullptr               ? match.api->serves
                                                         : nullptr};
}

TokenizeCall::Kind kind_of(Route route) {
  switch (route) {
    case Route::kCount: return TokenizeCall::Kind::kCount;
    case Route::kApplyTemplate: return TokenizeCall::Kind::kApplyTemplate;
    case Route::kDetokenize: return TokenizeCall::Kind::kDetokenize;
    default: return TokenizeCall::Kind::kTokenize;
  }
}

}  // namespace

Service::Service(const ServerOptions& options, ServerFiles files, asio::io_context& io, ModelTable& models)
    : options_(options),
      files_(std::move(files)),
      routes_(options_.apis),
      models_(models),
      keys_(files_.keys),
      mailbox_(io),
      held_({.answer_bytes = options.requests.max_answer_bytes, .all_bytes = options.answers.max_held_bytes}),
      responder_(routes_, options_.access.cors_origins, held_),
      responses_(options.stored_limits()),
      random_(random_seed()),
      bodies_(models, options.body_limits(), options.bodies),
      compiling_(options.queued_requests()),
      puller_(options.pull, io, models, metrics_) {}

Service::~Service() = default;

void Service::tick(Clock::time_point now) {
  take_notices();
  active_.tick(now);
  counting_.tick(now);
  bodies_.tick(now);
  puller_.tick();
  for (ModelSlot& slot : models_.slots()) {
    if (slot.engine() == nullptr || slot.has_failed()) continue;
    const EngineStats stats = slot.engine()->stats();
    metrics_.of_model(slot.id()).observe_steps(stats);
    slot.observe(stats, now);
  }
}

void Service::begin_drain() {
  active_.begin_drain();
  bodies_.begin_drain();
  counting_.begin_drain(Clock::now());
  puller_.begin_drain();
}

void Service::abort_all() {
  const ApiError error = models_.has_failed_engine()
                             ? engine_failed()
                             : unavailable("the server shut down before the answer was complete", "shutting_down");
  active_.abort(error);
}

void Service::take_notices() {
  std::vector<std::string> notices;
  if (files_.key_watch) {
    KeyWatch::News news = files_.key_watch->take();
    if (news.keys) {
      keys_ = std::move(*news.keys);
      active_.end_revoked(keys_);
      puller_.end_revoked(keys_);
    }
    notices.push_back(std::move(news.notice));
  }
  if (files_.access_log) std::ranges::move(files_.access_log->take_notices(), std::back_inserter(notices));
  if (!options_.on_notice) return;
  for (const std::string& notice : notices)
    if (!notice.empty()) options_.on_notice(notice);
}

std::string Service::make_id() { return fmt::format("{:016x}", random_()); }

std::optional<ApiError> Service::not_ready(Clock::time_point now) const {
  if (models_.failure() != nullptr) return engine_failed();
  if (active_.is_draining()) return shutting_down();
  if (!models_.is_started()) return unavailable("the model is being loaded", "loading");
  const auto has_stalled = [&](const ModelSlot& slot) { return slot.engine() != nullptr && slot.has_stalled(now); };
  for (const ModelSlot& slot : models_.slots()) {
    if (slot.engine() == nullptr) continue;
    if (const std::string fault = slot.engine()->stats().fault; !fault.empty())
      return unavailable(fmt::format("the model '{}' is served no more: {}", slot.id(), fault), "device_failed");
  }
  if (std::ranges::any_of(models_.slots(), has_stalled))
    return unavailable(fmt::format("the engine has work, but has finished no step for more than {} ms",
                                   options_.models.stall_timeout.count()),
                       "stalled");
  return std::nullopt;
}

asio::awaitable<bool> Service::serve_one(HttpConnection& connection, const Visitor& visitor) {
  const HttpConnection::HeadCheck check = [this, &visitor](const HttpRequest& request) {
    return check_head(request, routes_, *visitor.entrance, keys_, options_.access.cors_origins);
  };
  std::optional<Received> received = co_await connection.read_request(check);
  if (!received) co_return false;
  if (active_.is_draining()) connection.stop_after_this();
  Exchange exchange{.connection = connection, .request = std::move(received->request), .begin = Clock::now()};
  identify(exchange, visitor.peer, options_.listen.proxies, make_id());
  const std::uint64_t written_before = connection.bytes_written();
  bool failed = false;
  try {
    if (received->error) {
      co_await responder_.refuse(exchange, *received->error);
    } else {
      co_await answer(exchange);
    }
  } catch (const std::exception&) {  // no memory, in all likelihood
    failed = true;
  }
  if (failed && connection.bytes_written() == written_before) {
    const ApiError error{.status = 500,
                         .message = "the server could not answer this request",
                         .type = "server_error",
                         .code = "internal_error"};
    co_await responder_.refuse(exchange, error);
  } else if (failed) {
    connection.close();
  }
  exchange.record.response_bytes = connection.bytes_written() - written_before;
  log(exchange);
  co_return true;
}

asio::awaitable<void> Service::answer(Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (request.method() == http::verb::options) {
    HttpResponse response = preflight(request, routes_);
    co_await responder_.send(exchange, response);
    co_return;
  }
  const ApiResult<RouteMatch> match = routes_.find(request.method(), request.target());
  if (const ApiKey* key = key_of(request, keys_)) exchange.key = *key;
  exchange.record.key = exchange.key.name;
  if (match->is_post && !keys_.empty() && exchange.key.name.empty()) {
    const ApiError error = key_revoked();  // while its body came
    co_await responder_.refuse(exchange, error);
  } else if (const std::optional<ApiError> refused = refused_change(*match)) {
    co_await responder_.refuse(exchange, *refused);
  } else if (match->is_post) {
    co_await answer_post(exchange, *match);
  } else if (is_of_stored_response(match->route)) {
    HttpResponse response;
    auto body = answer_stored_response(*match, request.target(), responses_of(exchange));
    if (body) {
      response.body = std::move(*body);
    } else {
      response = to_response(body.error());
    }
    co_await responder_.send(exchange, response);
  } else {
    HttpResponse response = get(*match, Clock::now());
    co_await responder_.send(exchange, response);
  }
}

asio::awaitable<void> Service::answer_post(Exchange& exchange, const RouteMatch& match) {
  if (!models_.is_started()) {
    const ApiError error = unavailable("the model is being loaded", "loading");
    co_await responder_.refuse(exchange, error);
    co_return;
  }
  if (models_.has_failed_engine()) {
    const ApiError error = engine_failed();
    co_await responder_.refuse(exchange, error);
    co_return;
  }
  if (options_.log.has_prompts) exchange.record.prompt = to_valid_utf8(exchange.request.body());
  if (match.route == Route::kAnswer) {
    CompletionHandler handler({.options = options_,
                               .responder = responder_,
                               .bodies = bodies_,
                               .compiling = compiling_,
                               .models = models_,
                               .responses = responses_,
                               .active = active_,
                               .mailbox = mailbox_,
                               .held = held_,
                               .metrics = metrics_},
                              exchange);
    std::string id = make_id();
    co_await handler.run(*match.api, named_by(match), std::move(id));
  } else if (match.route == Route::kOllamaPull) {
    PullHandler handler({.options = options_.pull,
                         .keys = keys_,
                         .responder = responder_,
                         .bodies = bodies_,
                         .puller = puller_,
                         .max_silence = options_.answers.keepalive_interval},
                        exchange);
    co_await handler.run();
  } else if (is_about_model(match.route)) {
    co_await answer_about_model(exchange, match);
  } else {
    co_await answer_tokens(exchange, match);
  }
}

asio::awaitable<void> Service::answer_about_model(Exchange& exchange, const RouteMatch& match) {
  ApiResult<boost::json::object> answered;
  const std::size_t num_bytes = exchange.request.body().size();
  if (num_bytes > kMaxModelBodyBytes) {
    answered = std::unexpected(model_body_too_large(num_bytes));
  } else {
    const ApiResult<BodyResult> read = co_await bodies_.read(exchange, named_by(match));
    if (is_client_gone(read)) {
      exchange.record.status = 499;
      co_return;
    }
    if (!read) {
      answered = std::unexpected(read.error());
    } else {
      answered = answer_model_post(match.route, *read, models_, client_of(exchange), Clock::now());
    }
  }
  if (!answered) {
    co_await responder_.refuse(exchange, answered.error());
    co_return;
  }
  HttpResponse response{.body = boost::json::serialize(*answered)};
  co_await responder_.send(exchange, response);
}

asio::awaitable<void> Service::answer_tokens(Exchange& exchange, const RouteMatch& match) {
  HttpResponse response{.held = BufferedAnswer(held_, client_of(exchange))};
  ApiResult<std::string> text;
  {
    ApiResult<BodyResult> read = co_await bodies_.read(exchange, named_by(match));
    if (is_client_gone(read)) {
      exchange.record.status = 499;
      co_return;
    }
    if (!read) {
      text = std::unexpected(read.error());
    } else if (auto* body = std::get_if<AddressedBody>(&*read)) {
      TokenizeCall call{.kind = kind_of(match.route),
                        .body = std::move(body->object),
                        .counted = match.api == nullptr ? nullptr : &match.api->counted,
                        .responses = responses_of(exchange, body->num_bytes)};
      const StoppableWork::Part part(counting_, exchange, Clock::now());
      auto work = [&] {
        return answer_tokenize(std::move(call), *body->model.engine().text(), body->model.model(), response.held,
                               part.stop());
      };
      text = co_await run_on(bodies_.threads(), work);
      if (part.error()) text = std::unexpected(*part.error());
    }
  }
  if (!text) {
    response.held.set(0);
    co_await responder_.refuse(exchange, text.error());
    co_return;
  }
  response.body = std::move(*text);
  co_await responder_.send(exchange, response);
}

HttpResponse Service::get(const RouteMatch& match, Clock::time_point now) {
  const auto json = [](const boost::json::object& object) {
    return HttpResponse{.body = boost::json::serialize(object)};
  };
  switch (match.route) {
    case Route::kChatPage: {
      if (!options_.has_chat_page)
        return responder_.error_response(match.pattern, not_served(match.pattern, "--no-ui"));
      static const std::string policy = policy_of_page(chat_page());
      HttpResponse page{.content_type = "text/html; charset=utf-8", .shared_body = chat_page()};
      page.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", policy},
                      {"X-Frame-Options", "DENY"},
                      {"X-Content-Type-Options", "nosniff"},
                      {"Referrer-Policy", "no-referrer"}};
      return page;
    }
    case Route::kHealth:
      if (!models_.is_started()) return loading_response();
      return json({{"status", "ok"}});
    case Route::kReady:
      if (const auto error = not_ready(now)) return to_response(*error);
      return json({{"status", "ready"}});
    case Route::kMetrics: return metrics_response();
    case Route::kOpenApi: return {.shared_body = description_};
    case Route::kVersion: return json({{"version", OCTAVO_VERSION_STRING}});
    case Route::kOllamaVersion: return json({{"version", kSpokenVersion}, {"octavo", OCTAVO_VERSION_STRING}});
    default: break;
  }
  if (!models_.is_started())
    return responder_.error_response(match.pattern, unavailable("the model is being loaded", "loading"));
  if (match.route == Route::kLlamaSlots) return slots_response(match.argument);
  const auto answered = answer_model_get(match, models_, now);
  return answered ? json(*answered) : to_response(answered.error());
}

HttpResponse Service::metrics_response() {
  std::vector<ModelStats> stats;
  for (const ModelSlot& slot : models_.slots()) {
    if (!slot.id().empty()) metrics_.of_model(slot.id()).set_loads(slot.num_loads());
    if (slot.engine() != nullptr && !slot.has_failed())
      stats.push_back({slot.id(), slot.engine()->stats(), slot.engine()->info().device});
  }
  if (files_.access_log) metrics_.set_dropped_log_lines(files_.access_log->num_dropped());
  metrics_.set_waiting_to_compile(compiling_.num_waiting());
  metrics_.set_held_bytes(held_.bytes());
  metrics_.set_pulled_bytes(puller_.written_bytes());
  metrics_.set_stored_bytes(responses_.num_bytes());
  metrics_.set_model_memory(models_.memory_taken());
  return {.content_type = std::string(Metrics::kContentType), .body = metrics_.text(stats)};
}

HttpResponse Service::slots_response(const std::string& model) {
  if (!options_.has_slots) return to_response(not_served("/slots", "--no-slots"));
  const ModelSlot* slot = models_.find(model);
  if (slot == nullptr) return to_response(models_.not_found(model));
  std::vector<RunningAnswer> running = active_.running();
  if (!model.empty()) std::erase_if(running, [&](const RunningAnswer& answer) { return answer.model != slot->id(); });
  const std::size_t num_places = slot->model() ? to_size(slot->model()->policy.max_choices) : 0;
  const FreePlace free{.device = slot->info() ? slot->info()->device : "",
                       .max_context = slot->info() ? slot->info()->max_context : 0,
                       .is_drafted = options_.engine.draft != DraftMode::kOff};
  return {.body = boost::json::serialize(llama_slots(running, num_places, free))};
}

void Service::log(Exchange& exchange) {
  AccessRecord& record = exchange.record;
  const auto match = routes_.find(exchange.request.method(), exchange.request.target());
  metrics_.count_http(match ? match->pattern : "other", record.status);
  if (!files_.access_log) return;
  record.duration_s = std::chrono::duration<double>(Clock::now() - exchange.begin).count();
  files_.access_log->write(to_json_line(record, std::chrono::system_clock::now()));
}

}  // namespace octavo::server
