#include "http/connection_places.h"

#include <limits>
#include <tuple>
#include <utility>

namespace octavo {
namespace {

/// Connections that are looked at to make room for one. All that were taken for silent may have sent something since.
constexpr int kMaxLooks = 16;

ApiError refusal(const char* message) {
  return {
      .status = 503, .message = message, .type = "server_error", .code = "too_many_connections", .retry_after_s = 1};
}

}  // namespace

bool ConnectionPlaces::Rank::operator<(const Rank& other) const {
  return std::tie(other.num_places, silence, client) < std::tie(num_places, other.silence, other.client);
}

std::optional<ApiError> ConnectionPlaces::make_room(const Address& peer) {
  const bool is_limited = limits_.per_client > 0 && !proxies_.contains(peer);
  const auto client = is_limited ? clients_.find(client_key(peer)) : clients_.end();
  if (client != clients_.end() && client->second.num_places() >= limits_.per_client && !close_silent(&client->second))
    return refusal("too many connections from this address");
  if (num_places_ >= limits_.all && !close_silent(nullptr)) return refusal("too many connections");
  return std::nullopt;
}

bool ConnectionPlaces::close_silent(Client* client) {
  for (int i = 0; i < kMaxLooks && !ranks_.empty(); ++i) {
    Client& loser = client != nullptr ? *client : clients_.at(ranks_.begin()->client);
    if (loser.silent.empty()) return false;
    Place& place = *loser.silent.front();
    if (place.give_up_()) {
      place.leave();
      return true;
    }
    place.fall_silent(loser.silent);
  }
  return false;
}

/// Without memory of its own: a connection that changes must not fail for want of it.
void ConnectionPlaces::rank_anew(Client& client) noexcept {
  auto node = ranks_.extract(client.rank);
  const bool has_silent = !client.silent.empty();
  client.rank.num_places = has_silent ? client.num_places() : 0;
  client.rank.silence = has_silent ? client.silent.front()->silence_ : 0;
  node.value() = client.rank;
  ranks_.insert(std::move(node));
}

ConnectionPlaces::Place::Place(ConnectionPlaces& all, const Address& peer, GiveUp give_up)
    : all_(all), give_up_(std::move(give_up)) {
  const ClientKey key = client_key(peer);
  std::list<Place*> own{this};
  std::set<Rank> rank{Rank{.client = key}};
  const auto [client, is_new] = all.clients_.try_emplace(key);  // the last that may find no memory
  client_ = &client->second;
  if (is_new) {
    client_->rank = *rank.begin();
    all.ranks_.merge(rank);
  }
  place_ = own.begin();
  ++all.num_places_;
  fall_silent(own);
}

void ConnectionPlaces::Place::set_silent(bool is_silent) noexcept {
  if (client_ == nullptr || is_silent == is_silent_) return;
  is_silent_ = is_silent;
  if (is_silent) return fall_silent(client_->busy);
  client_->busy.splice(client_->busy.end(), client_->silent, place_);
  all_.rank_anew(*client_);
}

void ConnectionPlaces::Place::fall_silent(std::list<Place*>& from) noexcept {
  silence_ = all_.num_silences_++;
  client_->silent.splice(client_->silent.end(), from, place_);
  all_.rank_anew(*client_);
}

void ConnectionPlaces::Place::leave() noexcept {
  if (client_ == nullptr) return;
  Client& client = *std::exchange(client_, nullptr);
  (is_silent_ ? client.silent : client.busy).erase(place_);
  --all_.num_places_;
  if (client.num_places() > 0) return all_.rank_anew(client);
  all_.ranks_.erase(client.rank);
  const ClientKey key = client.rank.client;
  all_.clients_.erase(key);
}

}  // namespace octavo
