// Packs the matrices of a file into panels: once, at load, on all threads.
//
// It goes through the file in order, in pieces of about a megabyte, and any thread packs the next one. So the disk
// reads from front to back, and the next bytes are prefetched. At any time the process holds the panels packed so far
// and some pieces. The mapping is not touched, so a file that is truncated meanwhile is an error and no crash.
//
// Engines that share the threads go on meanwhile: packing alternates with their steps, a few milliseconds at a time,
// and a thread of its own reads (piece_reader.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/thread_pool.h"
#include "base/to_size.h"
#include "kernels/packed_layout.h"
#include "model/content_hash.h"
#include "source/model_source.h"

namespace octavo {

/// Takes panels of a matrix that begin at byte `offset`, on any thread; several calls may run at once.
using SendPanels = std::function<Result<void>(std::size_t offset, std::span<const std::uint8_t> panels)>;

/// One matrix: `num_rows` rows of a tensor from `first_row` on, whose packed_bytes() go to memory, or elsewhere, or
/// both. Where `type` is not the tensor's type, its rows are quantized to it. Panels that are sent have the order of
/// quads, in which others read them.
struct RepackJob {
  const SourceTensor* tensor;
  DType type;
  std::int64_t first_row, num_rows;
  std::uint8_t* panels;                   // null: none are kept here
  SendPanels send = {};                   // empty: none are sent elsewhere
  PanelOrder order = PanelOrder::kQuads;  // of those that are kept here

  /// Whether panels are sent that are not those that are kept.
  bool sends_others() const { return send && (panels == nullptr || order != PanelOrder::kQuads); }
  std::uint64_t offset() const { return tensor->offset + to_size(first_row) * tensor->tensor.row_bytes(); }
};

/// Tells how many of all bytes of the file's matrices are done.
using RepackProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// The treatment of the file's pages in the page cache: they stay for the next start, or dropped, because the panels
/// need the memory.
enum class FilePages : std::uint8_t { kKept, kDropped };

struct RepackManner {
  FilePages pages = FilePages::kKept;
  bool beside_others = false;  // other engines compute on the pool, which is not held while reading
  std::stop_token stop = {};
};

/// `progress`, if set, is called on the calling thread: after each piece that it packs; or beside other engines between
/// their steps. The calling thread must have no step of the pool. The result is a hash of all bytes that were packed,
/// the same for any number of threads. Errors: the file ends too early, or cannot be read; a weight does not fit its
/// type; panels could not be sent; a stop was asked for, which each thread looks at after a piece. After an error
/// panels are incomplete. Throws std::system_error where the system refuses a thread.
Result<ContentHash> repack(std::vector<RepackJob> jobs, const ModelSource& source, ThreadPool& pool,
                           const RepackProgress& progress, const RepackManner& manner = {});

}  // namespace octavo
