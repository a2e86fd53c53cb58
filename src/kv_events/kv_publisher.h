// Publishes what can be found in the KV memory of one engine, as vLLM does: over ZeroMQ, in batches of events that are
// numbered from 0. The first one clears what subscribers had of an earlier process. Where somebody subscribes, a batch
// that clears all and has everything goes to all subscribers. A socket of its own gives batches again, from a number
// on; where these are kept no more, one batch that clears all and has everything.
//
// Owned by the engine, which writes into the feed. All else is done on a thread of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "kv/block_feed.h"
#include "kv_events/block_book.h"
#include "kv_events/message_log.h"
#include "kv_events/zmq_socket.h"
#include "octavo/kv_events.h"

namespace octavo {

class KvPublisher {
 public:
  struct Bounds {
    std::chrono::milliseconds pause{10'000};  // from one batch that has everything to the next, at least
    /// And so many times what that batch took: subscribers who come and go again and again cost a fiftieth of a
    /// processor.
    int pause_factor = 49;
    /// Bytes that wait for subscribers who read too slowly, beside those that are kept. While there are more, nothing
    /// but changes is sent: they end when they have been read, or their reader has gone.
    std::size_t max_waiting_bytes = std::size_t{256} << 20;
  };

  /// Listens at the addresses of the settings. The feed must outlive it. Error: an address that is none or is taken.
  static Result<std::unique_ptr<KvPublisher>> open(const KvEventsSettings& settings, const std::string& topic,
                                                   BlockFeed& feed, const Bounds& bounds);
  static Result<std::unique_ptr<KvPublisher>> open(const KvEventsSettings& settings, const std::string& topic,
                                                   BlockFeed& feed) {
    return open(settings, topic, feed, Bounds{});
  }
  ~KvPublisher();
  KvPublisher(const KvPublisher&) = delete;
  KvPublisher& operator=(const KvPublisher&) = delete;

  /// The addresses at which it listens; the second is empty where nothing can be had again.
  const std::string& address() const { return address_; }
  const std::string& replay_address() const { return replay_address_; }

 private:
  struct Sockets {
    ZmqSocket publish;
    std::optional<ZmqSocket> replay = {};
  };
  KvPublisher(std::unique_ptr<ZmqContext> context, Sockets sockets, std::size_t kept_batches, const std::string& topic,
              BlockFeed& feed, const Bounds& bounds);

  void run(const std::stop_token& stop);
  void publish(const BlockChanges& changes);
  void send(const SharedText& batch);
  void take_subscriptions();
  void publish_everything();
  bool has_room() const { return *held_bytes_ <= log_.num_bytes() + bounds_.max_waiting_bytes; }
  SharedText batch_of(const BlockChanges& changes) const;
  void answer_replays();
  void replay(const std::string& client, std::uint64_t from);
  const SharedText& everything();

  BlockFeed& feed_;
  std::unique_ptr<ZmqContext> context_;  // before the sockets, which end first
  Sockets sockets_;
  const std::string address_, replay_address_;
  const SharedText topic_;
  MessageLog log_;
  std::optional<BlockBook> book_;  // none: there was no memory for it, and it begins anew
  const Bounds bounds_;
  const std::shared_ptr<std::atomic<std::size_t>> held_bytes_;  // of batches that somebody has: the log, sockets
  SharedText everything_;                                       // null: not made yet, or no longer true
  std::chrono::steady_clock::time_point next_everything_ = {};  // not before
  bool has_newcomers_ = false;                                  // they have not had everything yet
  std::jthread thread_;                                         // destroyed first
};

}  // namespace octavo
