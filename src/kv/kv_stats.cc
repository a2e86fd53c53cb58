#include "octavo/kv_stats.h"

#include "base/error.h"

namespace octavo {
namespace {

/// A size for people: "12.3 MiB", "640 KiB".
std::string size_text(std::uint64_t bytes) {
  constexpr double kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;
  const auto b = static_cast<double>(bytes);
  if (b >= kGiB) return fmt::format("{:.1f} GiB", b / kGiB);
  if (b >= kMiB) return fmt::format("{:.1f} MiB", b / kMiB);
  return fmt::format("{:.1f} KiB", b / kKiB);
}

}  // namespace

std::string KvStats::summary() const {
  const std::uint64_t looked_for = hits + misses;
  return fmt::format(
      "KV memory {} of {}: {} blocks, {} in use, {} cached, {} free; {} tokens; prefix hits {:.1f}% of {} tokens; {} "
      "evictions, {} copies; runs of {:.1f} blocks",
      size_text(resident_bytes), size_text(arena_bytes), blocks_total, blocks_referenced, blocks_cached, blocks_free,
      tokens, looked_for == 0 ? 0.0 : 100.0 * static_cast<double>(hits) / static_cast<double>(looked_for), looked_for,
      evictions, copies, mean_run_blocks);
}

}  // namespace octavo
