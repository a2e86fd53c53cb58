#include "server/service.h"

#include <boost/json.hpp>

#include "base/utf8.h"
#include "server/chat_api.h"
#include "server/chat_page.h"
#include "server/completion_handler.h"
#include "server/llama_props.h"
#include "server/ollama_models.h"
#include "server/request_head.h"
#include "server/response_routes.h"
#include "server/run_on.h"
#include "server/text.h"
#include "server/tokenize_handler.h"

namespace octavo::server {
namespace {

constexpr int kRetryAfterS = 1;
constexpr std::size_t kAlwaysHeld = 4096;  // bytes of an answer, such as an error, that is given whatever is held

ApiError unavailable(std::string message, std::string code) {
  return {.status = 503,
          .message = std::move(message),
          .type = "server_error",
          .code = std::move(code),
          .retry_after_s = kRetryAfterS};
}

ApiError engine_failed() {
  return {.status = 503,
          .message = "the engine has failed, and the server is going down",
          .type = "server_error",
          .code = "engine_failed",
          .retry_after_s = kRetryAfterS};
}

boost::json::object model_object(const ServedModel& model, const ModelInfo& info) {
  return {{"id", model.id},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "octavo"},
          {"aliases", boost::json::array(model.aliases.begin(), model.aliases.end())},
          {"max_model_len", info.max_context}};
}

HttpResponse error_response(std::string_view target, const ApiError& error) {
  HttpResponse response = to_response(error);
  response.body = error_body_at(target, error);
  return response;
}

std::optional<ChatApi> chat_api_of(Route route) {
  switch (route) {
    case Route::kCompletions: return ChatApi::kOpenAiCompletion;
    case Route::kChatCompletions: return ChatApi::kOpenAiChat;
    case Route::kMessages: return ChatApi::kMessages;
    case Route::kResponses: return ChatApi::kResponses;
    case Route::kLlamaCompletion: return ChatApi::kLlamaCompletion;
    case Route::kLlamaInfill: return ChatApi::kLlamaInfill;
    case Route::kOllamaChat: return ChatApi::kOllamaChat;
    case Route::kOllamaGenerate: return ChatApi::kOllamaGenerate;
    default: return std::nullopt;
  }
}

bool is_of_stored_response(Route route) {
  return route == Route::kResponse || route == Route::kDeleteResponse || route == Route::kResponseInput;
}

TokenizeCall::Kind kind_of(Route route) {
  if (route == Route::kCountMessageTokens) return TokenizeCall::Kind::kCountMessages;
  if (route == Route::kCountResponseTokens) return TokenizeCall::Kind::kCountResponse;
  if (route == Route::kApplyTemplate) return TokenizeCall::Kind::kApplyTemplate;
  return route == Route::kDetokenize ? TokenizeCall::Kind::kDetokenize : TokenizeCall::Kind::kTokenize;
}

}  // namespace

Service::Service(ServiceOptions options, asio::io_context& io, EngineHost& host)
    : options_(std::move(options)),
      host_(host),
      keys_(options_.keys),
      mailbox_(io),
      progress_(options_.stall_timeout),
      held_({.answer_bytes = options_.max_answer_bytes, .all_bytes = options_.max_held_bytes}),
      responses_(options_.responses),
      random_(std::random_device{}()),
      parse_queue_(options_.parse_threads) {}

Service::~Service() = default;

void Service::set_loaded() {
  const Engine& engine = *host_.engine();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  model_ =
      ServedModel{.id = options_.model_names.empty() ? model_id(engine.info()) : to_valid_utf8(options_.model_names[0]),
                  .aliases = {},
                  .fingerprint = engine.info().fingerprint,
                  .created = std::chrono::duration_cast<std::chrono::seconds>(now).count(),
                  .sampling_defaults = engine.default_sampling({}),
                  .max_choices = options_.max_choices,
                  .reasoning_budget = options_.reasoning_budget,
                  .max_client_priority = options_.max_client_priority,
                  .max_answer_bytes = options_.max_answer_bytes,
                  .image_placeholder = options_.image_placeholder};
  model_->aliases = model_aliases(engine.info(), model_->id, options_.model_names);
  metrics_.set_model(model_->id);
}

void Service::tick(Clock::time_point now) {
  take_notices();
  for (CompletionHandler* handler : active_) handler->tick(now);
  if (!model_ || host_.failed()) return;
  const EngineStats stats = host_.engine()->stats();
  metrics_.observe_steps(stats);
  progress_.update(stats, now);
}

void Service::abort_all() {
  const ApiError error = host_.failed()
                             ? engine_failed()
                             : unavailable("the server shut down before the answer was complete", "shutting_down");
  const std::vector<CompletionHandler*> handlers(active_.begin(), active_.end());
  for (CompletionHandler* handler : handlers) handler->abort(error);
}

