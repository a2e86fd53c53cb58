#include "http/connection_places.h"

#include <tuple>
#include <utility>

namespace octavo {
namespace {

/// The most connections that are looked at to make room for one: those taken for silent may all have sent something
/// since.
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
  const bool is_limited = limits_.per_client > 0 && !is_of_many(peer);
  const auto client = is_limited ? clients_.find(client_key(peer)) : clients_.end();
  if (client != clients_.end() && client->second.num_places() >= limits_.per_client &&
      !close_oldest(&client->second, Least::kSilent))
    return refusal("too many connections from this address");
  if (num_places_ < limits_.all) return std::nullopt;
  const bool has_room =
      (majority_ != nullptr && close_oldest(majority_, Least::kUnfinished)) || close_oldest(nullptr, Least::kSilent);
  return has_room ? std::nullopt : std::optional(refusal("too many connections"));
}

ConnectionPlaces::Place* ConnectionPlaces::oldest_of(Client& client, Least least) {
  const std::list<Place*>& silent = client.of(Standing::kSilent);
  const std::list<Place*>& unfinished = client.of(Standing::kUnfinished);
  if (least == Least::kSilent || unfinished.empty()) return silent.empty() ? nullptr : silent.front();
  if (silent.empty()) return unfinished.front();
  return silent.front()->since_ < unfinished.front()->since_ ? silent.front() : unfinished.front();
}

bool ConnectionPlaces::close_oldest(Client* client, Least least) {
  for (int i = 0; i < kMaxLooks && !ranks_.empty(); ++i) {
    Client& loser = client != nullptr ? *client : clients_.at(ranks_.begin()->client);
    Place* place = oldest_of(loser, least);
    if (place == nullptr) return false;
    if (place->give_up_(place->standing_)) {
      place->leave();
      return true;
    }
    place->go_behind(loser.of(place->standing_), place->standing_);
  }
  return false;
}

/// Updates a client's rank without allocating: a change of standing must not fail for want of memory.
void ConnectionPlaces::rank_anew(Client& client) noexcept {
  auto node = ranks_.extract(client.rank);
  const std::list<Place*>& silent = client.of(Standing::kSilent);
  client.rank.num_places = silent.empty() ? 0 : client.num_places();
  client.rank.silence = silent.empty() ? 0 : silent.front()->since_;
  if (has_majority(client)) {
    majority_ = &client;
  } else if (majority_ == &client) {
    majority_ = nullptr;
  }
  node.value() = client.rank;
  ranks_.insert(std::move(node));
}

ConnectionPlaces::Place::Place(ConnectionPlaces& all, const Address& peer, GiveUp give_up)
    : all_(all), give_up_(std::move(give_up)) {
  const ClientKey key = client_key(peer);
  std::list<Place*> own{this};
  std::set<Rank> rank{Rank{.client = key}};
  const auto [client, is_new] = all.clients_.try_emplace(key);  // nothing after this allocates
  client_ = &client->second;
  if (is_new) {
    client_->rank = *rank.begin();
    all.ranks_.merge(rank);
  }
  client_->is_proxy = all.is_of_many(peer);
  place_ = own.begin();
  ++all.num_places_;
  go_behind(own, Standing::kSilent);
}

void ConnectionPlaces::Place::set_standing(Standing standing) noexcept {
  if (client_ != nullptr && standing != standing_) go_behind(client_->of(standing_), standing);
}

void ConnectionPlaces::Place::go_behind(std::list<Place*>& from, Standing standing) noexcept {
  since_ = all_.num_changes_++;
  standing_ = standing;
  std::list<Place*>& to = client_->of(standing);
  to.splice(to.end(), from, place_);
  all_.rank_anew(*client_);
}

void ConnectionPlaces::Place::leave() noexcept {
  if (client_ == nullptr) return;
  Client& client = *std::exchange(client_, nullptr);
  client.of(standing_).erase(place_);
  --all_.num_places_;
  all_.rank_anew(client);
  if (client.num_places() > 0) return;
  all_.ranks_.erase(client.rank);
  const ClientKey key = client.rank.client;
  all_.clients_.erase(key);
}

}  // namespace octavo
