// Reads again which models are offered. It reads files, so it does that on a thread of its own.
//
// Owned by the server; the I/O thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "server/model_slot.h"

namespace octavo::server {

/// Reads the entries. It ends soon, with an error, once the stop is asked for. Other errors and exceptions become
/// notices to the operator.
using ReadEntries = std::function<Result<std::vector<ModelEntry>>(std::stop_token)>;

class EntryReader {
 public:
  using Take = std::function<void(Result<std::vector<ModelEntry>>)>;

  /// `read` is called on another thread, `take` on the thread of `io`. Where `read` is empty, nothing is read.
  EntryReader(boost::asio::io_context& io, ReadEntries read, Take take);

  /// Reads the entries; where that is being done already, once more afterwards.
  void read();
  /// Whether the entries will be read once more, so that those given to `take` are not the last.
  bool is_asked_again() const { return is_asked_again_; }

 private:
  void run(const std::stop_token& stop);
  /// Called on the reading thread, as its last act.
  void hand_over();
  void end();

  boost::asio::io_context& io_;
  const ReadEntries read_;
  const Take take_;
  bool is_reading_ = false, is_asked_again_ = false;
  std::optional<Result<std::vector<ModelEntry>>> entries_ = {};  // what the thread has read, or its error
  std::jthread thread_;                                          // destroyed first: stopped and joined
};

}  // namespace octavo::server
