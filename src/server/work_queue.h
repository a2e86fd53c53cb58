// A queue of work that waits for one of a few threads. One queue is of bodies, whose JSON is read, to which templates
// are applied and which are tokenized; another is of constraints to be compiled.
//
// A large body takes a thread for as long as a second, so one of several threads never takes one. The client goes
// first that has the fewest threads and has waited longest for one. A client's small bodies pass large ones that came a
// little earlier. Owned by the Service; the I/O thread.
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
    int num_turns = 0;             // that wait or have begun
    int num_running = 0;           // of these, with a thread
    std::uint64_t last_begin = 0;  // the number of its last turn
  };

 public:
  /// A place in the queue: it waits, then has a thread of threads() until this is destroyed.
  class Turn {
   public:
    /// `client`: a key's name or an address. `on_begin` is called when the turn has come, but not in here.
    Turn(WorkQueue& queue, std::string client, std::size_t num_bytes, std::function<void()> on_begin,
         Clock::time_point now);
    ~Turn();
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

    bool has_begun() const { return has_begun_; }

   private:
    friend class WorkQueue;

    WorkQueue& queue_;
    std::string name_;  // of the client
    Client& client_;
    std::size_t num_bytes_;
    bool is_large_;
    Clock::time_point due_;  // the order among a client's own
    std::function<void()> on_begin_;
    bool has_begun_ = false;
    std::list<Turn*>::iterator place_;  // while it waits
  };

  /// No turn begins any more. The owners of those that wait are called as if theirs had come.
  void close();
  bool is_closed() const { return is_closed_; }

  boost::asio::thread_pool& threads() { return threads_; }
  std::size_t num_waiting() const { return waiting_.size(); }
  std::size_t num_waiting(const std::string& client) const;
  /// Bytes of the large work that had a thread and has ended.
  std::uint64_t num_large_bytes() const { return num_large_bytes_; }

 private:
  bool may_begin(const Turn& turn) const;
  static bool goes_before(const Turn& a, const Turn& b);
  /// Lets begin whoever may.
  void advance();

  int num_threads_;
  int num_running_ = 0;
  int num_running_large_ = 0;
  std::uint64_t num_begun_ = 0;
  std::uint64_t num_large_bytes_ = 0;
  bool is_closed_ = false;
  std::list<Turn*> waiting_;
  std::unordered_map<std::string, Client> clients_;  // that have a turn
  boost::asio::thread_pool threads_;                 // joined first
};

}  // namespace octavo::server
