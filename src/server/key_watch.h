// A file of API keys that is read again when it changes, on a thread of its own: neither a slow disk nor busy workers
// keep a revoked key alive. Owned by the service; take() is called on the I/O thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/api_keys.h"
#include "server/key_file.h"

namespace octavo::server {

class KeyWatch {
 public:
  static constexpr std::chrono::milliseconds kInterval{250};

  /// The changes since the last take().
  struct News {
    std::optional<ApiKeys> keys = {};  // the file's keys, if they have changed
    std::string notice = {};           // for the operator; empty: there is none
  };

  /// Reads the file for the first time; first_keys() are its keys. If the file becomes unusable later, the keys stay
  /// valid, and a notice says so.
  static Result<std::unique_ptr<KeyWatch>> open(std::filesystem::path file,
                                                std::chrono::milliseconds interval = kInterval,
                                                const KeySalt& salt = random_salt());
  ~KeyWatch();
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  /// The keys that open() has read.
  const ApiKeys& first_keys() const { return first_keys_; }
  News take();

 private:
  KeyWatch(std::filesystem::path file, std::chrono::milliseconds interval, const KeySalt& salt, ApiKeys keys,
           std::optional<FileStamp> stamp);
  void run(const std::stop_token& stop);
  void look();

  const std::filesystem::path file_;
  const std::chrono::milliseconds interval_;
  const KeySalt salt_;
  const ApiKeys first_keys_;
  // Used by the thread alone.
  ApiKeys keys_;
  std::optional<FileStamp> stamp_;
  std::string complaint_;  // why the file cannot be used now; empty: it can
  int num_reads_due_ = 0;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  News news_;  // guarded by the mutex
  std::jthread thread_;
};

}  // namespace octavo::server