void Service::take_notices() {
  std::vector<std::string> notices;
  if (options_.key_watch) {
    KeyWatch::News news = options_.key_watch->take();
    if (news.keys) {
      keys_ = std::move(*news.keys);
      end_revoked();
    }
    notices.push_back(std::move(news.notice));
  }
  if (options_.access_log) notices.push_back(options_.access_log->take_notice());
  if (!options_.on_notice) return;
  for (const std::string& notice : notices)
    if (!notice.empty()) options_.on_notice(notice);
}

void Service::end_revoked() {
  const std::vector<CompletionHandler*> handlers(active_.begin(), active_.end());
  for (CompletionHandler* handler : handlers)
    if (!keys_.contains(handler->key().digest)) handler->abort(key_revoked());
}

std::string Service::make_id() { return fmt::format("{:016x}", random_()); }

std::optional<ApiError> Service::not_ready(Clock::time_point now) const {
  if (host_.failed()) return engine_failed();
  if (draining_) return unavailable("the server is shutting down", "shutting_down");
  if (!model_) return unavailable("the model is being loaded", "loading");
  if (progress_.stalled(now))
    return unavailable(fmt::format("the engine has work, but has finished no step for more than {} ms",
                                   options_.stall_timeout.count()),
                       "stalled");
  return std::nullopt;
}

