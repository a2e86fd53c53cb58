#include "source/gguf/gguf_shards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "base/to_size.h"
#include "source/gguf/file_head.h"
#include "source/gguf/gguf_parser.h"
#include "source/shard_name.h"

namespace octavo {
namespace {

constexpr std::string_view kNumberKey = "split.no", kCountKey = "split.count", kTensorsKey = "split.tensors.count";
constexpr std::string_view kArchitectureKey = "general.architecture";

/// The keys by which a shard describes itself.
struct ShardKeys {
  std::uint64_t index = 0;  // the shard's number, from 0
  std::uint64_t count = 0;
  std::uint64_t num_tensors = 0;  // the number of tensors in all shards
};

Result<ShardKeys> read_keys(const GgufFile& file) {
  ShardKeys keys;
  OCTAVO_TRY(keys.index, file.get_u64(kNumberKey));
  OCTAVO_TRY(keys.count, file.get_u64(kCountKey));
  OCTAVO_TRY(keys.num_tensors, file.get_u64(kTensorsKey));
  return keys;
}

/// Error: the shard at `index` of `count` is no part of the model that `first` begins.
Result<void> check_shard(const GgufFile& shard, std::size_t index, std::size_t count, const GgufFile& first,
                         const ShardKeys& first_keys) {
  OCTAVO_TRY(const ShardKeys keys, read_keys(shard));
  if (keys.count != count)
    return fail("{}: a foreign shard: it is one of {} ({}), expected one of {}", shard.name(), keys.count, kCountKey,
                count);
  if (keys.index != index)
    return fail("{}: a foreign shard: it is number {} of {} ({} is {}), expected number {}", shard.name(),
                keys.index + 1, count, kNumberKey, keys.index, index + 1);
  if (keys.num_tensors != first_keys.num_tensors)
    return fail("{}: a foreign shard: it is of a model of {} tensors ({}), {} of one of {}", shard.name(),
                keys.num_tensors, kTensorsKey, first.name(), first_keys.num_tensors);
  if (shard.find(kArchitectureKey) == nullptr) return {};
  OCTAVO_TRY(const std::string_view architecture, shard.get_string(kArchitectureKey));
  OCTAVO_TRY(const std::string_view expected, first.get_string(kArchitectureKey));
  if (architecture != expected)
    return fail("{}: a foreign shard: its architecture is {}, that of {} is {}", shard.name(), quote(architecture),
                first.name(), quote(expected));
  return {};
}

/// Error: some of the shards are missing; it names them.
Result<void> check_all_there(const std::filesystem::path& folder, const ShardName& name, const std::string& named) {
  constexpr std::size_t kMostNamed = 5;
  std::vector<std::string> missing;
  for (std::uint32_t number = 1; number <= name.count; ++number) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder / name.file_name(number), ignored)) missing.push_back(name.file_name(number));
  }
  if (missing.empty()) return {};
  const std::size_t shown = std::min(missing.size(), kMostNamed);
  return fail("{}: {} of the model's {} shards {} missing beside it: {}{}", named, missing.size(), name.count,
              missing.size() == 1 ? "is" : "are",
              fmt::join(missing.begin(), missing.begin() + std::ptrdiff_t(shown), ", "),
              shown < missing.size() ? ", ..." : "");
}

}  // namespace

bool GgufShards::is_shard(const GgufFile& file) {
  const auto count = file.get_u64(kCountKey);
  return count && *count > 1;
}

Result<GgufShards> GgufShards::open(GgufFile named, const std::stop_token& stop) {
  OCTAVO_TRY(const ShardKeys keys, read_keys(named));
  const std::filesystem::path path = named.path(), folder = path.parent_path();
  if (keys.count > ShardName::kMaxCount)
    return fail("{}: {} is {}, expected at most {}", path.string(), kCountKey, keys.count, ShardName::kMaxCount);
  const auto name = ShardName::parse(path.filename().string());
  if (!name)
    return fail(
        "{}: this is shard {} of {}, and its name does not tell where the others are; expected one such as "
        "NAME-{:05}-of-{:05}.gguf",
        path.string(), keys.index + 1, keys.count, keys.index + 1, keys.count);
  if (name->count != keys.count || name->number != keys.index + 1)
    return fail("{}: by its name this is shard {} of {}, by its keys ({}, {}) shard {} of {}", path.string(),
                name->number, name->count, kNumberKey, kCountKey, keys.index + 1, keys.count);
  OCTAVO_TRY_VOID(check_all_there(folder, *name, path.string()));
  std::vector<GgufFile> shards;
  std::uint64_t head_bytes = named.heads().front().size();
  const auto open_until = [&](std::uint32_t end) -> Result<void> {
    for (auto number = static_cast<std::uint32_t>(shards.size()) + 1; number < end; ++number) {
      OCTAVO_TRY(GgufFile shard, GgufFile::open(folder / name->file_name(number), stop));
      head_bytes += shard.heads().front().size();
      if (head_bytes > FileHead::kMaxBytes)
        return fail(
            "{}: metadata and tensor directories of the shards up to this one have {} bytes, expected at most {}",
            shard.name(), head_bytes, FileHead::kMaxBytes);
      shards.push_back(std::move(shard));
    }
    return {};
  };
  OCTAVO_TRY_VOID(open_until(name->number));
  shards.push_back(std::move(named));
  OCTAVO_TRY_VOID(open_until(name->count + 1));
  return join(std::move(shards));
}

