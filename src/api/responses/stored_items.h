// The items of stored responses that a request of /v1/responses refers to.
//
// A reader serves one request on one thread; the store, which it asks, is used by all.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/responses/response_store.h"
#include "api/responses/responses_items.h"

namespace octavo {

inline constexpr std::string_view kResponsePrefix = "resp_";  // the beginning of the ids of responses

/// Finds stored items for one request. An item is read once, and counts as often as the request refers to it.
class StoredItems {
 public:
  explicit StoredItems(const OwnResponses& responses) : responses_(responses), num_bytes_(responses.body_bytes) {}

  /// The item that `named` refers to. Errors: there is none; the request refers to too many bytes.
  ApiResult<ConversationItem> find(std::string_view id, const JsonCursor& named);
  /// The items of the conversation that the request continues, if it does, and then its own.
  ApiResult<std::vector<ConversationItem>> with_earlier(std::string_view previous_id,
                                                        const std::vector<ConversationItem>& input);

 private:
  struct Opened {
    ResponseStore::Response response;
    std::map<std::string_view, const ResponseItem*> items = {};  // items by their ids
  };

  ConversationItem read(const ResponseItem& item);
  /// The stored item; null: there is none.
  const ResponseItem* stored_item(std::string_view id);
  Opened open(const std::string& id) const;

  const OwnResponses& responses_;
  std::map<std::string, Opened> opened_ = {};
  std::map<std::shared_ptr<const std::string>, std::shared_ptr<const boost::json::object>> read_ = {};
  std::uint64_t num_bytes_;  // the bytes of the request's body and of the items that were found
};

}  // namespace octavo
