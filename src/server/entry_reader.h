// Reads anew which models are offered, on a thread of its own, since that reads files.
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

/// It ends soon, with an error, once the stop is asked for. Other errors, and what it throws: a notice to the operator.
using ReadEntries = std::function<Result<std::vector<ModelEntry>>(std::stop_token)>;

class EntryReader {
 public:
  using Take = std::function<void(Result<std::vector<ModelEntry>>)>;

  /// `read` is called on another thread, `take` on that of `io`. Without `read` nothing is read.
  EntryReader(boost::asio::io_context& io, ReadEntries read, Take take);

  /// Begins to read, or does so again when what is under way is done.
  void read();
  /// The entries that `take` is given are not the last: another reading was asked for after it.
  bool is_asked_again() const { return is_asked_again_; }

 private:
  void run(const std::stop_token& stop);
  /// Called on its thread, after all else that it does.
  void hand_over();
  void end();

  boost::asio::io_context& io_;
  const ReadEntries read_;
  const Take take_;
  bool is_reading_ = false, is_asked_again_ = false;
  std::optional<Result<std::vector<ModelEntry>>> entries_ = {};  // what the thread has read, or why it has not
  std::jthread thread_;                                          // stopped and joined first
};

}  // namespace octavo::server
