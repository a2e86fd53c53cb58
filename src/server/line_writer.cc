#include "server/line_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "api/answers/iso_time.h"
#include "base/started_thread.h"
#include "base/to_size.h"

namespace octavo::server {
namespace {

constexpr mode_t kPrivateMode = 0600, kSharedMode = 0640;
constexpr std::chrono::seconds kFarewell{1};         // for a reader to take what is left at the end
constexpr std::chrono::milliseconds kRoomPause{10};  // after a write failed although there seemed to be room

Result<int> open_file(const std::string& path, bool is_private) {
  // O_NONBLOCK, as a pipe without a reader would be waited for.
  const int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const int descriptor = ::open(path.c_str(), flags, is_private ? kPrivateMode : kSharedMode);
  if (descriptor < 0) return fail("{}: cannot open the log: {}", path, std::strerror(errno));
  struct stat status{};
  if (is_private && ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077U) != 0) {
    ::close(descriptor);
    return fail("{}: found a log with the rights {:04o}, expected 0600: prompts are to be written to it", path,
                status.st_mode & 07777U);
  }
  return descriptor;
}

bool is_regular_file(int descriptor) {
  struct stat status{};
  return ::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path, const LineWriterOptions& options) {
  if (path == "-") return make("standard output", STDOUT_FILENO, false, options);
  OCTAVO_TRY(const int descriptor, open_file(path, options.is_private));
  return make(path, descriptor, true, options);
}

Result<std::unique_ptr<LineWriter>> LineWriter::on_descriptor(int descriptor, const LineWriterOptions& options) {
  return make(fmt::format("descriptor {}", descriptor), descriptor, false, options);
}

Result<std::unique_ptr<LineWriter>> LineWriter::make(std::string path, int descriptor, bool is_own,
                                                     const LineWriterOptions& options) {
  const int waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (waker < 0) return fail("cannot wake the thread that writes the log: {}", std::strerror(errno));
  return std::unique_ptr<LineWriter>(new LineWriter(std::move(path), descriptor, is_own, waker, options));
}

LineWriter::LineWriter(std::string path, int descriptor, bool is_own, int waker, const LineWriterOptions& options)
    : options_(options),
      path_(std::move(path)),
      is_own_(is_own),
      waker_(waker),
      descriptor_(descriptor),
      is_file_(is_regular_file(descriptor)),
      thread_(start_thread([this](const std::stop_token&) { run(); }, [](const Error&) {})) {
}  // an exception loses this line alone

LineWriter::~LineWriter() {
  stopping_ = true;
  wake();
  thread_.join();
  ::close(waker_);
  if (is_own_) ::close(descriptor_);
}

void LineWriter::write(std::string line) noexcept {
  bool was_empty = false;
  try {
    line += '\n';
    const std::lock_guard lock(mutex_);
    was_empty = queue_.empty();
    if (was_empty || queued_bytes_ + line.size() <= options_.max_queued_bytes) {
      const std::size_t size = line.size();
      queue_.push_back(std::move(line));
      queued_bytes_ += size;
    } else {
      ++num_dropped_;
    }
  } catch (const std::exception&) {  // there is no memory
    ++num_dropped_;
  }
  if (was_empty) wake();
}

void LineWriter::reopen() {
  if (!is_own_) return;
  {
    const std::lock_guard lock(mutex_);
    reopen_due_ = true;
  }
  wake();
}

std::vector<std::string> LineWriter::take_notices() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notices_, {});
}

void LineWriter::say(std::string notice) {
  const std::lock_guard lock(mutex_);
  notices_.push_back(std::move(notice));
}

void LineWriter::wake() noexcept { ::eventfd_write(waker_, 1); }

bool LineWriter::wait(bool for_room, int timeout_ms) {
  pollfd states[2] = {{.fd = waker_, .events = POLLIN, .revents = 0},
                      {.fd = descriptor_, .events = POLLOUT, .revents = 0}};
  if (::poll(states, for_room ? 2 : 1, timeout_ms) < 0) {
    if (errno != EINTR) std::this_thread::sleep_for(kRoomPause);  // the system has no memory for poll()
    return false;
  }
  if ((states[0].revents & POLLIN) != 0) {
    eventfd_t ignored = 0;
    ::eventfd_read(waker_, &ignored);
  }
  return states[1].revents != 0;  // also for an error: writing will say which
}

