#include "kv_store/run_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "base/random_bytes.h"
#include "base/to_size.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace octavo {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;  // the bytes between two pauses
constexpr std::size_t kMaxPieces = 1024;                   // the most pieces of one call: IOV_MAX
constexpr std::size_t kFirstRead = 4096;

/// A block, and the place of its payload in the file.
struct Placed {
  RunHeader::Payload at;
  HeldBlock held;
};

/// Payloads that follow each other in the file, and the pieces of memory that hold them.
struct Chunk {
  std::uint64_t offset = 0;
  std::vector<::iovec> pieces = {};
  struct Part {
    std::size_t number, first_piece, end_piece;
  };
  std::vector<Part> parts = {};
};

std::unexpected<RunError> fault(RunFault fault, const std::filesystem::path& path, std::string_view what) {
  return std::unexpected(RunError{fault, fmt::format("{}: {}", path.string(), what)});
}

std::unexpected<RunError> disk_fault(const std::filesystem::path& path, std::string_view what) {
  const int error = errno;
  return fault(error == ENOENT || error == ENOTDIR ? RunFault::kMissing : RunFault::kDisk, path,
               fmt::format("{}: {}", what, std::strerror(error)));
}

std::uint64_t checksum_of(std::span<const ::iovec> pieces) {
  XXH3_state_t state;
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset(&state);
  for (const ::iovec& piece : pieces) XXH3_64bits_update(&state, piece.iov_base, piece.iov_len);
  return XXH3_64bits_digest(&state);
}

/// Calls `call(pieces, offset)` until all pieces are transferred. Where a call gives 0 the file ends, and so does this.
template <class Call>
::ssize_t transfer(std::span<::iovec> pieces, std::uint64_t offset, const Call& call) {
  while (!pieces.empty()) {
    const ::ssize_t done = call(pieces.first(std::min(pieces.size(), kMaxPieces)), static_cast<::off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done;
    offset += static_cast<std::uint64_t>(done);
    std::size_t left = to_size(done);
    while (!pieces.empty() && left >= pieces.front().iov_len) {
      left -= pieces.front().iov_len;
      pieces = pieces.subspan(1);
    }
    if (left > 0) {
      pieces.front().iov_base = static_cast<std::byte*>(pieces.front().iov_base) + left;
      pieces.front().iov_len -= left;
    }
  }
  return 1;
}

void add_pieces(const Placed& placed, const StateLayout& layout, BlockMemory& memory, Chunk& chunk) {
  const int pool = placed.held.pool;
  const int layers = pool < layout.num_groups() ? layout.group(pool).num_layers() : 1;
  const std::size_t first = chunk.pieces.size();
  std::size_t bytes = 0;
  for (int layer = 0; layer < layers; ++layer) {
    const std::span<std::byte> piece = memory.piece(pool, placed.held.block, layer);
    chunk.pieces.push_back({.iov_base = piece.data(), .iov_len = piece.size()});
    bytes += piece.size();
  }
  OCTAVO_CHECK(bytes == placed.at.bytes, "block {} of pool {} has {} bytes, expected {}", placed.held.block, pool,
               bytes, placed.at.bytes);
  chunk.parts.push_back({placed.at.number, first, chunk.pieces.size()});
}

/// Takes payloads that follow each other from the front: as many as a chunk has room for, at least one.
Chunk next_chunk(std::span<const Placed>& placed, const StateLayout& layout, BlockMemory& memory) {
  Chunk chunk{.offset = placed.front().at.offset};
  std::uint64_t end = chunk.offset;
  while (!placed.empty() && placed.front().at.offset == end &&
         (end == chunk.offset || end - chunk.offset < kChunkBytes)) {
    add_pieces(placed.front(), layout, memory, chunk);
    end += placed.front().at.bytes;
    placed = placed.subspan(1);
  }
  return chunk;
}

/// The places of the blocks. None: one of the blocks is not in the file.
std::optional<std::vector<Placed>> place(const RunHeader& header, std::span<const HeldBlock> blocks) {
  std::vector<Placed> placed;
  placed.reserve(blocks.size());
  for (const HeldBlock& held : blocks) {
    placed.push_back({.at = header.payload(held.pool, held.index), .held = held});
    if (placed.back().at.number == header.num_payloads()) return std::nullopt;
  }
  std::ranges::sort(placed, {}, [](const Placed& one) { return one.at.number; });
  return placed;
}

/// A file that has no final name yet; it is removed unless it is finished.
class UnfinishedFile {
 public:
  UnfinishedFile(const std::filesystem::path& wanted, const WriteCall& write)
      : wanted_(wanted),
        path_(wanted.parent_path() / fmt::format("{:016x}{}", random_seed(), kUnfinishedSuffix)),
        write_(write),
        fd_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)) {}
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!is_finished_) ::unlink(path_.c_str());
  }

  bool is_open() const { return fd_ >= 0; }
  const std::filesystem::path& path() const { return path_; }

  RunResult<void> write(std::span<::iovec> pieces, std::uint64_t offset) {
    std::uint64_t bytes = 0;
    for (const ::iovec& piece : pieces) bytes += piece.iov_len;
    const ::ssize_t done = transfer(pieces, offset, [&](std::span<const ::iovec> some, ::off_t at) {
      return write_ ? write_(fd_, some, at) : ::pwritev(fd_, some.data(), static_cast<int>(some.size()), at);
    });
    if (done <= 0) return disk_fault(path_, "cannot write");
    return write_back({.offset = offset, .bytes = bytes});
  }

  RunResult<void> finish() {
    if (::rename(path_.c_str(), wanted_.c_str()) != 0) return disk_fault(path_, "cannot be renamed");
    is_finished_ = true;
    return {};
  }

 private:
  struct Range {
    std::uint64_t offset = 0, bytes = 0;
  };

  /// Begins to write a range to the disk, and waits for the range before it. So at most two ranges are only in memory,
  /// where they would make others wait, and this thread pays for the work.
  RunResult<void> write_back(Range range) {
    const Range before = std::exchange(latest_, range);
    if (sync(range, SYNC_FILE_RANGE_WRITE) && sync(before, kWait)) return {};
    return disk_fault(path_, "cannot write to the disk");
  }
  /// Calls sync_file_range(2). False: the disk fails. File systems that do not support the call write when they like.
  bool sync(const Range& range, unsigned flags) const {
    if (range.bytes == 0) return true;
    const int done =
        ::sync_file_range(fd_, static_cast<::off64_t>(range.offset), static_cast<::off64_t>(range.bytes), flags);
    return done == 0 || (errno != EIO && errno != ENOSPC && errno != EDQUOT);
  }
  static constexpr unsigned kWait = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

  const std::filesystem::path wanted_, path_;
  const WriteCall& write_;
  int fd_;
  bool is_finished_ = false;
  Range latest_;
};

