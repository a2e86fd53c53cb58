// Stored answers of /v1/responses, which later requests may continue.
//
// Thread-safe: requests are parsed on worker threads, answers end on the I/O thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/call/api_error.h"

namespace octavo {

/// An item of a conversation: a message, a call, its output, or reasoning.
struct ResponseItem {
  std::string id;
  std::shared_ptr<const std::string> json;  // an object; all responses that have the item share it
};

struct StoredResponse {
  std::string id = {};
  std::string previous_id = {};  // the id of the response that this one continues; empty: none
  std::vector<ResponseItem> input = {}, output = {};
  std::string head = {}, tail = {};  // its JSON before and behind the elements of `output`

  /// The response as JSON.
  std::string body() const;
  /// The bytes that it takes while it is kept.
  std::size_t num_bytes() const;
};

class ResponseStore {
 public:
  struct Limits {
    std::uint64_t max_bytes = std::uint64_t{64} << 20;  // the most of all responses together; 0: nothing is kept
    std::size_t max_responses = 65536;
    /// The most bytes of a request: its body, the items that it refers to (each as often as it does), and the
    /// conversation that it continues. All of these are read, whether they are sent or named.
    std::uint64_t max_request_bytes = std::numeric_limits<std::uint64_t>::max();
  };
  using Response = std::shared_ptr<const StoredResponse>;

  explicit ResponseStore(Limits limits) : limits_(limits) {}
  ResponseStore(const ResponseStore&) = delete;
  ResponseStore& operator=(const ResponseStore&) = delete;

  const Limits& limits() const { return limits_; }
  bool keeps_any() const { return limits_.max_bytes > 0; }
  /// Keeps a response. Where there is no room, the client with the most bytes (or with the most responses, where there
  /// are too many) loses the one that it has not used for longest. A response that is larger than the bound is not
  /// kept. `client`: the key's name or the address whose room it takes; empty: the owner.
  void put(const std::string& owner, StoredResponse response, std::string_view client = {});
  /// The response, which counts as used now. Null: the owner has none with this id.
  Response find(std::string_view owner, std::string_view id);
  bool erase(std::string_view owner, std::string_view id);
  /// The response and all that it continues, the first one first. All count as used. `other_bytes`: the bytes of the
  /// request besides these. Errors: one is not there (404); all together are larger than a request may be (400).
  ApiResult<std::vector<Response>> conversation(std::string_view owner, std::string_view id, std::uint64_t other_bytes);

  std::uint64_t num_bytes() const;

 private:
  struct Kept;
  using KeptList = std::list<Kept>;
  struct Client {
    KeptList responses = {};  // the most recently used first
    std::uint64_t num_bytes = 0;
  };
  using Clients = std::map<std::string, Client, std::less<>>;
  using Owned = std::unordered_map<std::string_view, KeptList::iterator>;  // the ids are views into the responses
  using Owners = std::map<std::string, Owned, std::less<>>;
  struct Kept {
    Response response;
    Owners::iterator owner;
    Clients::iterator client;
  };

  /// The response, which counts as used now; null: there is none.
  const Kept* use(std::string_view owner, std::string_view id);
  void drop(KeptList::iterator kept);
  void make_room();

  const Limits limits_;
  mutable std::mutex mutex_;
  Owners owners_ = {};
  Clients clients_ = {};
  std::uint64_t num_bytes_ = 0;
  std::size_t num_responses_ = 0;
};

/// The part of the store that one client can use.
struct OwnResponses {
  ResponseStore* store = nullptr;
  std::string owner = {};        // the name of the client's key; empty where there are no keys
  std::string client = {};       // the key or address whose room a kept response takes
  std::uint64_t body_bytes = 0;  // the size of the request's body
};

/// The error (404) of a response that is not there. `param`: the field that names it.
ApiError no_response(std::string_view id, std::string param);
/// The bytes for which an item counts.
std::uint64_t num_bytes_of(const ResponseItem& item);
/// The error (400) of a request that refers to too much: with the field `param` it has reached `found` bytes.
ApiError refers_to_too_much(const std::string& param, std::uint64_t found, std::uint64_t most);

}  // namespace octavo
