#include "kv_store/run_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/to_size.h"

namespace octavo {

bool RunIndex::add(const RunHeader& header, std::int64_t used_s) {
  return add({.end = header.last(), .bytes = header.file_bytes(), .used_s = used_s}, header.hashes);
}

bool RunIndex::add(File file, std::span<const BlockHash> hashes) {
  forget(file.end);
  if (ends_.size() >= kMaxFiles || !make_room(hashes.size())) return false;
  const auto number = static_cast<std::uint32_t>(files_.size());
  file.num_blocks = static_cast<std::uint32_t>(hashes.size());
  file.is_known = true;
  files_.push_back(file);
  ends_.emplace(file.end, number);
  for (const BlockHash& hash : hashes) insert(hash, number);
  known_blocks_ += hashes.size();
  return true;
}

void RunIndex::reserve(std::size_t num_blocks) { make_room(num_blocks); }

void RunIndex::forget(const BlockHash& end) {
  const auto found = ends_.find(end);
  if (found == ends_.end()) return;
  File& file = files_[found->second];
  file.is_known = false;
  known_blocks_ -= file.num_blocks;
  ends_.erase(found);
}

RunIndex::File* RunIndex::file_with(const BlockHash& block) {
  return const_cast<File*>(std::as_const(*this).file_with(block));
}

const RunIndex::File* RunIndex::file_with(const BlockHash& block) const {
  const std::uint32_t file = find(block);
  return file == kNone || !files_[file].is_known ? nullptr : &files_[file];
}

RunIndex::File* RunIndex::file_ending(const BlockHash& end) {
  return const_cast<File*>(std::as_const(*this).file_ending(end));
}

const RunIndex::File* RunIndex::file_ending(const BlockHash& end) const {
  const auto found = ends_.find(end);
  return found == ends_.end() ? nullptr : &files_[found->second];
}

std::vector<BlockHash> RunIndex::ends() const {
  std::vector<BlockHash> all;
  all.reserve(ends_.size());
  for (const auto& [end, file] : ends_) all.push_back(end);
  return all;
}

RunIndex::Contents RunIndex::contents() const {
  Contents all;
  std::vector<std::size_t> ends(files_.size() + 1);  // at first ends[i + 1] counts the blocks of file i
  for (const Entry& entry : entries_)
    if (entry.file != kNone && files_[entry.file].is_known) ++ends[entry.file + 1];
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i].is_known) {
      all.files.push_back(files_[i]);
      all.files.back().num_blocks = static_cast<std::uint32_t>(ends[i + 1]);
    }
    ends[i + 1] += ends[i];
  }
  all.hashes.resize(ends.back());
  for (const Entry& entry : entries_)
    if (entry.file != kNone && files_[entry.file].is_known) all.hashes[ends[entry.file]++] = entry.hash;
  return all;
}

bool RunIndex::make_room(std::size_t num_blocks) {
  if (known_blocks_ + num_blocks > kMaxBlocks) return false;
  const std::size_t most_files = 2 * (ends_.size() + 512);
  if ((used_entries_ + num_blocks) * 8 <= entries_.size() * 5 && files_.size() < most_files) return true;
  // An eighth more than is needed now, so that it is long until the next time.
  rebuild(std::bit_ceil((known_blocks_ + known_blocks_ / 8 + num_blocks + 64) * 8 / 5 + 1));
  return true;
}

void RunIndex::rebuild(std::size_t num_entries) {
  std::vector<File> files;
  files.reserve(ends_.size() + 1);
  std::vector<std::uint32_t> renamed(files_.size(), kNone);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (!files_[i].is_known) continue;
    renamed[i] = static_cast<std::uint32_t>(files.size());
    files.push_back(files_[i]);
  }
  std::vector<Entry> old(num_entries);
  std::swap(old, entries_);
  std::swap(files, files_);
  for (auto& [end, file] : ends_) file = renamed[file];
  used_entries_ = 0;
  for (const Entry& entry : old)
    if (entry.file != kNone && renamed[entry.file] != kNone) insert(entry.hash, renamed[entry.file]);
}

void RunIndex::insert(const BlockHash& hash, std::uint32_t file) {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash.low & mask;
  while (entries_[at].file != kNone && entries_[at].hash != hash) at = (at + 1) & mask;
  if (entries_[at].file == kNone) ++used_entries_;
  entries_[at] = {.hash = hash, .file = file};
}

std::uint32_t RunIndex::find(const BlockHash& hash) const {
  if (entries_.empty()) return kNone;
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = hash.low & mask;
  while (entries_[at].file != kNone && entries_[at].hash != hash) at = (at + 1) & mask;
  return entries_[at].file;
}

}  // namespace octavo
