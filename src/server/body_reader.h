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

/// A body that was read, and the model that it names, loaded.
struct AddressedBody {
  boost::json::object object;
  std::size_t num_bytes = 0;  // of its text
  ModelLease model;
  std::unique_ptr<WorkQueue::Turn> turn = {};  // a thread of the reader's, for what is done with the body next
};

/// A body for which the model that it names is not to be loaded: it is to be unloaded, or the body is about its place.
struct NothingToCompute {
  ModelSlot* slot;  // until other coroutines run
};

/// The connection is closed, or the client hung up and that counts: nobody waits for an answer.
struct ClientGone {};

using BodyResult = std::variant<AddressedBody, NothingToCompute, ClientGone>;

inline bool is_client_gone(const ApiResult<BodyResult>& result) {
  return result && std::holds_alternative<ClientGone>(*result);
}

class BodyReader {
 public:
  struct Addressing {
    bool has_tags = false;    // its clients write ":latest" behind names, and `name` for `model`
    bool can_unload = false;  // a body may let its model go (asks_to_unload())
    /// A client that hangs up has no use for the answer, so it waits no more for a parser or for the model: those who
    /// still wait would wait for nothing.
    bool ends_with_hang_up = false;
    bool is_about_slot = false;  // the model is not to be loaded for it, and it must be named
    Serves serves = nullptr;     // the models that a body without a name is for; null: the first, whatever it does
  };

  /// The table must outlive it.
  BodyReader(ModelTable& models, const JsonLimits& limits, const BodyOptions& options)
      : models_(models), limits_(limits), options_(options), queue_(options.parse_threads) {}

  /// Reads the exchange's body and waits for the model that it names. Error: the body is no object, there is no such
  /// model, it cannot be had, or the connection gave the body up.
  asio::awaitable<ApiResult<BodyResult>> read(Exchange& exchange, Addressing how);
  /// The object alone, of a body that names no model of the server; none if the connection is closed.
  asio::awaitable<ApiResult<std::optional<boost::json::object>>> read_alone(Exchange& exchange);
  /// Bodies that are not parsed yet are refused from now on: the server shuts down.
  void begin_drain() { queue_.close(); }
  /// A thread again for a body that had given its turn back. A turn that has not begun: the client is gone.
  asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> take_turn(Exchange& exchange, std::size_t num_bytes) {
    return wait_to_parse(exchange, num_bytes, {});
  }
  boost::asio::thread_pool& threads() { return queue_.threads(); }
  /// Several times a second: gives back what large bodies have left, on one of the threads.
  void tick(Clock::time_point now);

 private:
  /// Waits until a body of so many bytes may be parsed, which is done on threads() while the turn lives. A turn that
  /// has not begun: the client is gone.
  asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> wait_to_parse(Exchange& exchange, std::size_t num_bytes,
                                                                             Addressing how);
  /// All but the model; none: the client is gone.
  asio::awaitable<ApiResult<std::optional<AddressedBody>>> parse(Exchange& exchange, const std::string& text,
                                                                 Addressing how);
  /// No lease: the client is gone.
  asio::awaitable<ApiResult<ModelLease>> wait_for_model(Exchange& exchange, ModelSlot& slot, Addressing how);

  ModelTable& models_;
  const JsonLimits limits_;
  const BodyOptions options_;
  MemoryReturn memory_return_{options_.return_interval};
  WorkQueue queue_;
};

}  // namespace octavo::server
