#include "http/received_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace octavo {

ReceivedBytes::Share::Share(ReceivedBytes& all, std::string_view client, std::function<void()> give_up)
    : all_(all), client_(all.clients_.try_emplace(all.name_of(client)).first), give_up_(std::move(give_up)) {
  client_->second.shares.insert(this);
}

ReceivedBytes::Share::~Share() {
  change(0);
  client_->second.shares.erase(this);
  if (client_->second.shares.empty()) all_.clients_.erase(client_);
}

void ReceivedBytes::Share::change(std::uint64_t num_bytes) noexcept {
  all_.total_ += num_bytes - num_bytes_;
  client_->second.num_bytes += num_bytes - num_bytes_;
  num_bytes_ = num_bytes;
}

void ReceivedBytes::Share::set(std::uint64_t num_bytes) {
  if (gave_up_) return;
  change(num_bytes);
  while (all_.total_ > all_.limit_) all_.reduce();
}

/// The name under which a client counts. A client by itself gets one that no address has.
std::string ReceivedBytes::name_of(std::string_view client) {
  return client.empty() ? fmt::format("#{}", num_alone_++) : std::string(client);
}

void ReceivedBytes::reduce() {
  const auto client = std::ranges::max_element(clients_, {}, [](const auto& entry) { return entry.second.num_bytes; });
  Share* largest = *std::ranges::max_element(client->second.shares, {}, &Share::num_bytes_);
  largest->change(0);
  largest->gave_up_ = true;
  largest->give_up_();
}

}  // namespace octavo
