// Events of requests on their way from the engine's thread to the I/O thread. Pushing is cheap and never waits for the
// I/O thread, which is woken once for all events that come before it wakes.
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

/// The queues that have events for the I/O thread.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context& io) : io_(io) {}

  void post(std::shared_ptr<EventQueue> queue);  // any thread

 private:
  void deliver();  // the I/O thread

  boost::asio::io_context& io_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<EventQueue>> ready_;
  std::vector<std::shared_ptr<EventQueue>> delivering_;  // used by the I/O thread alone
  bool scheduled_ = false;
};

class EventQueue : public std::enable_shared_from_this<EventQueue> {
 public:
  struct Item {
    std::chrono::steady_clock::time_point at;
    RequestEvent event;
  };

  /// `on_ready` is called on the I/O thread when there are events, with the bytes that they take.
  EventQueue(Mailbox& mailbox, std::function<void(std::size_t)> on_ready)
      : mailbox_(mailbox), on_ready_(std::move(on_ready)) {}

  /// Takes an event from the engine's callback, which must not throw: where the system has no memory for one, it is
  /// lost, and so are all after it.
  void push(std::size_t prompt_index, const TokenEvent& event) noexcept;
  /// Takes a prompt's progress, which replaces an earlier one that still waits. Where there is no memory for it,
  /// nothing is lost: the next one says more.
  void push(std::size_t prompt_index, const PromptProgress& progress) noexcept;
  /// Takes all events that wait, in order; `items` is overwritten. False: later events are lost. The I/O thread, as for
  /// all functions below.
  bool take(std::vector<Item>& items);
  /// Drops events from now on, and never calls on_ready again.
  void close();
  void notify();
  /// How many choices have had their last event, lost or not.
  std::size_t num_ended() const;

 private:
  void add(RequestEvent&& event);
  /// Tells the I/O thread, unless that is on its way.
  void post() noexcept;

  Mailbox& mailbox_;
  std::function<void(std::size_t)> on_ready_;
  mutable std::mutex mutex_;
  std::vector<Item> items_;
  std::vector<std::size_t> progress_places_;  // [prompts] where the prompt's last progress is in items_, unless taken
  std::size_t num_bytes_ = 0;
  std::size_t num_ended_ = 0;
  bool posted_ = false;
  bool lost_ = false;
  bool closed_ = false;
};

}  // namespace octavo::server
