// Reads the bodies of requests, and finds the models that they name.
//
// Owned by the Service; the I/O thread. Bodies are parsed on threads of their own.
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <memory>
#include <string>

#include "json/json_limits.h"
#include "server/exchange.h"
#include "server/model_table.h"
#include "server/work_queue.h"

namespace octavo::server {

/// A body that was read, and the model that it names, loaded.
struct AddressedBody {
  boost::json::object object;
  std::size_t num_bytes = 0;  // of its text
  ModelLease model;
  /// The model where it is not to be loaded for the body: it is to be let go, or that is not what was asked for. Until
  /// other coroutines run.
  ModelSlot* unloaded = nullptr;
  std::unique_ptr<WorkQueue::Turn> turn = {};  // a thread of the reader's, for what is done with the body next
};

class BodyReader {
 public:
  struct Addressing {
    bool has_tags = false;    // its clients write ":latest" behind names, and `name` for `model`
    bool can_unload = false;  // a body may let its model go (asks_to_unload())
    /// A client that hangs up has no use for the answer. Where many lose patience behind the bodies of others, those
    /// who wait would wait for nothing.
    bool ends_with_hang_up = false;
    bool is_about_slot = false;  // the model is not to be loaded for it, and it must be named
  };

  /// The table must outlive it.
  BodyReader(ModelTable& models, const JsonLimits& limits, int num_threads)
      : models_(models), limits_(limits), queue_(num_threads) {}

  /// Reads the exchange's body and waits for the model that it names. Error: the body is no object, there is no such
  /// model, it cannot be had, or the connection gave the body up. Neither turn nor model is there if the connection is
  /// closed, or if the client hung up and that counts.
  asio::awaitable<ApiResult<AddressedBody>> read(Exchange& exchange, Addressing how);
  /// The object alone, of a body that names no model of the server. The turn is not there if the connection is closed.
  asio::awaitable<ApiResult<AddressedBody>> read_alone(Exchange& exchange);
  boost::asio::thread_pool& threads() { return queue_.threads(); }

 private:
  /// Waits until a body of so many bytes may be parsed, which is done on threads() while the turn lives. The turn may
  /// not have begun for the reasons above.
  asio::awaitable<ApiResult<std::unique_ptr<WorkQueue::Turn>>> wait_to_parse(Exchange& exchange, std::size_t num_bytes,
                                                                             Addressing how);
  /// The object alone, and the turn, which is not there for the reasons above.
  asio::awaitable<ApiResult<AddressedBody>> parse(Exchange& exchange, const std::string& text, Addressing how);
  asio::awaitable<ApiResult<ModelLease>> wait_for_model(Exchange& exchange, ModelSlot& slot, Addressing how);

  ModelTable& models_;
  const JsonLimits limits_;
  WorkQueue queue_;
};

}  // namespace octavo::server
