// Events about KV blocks, for routers that want to know what is cached where: the settings of their publisher.
// docs/server/kv_events.md tells what is published.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>

namespace octavo {

struct ModelInfo;

struct KvEventsSettings {
  std::string address = {};         // of ZeroMQ, such as "tcp://127.0.0.1:5557"; empty: nothing is published
  std::string replay_address = {};  // where batches can be had again; empty: nowhere
  std::function<std::string(const ModelInfo&)> topic = {};  // of all messages; none: the empty one
  /// A file with the key of the hashes, in 16 bytes or 32 hexadecimal digits, which nobody else may read: replicas with
  /// the same key give equal blocks equal hashes. Empty: the key of the store of prefixes, or else a random one.
  std::filesystem::path key_file = {};
  std::size_t kept_batches = kKeptBatches;  // the most that can be had again

  static constexpr std::size_t kKeptBatches = 10'000;
};

}  // namespace octavo
