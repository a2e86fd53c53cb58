// A queue of work that waits for one of a few threads. One queue has bodies, whose JSON is read, to which templates are
// applied and which are tokenized; another one has constraints to compile.
//
// A large body takes a thread for up to a second, so where there are several threads, one of them never takes a large
// one. The client that has the fewest threads, and has waited longest for one, goes first. A client's small bodies pass
// large ones that came a little earlier. Owned by the Service; the I/O thread.
#pragma once

#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <unordered_map>

namespace octavo::server {

class WorkQueue {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kSmallBytes = 64U << 10;  // 5 to 20 ms of work

  explicit WorkQueue(int num_threads);

 private:
  struct Client {
    int num_turns = 0;             // turns that wait or have begun
    int num_running = 0;           // turns that have a thread
    std::uint64_t last_begin = 0;  // the number of the client's last turn
  };

 public:
  /// A place in the queue: it waits, then has a thread of threads() until this is destroyed.
  class Turn {
   public:
    /// `client`: a key's name or an address. `on_begin` is called when the turn has come, but not from the constructor.
    Turn(WorkQueue& queue, std::string client, std::size_t num_bytes, std::function<void()> on_begin,
         Clock::time_point now);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool has_begun() const { return has_begun_; }

   private:
    friend class WorkQueue;

    WorkQueue& queue_;
    std::string name_;  // the client's
    Client& client_;
    std::size_t num_bytes_;
    bool is_large_;
    Clock::time_point due_;  // the order among a client's own turns
    std::function<void()> on_begin_;
    bool has_begun_ = false;
    std::list<Turn*>::iterator place_;  // valid while it waits
  };

  /// Lets no turn begin any more. The owners of those that wait are called as if their turn had come.
  void close();
  bool is_closed() const { return is_closed_; }

  boost::asio::thread_pool& threads() { return threads_; }
  std::size_t num_waiting() const { return waiting_.size(); }
  std::size_t num_waiting(const std::string& client) const;
  /// The bytes of large work that had a thread and has ended.
  std::uint64_t num_large_bytes() const { return num_large_bytes_; }

 private:
  bool may_begin(const Turn& turn) const;
  static bool goes_before(const Turn& a, const Turn& b);
  /// Lets turns begin as far as they may.
  void advance();

  int num_threads_;
  int num_running_ = 0;
  int num_running_large_ = 0;
  std::uint64_t num_begun_ = 0;
  std::uint64_t num_large_bytes_ = 0;
  bool is_closed_ = false;
  std::list<Turn*> waiting_;
  std::unordered_map<std::string, Client> clients_;  // clients with a turn
  boost::asio::thread_pool threads_;                 // destroyed first: joined
};

}  // namespace octavo::server