::ssize_t read_all(int fd, std::span<std::byte> bytes, std::uint64_t offset) {
  ::iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
  return transfer(std::span(&piece, 1), offset, [fd](std::span<const ::iovec> pieces, ::off_t at) {
    return ::preadv(fd, pieces.data(), static_cast<int>(pieces.size()), at);
  });
}

RunResult<RunHeader> read_header(int fd, const std::filesystem::path& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return disk_fault(path, "cannot be read");
  if (!S_ISREG(info.st_mode)) return fault(RunFault::kDamaged, path, "is no regular file");
  const auto file_bytes = static_cast<std::uint64_t>(info.st_size);
  std::vector<std::byte> bytes(std::min<std::uint64_t>(file_bytes, kFirstRead));
  ::ssize_t done = bytes.empty() ? 0 : read_all(fd, bytes, 0);
  if (done < 0) return disk_fault(path, "cannot be read");
  const auto size = done == 0 ? Result<std::size_t>(fail("it ends too early")) : size_of_run_header(bytes, file_bytes);
  if (!size) return fault(RunFault::kDamaged, path, size.error().message);
  const std::size_t have = bytes.size();
  bytes.resize(*size);
  if (*size > have) done = read_all(fd, std::span(bytes).subspan(have), have);
  if (done < 0) return disk_fault(path, "cannot be read");
  auto header = done == 0 ? Result<RunHeader>(fail("it ends too early")) : parse_run_header(bytes, file_bytes);
  if (!header) return fault(RunFault::kDamaged, path, header.error().message);
  return *std::move(header);
}

}  // namespace

