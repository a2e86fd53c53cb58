// Bodies with pictures before they are parsed. Those that a body names by addresses are fetched on threads that wait
// and compute nothing: meanwhile others' bodies are parsed, and steps are computed. A body with pictures is a large one
// in the queue of the threads that parse, since a few bytes may take as long to be decoded: texts keep a thread.
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
  static constexpr int kThreads = 8;  // bodies whose pictures are fetched at once

  /// Both must outlive it.
  PictureFetches(const ServerOptions& options, BodyReader& bodies);

  /// Puts the pictures at the body's addresses in their places, where its model sees. A body with pictures gives its
  /// turn at the reader back meanwhile, and has that of a large one then. Together they may have as many bytes as a
  /// body may. The value tells of those that did not come. Whoever asks `stop` to stop it notifies the connection's
  /// wake(). Errors: it was stopped; the connection gave up what it holds; the server shuts down.
  asio::awaitable<ApiResult<UnfetchedPictures>> fetch(Exchange& exchange, AddressedBody& body, std::stop_token stop);

 private:
  /// Those that were fetched, and those of a number beyond the bounds.
  asio::awaitable<ApiResult<FetchedPictures>> fetch_all(Exchange& exchange, std::size_t body_bytes,
                                                        std::vector<PictureAddress> addresses, std::stop_token stop);

  const ServerOptions& options_;
  BodyReader& bodies_;
  std::unique_ptr<WorkQueue> queue_;  // null: nothing is fetched
};

}  // namespace octavo::server
