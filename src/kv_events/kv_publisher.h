// Publishes what can be found in the KV memory of one engine, as vLLM does: over ZeroMQ, in batches of events that are
// numbered from 0. The first one clears what subscribers had of an earlier process. A socket of its own gives batches
// again, from a number on; where these are kept no more, or too old, one batch that clears all and has everything.
//
// Owned by the engine, which writes into the feed. All else is done on a thread of its own.
#pragma once

#include <atomic>
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
  /// Listens at the addresses of the settings. The feed must outlive it. Error: an address that is none or is taken.
  static Result<std::unique_ptr<KvPublisher>> open(const KvEventsSettings& settings, const std::string& topic,
                                                   BlockFeed& feed);
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
  KvPublisher(std::unique_ptr<ZmqContext> context, Sockets sockets, const KvEventsSettings& settings,
              const std::string& topic, BlockFeed& feed);

  void run(const std::stop_token& stop);
  void publish(const BlockChanges& changes);
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
  SharedText everything_;          // as of everything_number_ batches; null: not made yet
  std::uint64_t everything_number_ = 0;
  std::jthread thread_;  // destroyed first
};

}  // namespace octavo
