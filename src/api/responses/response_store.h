// Answers of /v1/responses that are kept, so that a later request can go on with them.
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
  std::shared_ptr<const std::string> json;  // an object; all responses that it stands in share it
};

struct StoredResponse {
  std::string id = {};
  std::string previous_id = {};  // of the response that it went on with; empty: of none
  std::vector<ResponseItem> input = {}, output = {};
  std::string head = {}, tail = {};  // of its JSON, before and behind the elements of the output

  /// The whole as JSON.
  std::string body() const;
  /// Bytes that keeping it takes.
  std::size_t num_bytes() const;
};

class ResponseStore {
 public:
  struct Limits {
    std::uint64_t max_bytes = std::uint64_t{64} << 20;  // of all together; 0: nothing is kept
    std::size_t max_responses = 65536;
    /// The bytes of a request's body, of the items that it refers to, each as often as it does, and of the conversation
    /// that it goes on with: what is named is read again like what is sent.
    std::uint64_t max_request_bytes = std::numeric_limits<std::uint64_t>::max();
  };
  using Response = std::shared_ptr<const StoredResponse>;

  explicit ResponseStore(Limits limits) : limits_(limits) {}
  ResponseStore(const ResponseStore&) = delete;
  ResponseStore& operator=(const ResponseStore&) = delete;

  const Limits& limits() const { return limits_; }
  bool keeps_any() const { return limits_.max_bytes > 0; }
  /// Where there is no room, the client of the most bytes loses what it has not used for longest, or where there are
  /// too many the client of the most responses. A response that is larger than the bound is not kept. `client`: a key's
  /// name or an address, whose room it takes; empty: the owner.
  void put(const std::string& owner, StoredResponse response, std::string_view client = {});
  /// Counts as used. Null: there is none of this owner.
  Response find(std::string_view owner, std::string_view id);
  bool erase(std::string_view owner, std::string_view id);
  /// The response behind those that it went on with, the first one first. All count as used. `other_bytes`: of the
  /// request beside them. Errors: 404, one of them is not there; 400, all of it is larger than a request may be.
  ApiResult<std::vector<Response>> conversation(std::string_view owner, std::string_view id, std::uint64_t other_bytes);

  std::uint64_t num_bytes() const;

 private:
  struct Kept;
  using KeptList = std::list<Kept>;
  struct Client {
    KeptList responses = {};  // the last used one first
    std::uint64_t num_bytes = 0;
  };
  using Clients = std::map<std::string, Client, std::less<>>;
  using Owned = std::unordered_map<std::string_view, KeptList::iterator>;  // by ids, which point into the responses
  using Owners = std::map<std::string, Owned, std::less<>>;
  struct Kept {
    Response response;
    Owners::iterator owner;
    Clients::iterator client;
  };

  /// Null: there is none.
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

/// The store as one client sees it.
struct OwnResponses {
  ResponseStore* store = nullptr;
  std::string owner = {};        // the name of its key; empty where there are no keys
  std::string client = {};       // the key or address whose room what is kept takes
  std::uint64_t body_bytes = 0;  // of the request's body
};

/// The 404 of a response that is not there. `param`: the field that names it.
ApiError no_response(std::string_view id, std::string param);
/// Bytes for which an item counts.
std::uint64_t num_bytes_of(const ResponseItem& item);
/// The 400 of a request that refers to too much: at the field `param` it has come to `found` bytes.
ApiError refers_to_too_much(const std::string& param, std::uint64_t found, std::uint64_t most);

}  // namespace octavo
