#include "server/service.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "server/model_metrics.h"
#include "server/request_head.h"

namespace octavo::server {

Service::Service(const ServerOptions& options, ServerFiles files, asio::io_context& io, ModelTable& models)
    : parts_{.options = options, .files = std::move(files), .io = io, .models = models} {}

Service::~Service() = default;

void Service::tick(Clock::time_point now) {
  take_notices();
  parts_.active.tick(now);
  parts_.counting.tick(now);
  parts_.bodies.tick(now);
  parts_.puller.tick();
  for (ModelSlot& slot : parts_.models.slots()) {
    if (slot.engine() == nullptr || slot.has_failed()) continue;
    const EngineStats stats = slot.engine()->stats();
    ModelMetrics& metrics = parts_.metrics.of_model(slot.id());
    metrics.observe_steps(stats);
    metrics.observe_rate(stats, now);
    slot.observe(stats, now);
  }
}

void Service::begin_drain() {
  parts_.active.begin_drain();
  parts_.bodies.begin_drain();
  parts_.counting.begin_drain(Clock::now());
  parts_.puller.begin_drain();
}

void Service::abort_all() {
  const ApiError error = parts_.models.has_failed_engine()
                             ? engine_failed()
                             : unavailable("the server shut down before the answer was complete", "shutting_down");
  parts_.active.abort(error);
}

void Service::take_notices() {
  std::vector<std::string> notices;
  if (parts_.files.key_watch) {
    KeyWatch::News news = parts_.files.key_watch->take();
    if (news.keys) {
      parts_.keys = std::move(*news.keys);
      parts_.active.end_revoked(parts_.keys);
      parts_.puller.end_revoked(parts_.keys);
    }
    notices.push_back(std::move(news.notice));
  }
  if (parts_.files.access_log) std::ranges::move(parts_.files.access_log->take_notices(), std::back_inserter(notices));
  if (!parts_.options.on_notice) return;
  for (const std::string& notice : notices)
    if (!notice.empty()) parts_.options.on_notice(notice);
}

asio::awaitable<bool> Service::serve_one(HttpConnection& connection, const Visitor& visitor) {
  const HttpConnection::HeadCheck check = [this, &visitor](const HttpRequest& request) {
    return check_head(request, parts_.routes, *visitor.entrance, parts_.keys, parts_.options.access.cors_origins);
  };
  std::optional<Received> received = co_await connection.read_request(check);
  if (!received) co_return false;
  if (parts_.active.is_draining()) connection.stop_after_this();
  Exchange exchange{.connection = connection, .request = std::move(received->request), .begin = Clock::now()};
  identify(exchange, visitor.peer, parts_.options.listen.proxies, parts_.make_id());
  const std::uint64_t written_before = connection.bytes_written();
  bool failed = false;
  try {
    if (received->error) {
      co_await parts_.responder.refuse(exchange, *received->error);
    } else {
      co_await answer(exchange);
    }
  } catch (const std::exception&) {  // most likely there is no memory
    failed = true;
  }
  if (failed && connection.bytes_written() == written_before) {
    const ApiError error{.status = 500,
                         .message = "the server could not answer this request",
                         .type = "server_error",
                         .code = "internal_error"};
    co_await parts_.responder.refuse(exchange, error);
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
    HttpResponse response = preflight(request, parts_.routes);
    co_await parts_.responder.send(exchange, response);
    co_return;
  }
  const ApiResult<RouteMatch> match = parts_.routes.find(request.method(), request.target());
  const RouteRow& row = *match->row;
  const bool is_post = row.method == http::verb::post;
  if (const ApiKey* key = key_of(request, parts_.keys)) exchange.key = *key;
  exchange.record.key = exchange.key.name;
  std::optional<ApiError> error;
  if (is_post && !parts_.keys.empty() && exchange.key.name.empty()) {
    error = key_revoked();  // it was revoked while its body came
  } else if (row.needs_models && !parts_.models.is_started()) {
    error = unavailable("the model is being loaded", "loading");
  } else if (row.needs_models && is_post && parts_.models.has_failed_engine()) {
    error = engine_failed();
  }
  if (error) {
    co_await parts_.responder.refuse(exchange, *error);
    co_return;
  }
  if (row.needs_models && is_post && parts_.options.log.has_prompts)
    exchange.record.prompt = to_valid_utf8(request.body());
  const RouteCall call{.parts = parts_, .exchange = exchange, .match = *match};
  co_await row.answer(call);
}

void Service::log(Exchange& exchange) {
  AccessRecord& record = exchange.record;
  const auto match = parts_.routes.find(exchange.request.method(), exchange.request.target());
  parts_.metrics.count_http(match ? match->row->path : "other", record.status);
  if (!parts_.files.access_log) return;
  record.duration_s = std::chrono::duration<double>(Clock::now() - exchange.begin).count();
  parts_.files.access_log->write(to_json_line(record, std::chrono::system_clock::now()));
}

}  // namespace octavo::server
