// Fetches the pictures that bodies name by addresses, before the bodies are parsed, on threads that wait and compute
// nothing: meanwhile other bodies are parsed, and steps are computed. A body with pictures counts as large in the queue
// of the threads that parse, since a few bytes of it may take long to decode: one thread is left to texts.
//
// Clients take turns, one body of one client after another's. Owned by the Service; the I/O thread.
#pragma once

#include <memory>
#include <stop_token>

#include "api/call/picture_addresses.h"
#include "server/body_reader.h"
#include "server/exchange.h"
#include "server/picture_options.h"
#include "server/work_queue.h"

namespace octavo::server {

struct ServerOptions;

class PictureFetches {
 public:
  static constexpr int kThreads = 8;  // how many bodies have their pictures fetched at once

  /// Both references must outlive it.
  PictureFetches(const ServerOptions& options, BodyReader& bodies);

  /// Puts the pictures of the body's addresses in their places, if the model sees. Meanwhile the body gives its turn at
  /// the reader back; it then gets that of a large one. All pictures together may have as many bytes as a body. The
  /// result tells of those that could not be fetched. Whoever asks `stop` for a stop must notify the connection's
  /// wake(). Errors: a stop; the connection gave up what it holds; the server shuts down.
  asio::awaitable<ApiResult<UnfetchedPictures>> fetch(Exchange& exchange, AddressedBody& body, std::stop_token stop);

 private:
  /// The pictures that were fetched, and errors for those beyond the bounds.
  asio::awaitable<ApiResult<FetchedPictures>> fetch_all(Exchange& exchange, std::size_t body_bytes,
                                                        std::vector<PictureAddress> addresses, std::stop_token stop);

  const ServerOptions& options_;
  BodyReader& bodies_;
  std::unique_ptr<WorkQueue> queue_;  // null: nothing is fetched
};

}  // namespace octavo::server