Result<GgufShards> GgufShards::join(std::vector<GgufFile> shards) {
  OCTAVO_CHECK(!shards.empty());
  const GgufFile& first = shards.front();
  OCTAVO_TRY(const ShardKeys keys, read_keys(first));
  for (std::size_t i = 0; i < shards.size(); ++i)
    OCTAVO_TRY_VOID(check_shard(shards[i], i, shards.size(), first, keys));
  GgufShards out;
  out.files_ = first.files();
  out.files_.bytes = 0;
  out.files_.num_files = shards.size();
  for (const GgufFile& shard : shards) {
    out.begins_.push_back(out.files_.bytes);
    out.files_.bytes += shard.files().bytes;
    out.files_.modified_ns = std::max(out.files_.modified_ns, shard.files().modified_ns);
  }
  out.shards_ = std::move(shards);
  OCTAVO_TRY_VOID(out.add_tensors(keys.num_tensors));
  return out;
}

Result<void> GgufShards::add_tensors(std::uint64_t expected) {
  directory_ = shards_.front().release_directory();
  std::uint64_t total = directory_.tensors().size();
  for (std::size_t i = 1; i < shards_.size(); ++i) total += shards_[i].tensors().size();
  if (total != expected)
    return fail("{}: its {} shards have {} tensors together, expected {} ({}): one of them is a foreign shard", name(),
                shards_.size(), total, expected, kTensorsKey);
  if (total > GgufLimits::kTensors)
    return fail("{}: its shards have {} tensors together, expected at most {}", name(), total, GgufLimits::kTensors);
  for (std::size_t i = 1; i < shards_.size(); ++i)
    for (SourceTensor tensor : shards_[i].tensors()) {
      if (directory_.find_tensor(tensor.name) != nullptr)
        return fail("{}: a foreign shard: tensor {} is in one before it, too", shards_[i].name(), quote(tensor.name));
      tensor.offset += begins_[i];
      directory_.add(std::move(tensor));
    }
  return {};
}

std::vector<std::span<const std::byte>> GgufShards::heads() const {
  std::vector<std::span<const std::byte>> heads;
  heads.reserve(shards_.size());
  for (const GgufFile& shard : shards_) heads.push_back(shard.heads().front());
  return heads;
}

std::size_t GgufShards::shard_at(std::uint64_t offset) const {
  return to_size(std::ranges::upper_bound(begins_, offset) - begins_.begin()) - 1;
}

Result<void> GgufShards::read(std::uint64_t offset, std::span<std::byte> out) const {
  if (offset > files_.bytes || out.size() > files_.bytes - offset)
    return fail("{}: {} bytes at offset {} are asked for, there are {}", name(), out.size(), offset, files_.bytes);
  while (!out.empty()) {
    const std::size_t i = shard_at(offset);
    const std::uint64_t inside = offset - begins_[i];
    const std::size_t size = std::min(out.size(), to_size(shards_[i].files().bytes - inside));
    OCTAVO_TRY_VOID(shards_[i].read(inside, out.first(size)));
    out = out.subspan(size);
    offset += size;
  }
  return {};
}

void GgufShards::prefetch(std::uint64_t offset, std::uint64_t size) const {
  if (offset >= files_.bytes) return;
  const std::size_t i = shard_at(offset);
  shards_[i].prefetch(offset - begins_[i], size);
}

void GgufShards::drop(std::uint64_t offset, std::uint64_t size) const {
  if (offset >= files_.bytes) return;
  const std::size_t i = shard_at(offset);
  shards_[i].drop(offset - begins_[i], size);
}

}  // namespace octavo
