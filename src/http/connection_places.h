// The places for connections at one of the server's addresses: how many are taken and by whom, and which connection
// gives its place up when none is left.
//
// A connection is silent while no request is read on it or answered: it waits for the first one, or for the next. So is
// one that has sent a part of a request and nothing for a while. Where places run out, the one that has been silent the
// longest is closed, of the client that has the most connections among those with a silent one. A client with more than
// half of the places goes first, and gives up the one that has been silent or unfinished the longest. One whose request
// is answered never gives its place up. The cost of a change grows with the logarithm of the number of clients, that of
// room for a connection as well.
//
// Owned by a Listener; the I/O thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <set>

#include "api/call/api_error.h"
#include "base/to_size.h"
#include "http/address.h"
#include "http/connection_standing.h"
#include "http/forwarded.h"
#include "http/http_options.h"

namespace octavo {

class ConnectionPlaces {
 public:
  /// Closes a connection that stands so. False: it is not silent after all, because bytes have come that nobody has
  /// read yet.
  using GiveUp = std::function<bool(ConnectionStanding)>;
  class Place;

  /// Trusted proxies have no bound per client and no half, as they count for many. Both must outlive it.
  ConnectionPlaces(const ConnectionLimits& limits, const TrustedProxies& proxies)
      : limits_(limits), proxies_(proxies) {}
  ConnectionPlaces(const ConnectionPlaces&) = delete;
  ConnectionPlaces& operator=(const ConnectionPlaces&) = delete;

  /// Sees to it that there is a place for a connection from there, for which another may be closed. An error: all
  /// places are taken, and none of a connection that gives it up.
  std::optional<ApiError> make_room(const Address& peer);
  /// It is a trusted proxy's.
  bool is_of_many(const Address& peer) const { return proxies_.contains(peer); }

 private:
  using ClientKey = std::array<unsigned char, 16>;
  /// The order in which clients give places up; last come those that have no silent connection.
  struct Rank {
    std::size_t num_places = 0;  // 0: none is silent
    std::uint64_t silence = 0;   // the oldest
    ClientKey client = {};

    bool operator<(const Rank& other) const;
  };
  using Standing = ConnectionStanding;
  struct Client {
    std::array<std::list<Place*>, 3> places = {};  // [standing], in the order in which they came to stand so
    Rank rank = {};
    bool is_proxy = false;

    std::list<Place*>& of(Standing standing) { return places[to_size(standing)]; }
    std::size_t num_places() const { return places[0].size() + places[1].size() + places[2].size(); }
  };

  /// The least that a connection is which may be closed.
  enum class Least : std::uint8_t { kSilent, kUnfinished };

  /// Closes the connection that has stood so the longest, of a client, or of whoever is the first to give one up.
  bool close_oldest(Client* client, Least least);
  /// Null: it has none.
  static Place* oldest_of(Client& client, Least least);
  void rank_anew(Client& client) noexcept;
  bool has_majority(const Client& client) const { return !client.is_proxy && 2 * client.num_places() > limits_.all; }

  const ConnectionLimits& limits_;
  const TrustedProxies& proxies_;
  std::map<ClientKey, Client> clients_;  // that have places
  std::set<Rank> ranks_;                 // one for each of them
  Client* majority_ = nullptr;           // that has more than half of the places
  std::size_t num_places_ = 0;
  std::uint64_t num_changes_ = 0;  // of standings
};

/// The place of one connection, until it is destroyed or closed to make room. The connection is silent at first. The
/// places must outlive it.
class ConnectionPlaces::Place {
 public:
  Place(ConnectionPlaces& all, const Address& peer, GiveUp give_up);
  ~Place() { leave(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void set_standing(ConnectionStanding standing) noexcept;

 private:
  friend class ConnectionPlaces;

  void leave() noexcept;
  /// Moves it behind all that stand so.
  void go_behind(std::list<Place*>& from, ConnectionStanding standing) noexcept;

  ConnectionPlaces& all_;
  const GiveUp give_up_;
  Client* client_ = nullptr;  // null: it has left
  std::list<Place*>::iterator place_;
  ConnectionStanding standing_ = ConnectionStanding::kSilent;
  std::uint64_t since_ = 0;  // how many changes of standings there had been when it came to this one
};

}  // namespace octavo