asio::awaitable<bool> Service::serve_one(HttpConnection& connection, const Visitor& visitor) {
  const HttpConnection::HeadCheck check = [this, &visitor](const HttpRequest& request) {
    return check_head(request, *visitor.entrance, keys_, options_.cors_origins);
  };
  std::optional<Received> received = co_await connection.read_request(check);
  if (!received) co_return false;
  if (draining_) connection.stop_after_this();
  Exchange exchange{.connection = connection, .request = std::move(received->request), .begin = Clock::now()};
  identify(exchange, visitor.peer, options_.proxies, make_id());
  const std::uint64_t written_before = connection.bytes_written();
  bool failed = false;
  try {
    if (received->error) {
      co_await refuse(exchange, *received->error);
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
    co_await refuse(exchange, error);
  } else if (failed) {
    connection.close();
  }
  exchange.record.response_bytes = connection.bytes_written() - written_before;
  log(exchange);
  co_return true;
}

void Service::hold(const Exchange& exchange, HttpResponse& response) {
  std::optional<ApiError> error;
  if (response.held) {
    error = response.held.hold(response.body.size());
  } else {
    response.held = HeldAnswer(held_);
    error = response.held.hold_own(response.body.size());
  }
  if (!error || response.body.size() <= kAlwaysHeld) return;
  response = error_response(exchange.request.target(), *error);
  response.held = HeldAnswer(held_);
  response.held.set(response.body.size());
}

// GCC 12 evaluates both branches of a conditional expression within co_await's operand, and destroys some temporaries
// of it twice: here and elsewhere, what is awaited is called with named values.
asio::awaitable<void> Service::send(Exchange& exchange, HttpResponse& response) {
  hold(exchange, response);
  add_headers(exchange.request, exchange.record.id, options_.cors_origins, response);
  exchange.record.status = response.status;
  const bool head_only = exchange.request.method() == http::verb::head;
  const bool sent = co_await exchange.connection.respond(response, head_only);
  if (!sent) exchange.record.status = 499;
}

asio::awaitable<void> Service::refuse(Exchange& exchange, const ApiError& error) {
  HttpResponse response = error_response(exchange.request.target(), error);
  co_await send(exchange, response);
}

asio::awaitable<void> Service::answer(Exchange& exchange) {
  const HttpRequest& request = exchange.request;
  if (request.method() == http::verb::options) {
    HttpResponse response = preflight(request);
    co_await send(exchange, response);
    co_return;
  }
  const ApiResult<RouteMatch> match = find_route(request.method(), request.target());
  if (const ApiKey* key = key_of(request, keys_)) exchange.key = *key;
  exchange.record.key = exchange.key.name;
  if (match->is_post && !keys_.empty() && exchange.key.name.empty()) {
    const ApiError error = key_revoked();  // while its body came
    co_await refuse(exchange, error);
  } else if (match->is_post) {
    co_await answer_post(exchange, match->route);
  } else if (is_of_stored_response(match->route)) {
    HttpResponse response;
    auto body = answer_stored_response(*match, request.target(), responses_of(exchange));
    if (body) {
      response.body = std::move(*body);
    } else {
      response = to_response(body.error());
    }
    co_await send(exchange, response);
  } else {
    HttpResponse response = get(*match, Clock::now());
    co_await send(exchange, response);
  }
}

asio::awaitable<void> Service::answer_post(Exchange& exchange, Route route) {
  if (!model_) {
    const ApiError error = unavailable("the model is being loaded", "loading");
    co_await refuse(exchange, error);
    co_return;
  }
  if (host_.failed()) {
    const ApiError error = engine_failed();
    co_await refuse(exchange, error);
    co_return;
  }
  Engine& engine = *host_.engine();
  if (options_.log_prompts) exchange.record.prompt = to_valid_utf8(exchange.request.body());
  if (const std::optional<ChatApi> api = chat_api_of(route)) {
    CompletionHandler handler(*this, exchange, engine);
    co_await handler.run(*api);
    co_return;
  }
  if (route == Route::kOllamaShow) {
    HttpResponse response;
    const auto shown = answer_ollama_show(exchange.request.body(), options_.json, *model_, engine.info());
    if (shown) {
      response.body = boost::json::serialize(*shown);
    } else {
      response = error_response(exchange.request.target(), shown.error());
    }
    co_await send(exchange, response);
    co_return;
  }
  if (route == Route::kEmbeddings) {
    const ApiError error{.status = 501,
                         .message = fmt::format("{} is not a model for embeddings", model_->id),
                         .code = "unsupported_model"};
    co_await refuse(exchange, error);
    co_return;
  }
  co_await answer_tokens(exchange, route);
}

asio::awaitable<void> Service::answer_tokens(Exchange& exchange, Route route) {
  const Engine& engine = *host_.engine();
  HttpResponse response{.held = HeldAnswer(held_)};
  ApiResult<std::string> body;
  {
    const TokenizeCall call{.kind = kind_of(route),
                            .body = std::move(exchange.request.body()),
                            .json = options_.json,
                            .responses = responses_of(exchange)};
    const std::size_t num_bytes = call.body.size();
    const auto turn = co_await wait_to_parse(exchange, num_bytes, false);
    if (!turn) {
      body = std::unexpected(turn.error());
    } else if ((*turn)->has_begun()) {
      auto work = [&] { return answer_tokenize(call, engine, *model_, response.held); };
      body = co_await run_on(parse_queue_.threads(), work);
    }
  }
  if (!body) {
    response.held.set(0);
    co_await refuse(exchange, body.error());
    co_return;
  }
  response.body = std::move(*body);
  co_await send(exchange, response);
}

asio::awaitable<ApiResult<std::unique_ptr<ParseQueue::Turn>>> Service::wait_to_parse(Exchange& exchange,
                                                                                     std::size_t num_bytes,
                                                                                     bool ends_with_hang_up) {
  HttpConnection& connection = exchange.connection;
  auto turn = std::make_unique<ParseQueue::Turn>(
      parse_queue_, client_of(exchange), num_bytes, [&connection] { connection.wake().notify(); }, Clock::now());
  while (!turn->has_begun() && !connection.gave_up() && !connection.closed() &&
         !(ends_with_hang_up && connection.hung_up()))
    co_await connection.wake().wait();
  if (connection.gave_up()) co_return std::unexpected(too_much_received());
  connection.body_is_taken();
  co_return turn;
}

HttpResponse Service::get(const RouteMatch& match, Clock::time_point now) {
  const auto json = [](const boost::json::object& object) {
    return HttpResponse{.body = boost::json::serialize(object)};
  };
  switch (match.route) {
    case Route::kChatPage: {
      HttpResponse page{.content_type = "text/html; charset=utf-8", .body = std::string(chat_page())};
      page.headers = {{"Cache-Control", "no-cache"}, {"X-Content-Type-Options", "nosniff"}};
      return page;
    }
    case Route::kHealth: return json({{"status", "ok"}});
    case Route::kReady:
      if (const auto error = not_ready(now)) return to_response(*error);
      return json({{"status", "ready"}});
    case Route::kMetrics: {
      const bool serves = model_ && !host_.failed();
      EngineStats stats;
      if (serves) stats = host_.engine()->stats();
      if (options_.access_log) metrics_.set_dropped_log_lines(options_.access_log->num_dropped());
      metrics_.set_held_bytes(held_.bytes());
      return {.content_type = std::string(Metrics::kContentType), .body = metrics_.text(serves ? &stats : nullptr)};
    }
    case Route::kVersion:
    case Route::kOllamaVersion: return json({{"version", options_.version}});
    default: break;
  }
  if (!model_) return error_response(match.pattern, unavailable("the model is being loaded", "loading"));
  const ModelInfo& info = host_.engine()->info();
  if (match.route == Route::kLlamaProps) return json(llama_props(*model_, info, options_.version));
  if (match.route == Route::kOllamaTags) return json(ollama_tags(*model_, info));
  if (match.route == Route::kOllamaRunning) return json(ollama_running(*model_, info));
  const boost::json::object model = model_object(*model_, info);
  if (match.route == Route::kModels) return json({{"object", "list"}, {"data", boost::json::array{model}}});
  if (model_->answers_to(match.argument)) return json(model);
  return to_response({.status = 404,
                      .message = fmt::format("there is no model '{}', only '{}'", match.argument, model_->id),
                      .param = "model",
                      .code = "model_not_found"});
}

void Service::log(Exchange& exchange) {
  AccessRecord& record = exchange.record;
  const auto match = find_route(exchange.request.method(), exchange.request.target());
  metrics_.count_http(match ? match->pattern : "other", record.status);
  if (!options_.access_log) return;
  record.duration_s = std::chrono::duration<double>(Clock::now() - exchange.begin).count();
  options_.access_log->write(to_json_line(record, std::chrono::system_clock::now()));
}

}  // namespace octavo::server
