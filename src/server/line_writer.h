// Writes lines of text to a file or to standard output, on a thread of its own: nobody waits for a disk or a reader. A
// line is written whole or not at all; where a pipe has taken a part of one, that line is finished first.
//
// While nothing can be written, as on a full disk, it tries again once in a while, and lines wait. A line that could
// not be written is dropped, and the next attempts are made with the line that reports this.
//
// Owned by whoever logs; any thread may call it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"

namespace octavo::server {

struct LineWriterOptions {
  bool is_private = false;                         // only the file's owner may read it
  std::size_t max_queued_bytes = 8U << 20;         // the most that may wait to be written; lines beyond are dropped
  std::chrono::milliseconds retry_interval{1000};  // between attempts while they fail
};

class LineWriter {
 public:
  /// Appends to a file, which is made with mode 0640 or, if private, 0600; "-" is standard output. Errors: it cannot be
  /// opened; it is to be private, exists, and others than its owner have rights to it.
  static Result<std::unique_ptr<LineWriter>> open(const std::string& path, const LineWriterOptions& options = {});
  /// Writes to a descriptor, which stays the caller's.
  static Result<std::unique_ptr<LineWriter>> on_descriptor(int descriptor, const LineWriterOptions& options = {});
  /// Writes what waits, as far as the reader takes it within a second.
  ~LineWriter();
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Hands over a line, without its line break. Where there is no room, it is dropped and counted: the line {"time":
  /// ..., "dropped_lines": N} then comes before the next one.
  void write(std::string line) noexcept;
  /// Goes on in a new file of the same name, after the old one was moved away. Not for standard output and descriptors.
  void reopen();
  /// How many lines were handed over and lost.
  std::uint64_t num_dropped() const { return num_dropped_; }
  /// Takes notices to the operator, each once: the log cannot be written; can be written again; cannot be opened again.
  std::vector<std::string> take_notices();

 private:
  using Clock = std::chrono::steady_clock;

  LineWriter(std::string path, int descriptor, bool is_own, int waker, const LineWriterOptions& options);
  static Result<std::unique_ptr<LineWriter>> make(std::string path, int descriptor, bool is_own,
                                                  const LineWriterOptions& options);
  void run();
  void reopen_file();
  /// Makes line_ the next line. False: there is none.
  bool take_line();
  /// Writes a piece of line_.
  void write_piece();
  void end_line();
  void fail_line(int error);
  /// Removes the written part of line_ from the file again. False: the line must be finished.
  bool take_back();
  void drop_line();
  void clear_line();
  /// Waits until something changes: there is room to write (where `for_room`), another thread calls, or the time is
  /// over. False: there is no room.
  bool wait(bool for_room, int timeout_ms);
  void wake() noexcept;
  void say(std::string notice);

  const LineWriterOptions options_;
  const std::string path_;  // or a name for notices
  const bool is_own_;       // the descriptor was opened here
  const int waker_;         // an eventfd
  // Used by the thread alone.
  int descriptor_;
  bool is_file_;      // neither a pipe nor a terminal
  std::string line_;  // the line that is being written, with its line break; empty: none
  std::size_t line_begin_ = 0;
  std::uint64_t num_told_ = 0;      // the dropped lines of which line_ tells, with all before it; 0: it is another one
  std::uint64_t num_reported_ = 0;  // dropped lines that line_ reports, all earlier ones included; 0: it reports none
  bool is_failing_ = false;         // the last attempt failed
  Clock::time_point retry_at_ = {};

  std::mutex mutex_;
  std::deque<std::string> queue_;  // guarded by the mutex, as are the next three
  std::size_t queued_bytes_ = 0;
  std::vector<std::string> notices_;
  bool reopen_due_ = false;
  std::atomic<std::uint64_t> num_dropped_ = 0;
  std::atomic<bool> stopping_ = false;
  std::jthread thread_;
};

}  // namespace octavo::server
