#include "server/access_log.h"

#include <limits.h>
#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "server/json_writer.h"

namespace octavo::server {
namespace {

class PipeSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit PipeSink(int descriptor) : descriptor_(descriptor) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const char* data = line.data();
    std::size_t left = line.size();
    // A pipe that polls as writable takes PIPE_BUF bytes; a longer line goes in several pieces.
    while (left > 0 && writable()) {
      const ssize_t count = ::write(descriptor_, data, std::min<std::size_t>(left, PIPE_BUF));
      if (count <= 0) return;
      data += count;
      left -= static_cast<std::size_t>(count);
    }
  }
  void flush_() override {}

 private:
  bool writable() const {
    pollfd state{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    return ::poll(&state, 1, 0) == 1 && (state.revents & POLLOUT) != 0;
  }

  int descriptor_;
};

std::string iso_time(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::time_t seconds = static_cast<std::time_t>(ms / 1000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &utc);
  return fmt::format("{}.{:03}Z", text, ms % 1000);
}

}  // namespace

std::string to_json_line(const AccessRecord& record, std::chrono::system_clock::time_point time) {
  std::string line = fmt::format("{{\"time\":\"{}\",", iso_time(time));
  const auto text = [&line](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    append_json_field(line, name, value);
    line += ',';
  };
  const auto count = [&line](std::string_view name, std::int64_t value) {
    if (value >= 0) fmt::format_to(std::back_inserter(line), "\"{}\":{},", name, value);
  };
  const auto milliseconds = [&line](std::string_view name, double seconds) {
    if (seconds >= 0) fmt::format_to(std::back_inserter(line), "\"{}\":{:.3f},", name, seconds * 1000);
  };
  text("id", record.id);
  text("peer", record.peer);
  text("key", record.key);
  text("method", record.method);
  text("path", record.path);
  count("status", record.status);
  count("bytes", static_cast<std::int64_t>(record.response_bytes));
  milliseconds("duration_ms", record.duration_s);
  if (record.streamed) line += "\"streamed\":true,";
  count("prompt_tokens", record.prompt_tokens);
  count("cached_tokens", record.cached_tokens);
  count("generated_tokens", record.generated_tokens);
  milliseconds("time_to_first_token_ms", record.time_to_first_token_s);
  text("finish_reason", record.finish_reason);
  text("prompt", record.prompt);
  line.back() = '}';
  return line;
}

Result<std::shared_ptr<spdlog::logger>> make_access_logger(const std::string& path) {
  spdlog::sink_ptr sink;
  if (path == "-") {
    sink = std::make_shared<PipeSink>(STDOUT_FILENO);
  } else {
    try {
      sink = std::make_shared<spdlog::sinks::basic_file_sink_st>(path);
    } catch (const spdlog::spdlog_ex& error) {
      return fail("{}: cannot open the access log: {}", path, error.what());
    }
  }
  auto logger = std::make_shared<spdlog::logger>("access", std::move(sink));
  logger->set_pattern("%v");
  logger->flush_on(spdlog::level::info);
  return logger;
}

}  // namespace octavo::server
