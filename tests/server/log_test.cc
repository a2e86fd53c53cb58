// The access log: what a line holds, and that lines are written whole, by nobody who serves.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/access_log.h"
#include "server/line_writer.h"
#include "server/test_client.h"
#include "support/temp_file.h"

namespace octavo::test {
namespace {

using namespace server;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

unsigned mode_of(const std::filesystem::path& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0U;
}

/// Nobody reads it unless the test does.
class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    ::fcntl(ends_[1], F_SETPIPE_SZ, 4096);
  }
  ~Pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  /// Up to `count` bytes, and at least one.
  std::string read(std::size_t count) {
    std::string text(count, '\0');
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends_[0], text.data(), count), 0)));
    return text;
  }
  std::vector<std::string> read_lines(std::size_t count) {
    while (static_cast<std::size_t>(std::ranges::count(text_, '\n')) < count) {
      const std::string more = read(65536);
      if (more.empty()) break;
      text_ += more;
    }
    std::vector<std::string> lines;
    while (lines.size() < count && text_.find('\n') != std::string::npos) {
      lines.push_back(text_.substr(0, text_.find('\n')));
      text_.erase(0, text_.find('\n') + 1);
    }
    return lines;
  }

 private:
  int ends_[2] = {-1, -1};
  std::string text_;
};

TEST(AccessLog, ALineIsOneJsonObject) {
  AccessRecord record{.id = "a\"b", .method = "POST", .path = "/v1/completions", .peer = "127.0.0.1"};
  record.status = 200;
  record.duration_s = 0.0125;
  record.prompt_tokens = 7;
  record.trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
  const auto line = boost::json::parse(to_json_line(record, std::chrono::system_clock::time_point(1500ms)));
  EXPECT_EQ(line.at("time"), "1970-01-01T00:00:01.500Z");
  EXPECT_EQ(line.at("id"), "a\"b");
  EXPECT_EQ(line.at("duration_ms"), 12.5);
  EXPECT_EQ(line.at("prompt_tokens"), 7);
  EXPECT_EQ(line.at("trace_id").as_string(), record.trace_id);
  for (const char* absent : {"generated_tokens", "prompt", "client", "parent_id"})
    EXPECT_FALSE(line.as_object().contains(absent)) << absent;
}

TEST(AccessLog, NoControlCharacterStandsInALine) {
  std::string text = "caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xE2\x80\xA7 \xC2\xA0";  // these may stand
  const std::string harmless = text;
  for (char c = 1; c < 0x20; ++c) text += c;
  text += '\x7F';
  for (int c = 0x80; c < 0xA0; ++c) text += {'\xC2', static_cast<char>(c)};
  for (int c = 0xA8; c <= 0xAE; ++c) text += {'\xE2', '\x80', static_cast<char>(c)};  // U+2028 to U+202E
  for (int c = 0xA6; c <= 0xA9; ++c) text += {'\xE2', '\x81', static_cast<char>(c)};  // U+2066 to U+2069
  text += "\u200b\u200f\ufeff\U000e0041";
  AccessRecord record{.path = text};
  const std::string line = to_json_line(record, {});
  EXPECT_EQ(boost::json::parse(line).at("path").as_string(), text);
  EXPECT_THAT(line, HasSubstr(harmless));
  for (const char* escape : {"\\u0001", "\\n", "\\u007f", "\\u0080", "\\u009b", "\\u009f", "\\u2028", "\\u2029",
                             "\\u202e", "\\u2066", "\\u2069", "\\u200b", "\\u200f", "\\ufeff", "\\udb40\\udc41"})
    EXPECT_THAT(line, HasSubstr(escape));
  for (const char* raw : {"\x7F", "\xC2\x80", "\xC2\x9F", "\xE2\x80\xA8", "\xE2\x80\xAE", "\xE2\x81\xA6"})
    EXPECT_THAT(line, Not(HasSubstr(raw)));
  EXPECT_TRUE(std::ranges::none_of(line, [](unsigned char c) { return c < 0x20; }));
}

