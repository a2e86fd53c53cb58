// The memory that all connections together hold for bytes that were received and not yet parsed, and its bound.
//
// Beyond the bound, the client that holds the most gives up its request that holds the most, whatever that is about. So
// clients that hold little are served while others send as much as they like, in however many requests. Owned by the
// server; the I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

namespace octavo {

class ReceivedBytes {
 public:
  class Share;

  explicit ReceivedBytes(std::uint64_t limit) : limit_(limit) {}
  ReceivedBytes(const ReceivedBytes&) = delete;
  ReceivedBytes& operator=(const ReceivedBytes&) = delete;

 private:
  struct Client {
    std::unordered_set<Share*> shares = {};
    std::uint64_t num_bytes = 0;
  };
  using Clients = std::map<std::string, Client>;

 public:
  /// The bytes that one connection holds.
  class Share {
   public:
    /// `client`: the address that it counts for; empty: it is a client by itself, as for connections of a proxy, which
    /// are of many clients. `give_up` drops what the connection holds, soon; it is called once, possibly within set().
    Share(ReceivedBytes& all, std::string_view client, std::function<void()> give_up);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Whether it has given up; it counts nothing from then on.
    bool gave_up() const { return gave_up_; }
    void set(std::uint64_t num_bytes);

   private:
    friend class ReceivedBytes;

    void change(std::uint64_t num_bytes) noexcept;

    ReceivedBytes& all_;
    Clients::iterator client_;
    std::function<void()> give_up_;
    std::uint64_t num_bytes_ = 0;
    bool gave_up_ = false;
  };

  std::uint64_t total() const { return total_; }

 private:
  std::string name_of(std::string_view client);
  void reduce();

  std::uint64_t limit_;
  std::uint64_t total_ = 0;
  std::uint64_t num_alone_ = 0;  // how many clients by themselves there have been
  Clients clients_;
};

}  // namespace octavo
