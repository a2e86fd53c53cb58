// Prefixes on disk: blocks of keys and values, and recurrent states, that outlive the process.
//
// A store belongs to one loaded model in one directory: to what the bits of its blocks depend on, its address. Files
// hold runs of blocks (kv_store/run_file.h) under the hashes of their chains; what is found in them is compared with
// the rows that were asked for, and checked against checksums. What is torn, foreign or changed is a miss, never an
// error and never a wrong answer.
//
// The engine decides what is read and written, and holds the blocks until take_done() has told the end of it. Two
// threads of the store's own read and write, so that no read waits for a write; find() takes a lock for as long as a
// lookup takes. Any thread may call.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/block_memory.h"
#include "kv/state_layout.h"
#include "octavo/kv/prefix_cache.h"
#include "octavo/kv_store.h"

namespace octavo {

/// A block of a sequence: the one at `index` of its table in a pool. Of the pool of snapshots: the state after the last
/// block of the prefix; its index is 0.
struct HeldBlock {
  int pool = 0;
  int index = 0;
  BlockId block = kNoBlock;
};

/// A prefix in whole blocks, by name: what its chain hashes.
struct PrefixName {
  std::string domain = {};  // for people, who see its first kMaxDomainBytes; the chain's root has it
  BlockHash root = {};
  std::vector<BlockHash> hashes;      // [blocks]
  std::vector<TokenId> tokens;        // [blocks][block_size]
  std::vector<GivenRows> given = {};  // its rows that are places in pictures, as RowSource has them

  RowSource rows() const { return {tokens, given}; }
};

/// A write of pieces to a file from an offset on, with the results and errno of pwritev(2).
using WriteCall = std::function<::ssize_t(int fd, std::span<const ::iovec> pieces, ::off_t offset)>;

struct KvStoreOptions {
  std::filesystem::path folder;
  std::uint64_t max_bytes = 0;                            // of all files of the directory; 0: no bound
  std::optional<std::chrono::seconds> ttl = {};           // since a file's last use; none: for ever
  std::uint64_t max_bytes_in_flight = kMaxBytesInFlight;  // of writes; a single one may be larger
  double write_share = KvStoreSettings::kWriteShare;      // of one processor's time, for writes while somebody computes
  std::chrono::milliseconds look_every{10'000};  // over the directory, for files of other processes, while it is used
  std::function<void(const std::string&)> warn = {};  // told by the store's threads, at most once a minute
  WriteCall write = {};                               // in place of pwritev(2), to limit or count what is written

  static constexpr std::uint64_t kMaxBytesInFlight = std::uint64_t{256} << 20;
};

class KvStore {
 public:
  using Job = std::uint64_t;
  struct Done {
    Job job = 0;
    bool is_read = false;
    bool is_ok = false;  // of a read: all blocks have their bytes. Otherwise they may have anything
  };
  /// The key of the directory's chains: the one that is there, or a new one. The directory is made where it is missing.
  /// Errors: it is open to others (expected mode 0700), is no directory, cannot be written.
  static Result<BlockHashKey> key_of(const std::filesystem::path& folder);

  /// `address`: a text of all that the bits of blocks depend on. `memory` outlives the store. `wake` is called by the
  /// store's threads when something is done. Errors as key_of().
  static Result<std::unique_ptr<KvStore>> open(const KvStoreOptions& options, std::string_view address,
                                               const StateLayout& layout, BlockMemory& memory,
                                               std::function<void()> wake);
  /// Cancels what has not begun, and waits for the calls to the disk that are under way. What has not ended by then is
  /// not told.
  virtual ~KvStore() = default;

  struct Found {
    int num_blocks = 0;       // of the prefix; 0: nothing more than `known` is there
    std::uint64_t bytes = 0;  // to be read for it, after the first `known` blocks
  };
  /// The longest prefix of a chain that can be read, of more than `known` blocks and at most `most`.
  virtual Found find(std::span<const BlockHash> chain, int known, int most) = 0;
  /// Bytes a second of reads lately, and the seconds before the first: for a price.
  virtual double read_rate() const = 0;
  virtual double read_latency_s() const = 0;

  /// Fills `blocks`, those of a prefix that find() has found; its groups without a window from the block `known` on.
  virtual Job read(PrefixName prefix, std::vector<HeldBlock> blocks) = 0;
  /// Keeps a prefix: of groups without a window all blocks, of others those of the last window, and the state after
  /// it. What is there already is not written again. Nothing where too much is in flight, writes have had their share
  /// of processor time or the disk refuses; then is_ok is false.
  virtual Job write(PrefixName prefix, std::vector<HeldBlock> blocks) = 0;
  /// Somebody computes from now on, or nobody: then writes may take more time. At first nobody does.
  virtual void set_busy(bool is_busy) = 0;
  /// False: writes have had their share of processor time for now. That counts as a refused write.
  virtual bool takes_writes() = 0;
  /// Bytes of writes that have not ended.
  virtual std::uint64_t bytes_in_flight() const = 0;
  /// Appends what has ended since the last call.
  virtual void take_done(std::vector<Done>& done) = 0;
  /// Sleeps until something has ended that take_done() has not told, or `most` has passed; true: something has.
  virtual bool wait(std::chrono::milliseconds most) = 0;
  /// Ends every job that has not ended, as not ok; take_done() tells of each. When the call returns, the store's
  /// threads touch no block any more: they end the read or write of one piece, a few MiB at most. A run that is half
  /// written is removed. Not to be called by `wake`.
  virtual void cancel_all() = 0;
  virtual KvStoreCounts counts() const = 0;
};

}  // namespace octavo
