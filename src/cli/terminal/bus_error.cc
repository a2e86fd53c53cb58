#include "cli/terminal/bus_error.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/displayable.h"
#include "base/to_size.h"

namespace octavo::cli {
namespace {

// All of this runs in a signal handler: no allocation, no lock, only calls that are safe in one.

/// The lines of /proc/self/maps, one at a time; each is cut to the buffer's size.
class MapLines {
 public:
  MapLines() : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~MapLines() {
    if (fd_ >= 0) ::close(fd_);
  }
  MapLines(const MapLines&) = delete;
  MapLines& operator=(const MapLines&) = delete;

  /// Reads the next line. False: there is none.
  bool next(std::string_view& line) {
    std::size_t size = 0;
    for (char c = 0; get(c);) {
      if (c == '\n') {
        line = {line_.data(), size};
        return true;
      }
      if (size < line_.size()) line_[size++] = c;
    }
    return false;
  }

 private:
  bool get(char& c) {
    if (at_ == filled_) {
      const ::ssize_t got = fd_ < 0 ? -1 : ::read(fd_, buffer_.data(), buffer_.size());
      if (got <= 0) return false;
      at_ = 0;
      filled_ = to_size(got);
    }
    c = buffer_[at_++];
    return true;
  }

  int fd_;
  std::array<char, 1024> buffer_;
  std::array<char, 1024> line_;
  std::size_t at_ = 0, filled_ = 0;
};

/// Takes hexadecimal digits from the front of a text.
std::uintptr_t take_hex(std::string_view& text) {
  std::uintptr_t value = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    const bool is_digit = c >= '0' && c <= '9';
    if (!is_digit && !(c >= 'a' && c <= 'f')) break;
    value = value * 16 + static_cast<std::uintptr_t>(is_digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

void write_error(std::string_view text) {
  while (!text.empty()) {
    const ::ssize_t wrote = ::write(STDERR_FILENO, text.data(), text.size());
    if (wrote <= 0) return;
    text.remove_prefix(to_size(wrote));
  }
}

/// Writes a file's name, with "?" for characters that control a terminal.
void write_name(std::string_view name) {
  while (!name.empty()) {
    const DisplayStep step = next_display_step(name);
    write_error(step.is_displayable ? name.substr(0, step.length) : "?");
    name.remove_prefix(step.length);
  }
}

/// Prints which file is mapped at `address`; false if none is.
bool report_file_at(std::uintptr_t address) {
  MapLines lines;
  for (std::string_view line; lines.next(line);) {  // a line has: begin-end permissions offset device inode   path
    const std::uintptr_t begin = take_hex(line);
    if (!line.starts_with('-')) continue;
    line.remove_prefix(1);
    const std::uintptr_t end = take_hex(line);
    if (address < begin || address >= end) continue;
    const std::size_t path = line.find('/');
    if (path == std::string_view::npos) return false;
    write_error("octavo: ");
    write_name(line.substr(path));
    write_error(": the file was cut short or its disk failed while it was in use\n");
    return true;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  // Codes above 0 come from the system: a page could not be read. Others were sent by a process.
  if (info->si_code > 0 && report_file_at(reinterpret_cast<std::uintptr_t>(info->si_addr))) ::_exit(1);
  errno = saved;
  ::raise(signal);  // SA_RESETHAND has restored the default action, which ends the process when this returns
}

}  // namespace

void report_lost_files() {
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace octavo::cli
