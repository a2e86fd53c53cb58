// Reads the bodies of requests, and finds the models that they name.
//
// Owned by the Service; the I/O thread. Bodies are parsed on threads of their own.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "json/json_limits.h"
#include "server/body_options.h"
#include "server/exchange.h"
#include "server/memory_return.h"
#include "server/model_table.h"
#include "server/work_queue.h"

namespace octavo::server {

/// A body that was read, and the model that it names, which is loaded.
struct AddressedBody {
  boost::json::object object;
  std::size_t num_bytes = 0;  // the size of its text
  ModelLease model;
  std::unique_ptr<WorkQueue::Turn> turn = {};  // a thread of the reader, for what is done with the body next
};

/// A body whose model is not to be loaded: it is to be unloaded, or the body is about the model's place.
struct NothingToCompute {
  ModelSlot* slot;  // valid until other coroutines run
};

/// Nobody waits for an answer: the connection is closed, or the client hung up, where that counts.
struct ClientGone {};

using BodyResult = std::variant<AddressedBody, NothingToCompute, ClientGone>;

inline bool is_client_gone(const ApiResult<BodyResult>& result) {
  return result && std::holds_alternative<ClientGone>(*result);
}

class BodyReader {
 public:
  struct Addressing {
    bool has_tags = false;    // its clients write ":latest" behind names, and `name` for `model`
    bool can_unload = false;  // a body may unload its model (asks_to_unload())
    /// The body is dropped when its client hangs up: it then waits neither for a parser nor for the model, as its
    /// answer has no use.
    bool ends_with_hang_up = false;
    bool is_about_slot = false;  // the body must name its model, which is not loaded for it
    Serves serves = nullptr;     // whether a model can answer a body that names none; null: the first model is taken
  };

  /// The table must outlive it.
  BodyReader(ModelTable& models, const JsonLimits& limits, const BodyOptions& options)
      : models_(models), limits_(limits), options_(options), queue_(options.parse_threads) {}

  /// Reads the exchange's body and waits for the model that it names. Errors: the body is no object; there is no such
  /// model; the model cannot be had; the connection gave the body up.
  asio::awaitable<ApiResult<BodyResult>> read(Exchange& exchange, Addressing how);
  /// Reads a body that names no model, as an object; none if the connection is closed.
  asio::awaitable<ApiResult<std::optional<boost::json::object>>> read_alone(Exchange& exchange);
  /// Refuses bodies that are not parsed yet, as the server shuts down.
  void begin_drain() { queue_.close(); }
  /// Takes a thread again for a body that had given its turn back. A turn that has not begun: the client is gone.
  asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> take_turn(Exchange& exchange, std::size_t num_bytes) {
    return wait_to_parse(exchange, num_bytes, {});
  }
  boost::asio::thread_pool& threads() { return queue_.threads(); }
  /// Called several times a second: gives back, on one of the threads, memory that large bodies have left.
  void tick(Clock::time_point now);

 private:
  /// Waits until a body of `num_bytes` may be parsed, which is done on threads() while the turn lives. A turn that has
  /// not begun: the client is gone.
  asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> wait_to_parse(Exchange& exchange, std::size_t num_bytes,
                                                                             Addressing how);
  /// Reads the body without waiting for its model; none: the client is gone.
  asio::awaitable<ApiResult<std::optional<AddressedBody>>> parse(Exchange& exchange, const std::string& text,
                                                                 Addressing how);
  /// Waits for the model. An empty lease: the client is gone.
  asio::awaitable<ApiResult<ModelLease>> wait_for_model(Exchange& exchange, ModelSlot& slot, Addressing how);

  ModelTable& models_;
  const JsonLimits limits_;
  const BodyOptions options_;
  MemoryReturn memory_return_{options_.return_interval};
  WorkQueue queue_;
};

}  // namespace octavo::server