/// A disk with room for files of so many bytes. An attempt to write behind them is counted.
class FullDisk {
 public:
  explicit FullDisk(rlim_t num_bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    num_refused_ = 0;
    handler_ = std::signal(SIGXFSZ, [](int) { ++num_refused_; });
    const rlimit limit{.rlim_cur = num_bytes, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    make_room();
    std::signal(SIGXFSZ, handler_);
  }
  void make_room() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  int num_refused() const { return num_refused_; }

 private:
  static inline std::atomic<int> num_refused_ = 0;
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

/// The first notices, once there are so many.
std::vector<std::string> notices_of(LineWriter& log, std::size_t count) {
  std::vector<std::string> notices;
  eventually([&] {
    std::ranges::move(log.take_notices(), std::back_inserter(notices));
    return notices.size() >= count;
  });
  return notices;
}

class LogFile : public ::testing::Test {
 protected:
  LogFile() { std::filesystem::create_directory(folder_); }
  ~LogFile() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / fmt::format("octavo-test-log-{}", ::getpid());
  const std::filesystem::path path_ = folder_ / "access.log";
};

TEST_F(LogFile, IsAppendedToAndWhatWaitsIsWrittenAtTheEnd) {
  for (const char* line : {"one", "two"}) LineWriter::open(path_).value()->write(line);
  EXPECT_EQ(read_file(path_), "one\ntwo\n");
}

TEST_F(LogFile, IsItsOwnersAloneWherePromptsMayBeInIt) {
  const mode_t umask = ::umask(0);
  LineWriter::open(path_).value();
  EXPECT_EQ(mode_of(path_), 0640U);
  const auto found = LineWriter::open(path_, {.is_private = true});
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error().message, AllOf(HasSubstr(path_.string()), HasSubstr("0640"), HasSubstr("expected 0600")));
  std::filesystem::remove(path_);
  EXPECT_TRUE(LineWriter::open(path_, {.is_private = true}));
  EXPECT_EQ(mode_of(path_), 0600U);
  EXPECT_TRUE(LineWriter::open(path_, {.is_private = true}));
  ::umask(umask);
}

TEST_F(LogFile, GoesOnInANewFileWhenTheOldOneWasMovedAway) {
  auto log = LineWriter::open(path_).value();
  log->write("one");
  ASSERT_TRUE(eventually([&] { return read_file(path_) == "one\n"; }));
  std::filesystem::rename(path_, folder_ / "old.log");
  log->write("two");
  ASSERT_TRUE(eventually([&] { return read_file(folder_ / "old.log") == "one\ntwo\n"; }));
  log->reopen();
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path_); }));
  log->write("three");
  EXPECT_TRUE(eventually([&] { return read_file(path_) == "three\n"; }));
  EXPECT_EQ(read_file(folder_ / "old.log"), "one\ntwo\n");
}

TEST_F(LogFile, AFileThatCannotBeOpenedAgainLeavesTheOldOneAndANotice) {
  auto log = LineWriter::open(path_).value();
  std::filesystem::rename(path_, folder_ / "old.log");
  std::filesystem::create_directory(path_);
  log->reopen();
  EXPECT_THAT(notices_of(*log, 1), ElementsAre(AllOf(HasSubstr(path_.string()), HasSubstr("the file from before"))));
  log->write("on");
  EXPECT_TRUE(eventually([&] { return read_file(folder_ / "old.log") == "on\n"; }));
}

TEST_F(LogFile, APathThatCannotBeOpenedIsAnError) {
  EXPECT_THAT(LineWriter::open(folder_ / "none" / "log").error().message, HasSubstr("cannot open the log"));
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(LineWriter::open(path_).error().message, HasSubstr("cannot open the log"));  // nobody reads the pipe
}

TEST_F(LogFile, AFullDiskIsTriedOnceInAWhileAndCostsOneLine) {
  const FullDisk disk(0);
  {
    auto log = LineWriter::open(path_, {.retry_interval = 1h}).value();
    log->write("lost");
    const auto reason = AllOf(HasSubstr(path_.string()), HasSubstr("cannot write the log: File too large"));
    EXPECT_THAT(notices_of(*log, 1), ElementsAre(reason));
    for (int i = 0; i < 60; ++i) log->write("waits");
    EXPECT_EQ(log->num_dropped(), 1U);
    EXPECT_THAT(log->take_notices(), IsEmpty());
  }  // its thread has ended
  EXPECT_EQ(disk.num_refused(), 1);
}

