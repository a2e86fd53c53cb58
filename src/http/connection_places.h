// The places for connections at one of the server's addresses: how many are taken and by whom, and which connection
// gives its place up when none is left.
//
// A connection is silent while no request is read on it or answered: it waits for its first or its next one. It also
// counts as silent when it has sent a part of a request and then nothing for a while. When places run out, one of the
// clients with a silent connection loses it: the client that has the most connections loses the one that has been
// silent for longest. Before that, a client with more than half of the places loses the connection that has been silent
// or unfinished for longest. A connection whose request is being answered never loses its place. The cost of a change,
// and of making room, grows with the logarithm of the number of clients.
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
  /// Closes a connection with this standing. False: it is not silent after all, because bytes have come that nobody has
  /// read yet.
  using GiveUp = std::function<bool(ConnectionStanding)>;
  class Place;

  /// Trusted proxies count for many clients: they have no bound per client, and may have more than half. Both
  /// references must outlive it.
  ConnectionPlaces(const ConnectionLimits& limits, const TrustedProxies& proxies)
      : limits_(limits), proxies_(proxies) {}
  ConnectionPlaces(const ConnectionPlaces&) = delete;
  ConnectionPlaces& operator=(const ConnectionPlaces&) = delete;

  /// Makes sure that there is a place for a connection from `peer`; another one may be closed for it. Error: all places
  /// are taken, and no connection gives its place up.
  std::optional<ApiError> make_room(const Address& peer);
  /// Whether `peer` is a trusted proxy.
  bool is_of_many(const Address& peer) const { return proxies_.contains(peer); }

 private:
  using ClientKey = std::array<unsigned char, 16>;
  /// The order in which clients give places up; those without a silent connection come last.
  struct Rank {
    std::size_t num_places = 0;  // 0: no connection is silent
    std::uint64_t silence = 0;   // the oldest
    ClientKey client = {};

    bool operator<(const Rank& other) const;
  };
  using Standing = ConnectionStanding;
  struct Client {
    std::array<std::list<Place*>, 3> places = {};  // [standings], each in the order in which connections came to it
    Rank rank = {};
    bool is_proxy = false;

    std::list<Place*>& of(Standing standing) { return places[to_size(standing)]; }
    std::size_t num_places() const { return places[0].size() + places[1].size() + places[2].size(); }
  };

  /// The standings at which a connection may be closed: silent alone, or unfinished, too.
  enum class Least : std::uint8_t { kSilent, kUnfinished };

  /// Closes the connection that has had its standing for longest: of `client`, or where that is null of the client that
  /// ranks first.
  bool close_oldest(Client* client, Least least);
  /// The client's oldest such connection; null: it has none.
  static Place* oldest_of(Client& client, Least least);
  void rank_anew(Client& client) noexcept;
  bool has_majority(const Client& client) const { return !client.is_proxy && 2 * client.num_places() > limits_.all; }

  const ConnectionLimits& limits_;
  const TrustedProxies& proxies_;
  std::map<ClientKey, Client> clients_;  // clients that have places
  std::set<Rank> ranks_;                 // one for each client
  Client* majority_ = nullptr;           // the client with more than half of the places
  std::size_t num_places_ = 0;
  std::uint64_t num_changes_ = 0;  // the changes of standings so far
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
  /// Moves it to the end of the list for a standing.
  void go_behind(std::list<Place*>& from, ConnectionStanding standing) noexcept;

  ConnectionPlaces& all_;
  const GiveUp give_up_;
  Client* client_ = nullptr;  // null: it has given its place up
  std::list<Place*>::iterator place_;
  ConnectionStanding standing_ = ConnectionStanding::kSilent;
  std::uint64_t since_ = 0;  // the number of changes of standings when it came to this one
};

}  // namespace octavo
