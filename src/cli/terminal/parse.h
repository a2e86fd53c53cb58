// Text of the command line to numbers, sizes and lists, strictly: the whole text, decimal, in range. Sizes back to
// text.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// A decimal integer from `low` to `high`.
Result<std::int64_t> parse_integer(std::string_view text, std::int64_t low, std::int64_t high);
/// One or more of them, separated by commas.
Result<std::vector<int>> parse_integers(std::string_view text, int low, int high);
Result<std::uint64_t> parse_u64(std::string_view text);
/// A finite number from `low` to `high`.
Result<float> parse_real(std::string_view text, float low, float high);

/// Bytes: "4GiB", "1.5GiB", "512MiB", "4GB" (10^9), "1048576". Units: B, KiB, MiB, GiB, TiB, kB, MB, GB, TB.
Result<std::uint64_t> parse_size(std::string_view text);
/// "93.8 MiB", "512 B".
std::string format_bytes(std::uint64_t bytes);

/// A time: "30d", "12h", "90m", "600s"; of a whole number below 10^9.
Result<std::chrono::seconds> parse_age(std::string_view text);

/// Token ids separated by commas, spaces or both; at least one.
Result<std::vector<TokenId>> parse_ids(std::string_view text);

/// For one line of a terminal or a table: valid UTF-8, with \n, \t, \\ and \xNN for what would not be seen.
std::string escaped(std::string_view bytes);

}  // namespace octavo::cli
