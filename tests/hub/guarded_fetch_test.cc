// Gets of addresses that others have named, from a host on this machine: what is asked of the rules, and when.
#include "hub/guarded_fetch.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

namespace octavo::hub {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Answers every request alike, one connection after another.
class Host {
 public:
  explicit Host(std::string answer) : answer_(std::move(answer)), listening_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(at);
    EXPECT_EQ(::bind(listening_, reinterpret_cast<const sockaddr*>(&at), size), 0);
    EXPECT_EQ(::listen(listening_, 16), 0);
    ::getsockname(listening_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Host() {
    is_over_ = true;
    ::shutdown(listening_, SHUT_RDWR);
    thread_.join();
    ::close(listening_);
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url(const std::string& host = "127.0.0.1") const {
    return "http://" + host + ":" + std::to_string(port_) + "/a";
  }
  int num_connections() const { return num_connections_; }

 private:
  void serve() {
    while (!is_over_) {
      const int connection = ::accept(listening_, nullptr, nullptr);
      if (connection < 0) continue;
      ++num_connections_;
      std::string head(4096, '\0');
      std::size_t size = 0;
      while (head.find("\r\n\r\n") == std::string::npos && size < head.size()) {
        const ssize_t count = ::recv(connection, head.data() + size, head.size() - size, 0);
        if (count <= 0) break;
        size += static_cast<std::size_t>(count);
      }
      ::send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      ::close(connection);
    }
  }

  const std::string answer_;
  const int listening_;
  std::uint16_t port_ = 0;
  std::atomic<bool> is_over_ = false;
  std::atomic<int> num_connections_ = 0;
  std::thread thread_;
};

const std::string kPicture = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

FetchRules rules() {
  return {.allows_host = [](const std::string&, std::uint16_t) { return true; },
          .allows_address = [](std::span<const unsigned char>, std::uint16_t) { return true; },
          .option = "--hosts",
          .bytes = 100,
          .all_bytes = 1000};
}

std::string message(const Result<std::string>& got) { return got ? "" : got.error().message; }

Result<std::string> fetch(const FetchRules& rules, const std::string& url) {
  const FetchAsk ask{.url = url};
  return fetch_guarded(rules, std::span(&ask, 1), {}).front();
}

TEST(GuardedFetch, GivesBodiesInTheOrderOfTheirAddresses) {
  const Host host(kPicture), other("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx");
  std::vector<FetchAsk> asks;
  for (int i = 0; i < 20; ++i) asks.push_back({.url = i % 2 == 0 ? host.url() : other.url()});
  const auto got = fetch_guarded(rules(), asks, {});
  ASSERT_EQ(got.size(), asks.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i].value(), i % 2 == 0 ? "abc" : "x");
}

TEST(GuardedFetch, TheAddressOfEachConnectionIsAskedForAndNoOtherIsConnectedTo) {
  const Host host(kPicture);
  FetchRules strict = rules();
  std::vector<std::string> asked;
  bool is_allowed = true;  // the second time the name leads elsewhere
  strict.allows_address = [&](std::span<const unsigned char> address, std::uint16_t port) {
    EXPECT_EQ(port, host.port());
    std::array<char, INET6_ADDRSTRLEN> text;
    asked.emplace_back(::inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text.data(), text.size()));
    return std::exchange(is_allowed, false);
  };
  EXPECT_EQ(fetch(strict, host.url()).value(), "abc");
  EXPECT_THAT(asked, ElementsAre("127.0.0.1"));
  EXPECT_THAT(message(fetch(strict, host.url())), AllOf(HasSubstr("leads inward"), HasSubstr("--hosts")));
  EXPECT_THAT(message(fetch(strict, host.url("[::ffff:127.0.0.1]"))), HasSubstr("leads inward"));
  EXPECT_THAT(asked, ElementsAre("127.0.0.1", "127.0.0.1", "::ffff:127.0.0.1"));
  EXPECT_EQ(host.num_connections(), 1);
}

TEST(GuardedFetch, TheHostOfEachRedirectIsAskedFor) {
  const Host inside(kPicture);
  const Host outside("HTTP/1.1 302 Found\r\nLOCATION:  " + inside.url("localhost") +
                     " \r\nContent-Length: 5\r\n\r\nmoved");
  FetchRules strict = rules();
  std::vector<std::string> asked;
  strict.allows_host = [&](const std::string& name, std::uint16_t) {
    asked.push_back(name);
    return name == "127.0.0.1";
  };
  EXPECT_THAT(message(fetch(strict, outside.url())),
              HasSubstr("at the host 'localhost', port " + std::to_string(inside.port()) +
                        ", expected one that --hosts names"));
  EXPECT_THAT(asked, ElementsAre("127.0.0.1", "localhost"));
  EXPECT_EQ(inside.num_connections(), 0);
  EXPECT_EQ(fetch(rules(), outside.url()).value(), "abc");
}

TEST(GuardedFetch, RedirectsAreBoundedAndStayOnTheWeb) {
  const Host secure("HTTP/1.1 301 Moved\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(message(fetch(rules(), secure.url())), HasSubstr("expected an address of http or https"));
  const Host nowhere("HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(message(fetch(rules(), nowhere.url())), HasSubstr("found the status 302"));
  const Host loop("HTTP/1.1 307 Again\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n");
  EXPECT_THAT(message(fetch(rules(), loop.url())), HasSubstr("found more than 3 redirects"));
  EXPECT_EQ(loop.num_connections(), 4);
}

TEST(GuardedFetch, BodiesAreBoundedByThemselvesAndTogether) {
  const std::string body(60, 'a');
  const Host host("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n" + body);
  FetchRules strict = rules();
  strict.bytes = 59;
  const auto large = fetch(strict, host.url());
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kPictureTooLarge);
  strict.bytes = 60;
  EXPECT_EQ(fetch(strict, host.url()).value(), body);
  strict.all_bytes = 150;
  const auto count_fitting = [&](const std::vector<FetchAsk>& asks) {
    const auto got = fetch_guarded(strict, asks, {});
    return std::ranges::count_if(got, [](const auto& one) { return one.has_value(); });
  };
  EXPECT_EQ(count_fitting({{.url = host.url(), .count = 2}}), 1);
  EXPECT_EQ(count_fitting({{.url = host.url(), .count = 3}}), 0);
}

TEST(GuardedFetch, WhatTakesTooLongOrIsStoppedEnds) {
  const Host silent("");  // a connection that is closed
  EXPECT_THAT(message(fetch(rules(), silent.url())), HasSubstr("found nothing at"));
  const int listening = ::socket(AF_INET, SOCK_STREAM, 0);  // nobody accepts
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(at);
  ASSERT_EQ(::bind(listening, reinterpret_cast<const sockaddr*>(&at), size), 0);
  ASSERT_EQ(::listen(listening, 4), 0);
  ::getsockname(listening, reinterpret_cast<sockaddr*>(&at), &size);
  const std::string url = "http://127.0.0.1:" + std::to_string(ntohs(at.sin_port)) + "/";
  FetchRules strict = rules();
  strict.time = std::chrono::milliseconds(100);
  EXPECT_THAT(message(fetch(strict, url)), HasSubstr("found no end of '" + url + "' within 0.1 s"));
  std::stop_source stop;
  stop.request_stop();
  const FetchAsk ask{.url = url};
  const auto got = fetch_guarded(rules(), std::span(&ask, 1), stop.get_token());
  EXPECT_EQ(got.front().error().kind, ErrorKind::kStopped);
  ::close(listening);
}

TEST(GuardedFetch, WhatIsNoAddressOfTheWebIsRefused) {
  for (const char* wrong : {"", "ftp://a/b", "file:///etc/passwd", "http://", "http://a b/", "http://[::1/", "//a/b"})
    EXPECT_THAT(message(fetch(rules(), wrong)), HasSubstr("expected an address of http or https")) << wrong;
  EXPECT_THAT(message(fetch(rules(), "http://user:key@example.com/")), HasSubstr("without a user's name"));
  EXPECT_THAT(message(fetch(rules(), "http://a/" + std::string(9000, 'b'))), HasSubstr("expected at most 8192"));
  EXPECT_THAT(message(fetch(rules(), "https://127.0.0.1:1/")), HasSubstr("certificate"));
}

}  // namespace
}  // namespace octavo::hub
