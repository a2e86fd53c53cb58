#include "api/responses/stored_items.h"

#include <boost/json/parse.hpp>

#include "base/error.h"

namespace octavo {
namespace {

/// The id of the response that an item's id contains; empty where it contains none.
std::string response_of_item(std::string_view item_id) {
  const std::size_t begin = item_id.find('_') + 1, end = item_id.rfind('_');
  if (begin == 0 || end == std::string_view::npos || end <= begin) return {};
  return std::string(kResponsePrefix) + std::string(item_id.substr(begin, end - begin));
}

}  // namespace

ConversationItem StoredItems::read(const ResponseItem& item) {
  const auto [known, is_new] = read_.try_emplace(item.json);
  if (is_new) known->second = std::make_shared<const boost::json::object>(boost::json::parse(*item.json).as_object());
  return {.value = known->second, .json = item.json};
}

ApiResult<ConversationItem> StoredItems::find(std::string_view id, const JsonCursor& named) {
  const ResponseItem* stored = stored_item(id);
  if (stored == nullptr) return std::unexpected(no_response(id, named.path()));
  num_bytes_ += num_bytes_of(*stored);
  const std::uint64_t most = responses_.store->limits().max_request_bytes;
  if (num_bytes_ > most) return std::unexpected(refers_to_too_much(named.path(), num_bytes_, most));
  return read(*stored);
}

const ResponseItem* StoredItems::stored_item(std::string_view id) {
  const auto [place, is_new] = opened_.try_emplace(response_of_item(id));
  Opened& opened = place->second;
  if (is_new) opened = open(place->first);
  const auto found = opened.items.find(id);
  return found == opened.items.end() ? nullptr : found->second;
}

StoredItems::Opened StoredItems::open(const std::string& id) const {
  Opened opened{.response = responses_.store->find(responses_.owner, id)};
  if (opened.response == nullptr) return opened;
  for (const std::vector<ResponseItem>* items : {&opened.response->output, &opened.response->input})
    for (const ResponseItem& item : *items) opened.items.try_emplace(item.id, &item);
  return opened;
}

ApiResult<std::vector<ConversationItem>> StoredItems::with_earlier(std::string_view previous_id,
                                                                   const std::vector<ConversationItem>& input) {
  std::vector<ConversationItem> items;
  if (!previous_id.empty()) {
    OCTAVO_TRY(const auto earlier, responses_.store->conversation(responses_.owner, previous_id, num_bytes_));
    for (const ResponseStore::Response& response : earlier)
      for (const std::vector<ResponseItem>* part : {&response->input, &response->output})
        for (const ResponseItem& item : *part) items.push_back(read(item));
  }
  items.insert(items.end(), input.begin(), input.end());
  return items;
}

}  // namespace octavo