void LineWriter::run() {
  Clock::time_point end = Clock::time_point::max();
  for (;;) {
    const bool is_last = stopping_;
    if (is_last && end == Clock::time_point::max()) end = Clock::now() + kFarewell;
    try {
      reopen_file();
      if (const auto left = std::chrono::ceil<std::chrono::milliseconds>(retry_at_ - Clock::now()); left.count() > 0) {
        if (is_last && is_failing_) return;
        wait(false, static_cast<int>(left.count()));
      } else if (line_.empty() && !take_line()) {
        if (is_last) return;
        wait(false, -1);
      } else if (Clock::now() >= end) {
        return;
      } else if (wait(true, is_last ? 10 : -1)) {
        write_piece();
      }
    } catch (...) {  // there is no memory; the lines stay in the queue
      retry_at_ = Clock::now() + options_.retry_interval;
    }
  }
}

bool LineWriter::take_line() {
  const std::lock_guard lock(mutex_);
  if (queue_.empty() && !is_failing_) return false;
  // The mutex is held: dropped lines are reported before the last of the lines for which they had no room.
  const std::uint64_t num_dropped = num_dropped_;
  if (num_dropped > num_reported_) {
    line_ = fmt::format("{{\"time\":\"{}\",\"dropped_lines\":{}}}\n", iso_time(std::chrono::system_clock::now()),
                        num_dropped - num_reported_);
    num_told_ = num_dropped;
    return true;
  }
  if (queue_.empty()) return false;
  line_ = std::move(queue_.front());
  num_told_ = 0;
  queue_.pop_front();
  queued_bytes_ -= line_.size();
  return true;
}

void LineWriter::write_piece() {
  // A pipe that polls as writable takes PIPE_BUF bytes without waiting.
  const std::size_t left = line_.size() - line_begin_;
  const std::size_t size = is_file_ ? left : std::min<std::size_t>(left, PIPE_BUF);
  const ssize_t count = ::write(descriptor_, line_.data() + line_begin_, size);
  if (count > 0) {
    line_begin_ += to_size(count);
    if (line_begin_ == line_.size()) end_line();
  } else if (count == 0 || errno == EAGAIN) {
    retry_at_ = Clock::now() + kRoomPause;
  } else if (errno != EINTR) {
    fail_line(errno);
  }
}

void LineWriter::end_line() {
  if (num_told_ > 0) num_reported_ = num_told_;
  clear_line();
  if (std::exchange(is_failing_, false)) say(fmt::format("{}: the log can be written again", path_));
}

void LineWriter::fail_line(int error) {
  retry_at_ = Clock::now() + options_.retry_interval;
  if (line_begin_ == 0 || take_back()) drop_line();
  if (!is_failing_)
    say(fmt::format("{}: cannot write the log: {}; lines wait, and are dropped if they become too many", path_,
                    std::strerror(error)));
  is_failing_ = true;
}

bool LineWriter::take_back() {
  if (!is_own_ || !is_file_) return false;
  const off_t end = ::lseek(descriptor_, 0, SEEK_CUR);  // the end of what this descriptor wrote
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || status.st_size != end) return false;  // others have appended to it
  return ::ftruncate(descriptor_, end - static_cast<off_t>(line_begin_)) == 0;
}

/// Drops the current line. A line that reports dropped ones does not count as one, and is made anew.
void LineWriter::drop_line() {
  if (num_told_ == 0) ++num_dropped_;
  clear_line();
}

void LineWriter::clear_line() {
  line_.clear();
  line_begin_ = 0;
}

void LineWriter::reopen_file() {
  {
    const std::lock_guard lock(mutex_);
    if (!reopen_due_) return;
  }
  // A line that was begun is finished in the old file, if that still takes it.
  if (line_begin_ > 0 && !is_failing_) return;
  if (line_begin_ > 0) drop_line();
  {
    const std::lock_guard lock(mutex_);
    reopen_due_ = false;
  }
  const Result<int> fresh = open_file(path_, options_.is_private);
  if (!fresh) return say(fresh.error().message + "; the log goes on in the file from before");
  ::close(descriptor_);
  descriptor_ = *fresh;
  is_file_ = is_regular_file(descriptor_);
  retry_at_ = {};
}

}  // namespace octavo::server
