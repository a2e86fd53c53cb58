// Parses numbers, sizes and lists of the command line strictly: the whole text, decimal, in range. Formats sizes.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// Parses a decimal integer from `low` to `high`.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high);
/// Parses one or more integers with commas between them.
Result<std::vector<int>> parse_integers(std::string_view text, int low, int high);
Result<std::uint64_t> parse_u64(std::string_view text);
/// Parses a finite number from `low` to `high`.
Result<float> parse_real(std::string_view text, float low, float high);

/// Parses a size in bytes, such as "4GiB", "1.5GiB", "512MiB", "4GB" (10^9) or "1048576". Units: B, KiB, MiB, GiB, TiB,
/// kB, MB, GB, TB.
Result<std::uint64_t> parse_size(std::string_view text);
/// Formats a size, as "93.8 MiB" or "512 B".
std::string format_bytes(std::uint64_t bytes);

/// Parses a time, such as "30d", "12h", "90m" or "600s": a whole number below 10^9 with a unit.
Result<std::chrono::seconds> parse_age(std::string_view text);

/// Parses at least one token id; ids have commas, spaces or both between them.
Result<std::vector<TokenId>> parse_ids(std::string_view text);

/// Escapes bytes for one line of a terminal or a table: valid UTF-8, with \n, \t, \\ and \xNN for what could not be
/// seen.
std::string escaped(std::string_view bytes);

}  // namespace octavo::cli
