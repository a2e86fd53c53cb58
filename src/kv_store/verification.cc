#include "kv_store/verification.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/random_bytes.h"
#include "base/to_size.h"
#include "kv_store/run_file.h"
#include "kv_store/run_index.h"
#include "kv_store/store_folder.h"

namespace octavo {
namespace {

bool go_on() { return true; }

std::vector<StoredFile> files_of(const StoreFolder& folder, const AddressDigest& address) {
  std::vector<StoredFile> files = folder.list(go_on).files;
  std::erase_if(files, [&](const StoredFile& file) { return file.address != address; });
  return files;
}

/// Puts what a run goes on from before its tokens. False: it is not there.
bool complete(const StoreFolder& folder, const RunIndex& index, SampledRun& run) {
  std::uint32_t first = run.header.first;
  for (BlockHash before = run.header.before; first > 0;) {
    const RunIndex::File* file = index.file_with(before);
    if (file == nullptr) return false;
    const auto opened = RunFile::open(folder.run_path(run.header.address, file->end));
    if (!opened) return false;
    const RunHeader& header = opened->header();
    if (header.first >= first || header.end < first || header.hashes[first - header.first - 1] != before) return false;
    const auto count = static_cast<std::ptrdiff_t>(std::size_t{first - header.first} * header.block_size);
    run.tokens.insert(run.tokens.begin(), header.tokens.begin(), header.tokens.begin() + count);
    run.has_pictures = run.has_pictures || header.rows().first(to_size(count)).has_given();
    first = header.first;
    before = header.before;
  }
  return run.tokens.size() == std::size_t{run.header.end} * run.header.block_size;
}

}  // namespace

Result<AddressDigest> only_address(const std::filesystem::path& path) {
  OCTAVO_TRY(const StoreFolder folder, StoreFolder::open_existing(path));
  const std::vector<AddressDigest> all = folder.addresses();
  if (all.size() != 1) return fail("{}: found {} addresses, expected one", path.string(), all.size());
  return all.front();
}

Result<StoreSample> sample_store(const std::filesystem::path& path, const AddressDigest& address, std::size_t most) {
  OCTAVO_TRY(const StoreFolder folder, StoreFolder::open_existing(path));
  std::vector<StoredFile> files = files_of(folder, address);
  StoreSample sample{.runs = {}, .files = files.size()};
  if (files.empty()) return fail("{}: has nothing that this model computes with these options here", path.string());
  RunIndex index;
  for (const StoredFile& file : files)
    if (const auto run = RunFile::open(folder.run_path(address, file.end))) index.add(run->header(), 0);
  std::mt19937_64 random(random_seed());
  std::ranges::shuffle(files, random);
  if (most != 0) files.resize(std::min(files.size(), most));
  for (const StoredFile& file : files) {
    const auto run = RunFile::open(folder.run_path(address, file.end));
    if (!run && run.error().fault == RunFault::kMissing) continue;
    if (!run || run->header().address != address || run->header().last() != file.end || !run->check()) {
      ++sample.damaged;
      continue;
    }
    SampledRun sampled{
        .header = run->header(), .tokens = run->header().tokens, .has_pictures = !run->header().given.empty()};
    if (!complete(folder, index, sampled))
      ++sample.incomplete;
    else if (sampled.has_pictures)
      ++sample.seeing;
    else
      sample.runs.push_back(std::move(sampled));
  }
  return sample;
}

std::optional<RunHeader> find_run(const std::filesystem::path& path, const AddressDigest& address,
                                  std::string_view domain, std::uint32_t end) {
  const auto folder = StoreFolder::open_existing(path);
  if (!folder) return std::nullopt;
  for (const StoredFile& file : files_of(*folder, address)) {
    const auto run = RunFile::open(folder->run_path(address, file.end));
    if (run && run->header().domain == domain && run->header().end == end) return run->header();
  }
  return std::nullopt;
}

ComparedBlocks compare_runs(const RunHeader& run, const RunHeader& other) {
  ComparedBlocks counts;
  const auto compare = [&](int pool, int index) {
    const RunHeader::Payload one = run.payload(pool, index), two = other.payload(pool, index);
    if (one.number == run.num_payloads() || two.number == other.num_payloads()) return;
    ++counts.compared;
    if (run.checksums[one.number] != other.checksums[two.number]) ++counts.different;
  };
  const auto groups = static_cast<int>(run.groups.size());
  for (int g = 0; g < groups; ++g) {
    const RunGroup& group = run.groups[to_size(g)];
    for (std::uint32_t i = 0; i < group.count; ++i) compare(g, static_cast<int>(group.first + i));
  }
  compare(groups, 0);
  return counts;
}

}  // namespace octavo
