#include "server/event_queue.h"

#include <boost/asio/post.hpp>

namespace octavo::server {

void Mailbox::post(std::shared_ptr<EventQueue> queue) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(queue));
  if (scheduled_) return;
  boost::asio::post(io_, [this] { deliver(); });
  scheduled_ = true;
}

void Mailbox::deliver() {
  {
    const std::lock_guard lock(mutex_);
    delivering_.swap(ready_);
    scheduled_ = false;
  }
  for (const auto& queue : delivering_) queue->notify();
  delivering_.clear();
}

void EventQueue::push(std::size_t prompt_index, const TokenEvent& event) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  if (event.finish != FinishReason::kNone) ++num_ended_;
  try {
    if (!lost_) add(RequestEvent(event, prompt_index));
  } catch (const std::exception&) {
    lost_ = true;
  }
  post();
}

void EventQueue::push(std::size_t prompt_index, const PromptProgress& progress) noexcept {
  const std::lock_guard lock(mutex_);
  if (closed_ || lost_) return;
  try {
    if (prompt_index >= progress_places_.size()) progress_places_.resize(prompt_index + 1);
    std::size_t& place = progress_places_[prompt_index];
    if (place < items_.size() && items_[place].event.progress && items_[place].event.prompt_index == prompt_index) {
      items_[place].event.progress = progress;
    } else {
      add(RequestEvent(progress, prompt_index));
      place = items_.size() - 1;
    }
  } catch (const std::exception&) {
    return;
  }
  post();
}

void EventQueue::add(RequestEvent&& event) {
  const std::size_t num_bytes = sizeof(Item) + event.text.size() + event.bytes.size() + event.reasoning.size() +
                                event.top_logprobs.size() * sizeof(TokenLogprob);
  items_.push_back({std::chrono::steady_clock::now(), std::move(event)});
  num_bytes_ += num_bytes;
}

void EventQueue::post() noexcept {
  try {
    if (!posted_) mailbox_.post(shared_from_this());
    posted_ = true;
  } catch (const std::exception&) {
    lost_ = true;  // the next event tries again
  }
}

bool EventQueue::take(std::vector<Item>& items) {
  items.clear();
  const std::lock_guard lock(mutex_);
  items.swap(items_);
  num_bytes_ = 0;
  return !lost_;
}

void EventQueue::close() {
  std::vector<Item> dropped;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  on_ready_ = nullptr;
  dropped.swap(items_);
}

std::size_t EventQueue::num_ended() const {
  const std::lock_guard lock(mutex_);
  return num_ended_;
}

void EventQueue::notify() {
  std::size_t num_bytes = 0;
  {
    const std::lock_guard lock(mutex_);
    posted_ = false;
    num_bytes = num_bytes_;
  }
  if (on_ready_) on_ready_(num_bytes);  // set and cleared by this thread alone
}

}  // namespace octavo::server
