#include "api/buffered_answer.h"

#include <fmt/format.h>

#include <utility>

#include "api/call/answer_size.h"
#include "octavo/queue_bound.h"

namespace octavo {
namespace {

ApiError no_room(std::string message) {
  return {.status = 503,
          .message = std::move(message),
          .type = "server_error",
          .code = "out_of_memory",
          .retry_after_s = 1};
}

}  // namespace

std::uint64_t BufferBudget::bytes() const {
  const std::scoped_lock lock(mutex_);
  return bytes_;
}

BufferBudget::Clients::iterator BufferBudget::enter(std::string_view client) {
  const std::scoped_lock lock(mutex_);
  const auto found = clients_.try_emplace(std::string(client)).first;
  ++found->second.num_answers;
  return found;
}

void BufferBudget::leave(Clients::iterator client, std::uint64_t bytes) noexcept {
  change(client, bytes, 0);
  const std::scoped_lock lock(mutex_);
  if (--client->second.num_answers == 0) clients_.erase(client);
}

BufferBudget::Held BufferBudget::change(Clients::iterator client, std::uint64_t before, std::uint64_t after) noexcept {
  const std::scoped_lock lock(mutex_);
  bytes_ += after - before;
  client->second.bytes += after - before;
  return {.by_all = bytes_, .by_client = client->second.bytes};
}

void BufferedAnswer::swap(BufferedAnswer& other) noexcept {
  std::swap(budget_, other.budget_);
  std::swap(client_, other.client_);
  std::swap(bytes_, other.bytes_);
}

void BufferedAnswer::set(std::uint64_t bytes) {
  if (budget_ != nullptr) budget_->change(client_, bytes_, bytes);
  bytes_ = bytes;
}

std::optional<ApiError> BufferedAnswer::hold(std::uint64_t bytes) {
  std::optional<ApiError> too_many = hold_own(bytes);
  if (bytes <= budget_->limits().answer_bytes) return too_many;
  return answer_too_large(bytes, budget_->limits().answer_bytes);
}

std::optional<ApiError> BufferedAnswer::hold_own(std::uint64_t bytes) {
  const bool grows = bytes > bytes_;
  const auto [by_all, by_client] = budget_->change(client_, bytes_, bytes);
  bytes_ = bytes;
  if (!grows || bytes <= BufferBudget::kAlwaysHeld) return std::nullopt;
  const std::uint64_t most = budget_->limits().all_bytes;
  if (by_all > most)
    return no_room(
        fmt::format("answers that are made or written take {} bytes, and this server holds at most {}: ask for a "
                    "stream, or later",
                    by_all, most));
  const std::uint64_t share = QueueBound::kOwnerFactor * (most - by_all);
  if (client_->first.empty() || by_client <= share) return std::nullopt;
  return no_room(
      fmt::format("found {} bytes of this client's answers that are made or written, expected at most {}, {} times "
                  "what is left of {}: read what was asked for first, or ask for a stream",
                  by_client, share, QueueBound::kOwnerFactor, most));
}

}  // namespace octavo
