// The places for connections at one of the server's addresses: how many are taken and by whom, and which connection
// gives its place up when none is left.
//
// A connection is silent while no request is read on it or answered: it waits for the first one, or for the next. Where
// places run out, the one that has been silent the longest is closed, of the client that has the most connections among
// those with a silent one. The cost of a change grows with the logarithm of the number of clients, that of room for a
// connection as well.
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

#include "api/api_error.h"
#include "http/address.h"
#include "http/forwarded.h"
#include "http/http_options.h"

namespace octavo {

class ConnectionPlaces {
 public:
  /// Closes a connection. False: it is not silent after all, because bytes have come that nobody has read yet.
  using GiveUp = std::function<bool()>;
  class Place;

  /// Trusted proxies have no bound per client, as they count for many. Both must outlive it.
  ConnectionPlaces(const ConnectionLimits& limits, const TrustedProxies& proxies)
      : limits_(limits), proxies_(proxies) {}
  ConnectionPlaces(const ConnectionPlaces&) = delete;
  ConnectionPlaces& operator=(const ConnectionPlaces&) = delete;

  /// Sees to it that there is a place for a connection from there, for which a silent one may be closed. An error: all
  /// places are taken, and none of a silent connection.
  std::optional<ApiError> make_room(const Address& peer);

 private:
  using ClientKey = std::array<unsigned char, 16>;
  /// The order in which clients give places up; last come those that have no silent connection.
  struct Rank {
    std::size_t num_places = 0;  // 0: none is silent
    std::uint64_t silence = 0;   // the oldest
    ClientKey client = {};

    bool operator<(const Rank& other) const;
  };
  struct Client {
    std::list<Place*> silent, busy;  // the former in the order in which they fell silent
    Rank rank = {};

    std::size_t num_places() const { return silent.size() + busy.size(); }
  };

  /// Closes a silent connection, of a client, or of whoever is the first to give one up.
  bool close_silent(Client* client);
  void rank_anew(Client& client) noexcept;

  const ConnectionLimits& limits_;
  const TrustedProxies& proxies_;
  std::map<ClientKey, Client> clients_;  // that have places
  std::set<Rank> ranks_;                 // one for each of them
  std::size_t num_places_ = 0;
  std::uint64_t num_silences_ = 0;
};

/// The place of one connection, until it is destroyed or closed to make room. The connection is silent at first. The
/// places must outlive it.
class ConnectionPlaces::Place {
 public:
  Place(ConnectionPlaces& all, const Address& peer, GiveUp give_up);
  ~Place() { leave(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  void set_silent(bool is_silent) noexcept;

 private:
  friend class ConnectionPlaces;

  void leave() noexcept;
  /// Moves it behind all that are silent.
  void fall_silent(std::list<Place*>& from) noexcept;

  ConnectionPlaces& all_;
  const GiveUp give_up_;
  Client* client_ = nullptr;  // null: it has left
  std::list<Place*>::iterator place_;
  bool is_silent_ = true;
  std::uint64_t silence_ = 0;  // how many connections had fallen silent when this one did
};

}  // namespace octavo