TEST_F(LogFile, WhatWaitsForAFullDiskFollowsTheNumberOfThoseThatWereLost) {
  FullDisk disk(10);
  auto log = LineWriter::open(path_, {.retry_interval = 1ms}).value();
  for (const char* line : {"one", "two, which has room in part", "three"}) log->write(line);
  ASSERT_TRUE(eventually([&] { return disk.num_refused() > 10; }));
  EXPECT_EQ(log->num_dropped(), 1U) << "an attempt costs no line";
  EXPECT_TRUE(eventually([&] { return read_file(path_) == "one\n"; })) << "nor leaves a piece of one";
  disk.make_room();
  ASSERT_TRUE(eventually([&] { return read_file(path_).ends_with("three\n"); }));
  EXPECT_THAT(read_file(path_), AllOf(StartsWith("one\n{\"time\":"), EndsWith("\"dropped_lines\":1}\nthree\n")));
  EXPECT_THAT(notices_of(*log, 2), ElementsAre(HasSubstr("cannot write"), HasSubstr("can be written again")));
}

TEST_F(LogFile, ALineThatAnothersFileHasInPartIsFinishedWhenThereIsRoom) {
  FullDisk disk(10);
  const int descriptor = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(descriptor, 0);
  auto log = LineWriter::on_descriptor(descriptor, {.retry_interval = 1ms}).value();
  for (const char* line : {"one", "two, which has room in part", "three"}) log->write(line);
  ASSERT_TRUE(eventually([&] { return disk.num_refused() > 10; }));
  disk.make_room();
  EXPECT_TRUE(eventually([&] { return read_file(path_) == "one\ntwo, which has room in part\nthree\n"; }));
  EXPECT_EQ(log->num_dropped(), 0U);
  log.reset();
  ::close(descriptor);
}

TEST_F(LogFile, ANewFileIsTriedAtOnce) {
  const std::filesystem::path full = folder_ / "full";
  std::filesystem::create_symlink("/dev/full", full);
  auto log = LineWriter::open(full, {.retry_interval = 1h}).value();
  log->write("lost");
  EXPECT_THAT(notices_of(*log, 1), ElementsAre(HasSubstr("No space left on device")));
  log->write("waits");
  std::filesystem::remove(full);
  log->reopen();
  EXPECT_TRUE(eventually([&] { return read_file(full).ends_with("\"dropped_lines\":1}\nwaits\n"); }));
}

TEST(LogPipe, ALineThatWasTakenInPartIsFinishedBeforeTheNextBegins) {
  Pipe pipe;
  auto log = LineWriter::on_descriptor(pipe.writer()).value();
  const std::string long_line(3 * PIPE_BUF + 100, 'x');
  log->write(long_line);
  EXPECT_EQ(pipe.read(100), long_line.substr(0, 100));  // the rest waits for a reader
  log->write("short");
  const auto lines = pipe.read_lines(2);
  EXPECT_THAT(lines, ElementsAre(long_line.substr(100), "short"));
  EXPECT_EQ(log->num_dropped(), 0U);
}

