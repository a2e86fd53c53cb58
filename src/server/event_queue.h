// Events of requests on their way from the engine's thread to the I/O thread. Pushing is cheap and never waits for the
// I/O thread: however many events come before that thread wakes up, they cost it one wake-up.
//
// An EventQueue belongs to one call. It is shared by the call and the engine's callbacks, which may outlive the call.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "api/call/completion.h"

namespace octavo::server {

class EventQueue;

/// The queues that have something for the I/O thread.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context& io) : io_(io) {}

  void post(std::shared_ptr<EventQueue> queue);  // any thread

 private:
  void deliver();  // the I/O thread

  boost::asio::io_context& io_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<EventQueue>> ready_;
  std::vector<std::shared_ptr<EventQueue>> delivering_;  // the I/O thread's
  bool scheduled_ = false;
};

class EventQueue : public std::enable_shared_from_this<EventQueue> {
 public:
  struct Item {
    std::chrono::steady_clock::time_point at;
    RequestEvent event;
  };

  /// `on_ready` is called on the I/O thread when there is something to take, with the bytes that wait.
  EventQueue(Mailbox& mailbox, std::function<void(std::size_t)> on_ready)
      : mailbox_(mailbox), on_ready_(std::move(on_ready)) {}

  /// The engine's callback, which must not throw: an event that the system has no memory for is lost, and those after
  /// it.
  void push(std::size_t prompt_index, const TokenEvent& event) noexcept;
  /// A prompt's progress, which takes the place of what was told of it before and still waits. Where the system has no
  /// memory for it, nothing is lost: the prompt's next one tells more.
  void push(std::size_t prompt_index, const PromptProgress& progress) noexcept;
  /// All that wait, in order; `items` is overwritten. False: events after them are lost. The I/O thread, as for the
  /// rest.
  bool take(std::vector<Item>& items);
  /// From now on events are dropped and on_ready is not called.
  void close();
  void notify();
  /// Choices whose last event was pushed, be it lost or not.
  std::size_t num_ended() const;

 private:
  void add(RequestEvent&& event);
  /// Whoever takes is told, unless that is under way.
  void post() noexcept;

  Mailbox& mailbox_;
  std::function<void(std::size_t)> on_ready_;
  mutable std::mutex mutex_;
  std::vector<Item> items_;
  std::vector<std::size_t> progress_places_;  // [prompt]: its last progress in items_, unless that was taken
  std::size_t num_bytes_ = 0;
  std::size_t num_ended_ = 0;
  bool posted_ = false;
  bool lost_ = false;
  bool closed_ = false;
};

}  // namespace octavo::server
