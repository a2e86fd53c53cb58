#include "server/access_log.h"

#include <limits.h>
#include <poll.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cmath>
#include <ctime>

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

double rounded_ms(double seconds) { return std::round(seconds * 1e6) / 1e3; }

}  // namespace

std::string to_json_line(const AccessRecord& record, std::chrono::system_clock::time_point time) {
  boost::json::object line = {{"time", iso_time(time)},
                              {"id", record.id},
                              {"peer", record.peer},
                              {"method", record.method},
                              {"path", record.path},
                              {"status", record.status},
                              {"bytes", record.response_bytes},
                              {"duration_ms", rounded_ms(record.duration_s)}};
  if (!record.key.empty()) line["key"] = record.key;
  if (record.streamed) line["streamed"] = true;
  if (record.prompt_tokens >= 0) line["prompt_tokens"] = record.prompt_tokens;
  if (record.cached_tokens >= 0) line["cached_tokens"] = record.cached_tokens;
  if (record.generated_tokens >= 0) line["generated_tokens"] = record.generated_tokens;
  if (record.time_to_first_token_s >= 0) line["time_to_first_token_ms"] = rounded_ms(record.time_to_first_token_s);
  if (!record.finish_reason.empty()) line["finish_reason"] = record.finish_reason;
  if (!record.prompt.empty()) line["prompt"] = record.prompt;
  return boost::json::serialize(line);
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