RunFile::~RunFile() {
  if (fd_ >= 0) ::close(fd_);
}

RunResult<RunFile> RunFile::open(const std::filesystem::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return disk_fault(path, "cannot be opened");
  RunFile file(path, fd);
  auto header = read_header(fd, path);
  if (!header) return std::unexpected(std::move(header.error()));
  file.header_ = *std::move(header);
  return file;
}

RunResult<void> RunFile::read(std::span<const HeldBlock> blocks, const StateLayout& layout, BlockMemory& memory,
                              const Pause& pause) const {
  const auto placed = place(header_, blocks);
  if (!placed) return fault(RunFault::kOther, path_, "a block is not in it");
  for (std::span<const Placed> left = *placed; !left.empty();) {
    if (!pause()) return fault(RunFault::kStopped, path_, "the reading was ended");
    const Chunk chunk = next_chunk(left, layout, memory);
    std::vector<::iovec> pieces = chunk.pieces;  // a copy, which a short read changes
    const ::ssize_t done = transfer(std::span(pieces), chunk.offset, [&](std::span<const ::iovec> some, ::off_t at) {
      return ::preadv(fd_, some.data(), static_cast<int>(some.size()), at);
    });
    if (done < 0) return disk_fault(path_, "cannot be read");
    if (done == 0) return fault(RunFault::kDamaged, path_, "it has become shorter");
    for (const Chunk::Part& part : chunk.parts)
      if (checksum_of(std::span(chunk.pieces).subspan(part.first_piece, part.end_piece - part.first_piece)) !=
          header_.checksums[part.number])
        return fault(RunFault::kDamaged, path_, "the checksum of a block is wrong");
  }
  return {};
}

RunResult<void> RunFile::check() const {
  std::vector<std::byte> bytes(kChunkBytes);
  std::uint64_t offset = header_.header_bytes();
  std::size_t number = 0;
  const auto check_next = [&](std::uint64_t left) -> RunResult<void> {
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset(&state);
    while (left > 0) {
      const std::span<std::byte> some = std::span(bytes).first(std::min<std::uint64_t>(left, bytes.size()));
      const ::ssize_t done = read_all(fd_, some, offset);
      if (done < 0) return disk_fault(path_, "cannot be read");
      if (done == 0) return fault(RunFault::kDamaged, path_, "it has become shorter");
      XXH3_64bits_update(&state, some.data(), some.size());
      offset += some.size();
      left -= some.size();
    }
    if (XXH3_64bits_digest(&state) != header_.checksums[number++])
      return fault(RunFault::kDamaged, path_, "the checksum of a block is wrong");
    return {};
  };
  for (const RunGroup& group : header_.groups)
    for (std::uint32_t i = 0; i < group.count; ++i)
      if (auto done = check_next(group.block_bytes); !done) return done;
  return header_.snapshot_bytes > 0 ? check_next(header_.snapshot_bytes) : RunResult<void>{};
}

RunResult<void> write_run_file(const std::filesystem::path& path, RunHeader& header, std::span<const HeldBlock> blocks,
                               const StateLayout& layout, BlockMemory& memory, const WriteCall& write,
                               const Pause& pause) {
  const auto placed = place(header, blocks);
  if (!placed || placed->size() != header.num_payloads()) return fault(RunFault::kOther, path, "a block is missing");
  UnfinishedFile file(path, write);
  if (!file.is_open()) return disk_fault(file.path(), "cannot be made");
  for (std::span<const Placed> left = *placed; !left.empty();) {
    if (!pause()) return fault(RunFault::kStopped, path, "the writing was ended");
    Chunk chunk = next_chunk(left, layout, memory);
    for (const Chunk::Part& part : chunk.parts)
      header.checksums[part.number] =
          checksum_of(std::span(chunk.pieces).subspan(part.first_piece, part.end_piece - part.first_piece));
    if (auto done = file.write(chunk.pieces, chunk.offset); !done) return done;
  }
  std::vector<std::byte> bytes = bytes_of(header);
  ::iovec piece{.iov_base = bytes.data(), .iov_len = bytes.size()};
  if (auto done = file.write(std::span(&piece, 1), 0); !done) return done;
  return file.finish();
}

}  // namespace octavo
