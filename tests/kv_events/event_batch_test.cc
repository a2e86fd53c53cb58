// The bytes of events, as vLLM's subscribers read them.
#include "kv_events/event_batch.h"

#include <gmock/gmock.h>

#include <fmt/format.h>

#include "kv_events/msgpack_writer.h"

namespace octavo {
namespace {

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

template <class Write>
std::string written(Write write) {
  std::string out;
  MsgpackWriter writer(out);
  write(writer);
  return hex(out);
}

TEST(MsgpackWriter, WritesTheShortestFormOfANumber) {
  const std::pair<std::uint64_t, const char*> rows[] = {{0, "00"},
                                                        {127, "7f"},
                                                        {128, "cc80"},
                                                        {255, "ccff"},
                                                        {256, "cd0100"},
                                                        {65535, "cdffff"},
                                                        {65536, "ce00010000"},
                                                        {0xFFFFFFFF, "ceffffffff"},
                                                        {0x100000000, "cf0000000100000000"},
                                                        {UINT64_MAX, "cfffffffffffffffff"}};
  for (const auto& [value, bytes] : rows)
    EXPECT_EQ(written([&](MsgpackWriter& out) { out.unsigned_integer(value); }), bytes);
  EXPECT_EQ(written([](MsgpackWriter& out) { out.real(1.5); }), "cb3ff8000000000000");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.nil(); }), "c0");
}

TEST(MsgpackWriter, WritesTheShortestFormOfALength) {
  EXPECT_EQ(written([](MsgpackWriter& out) { out.array(15); }), "9f");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.array(16); }), "dc0010");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.array(65536); }), "dd00010000");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.map(3); }), "83");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.map(16); }), "de0010");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.text("ab"); }), "a26162");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.text(std::string(32, 'x')); }).substr(0, 4), "d920");
  EXPECT_EQ(written([](MsgpackWriter& out) { out.text(std::string(300, 'x')); }).substr(0, 10), "db0000012c");
}

TEST(EventBatch, IsAnArrayOfTimeEventsAndRank) {
  EXPECT_EQ(hex(event_batch({.are_cleared = true}, 16, 1.5)),
            "93"
            "cb3ff8000000000000"
            "91"
            "81"
            "a474797065"
            "b0"
            "416c6c426c6f636b73436c6561726564"
            "00");
  EXPECT_EQ(hex(event_batch({}, 16, 0)),
            "93"
            "cb0000000000000000"
            "90"
            "00");
}

TEST(EventBatch, HasRemovalsBeforeStores) {
  BlockChanges changes{.removed = {5}, .stored = {{.hashes = {6}, .parent = {}, .tokens = {1, 2}}}};
  const std::string bytes = event_batch(changes, 2, 0);
  EXPECT_LT(bytes.find("BlockRemoved"), bytes.find("BlockStored"));
  for (const char* name : {"block_hashes", "parent_block_hash", "token_ids", "block_size", "lora_id", "medium",
                           "lora_name", "group_idx", "kv_cache_spec_kind", "full_attention"})
    EXPECT_NE(bytes.find(name), std::string::npos) << name;
}

}  // namespace
}  // namespace octavo
