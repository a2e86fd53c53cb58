// What is known about the files of an address, as the bytes of one file, so that a program that starts reads this file
// in place of all headers. docs/kv_store.md has the format.
//
// What it says is believed only as far as finding goes: a file that is gone, or another than it says, is a miss when it
// is read. Free functions; any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "kv_store/run_header.h"
#include "kv_store/run_index.h"

namespace octavo {

inline constexpr std::uint32_t kIndexVersion = 1;
/// The most bytes of an index.
inline constexpr std::uint64_t kMaxIndexBytes = 64 + RunIndex::kMaxFiles * 40 + RunIndex::kMaxBlocks * 16;

std::vector<std::byte> index_bytes(const AddressDigest& address, const RunIndex::Contents& contents);
/// Reads an index. Errors: another format, version or address; a torn file; more than an index may have.
Result<RunIndex> parse_index(std::span<const std::byte> bytes, const AddressDigest& address);

}  // namespace octavo
