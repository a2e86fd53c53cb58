#include "engine/schedule/sequence.h"

#include <algorithm>

#include "base/to_size.h"

namespace octavo {

void Sequence::hash_blocks(const BlockHashing& hashing) {
  if (!hashing.hasher) return;
  chain = BlockChain(hashing.hasher, params.cache_domain, hashing.origin);
  chain.reserve(tokens.size() / to_size(hashing.block_size));
  chain.extend(hashing.hasher, hashing.block_size, rows());
}

int Sequence::num_ready() const {
  for (std::size_t i = 0; i < given.rows.size(); ++i)
    if (given.rows[i].end() > num_computed && (given.joins_rows || given.pictures[i]->vectors == nullptr))
      return std::max(0, given.rows[i].first - num_computed);
  return num_uncomputed();
}

bool Sequence::awaits_joint_pass() const {
  if (!given.joins_rows || waits_for_mask || notes.joint_end > 0) return false;
  for (std::size_t i = 0; i < given.rows.size(); ++i)
    if (given.rows[i].end() > num_computed)
      return given.rows[i].first <= num_computed && given.pictures[i]->vectors != nullptr;
  return false;
}

bool SequenceGiven::has_rows(int begin, int end) const {
  return std::ranges::any_of(rows, [&](const GivenRows& given) { return given.first < end && given.end() > begin; });
}

int SequenceGiven::num_joint_rows(int position) const {
  if (!joins_rows) return 0;
  for (const GivenRows& given : rows)
    if (given.end() > position) return given.first <= position ? given.end() - position : 0;
  return 0;
}

int SequenceGiven::most_joint_rows(int num_computed) const {
  int most = 0;
  if (joins_rows)
    for (const GivenRows& given : rows)
      if (given.end() > num_computed) most = std::max(most, given.end() - std::max(given.first, num_computed));
  return most;
}

int SequenceGiven::num_encoded(int num_computed) const {
  int count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].end() > num_computed)
      count += pictures[i]->vectors != nullptr ? rows[i].end() - std::max(rows[i].first, num_computed)
                                               : std::clamp(pictures[i]->num_encoded - rows[i].index, 0, rows[i].count);
  return count;
}

RopePosition Sequence::rope_position(int position) const {
  if (!given.turns_by_grid) return position;
  int time = position;  // without the positions that pictures before it have saved
  for (std::size_t i = 0; i < given.rows.size() && given.rows[i].first <= position; ++i) {
    const GivenRows& rows = given.rows[i];
    const PictureRows& picture = *given.pictures[i];
    const int place = position - rows.first;
    if (place < rows.count)
      return {time - place, (rows.index + place) / picture.grid_columns, (rows.index + place) % picture.grid_columns};
    time -= rows.count - std::max(picture.grid_rows, picture.grid_columns);
  }
  return time;
}

}  // namespace octavo
