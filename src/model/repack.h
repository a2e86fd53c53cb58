// Packs the matrices of a mapped file into panels: once, at load, on all threads.
//
// In the order of the file and in pieces of about a megabyte, of which any thread takes the next: the disk is read from
// front to back, what comes next is asked for early, and a piece's pages of the map are given back as soon as it is
// packed. So at any time the process holds what is packed so far and a piece a thread.
#pragma once

#include <functional>
#include <vector>

#include "base/mapped_file.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace octavo {

/// One matrix: where it is in the file, and room for packed_bytes() of it.
struct RepackJob {
  Tensor source;
  std::uint64_t offset;  // of the source in the file, bytes
  std::uint8_t* panels;
};

/// Done of all bytes of the file's matrices.
using RepackProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

/// `progress`, if set, is called on the calling thread, at least once for every piece that this thread packs.
void repack(std::vector<RepackJob> jobs, const MappedFile& file, ThreadPool& pool, const RepackProgress& progress);

}  // namespace octavo
