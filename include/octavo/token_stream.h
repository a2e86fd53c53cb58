// A request whose events are pulled by the thread that wants them, instead of being pushed into a callback.
//
//     auto stream = octavo::TokenStream::submit(*engine, std::move(request));    // another thread is in run_until()
//     while (const octavo::RequestEvent* event = (*stream)->next()) std::cout << event->text;
//
// One thread pulls; the engine's thread fills. Destroying a stream cancels what is left of its request. If the system
// has no memory for an event, those before it are given, then one that ends as kFailed for all choices, and the request
// is cancelled.
#pragma once

#include <memory>

#include "octavo/engine.h"
#include "octavo/request_event.h"

namespace octavo {

struct TokenStreamOptions {
  /// Events with RequestEvent::progress come before the first token's, where Request::on_prompt_progress would be
  /// called; that is called as well if it is set.
  bool tells_progress = false;
};

class TokenStream {
 public:
  /// Errors: those of Engine::submit. The engine must outlive the stream.
  static Result<std::unique_ptr<TokenStream>> submit(Engine& engine, Request request,
                                                     const TokenStreamOptions& options = {});
  ~TokenStream();
  TokenStream(const TokenStream&) = delete;
  TokenStream& operator=(const TokenStream&) = delete;

  RequestId id() const;

  /// The next event, which is valid until the next call; null once the last event of the last choice was given. Waits:
  /// some other thread must drive the engine.
  const RequestEvent* next();
  /// The same without waiting: null also where there is none yet. For a thread that drives the engine itself.
  const RequestEvent* try_next();
  /// The last event was given.
  bool done() const;

 private:
  struct Queue;
  TokenStream(Engine& engine, std::shared_ptr<Queue> queue);

  Engine* engine_;
  std::shared_ptr<Queue> queue_;  // shared with the callback, which may outlive the stream
};

}  // namespace octavo