TEST(LogPipe, LinesThatNobodyTakesAreDroppedWholeAndCounted) {
  Pipe pipe;
  auto log = LineWriter::on_descriptor(pipe.writer(), {.max_queued_bytes = 20'000}).value();
  const auto line = [](int i) { return fmt::format("{:05}{}", i, std::string(994, 'x')); };  // 1000 with its break
  constexpr int kCount = 200;
  for (int i = 0; i < kCount; ++i) log->write(line(i));
  const std::uint64_t dropped = log->num_dropped();
  EXPECT_GE(dropped, 150U);  // a pipe of 4 KiB, a line under way, 20 that wait
  EXPECT_LT(dropped, 200U);
  const std::size_t num_written = kCount - dropped;
  std::size_t num_seen = 0;
  std::uint64_t num_told = 0;  // by one line or several: the thread may write before all is dropped
  while (num_seen < num_written) {
    const std::vector<std::string> next = pipe.read_lines(1);
    ASSERT_EQ(next.size(), 1U);
    const std::string& text = next.front();
    if (text.starts_with("{\"time\":")) {
      num_told += boost::json::parse(text).at("dropped_lines").to_number<std::uint64_t>();
    } else {
      EXPECT_EQ(text, line(std::stoi(text.substr(0, 5))));
      ++num_seen;
    }
  }
  EXPECT_EQ(num_told, dropped);  // all of them before the last line that waited
}

TEST(LogPipe, AnEndThatNobodyReadsIsNotWaitedFor) {
  Pipe pipe;
  {
    auto log = LineWriter::on_descriptor(pipe.writer()).value();
    for (int i = 0; i < 100; ++i) log->write(std::string(1000, 'x'));
  }  // comes to an end
  pipe.close_reader();
  auto log = LineWriter::on_descriptor(pipe.writer()).value();
  std::signal(SIGPIPE, SIG_IGN);
  log->write("for nobody");
  EXPECT_TRUE(eventually([&] { return log->num_dropped() == 1; }));
}

class Logging : public ServerTest {
 protected:
  ~Logging() override {
    stop();  // before the pipe is gone
    server_.reset();
    files_.access_log.reset();
  }

  Pipe pipe_;
};

TEST_F(Logging, APipeThatNobodyReadsHoldsUpNoRequestAndItsDroppedLinesAreAMetric) {
  files_.access_log = LineWriter::on_descriptor(pipe_.writer(), {.max_queued_bytes = 2000}).value();
  start_ready();
  TestClient client(port_);
  for (int i = 0; i < 100; ++i) {
    client.send(get("/health"));
    ASSERT_THAT(client.read_answer(), HasSubstr("200 OK"));
  }
  EXPECT_GT(files_.access_log->num_dropped(), 0U);
  const std::string metrics = ask(get("/metrics"));
  EXPECT_THAT(metrics, HasSubstr("\noctavo:access_log_dropped_lines_total "));
  EXPECT_THAT(metrics, Not(HasSubstr("\noctavo:access_log_dropped_lines_total 0\n")));
}

TEST_F(Logging, AFullDiskCostsOneLineHoweverManyRequestsThereAreAndTheOperatorIsToldOnce) {
  files_.access_log = LineWriter::open("/dev/full").value();
  std::atomic<int> num_notices = 0;
  options_.on_notice = [&](const std::string& notice) {
    EXPECT_THAT(notice, HasSubstr("/dev/full: cannot write the log: No space left on device"));
    ++num_notices;
  };
  start_ready();
  for (int i = 0; i < 60; ++i) ask(get("/health"));
  EXPECT_TRUE(eventually([&] { return num_notices == 1; }));
  EXPECT_EQ(metric("octavo:access_log_dropped_lines_total"), 1);
  stop();
  EXPECT_EQ(num_notices, 1);
}

TEST_F(Logging, ALineHasTheClientBehindATrustedProxyAndItsTrace) {
  files_.access_log = LineWriter::on_descriptor(pipe_.writer()).value();
  options_.listen.proxies.add(*Network::parse("127.0.0.0/8"));
  start_ready();
  const std::string trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const std::string headers = "X-Forwarded-For: 198.51.100.9, 203.0.113.7\r\nTraceparent: " + trace + "\r\n";
  ask(get("/health", headers));
  ask(get("/health", "X-Forwarded-For: garbage\r\nTraceparent: " + trace + "\r\nTraceparent: " + trace + "\r\n"));
  const auto lines = pipe_.read_lines(2);
  ASSERT_EQ(lines.size(), 2U);
  const auto one = boost::json::parse(lines[0]).as_object(), two = boost::json::parse(lines[1]).as_object();
  EXPECT_EQ(one.at("peer"), "127.0.0.1");
  EXPECT_EQ(one.at("client"), "203.0.113.7");
  EXPECT_EQ(one.at("trace_id"), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(one.at("parent_id"), "00f067aa0ba902b7");
  EXPECT_FALSE(two.contains("client"));
  EXPECT_FALSE(two.contains("trace_id"));
}

TEST_F(Logging, NobodyElseSaysWhereARequestCameFrom) {
  files_.access_log = LineWriter::on_descriptor(pipe_.writer()).value();
  start_ready();
  ask(get("/health", "X-Forwarded-For: 203.0.113.7\r\nForwarded: for=203.0.113.7\r\n"));
  const auto line = boost::json::parse(pipe_.read_lines(1).at(0)).as_object();
  EXPECT_EQ(line.at("peer"), "127.0.0.1");
  EXPECT_FALSE(line.contains("client"));
}

}  // namespace
}  // namespace octavo::test
