#include "server/pull_handler.h"

#include <fmt/format.h>

#include <algorithm>

#include "server/model_routes.h"
#include "server/request_head.h"
#include "server/service_parts.h"

namespace octavo::server {

PullHandler::PullHandler(const Shared& shared, Exchange& exchange)
    : shared_(shared), exchange_(exchange), connection_(exchange.connection) {
  connection_.set_on_hang_up([] {});  // needed to notice the end after whatever else the client sends
}

PullHandler::~PullHandler() { connection_.set_on_hang_up(nullptr); }

std::optional<ApiError> PullHandler::check_right() const {
  const PullOptions& options = shared_.options;
  if (!options.fetch) return pulls_not_allowed();
  const auto has = [&](std::string_view name) { return std::ranges::find(options.keys, name) != options.keys.end(); };
  if (shared_.keys.empty() || has("*") || has(exchange_.key.name)) return std::nullopt;
  return ApiError{.status = 403,
                  .message = fmt::format("the key '{}' may have no models fetched, expected one that --allow-pull-keys "
                                         "names",
                                         exchange_.key.name),
                  .type = "permission_error",
                  .code = "not_allowed"};
}

asio::awaitable<ApiResult<std::optional<OllamaPull>>> PullHandler::read() {
  const std::size_t num_bytes = exchange_.request.body().size();
  if (num_bytes > kMaxModelBodyBytes) co_return std::unexpected(model_body_too_large(num_bytes));
  const auto body = co_await shared_.bodies.read_alone(exchange_);
  if (!body) co_return std::unexpected(body.error());
  if (!*body) co_return std::nullopt;
  ApiResult<OllamaPull> pull = parse_ollama_pull(**body);
  if (!pull) co_return std::unexpected(pull.error());
  if (const auto named = shared_.options.check_name(pull->name); !named)
    co_return std::unexpected(ApiError{
        .status = 400, .message = "model: " + named.error().message, .param = "model", .code = "invalid_value"});
  co_return pull;
}

asio::awaitable<void> PullHandler::run() {
  const std::optional<ApiError> forbidden = check_right();
  if (forbidden) co_return co_await shared_.responder.refuse(exchange_, *forbidden);
  const ApiResult<std::optional<OllamaPull>> read_pull = co_await read();
  if (connection_.hung_up() || (read_pull && !*read_pull)) {
    exchange_.record.status = 499;
    co_return;
  }
  if (!read_pull) co_return co_await shared_.responder.refuse(exchange_, read_pull.error());
  const OllamaPull& pull = **read_pull;
  const ModelPuller::Reader reader(shared_.puller, pull.name, exchange_.key.digest,
                                   [this] { connection_.wake().notify(); });
  if (pull.stream && !reader.outcome()) {
    co_await answer_stream(reader);
  } else {
    co_await answer_whole(reader);
  }
}

void PullHandler::note(const ModelPuller::Outcome& outcome) {
  exchange_.record.finish_reason = outcome ? "stop" : "error";
  if (outcome && !outcome->empty()) exchange_.record.warnings = static_cast<std::int64_t>(outcome->size());
}

asio::awaitable<void> PullHandler::answer_whole(const ModelPuller::Reader& reader) {
  while (!reader.outcome() && !connection_.hung_up()) co_await connection_.wake().wait();
  if (!reader.outcome()) {
    exchange_.record.status = 499;
    co_return;
  }
  const ModelPuller::Outcome& outcome = *reader.outcome();
  note(outcome);
  if (!outcome) co_return co_await shared_.responder.refuse(exchange_, outcome.error());
  HttpResponse response{.body = pull_success(*outcome)};
  co_await shared_.responder.send(exchange_, response);
}

asio::awaitable<void> PullHandler::answer_stream(const ModelPuller::Reader& reader) {
  exchange_.record.streamed = true;
  bool connected = co_await shared_.responder.begin_stream(exchange_, "application/x-ndjson");
  PullNews told;
  std::string out = pull_lines(told, told);
  Clock::time_point last = Clock::now();
  while (connected && !connection_.hung_up()) {
    const bool is_over = reader.outcome().has_value();
    const PullNews news = reader.news();
    if (is_over) {
      note(*reader.outcome());
      out += last_pull_lines(told, *reader.outcome());
    } else if (news != told || (shared_.max_silence.count() > 0 && Clock::now() - last >= shared_.max_silence)) {
      out += pull_lines(told, news);
      told = news;
    }
    if (out.empty()) {
      co_await connection_.wake().wait();
      continue;
    }
    connected = co_await connection_.write_stream(out, is_over);
    last = Clock::now();
    out.clear();
    if (connected && is_over) co_return;
  }
  exchange_.record.status = 499;
}

asio::awaitable<void> pull_model(RouteCall call) {
  const ServerOptions& options = call.parts.options;
  PullHandler handler({.options = options.pull,
                       .keys = call.parts.keys,
                       .responder = call.parts.responder,
                       .bodies = call.parts.bodies,
                       .puller = call.parts.puller,
                       .max_silence = options.answers.keepalive_interval},
                      call.exchange);
  co_await handler.run();
}

asio::awaitable<void> refuse_change(RouteCall call) {
  const ApiError error = refused_change(call.match.row->path);
  co_await call.parts.responder.refuse(call.exchange, error);
}

}  // namespace octavo::server
