#include "api/responses/response_store.h"

#include <fmt/format.h>

#include <algorithm>

#include "json/json_writer.h"

namespace octavo {
namespace {

constexpr std::size_t kItemBytes = 128;  // about the memory that keeping an item takes beside its text
constexpr std::size_t kResponseBytes = 512;
constexpr std::size_t kMaxShownId = 64;

std::size_t size_of(const std::vector<ResponseItem>& items) {
  std::size_t num_bytes = 0;
  for (const ResponseItem& item : items) num_bytes += num_bytes_of(item);
  return num_bytes;
}

}  // namespace

std::string StoredResponse::body() const {
  std::string out = head;
  for (const ResponseItem& item : output) JsonWriter(out).raw(*item.json);
  return out + tail;
}

std::size_t StoredResponse::num_bytes() const {
  return kResponseBytes + id.size() + previous_id.size() + size_of(input) + size_of(output) + head.size() + tail.size();
}

std::uint64_t num_bytes_of(const ResponseItem& item) { return kItemBytes + item.id.size() + item.json->size(); }

ApiError refers_to_too_much(const std::string& param, std::uint64_t found, std::uint64_t most) {
  return {.status = 400,
          .message = fmt::format("{}: found {} bytes up to here in the request and what it refers to, expected at most "
                                 "{}, as in a request that refers to nothing",
                                 param, found, most),
          .param = param,
          .code = "invalid_value"};
}

ApiError no_response(std::string_view id, std::string param) {
  return {.status = 404,
          .message =
              fmt::format("{}{}there is no response '{}': it was not stored, it is another key's, it was deleted, or "
                          "it had to make room",
                          param, param.empty() ? "" : ": ", id.substr(0, kMaxShownId)),
          .param = std::move(param),
          .code = "response_not_found"};
}

void ResponseStore::put(const std::string& owner, StoredResponse response, std::string_view client) {
  const std::uint64_t size = response.num_bytes();
  if (size > limits_.max_bytes) return;
  const auto kept = std::make_shared<const StoredResponse>(std::move(response));
  const std::scoped_lock lock(mutex_);
  const auto own = owners_.try_emplace(owner).first;
  const auto room = clients_.try_emplace(std::string(client.empty() ? owner : client)).first;
  KeptList& responses = room->second.responses;
  responses.push_front({.response = kept, .owner = own, .client = room});
  own->second.emplace(kept->id, responses.begin());
  room->second.num_bytes += size;
  num_bytes_ += size;
  ++num_responses_;
  make_room();
}

void ResponseStore::make_room() {
  const auto bytes_of = [](const Clients::value_type& entry) { return entry.second.num_bytes; };
  const auto number_of = [](const Clients::value_type& entry) { return entry.second.responses.size(); };
  while (num_bytes_ > limits_.max_bytes)
    drop(std::prev(std::ranges::max_element(clients_, {}, bytes_of)->second.responses.end()));
  while (num_responses_ > limits_.max_responses)
    drop(std::prev(std::ranges::max_element(clients_, {}, number_of)->second.responses.end()));
}

void ResponseStore::drop(KeptList::iterator kept) {
  const auto [response, owner, client] = *kept;
  const std::uint64_t size = response->num_bytes();
  owner->second.erase(response->id);
  if (owner->second.empty()) owners_.erase(owner);
  client->second.num_bytes -= size;
  client->second.responses.erase(kept);
  if (client->second.responses.empty()) clients_.erase(client);
  num_bytes_ -= size;
  --num_responses_;
}

const ResponseStore::Kept* ResponseStore::use(std::string_view owner, std::string_view id) {
  const auto own = owners_.find(owner);
  if (own == owners_.end()) return nullptr;
  const auto found = own->second.find(id);
  if (found == own->second.end()) return nullptr;
  KeptList& responses = found->second->client->second.responses;
  responses.splice(responses.begin(), responses, found->second);
  return &*found->second;
}

ResponseStore::Response ResponseStore::find(std::string_view owner, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const Kept* kept = use(owner, id);
  return kept == nullptr ? nullptr : kept->response;
}

bool ResponseStore::erase(std::string_view owner, std::string_view id) {
  const std::scoped_lock lock(mutex_);
  const Kept* kept = use(owner, id);
  if (kept == nullptr) return false;
  drop(kept->client->second.responses.begin());
  return true;
}

ApiResult<std::vector<ResponseStore::Response>> ResponseStore::conversation(std::string_view owner, std::string_view id,
                                                                            std::uint64_t other_bytes) {
  std::vector<Response> responses;
  std::uint64_t num_bytes = other_bytes;
  const std::scoped_lock lock(mutex_);
  for (std::string_view next = id; !next.empty(); next = responses.back()->previous_id) {
    const Kept* kept = use(owner, next);
    if (kept == nullptr) return std::unexpected(no_response(next, "previous_response_id"));
    Response response = kept->response;
    num_bytes += size_of(response->input) + size_of(response->output);
    if (num_bytes > limits_.max_request_bytes)
      return std::unexpected(refers_to_too_much("previous_response_id", num_bytes, limits_.max_request_bytes));
    responses.push_back(std::move(response));
  }
  std::ranges::reverse(responses);
  return responses;
}

std::uint64_t ResponseStore::num_bytes() const {
  const std::scoped_lock lock(mutex_);
  return num_bytes_;
}

}  // namespace octavo
