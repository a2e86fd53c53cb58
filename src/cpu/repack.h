// Packs the matrices of a file into panels: once, at load, on all threads.
//
// It goes in the order of the file, in pieces of about a megabyte, of which any thread packs the next. So the disk is
// read from front to back, and the next bytes are asked for early. At any time the process holds the panels packed so
// far and some pieces. The map is not touched, so a file that is cut short meanwhile is an error.
//
// Engines that share the threads go on meanwhile: packing takes turns with their steps, a few milliseconds at a time,
// and a thread of its own reads (piece_reader.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <vector>

#include "base/thread_pool.h"
#include "base/to_size.h"
#include "model/content_hash.h"
#include "source/model_source.h"

namespace octavo {

/// Takes panels of a matrix from byte `offset` of them on, on any thread; several at the same time.
using SendPanels = std::function<Result<void>(std::size_t offset, std::span<const std::uint8_t> panels)>;

/// One matrix, `num_rows` rows of a tensor from `first_row` on, and where packed_bytes() of it in its type go: to
/// memory, or elsewhere, or both. If the type is not the tensor's, its rows are quantized anew.
struct RepackJob {
  const SourceTensor* tensor;
  DType type;
  std::int64_t first_row, num_rows;
  std::uint8_t* panels;  // null: none of them stay here
  SendPanels send = {};  // empty: none of them go elsewhere

  std::uint64_t offset() const { return tensor->offset + to_size(first_row) * tensor->tensor.row_bytes(); }
};

/// Done of all bytes of the file's matrices.
using RepackProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// The fate of the file's pages in the page cache: the next start finds them there, or memory is wanted for the
/// panels.
enum class FilePages : std::uint8_t { kKept, kDropped };

struct RepackManner {
  FilePages pages = FilePages::kKept;
  bool beside_others = false;  // who compute on the pool: it is held for no read
  std::stop_token stop = {};
};

/// `progress`, if set, is called on the calling thread, behind each piece that it packs, or beside others between their
/// steps; the calling thread must have no step of the pool. The result is a hash of all bytes that were packed, the
/// same for any number of threads. Error: the file ends before it should, or cannot be read; a weight that its type
/// cannot have; panels could not be sent; a stop was asked for, which each thread looks at behind a piece. Panels are
/// not complete then. Throws std::system_error where the system refuses a thread.
Result<ContentHash> repack(std::vector<RepackJob> jobs, const ModelSource& source, ThreadPool& pool,
                           const RepackProgress& progress, const RepackManner& manner = {});

}  // namespace octavo
