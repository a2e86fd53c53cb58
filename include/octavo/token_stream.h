// A request whose events a thread pulls, instead of getting them in a callback.
//
//     auto stream = octavo::TokenStream::submit(*engine, std::move(request));    // another thread is in run_until()
//     while (const octavo::RequestEvent* event = (*stream)->next()) std::cout << event->text;
//
// One thread pulls, and the engine's thread fills. Destroying a stream cancels its request. If the system has no memory
// for an event, the stream gives the events before it, then one that ends as kFailed for all choices, and cancels the
// request.
#pragma once

#include <memory>

#include "octavo/engine.h"
#include "octavo/request_event.h"

namespace octavo {

class TokenStream {
 public:
  /// Submits a request. Errors: those of Engine::submit. The engine must outlive the stream.
  static Result<std::unique_ptr<TokenStream>> submit(Engine& engine, Request request);
  ~TokenStream();
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  RequestId id() const;

  /// The next event, which is valid until the next call; null after the last event of the last choice. The call waits
  /// for an event, so another thread must drive the engine.
  const RequestEvent* next();
  /// The next event without waiting, for a thread that drives the engine itself; null also where there is none yet.
  const RequestEvent* try_next();
  /// Whether the last event was given.
  bool done() const;

 private:
  struct Queue;
  TokenStream(Engine& engine, std::shared_ptr<Queue> queue);

  Engine* engine_;
  std::shared_ptr<Queue> queue_;  // shared with the callback, which may outlive the stream
};

}  // namespace octavo
