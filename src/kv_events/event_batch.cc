#include "kv_events/event_batch.h"

#include "kv_events/msgpack_writer.h"

namespace octavo {
namespace {

/// vLLM's word for the memory that the engine computes from, whatever it is: routers count other kinds for less.
constexpr std::string_view kMedium = "GPU";

void write_hashes(MsgpackWriter& out, const std::vector<std::uint64_t>& hashes) {
  out.text("block_hashes");
  out.array(hashes.size());
  for (const std::uint64_t hash : hashes) out.unsigned_integer(hash);
}

void write_stored(MsgpackWriter& out, const StoredRun& run, int block_size) {
  out.map(10);
  out.text("type");
  out.text("BlockStored");
  write_hashes(out, run.hashes);
  out.text("parent_block_hash");
  if (run.parent) {
    out.unsigned_integer(*run.parent);
  } else {
    out.nil();
  }
  out.text("token_ids");
  out.array(run.tokens.size());
  for (const TokenId token : run.tokens) out.unsigned_integer(static_cast<std::uint32_t>(token));
  out.text("block_size");
  out.unsigned_integer(static_cast<std::uint64_t>(block_size));
  out.text("lora_id");
  out.nil();
  out.text("medium");
  out.text(kMedium);
  out.text("lora_name");
  out.nil();
  out.text("group_idx");
  out.unsigned_integer(0);
  out.text("kv_cache_spec_kind");
  out.text("full_attention");
}

void write_removed(MsgpackWriter& out, const std::vector<std::uint64_t>& removed) {
  out.map(4);
  out.text("type");
  out.text("BlockRemoved");
  write_hashes(out, removed);
  out.text("medium");
  out.text(kMedium);
  out.text("group_idx");
  out.unsigned_integer(0);
}

}  // namespace

std::string event_batch(const BlockChanges& changes, int block_size, double time_s) {
  std::string text;
  MsgpackWriter out(text);
  out.array(3);
  out.real(time_s);
  out.array((changes.are_cleared ? 1U : 0U) + (changes.removed.empty() ? 0U : 1U) + changes.stored.size());
  if (changes.are_cleared) {
    out.map(1);
    out.text("type");
    out.text("AllBlocksCleared");
  }
  if (!changes.removed.empty()) write_removed(out, changes.removed);
  for (const StoredRun& run : changes.stored) write_stored(out, run, block_size);
  out.unsigned_integer(0);  // the rank: there is one
  return text;
}

}  // namespace octavo
