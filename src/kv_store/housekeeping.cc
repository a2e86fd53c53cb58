#include "kv_store/housekeeping.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "base/hex.h"
#include "base/to_size.h"
#include "kv_store/run_file.h"
#include "kv_store/store_folder.h"

namespace octavo {
namespace {

bool go_on() { return true; }

/// Removes files, and the folders of addresses that have become empty.
Housekeeping remove_files(const StoreFolder& folder, std::span<const StoredFile> files, const StoreListing& listing) {
  Housekeeping done{.files_left = listing.files.size(), .bytes_left = listing.bytes};
  for (const StoredFile& file : files) {
    if (!folder.remove(file)) continue;
    ++done.files;
    done.bytes += file.bytes;
    --done.files_left;
    done.bytes_left -= std::min(done.bytes_left, file.bytes);
  }
  for (const AddressDigest& address : folder.addresses()) folder.remove_if_empty(address);
  return done;
}

}  // namespace

Result<std::vector<StoredDomain>> list_store(const std::filesystem::path& path) {
  OCTAVO_TRY(const StoreFolder folder, StoreFolder::open_existing(path));
  std::map<std::pair<AddressDigest, std::string>, StoredDomain> rows;
  for (const StoredFile& file : folder.list(go_on).files) {
    const auto run = RunFile::open(folder.run_path(file.address, file.end));
    const std::string domain = run ? run->header().domain : "";
    const auto [at, is_new] = rows.try_emplace({file.address, domain});
    StoredDomain& row = at->second;
    if (is_new) {
      row.address_digest = hex_digits(file.address);
      row.address = folder.address_text(file.address);
      row.domain = domain;
      row.oldest_s = file.used_s;
    }
    ++row.files;
    row.bytes += file.bytes;
    row.used_s = std::max(row.used_s, file.used_s);
    row.oldest_s = std::min(row.oldest_s, file.used_s);
    if (!run) continue;
    row.blocks += run->header().hashes.size();
    row.tokens += run->header().tokens.size();
  }
  std::vector<StoredDomain> all;
  all.reserve(rows.size());
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

Result<Housekeeping> make_room_in_store(const std::filesystem::path& path, std::optional<std::uint64_t> max_bytes,
                                        std::optional<std::int64_t> used_before_s) {
  OCTAVO_TRY(const StoreFolder folder, StoreFolder::open_existing(path));
  const StoreListing listing = folder.list(go_on);
  return remove_files(folder, choose_oldest(listing.files, listing.bytes, max_bytes, used_before_s), listing);
}

Result<Housekeeping> purge_store(const std::filesystem::path& path, const std::optional<std::string>& domain,
                                 std::optional<std::int64_t> used_before_s) {
  OCTAVO_TRY(const StoreFolder folder, StoreFolder::open_existing(path));
  const StoreListing listing = folder.list(go_on);
  std::vector<StoredFile> chosen;
  for (const StoredFile& file : listing.files) {
    if (used_before_s && file.used_s >= *used_before_s) continue;
    if (domain) {
      const auto run = RunFile::open(folder.run_path(file.address, file.end));
      // A file that cannot be read may be of this domain.
      if (run && run->header().domain != domain->substr(0, kMaxDomainBytes)) continue;
    }
    chosen.push_back(file);
  }
  return remove_files(folder, chosen, listing);
}

}  // namespace octavo
