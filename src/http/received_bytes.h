// Memory that all connections together hold for what was received and not yet parsed, and its bound.
//
// Beyond the bound the connection that holds the most gives up its request, whatever it is about. Clients who hold
// little are served while others send as much as they like. Owned by the server; the I/O thread.
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_set>

namespace octavo {

class ReceivedBytes {
 public:
  explicit ReceivedBytes(std::uint64_t limit) : limit_(limit) {}
  ReceivedBytes(const ReceivedBytes&) = delete;
  ReceivedBytes& operator=(const ReceivedBytes&) = delete;

  /// The bytes that one connection holds.
  class Share {
   public:
    /// `give_up` drops what the connection holds, soon; it is called once, possibly within set().
    Share(ReceivedBytes& all, std::function<void()> give_up);
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// From then on it counts as nothing.
    bool gave_up() const { return gave_up_; }
    void set(std::uint64_t num_bytes);

   private:
    friend class ReceivedBytes;

    ReceivedBytes& all_;
    std::function<void()> give_up_;
    std::uint64_t num_bytes_ = 0;
    bool gave_up_ = false;
  };

  std::uint64_t total() const { return total_; }

 private:
  void reduce();

  std::uint64_t limit_;
  std::uint64_t total_ = 0;
  std::unordered_set<Share*> shares_;
};

}  // namespace octavo
