// Sockets of ZeroMQ, which frees what it sends when it is sent.
//
// A socket belongs to one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace octavo {

/// A text that several messages share until all are sent.
using SharedText = std::shared_ptr<const std::string>;

class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* get() const { return context_; }

 private:
  void* context_;
};

class ZmqSocket {
 public:
  /// A publisher also receives: each subscription, as a frame with the byte 1 and the beginning of topics that it
  /// names.
  enum class Kind : std::uint8_t { kPublish, kRouter };

  /// Opens a socket that others connect to. `queued`: how many messages wait for a peer that does not read; a further
  /// one is not sent to it. Received messages of more than `max_bytes` close their connection. Error: ZeroMQ cannot
  /// listen there, as it says.
  static Result<ZmqSocket> listen(ZmqContext& context, Kind kind, const std::string& address, int queued,
                                  int max_bytes);
  ~ZmqSocket();
  ZmqSocket(ZmqSocket&& other) noexcept;
  ZmqSocket& operator=(ZmqSocket&& other) noexcept;

  /// The address at which it listens, with the port that was free where 0 was asked for.
  std::string address() const;
  /// Sends the frames as one message. Never waits.
  void send(std::span<const SharedText> frames);
  /// The frames of a message that has come; none: none has.
  std::optional<std::vector<std::string>> receive();
  /// Waits until a message has come, `most_ms` at most.
  void wait(int most_ms);

 private:
  explicit ZmqSocket(void* socket) : socket_(socket) {}
  void* socket_ = nullptr;
};

}  // namespace octavo
