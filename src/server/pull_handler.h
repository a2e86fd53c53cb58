// Answers one request of ollama's /api/pull: it reports how far the fetch of the requested model is.
//
// Lives as long as its request; the I/O thread. What a client is too slow to read is not kept for it: its next line
// reports the progress at that time.
#pragma once

#include <chrono>
#include <optional>

#include "server/api_keys.h"
#include "server/body_reader.h"
#include "server/model_puller.h"
#include "server/ollama_pull.h"
#include "server/pull_options.h"
#include "server/responder.h"

namespace octavo::server {

class PullHandler {
 public:
  /// The parts of the server that it needs. They outlive it.
  struct Shared {
    const PullOptions& options;
    const ApiKeys& keys;  // the current ones
    const Responder& responder;
    BodyReader& bodies;
    ModelPuller& puller;
    std::chrono::milliseconds max_silence;  // the longest silence of a stream; 0: no limit
  };

  PullHandler(const Shared& shared, Exchange& exchange);
  ~PullHandler();
  PullHandler(const PullHandler&) = delete;
  PullHandler& operator=(const PullHandler&) = delete;

  asio::awaitable<void> run();

 private:
  /// The reason why the client may not pull, if there is one.
  std::optional<ApiError> check_right() const;
  /// Reads the body. None: the client is gone.
  asio::awaitable<ApiResult<std::optional<OllamaPull>>> read();
  asio::awaitable<void> answer_stream(const ModelPuller::Reader& reader);
  asio::awaitable<void> answer_whole(const ModelPuller::Reader& reader);
  void note(const ModelPuller::Outcome& outcome);

  const Shared shared_;
  Exchange& exchange_;
  HttpConnection& connection_;
};

/// The routes by which ollama's clients have models fetched, and those by which they would change existing ones.
asio::awaitable<void> pull_model(RouteCall call);
asio::awaitable<void> refuse_change(RouteCall call);

}  // namespace octavo::server
