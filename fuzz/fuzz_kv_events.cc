// Events about blocks for any history of a cache: a subscriber ends with the true set, and a frame of a replay request
// has a number or none.
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "base/error.h"
#include "kv_events/block_book.h"
#include "kv_events/message_log.h"

using namespace octavo;

namespace {

constexpr int kBlocks = 6;

/// Applies events as a subscriber does.
void follow(const BlockChanges& changes, std::map<std::uint64_t, TokenId>& blocks) {
  if (changes.are_cleared) blocks.clear();
  for (const std::uint64_t hash : changes.removed) OCTAVO_CHECK(blocks.erase(hash) == 1, "{} was not stored", hash);
  for (const StoredRun& run : changes.stored) {
    OCTAVO_CHECK(run.tokens.size() == run.hashes.size(), "{} tokens", run.tokens.size());
    OCTAVO_CHECK(!run.parent || blocks.contains(*run.parent), "{} is not stored", *run.parent);
    for (std::size_t i = 0; i < run.hashes.size(); ++i)
      OCTAVO_CHECK(blocks.emplace(run.hashes[i], run.tokens[i]).second, "{} was stored", run.hashes[i]);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  const auto number = number_of_frame({reinterpret_cast<const char*>(data), size});
  OCTAVO_CHECK(number.has_value() == (size == 8) && (!number || number_frame(*number).size() == 8), "{} bytes", size);
  BlockFeed feed(kBlocks, 1);
  BlockBook book(feed);
  std::map<std::uint64_t, TokenId> truth, told;
  std::uint64_t at[kBlocks] = {};
  for (const std::uint8_t byte : bytes) {
    const auto place = static_cast<BlockId>(byte % kBlocks);
    const auto name = static_cast<std::uint64_t>(1 + byte / kBlocks % 8);
    if (at[place] != 0) {
      truth.erase(at[place]);
      at[place] = 0;
      feed.remove(place);
    } else if (!truth.contains(name)) {
      const auto token = static_cast<TokenId>(name);
      at[place] = name;
      truth[name] = token;
      feed.store(place, {.low = name, .high = 0}, nullptr, std::span(&token, 1));
    }
    if (byte >= 128) follow(book.collect(), told);
  }
  follow(book.collect(), told);
  OCTAVO_CHECK(told == truth, "{} blocks are told, {} stand", told.size(), truth.size());
  std::map<std::uint64_t, TokenId> late;
  follow(book.everything(), late);
  OCTAVO_CHECK(late == truth, "{} blocks stand for who comes late", late.size());
  return 0;
}
