#include "server/line_writer.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/to_size.h"
#include "server/iso_time.h"

namespace octavo::server {
namespace {

constexpr mode_t kPrivateMode = 0600, kSharedMode = 0640;
constexpr std::chrono::seconds kFarewell{1};  // for a reader to take what waits at the end

Result<int> open_file(const std::string& path, bool is_private) {
  // A pipe without a reader would be waited for.
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
  if (path == "-") return on_descriptor(STDOUT_FILENO, options);
  OCTAVO_TRY(const int descriptor, open_file(path, options.is_private));
  return make(path, descriptor, options);
}

Result<std::unique_ptr<LineWriter>> LineWriter::on_descriptor(int descriptor, const LineWriterOptions& options) {
  return make("", descriptor, options);
}

Result<std::unique_ptr<LineWriter>> LineWriter::make(std::string path, int descriptor,
                                                     const LineWriterOptions& options) {
  const int waker = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (waker < 0) return fail("cannot wake the thread that writes the log: {}", std::strerror(errno));
  return std::unique_ptr<LineWriter>(new LineWriter(std::move(path), descriptor, waker, options));
}

LineWriter::LineWriter(std::string path, int descriptor, int waker, const LineWriterOptions& options)
    : options_(options),
      path_(std::move(path)),
      waker_(waker),
      descriptor_(descriptor),
      is_file_(is_regular_file(descriptor)),
      thread_([this] { run(); }) {}

LineWriter::~LineWriter() {
  stopping_ = true;
  wake();
  thread_.join();
  ::close(waker_);
  if (!path_.empty()) ::close(descriptor_);
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
  } catch (const std::exception&) {  // no memory
    ++num_dropped_;
  }
  if (was_empty) wake();
}

void LineWriter::reopen() {
  if (path_.empty()) return;
  {
    const std::lock_guard lock(mutex_);
    reopen_due_ = true;
  }
  wake();
}

std::string LineWriter::take_notice() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notice_, {});
}

void LineWriter::say(std::string notice) {
  const std::lock_guard lock(mutex_);
  notice_ = std::move(notice);
}

void LineWriter::wake() noexcept { ::eventfd_write(waker_, 1); }

bool LineWriter::wait(bool for_room, int timeout_ms) {
  pollfd states[2] = {{.fd = waker_, .events = POLLIN, .revents = 0},
                      {.fd = descriptor_, .events = POLLOUT, .revents = 0}};
  ::poll(states, for_room ? 2 : 1, timeout_ms);
  if ((states[0].revents & POLLIN) != 0) {
    eventfd_t ignored = 0;
    ::eventfd_read(waker_, &ignored);
  }
  return states[1].revents != 0;  // an error as well: the attempt to write says which
}

/// A memory that is short drops lines, and ends nothing.
void LineWriter::run() {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end = Clock::time_point::max();
  bool failed = false;
  for (;;) {
    if (stopping_ && end == Clock::time_point::max()) end = Clock::now() + kFarewell;
    const bool late = Clock::now() >= end;
    try {
      reopen_file();
      if (line_begin_ == line_.size() && !take_line()) {
        if (stopping_) return;
        wait(false, -1);
        continue;
      }
    } catch (const std::exception&) {
      ++num_dropped_;
      continue;
    }
    if (late || (stopping_ && failed)) return;
    if (failed) wait(false, static_cast<int>(options_.retry_interval.count()));
    failed = wait(true, stopping_ ? 10 : -1) && !write_piece();
  }
}

bool LineWriter::take_line() {
  line_.clear();
  line_begin_ = 0;
  const std::lock_guard lock(mutex_);
  if (queue_.empty()) return false;
  // Under the mutex: a line that was dropped because of those that wait is told of before the last of them.
  const std::uint64_t num_dropped = num_dropped_;
  if (num_dropped > num_reported_) {
    line_ = fmt::format("{{\"time\":\"{}\",\"dropped_lines\":{}}}\n", iso_time(std::chrono::system_clock::now()),
                        num_dropped - num_reported_);
    num_reported_ = num_dropped;
    return true;
  }
  line_ = std::move(queue_.front());
  queue_.pop_front();
  queued_bytes_ -= line_.size();
  return true;
}

bool LineWriter::write_piece() {
  // A pipe that polls as writable takes PIPE_BUF bytes without waiting.
  const std::size_t left = line_.size() - line_begin_;
  const std::size_t size = is_file_ ? left : std::min<std::size_t>(left, PIPE_BUF);
  const ssize_t count = ::write(descriptor_, line_.data() + line_begin_, size);
  if (count >= 0) {
    line_begin_ += to_size(count);
    return true;
  }
  if (errno == EINTR || errno == EAGAIN) return true;
  if (line_begin_ > 0) return false;
  drop_line();
  return true;
}

void LineWriter::drop_line() {
  line_begin_ = line_.size();
  ++num_dropped_;
}

void LineWriter::reopen_file() {
  {
    const std::lock_guard lock(mutex_);
    if (!reopen_due_) return;
  }
  // A line that was begun belongs into the old file, as long as that takes it.
  const bool is_begun = line_begin_ > 0 && line_begin_ < line_.size();
  if (is_begun && write_piece()) return;
  if (is_begun) drop_line();
  {
    const std::lock_guard lock(mutex_);
    reopen_due_ = false;
  }
  const Result<int> fresh = open_file(path_, options_.is_private);
  if (!fresh) return say(fresh.error().message + "; the log goes on in the file from before");
  ::close(descriptor_);
  descriptor_ = *fresh;
  is_file_ = is_regular_file(descriptor_);
}

}  // namespace octavo::server
