#include "server/body_reader.h"

#include <boost/asio/post.hpp>
#include <boost/json.hpp>

#include "api/fields/keep_alive.h"
#include "api/ollama/ollama_request.h"
#include "json/json_document.h"
#include "server/run_on.h"

namespace octavo::server {
namespace {

ApiError names_no_model() {
  return {.status = 400,
          .message = "model: found none, expected the name of a model",
          .param = "model",
          .code = "missing_required_parameter"};
}

/// The model's name in a body; empty: it has none.
std::string named_model(const boost::json::object& body, bool has_tags) {
  const boost::json::value* name = body.if_contains("model");
  if (name == nullptr && has_tags) name = body.if_contains("name");
  if (name == nullptr || !name->is_string()) return {};
  return has_tags ? without_latest(name->get_string()) : std::string(name->get_string());
}

}  // namespace

void BodyReader::tick(Clock::time_point now) {
  if (options_.return_memory && memory_return_.is_due(queue_.num_large_bytes(), now))
    asio::post(queue_.threads(), options_.return_memory);
}

asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> BodyReader::wait_to_parse(Exchange& exchange,
                                                                                       std::size_t num_bytes,
                                                                                       Addressing how) {
  HttpConnection& connection = exchange.connection;
  auto turn = std::make_unique<WorkQueue::Turn>(
      queue_, client_of(exchange), num_bytes, [&connection] { connection.wake().notify(); }, Clock::now());
  while (!turn->has_begun() && !queue_.is_closed() && !connection.gave_up() && !connection.closed() &&
         !(how.ends_with_hang_up && connection.hung_up()))
    co_await connection.wake().wait();
  if (connection.gave_up()) co_return std::unexpected(too_much_received());
  if (!turn->has_begun() && queue_.is_closed()) co_return std::unexpected(shutting_down());
  co_return turn;
}

asio::awaitable<ApiResult<ModelLease>> BodyReader::wait_for_model(Exchange& exchange, ModelSlot& slot, Addressing how) {
  HttpConnection& connection = exchange.connection;
  ModelTable::LoadWait wait(
      models_, slot, client_of(exchange), [&connection] { connection.wake().notify(); }, Clock::now());
  while (!wait.is_over() && !connection.gave_up() && !connection.closed() &&
         !(how.ends_with_hang_up && connection.hung_up()))
    co_await connection.wake().wait();
  if (wait.is_over()) co_return wait.take();
  if (connection.gave_up()) co_return std::unexpected(too_much_received());
  co_return ModelLease();
}

asio::awaitable<ApiResult<std::optional<AddressedBody>>> BodyReader::parse(Exchange& exchange, const std::string& text,
                                                                           Addressing how) {
  auto turn = co_await wait_to_parse(exchange, text.size(), how);
  if (!turn) co_return std::unexpected(turn.error());
  if (!(*turn)->has_begun()) co_return std::nullopt;
  auto work = [&] { return parse_json_object(text, limits_); };
  auto object = co_await run_on(queue_.threads(), work);
  if (!object) co_return std::unexpected(to_api_error(std::move(object.error())));
  AddressedBody body;
  body.object = std::move(*object);
  body.num_bytes = text.size();
  body.turn = std::move(*turn);
  co_return body;
}

asio::awaitable<ApiResult<std::optional<boost::json::object>>> BodyReader::read_alone(Exchange& exchange) {
  const std::string text = std::move(exchange.request.body());
  auto body = co_await parse(exchange, text, {});
  if (!body) co_return std::unexpected(body.error());
  exchange.connection.body_is_taken();
  if (!*body) co_return std::nullopt;
  co_return std::move((*body)->object);
}

asio::awaitable<ApiResult<BodyResult>> BodyReader::read(Exchange& exchange, Addressing how) {
  const std::string text = std::move(exchange.request.body());
  auto body = co_await parse(exchange, text, how);
  if (!body) co_return std::unexpected(body.error());
  if (!*body) co_return ClientGone();
  const std::string name = named_model((*body)->object, how.has_tags);
  ModelSlot* slot = models_.find(name, how.serves);
  const bool is_known = slot != nullptr;
  if (slot == nullptr && models_.slots().size() == 1) slot = models_.find("");  // the API says how it is called
  if (slot == nullptr) co_return std::unexpected(models_.not_found(name));
  if (how.is_about_slot && name.empty()) co_return std::unexpected(names_no_model());
  if (how.is_about_slot || (how.can_unload && asks_to_unload((*body)->object))) {
    if (!is_known) co_return std::unexpected(models_.not_found(name));
    exchange.connection.body_is_taken();
    co_return NothingToCompute{.slot = slot};
  }
  const bool is_ready = slot->state() == ModelSlot::State::kServing;
  if (!is_ready) body->reset();  // others are read meanwhile
  auto lease = co_await wait_for_model(exchange, *slot, how);
  if (!lease) co_return std::unexpected(lease.error());
  if (!*lease) co_return ClientGone();
  if (!is_ready) body = co_await parse(exchange, text, how);
  if (!body) co_return std::unexpected(body.error());
  if (!*body) co_return ClientGone();
  if (exchange.connection.gave_up()) co_return std::unexpected(too_much_received());
  exchange.connection.body_is_taken();
  (*body)->model = std::move(*lease);
  co_return std::move(**body);
}

}  // namespace octavo::server
