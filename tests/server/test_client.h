// A server under test in a thread of its own, and a client that sends and reads raw bytes.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "api/scripted_engine.h"
#include "server/server.h"

namespace octavo::test {

using namespace std::chrono_literals;

/// Waits until `condition` holds, at most five seconds.
inline bool eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 5000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

inline std::string post(const std::string& path, const std::string& body, const std::string& headers = "") {
  return fmt::format("POST {} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{}\r\n{}",
                     path, body.size(), headers, body);
}
inline std::string completion(int max_tokens, bool stream, const std::string& more = "") {
  return post("/v1/completions",
              fmt::format(R"({{"prompt": "abc", "max_tokens": {}, "stream": {}{}}})", max_tokens, stream, more));
}
inline std::string get(const std::string& path, const std::string& headers = "", const std::string& host = "x") {
  return "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
}

class TestClient {
 public:
  explicit TestClient(unsigned short port, int receive_buffer = 0) : socket_(io_) {
    socket_.open(Tcp::v4());
    if (receive_buffer > 0) socket_.set_option(boost::asio::socket_base::receive_buffer_size(receive_buffer));
    socket_.connect({boost::asio::ip::address_v4::loopback(), port});
  }

  void send(const std::string& bytes) { boost::asio::write(socket_, boost::asio::buffer(bytes)); }

  /// Up to and with `end`, or all until the server closes; at most five seconds.
  std::string read_until(const std::string& end) {
    while (in_.find(end) == std::string::npos)
      if (!read_more()) break;
    const std::size_t place = in_.find(end);
    const std::size_t length = place == std::string::npos ? in_.size() : place + end.size();
    std::string out = in_.substr(0, length);
    in_.erase(0, length);
    return out;
  }
  /// One answer with a Content-Length; its head and body.
  std::string read_answer() {
    std::string answer = read_until("\r\n\r\n");
    const std::size_t place = answer.find("Content-Length: ");
    if (place == std::string::npos) return answer;
    const std::size_t length = std::stoul(answer.substr(place + 16));
    while (in_.size() < length)
      if (!read_more()) break;
    answer += in_.substr(0, length);
    in_.erase(0, length);
    return answer;
  }
  /// So many bytes, or all until the server closes; their number.
  std::size_t read_bytes(std::size_t count) {
    while (in_.size() < count)
      if (!read_more()) break;
    count = std::min(count, in_.size());
    in_.erase(0, count);
    return count;
  }
  std::string read_to_end() { return read_until("no server sends this"); }
  bool at_end() { return in_.empty() && !read_more(); }
  void close() { socket_.close(); }
  /// Also while another thread sends.
  void shut_down() {
    boost::system::error_code ignored;
    socket_.shutdown(Tcp::socket::shutdown_both, ignored);
  }
  void end_sending() { socket_.shutdown(Tcp::socket::shutdown_send); }
  void reset() {
    socket_.set_option(boost::asio::socket_base::linger(true, 0));
    socket_.close();
  }

 private:
  bool read_more() {
    const timeval limit{.tv_sec = 5, .tv_usec = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    char buffer[4096];
    const ssize_t count = ::recv(socket_.native_handle(), buffer, sizeof buffer, 0);
    if (count <= 0) return false;
    in_.append(buffer, static_cast<std::size_t>(count));
    return true;
  }

  boost::asio::io_context io_;
  Tcp::socket socket_;
  std::string in_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    options_.listen.port = 0;
    options_.handle_signals = false;
    options_.listen.allowed_hosts = {"x"};  // as the requests below have it
  }
  ~ServerTest() override { stop(); }

  void start(std::function<Result<std::unique_ptr<Engine>>()> load = {}) {
    if (!load) load = [this]() -> Result<std::unique_ptr<Engine>> { return std::make_unique<ScriptedEngine>(script_); };
    std::vector<server::ModelEntry> models;
    models.push_back({.names = names_,
                      .load = [load = std::move(load)](const std::stop_token&) { return load(); },
                      .is_loaded_at_start = true});
    start(std::move(models));
  }
  void start(std::vector<server::ModelEntry> models) {
    options_.on_ready = [this] { ready_ = true; };
    auto server = server::Server::create(options_, files_, std::move(models));
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    port_ = port_of(server_->url());
    result_ = std::async(std::launch::async, [this] { return server_->run(); });
  }
  static unsigned short port_of(const std::string& url) {
    return static_cast<unsigned short>(std::stoi(url.substr(url.rfind(':') + 1)));
  }
  void start_ready() {
    ready_ = false;  // a server before it may have been
    start();
    ASSERT_TRUE(eventually([this] { return ready_.load(); }));
  }
  /// Drains; gives what run() gave.
  Result<void> stop() {
    if (!server_ || !result_.valid()) return {};
    script_.held = false;
    server_->drain();
    return result_.get();
  }
  std::string ask(const std::string& request) { return ask(request, port_); }
  static std::string ask(const std::string& request, unsigned short port) {
    TestClient client(port);
    client.send(request);
    return client.read_answer();
  }

  /// A value of /metrics without labels; -1: it is not there.
  double metric(const std::string& name) {
    const std::string text = ask(get("/metrics"));
    const std::size_t place = text.find("\n" + name + " ");
    return place == std::string::npos ? -1 : std::stod(text.substr(place + name.size() + 2));
  }

  EngineScript script_;
  server::ServerOptions options_;
  server::ServerFiles files_;
  std::vector<std::string> names_ = {};  // of the one model
  std::unique_ptr<server::Server> server_;
  std::future<Result<void>> result_;
  std::atomic<bool> ready_ = false;
  unsigned short port_ = 0;
};

}  // namespace octavo::test
