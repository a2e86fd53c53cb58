// The operations of simt.h on a host, whose declarations are in simt_emulation.h.
#include <fmt/format.h>

#include <array>
#include <bitset>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "gpu/emulation/fiber.h"
#include "gpu/kernels/limits.h"
#include "gpu/simt.h"

namespace octavo::simt {
namespace {

using emulation::MmaForm;
using emulation::MmaOperands;
using emulation::Operation;
using emulation::place;

constexpr int kMaxThreads = 1024, kNamedBarriers = 16, kThreadsOfPair = 2 * kWarp;
constexpr std::size_t kSharedAlignment = 128, kGuardBytes = 1024;
constexpr std::uint8_t kPoison = 0xCD;

// A processor foresees where functions return to, and is wrong about each one that has been called on another stack. So
// from an operation to the change of stacks all is one function.
#define OCTAVO_WITH_ITS_CALLER [[gnu::always_inline]] inline

struct PendingCopy {
  void* to;
  const void* from;
};

/// The place where a thread waits, for messages.
enum class Waits : std::uint8_t { kNot, kBlock, kWarp, kBarrier };

struct ThreadState {
  std::vector<PendingCopy> copies;      // that have begun and not happened
  std::vector<std::size_t> group_ends;  // of the groups of copies, which are all but the last ones
  Waits waits = Waits::kNot;
  int barrier = 0;

  void clear() {
    copies.clear();
    group_ends.clear();
    waits = Waits::kNot;
  }
};

struct Waiting {
  Fiber* fiber;
  int thread;
};

/// At most Size threads, first come, first served.
template <unsigned Size>
class Queue {
 public:
  bool empty() const { return first_ == end_; }
  void push(const Waiting& thread) { threads_[end_++ % Size] = thread; }
  Waiting pop() { return threads_[first_++ % Size]; }
  void take_all_of(auto& other) {
    while (!other.empty()) push(other.pop());
  }

 private:
  unsigned first_ = 0, end_ = 0;
  Waiting threads_[Size];
};

/// A barrier of threads of a block: all, or those of two warps.
struct Barrier {
  Queue<kMaxThreads> waiting;
  std::bitset<kMaxThreads> arrived;
  int count = 0;
};

/// The lanes of a warp, which exchange values. There are two sets of places: lanes may be at the next operation while
/// others still read the results of this one.
struct WarpState {
  Queue<kWarp> waiting;
  int count = 0;
  Operation operation = Operation::kNone;
  unsigned turn = 0;
  std::array<std::array<std::uint32_t, kWarp>, 2> values;
  std::array<MmaOperands, kWarp> operands;
  std::array<std::array<std::array<int, 4>, kWarp>, 2> sums;
};

template <bool Signed>
std::int16_t byte_of(std::uint32_t word, int i) {
  const std::uint32_t byte = word >> (8 * i) & 255;
  return Signed ? static_cast<std::int8_t>(byte) : static_cast<std::int16_t>(byte);
}

/// The sums of all lanes of a warp, for `Columns` columns of a.
template <bool ASigned, bool BSigned, int Columns>
void multiply(const std::array<MmaOperands, kWarp>& in, std::array<std::array<int, 4>, kWarp>& out) {
  std::int16_t a[16][Columns], b[8][Columns];
  for (int lane = 0; lane < kWarp; ++lane) {
    const MmaOperands& from = in.data()[lane];
    const int g = lane / 4, j = lane % 4;
    for (int half = 0; half < Columns / 16; ++half)
      for (int i = 0; i < 4; ++i) {
        const int k = 16 * half + 4 * j + i;
        a[g][k] = byte_of<ASigned>(from.a[2 * half], i);
        a[g + 8][k] = byte_of<ASigned>(from.a[2 * half + 1], i);
        b[g][k] = byte_of<BSigned>(from.b[half], i);
      }
  }
  for (int row = 0; row < 16; ++row)
    for (int column = 0; column < 8; ++column) {
      int sum = 0;
      for (int k = 0; k < Columns; ++k) sum += a[row][k] * b[column][k];
      const int lane = row % 8 * 4 + column / 2, i = row / 8 * 2 + column % 2;
      out.data()[lane].data()[i] =
          static_cast<int>(static_cast<unsigned>(in.data()[lane].c[i]) + static_cast<unsigned>(sum));
    }
}
void multiply(const std::array<MmaOperands, kWarp>& in, MmaForm form, std::array<std::array<int, 4>, kWarp>& out) {
  if (form.columns == 16) return multiply<false, true, 16>(in, out);
  if (form.a_signed) return form.b_signed ? multiply<true, true, 32>(in, out) : multiply<true, false, 32>(in, out);
  return form.b_signed ? multiply<false, true, 32>(in, out) : multiply<false, false, 32>(in, out);
}

/// One block of a grid, whose threads take turns.
class Block {
 public:
  Block(const EmulatedLaunch& launch, const std::function<void()>& body)
      : launch_(launch),
        body_(body),
        threads_(static_cast<std::size_t>(launch.threads)),
        warps_(static_cast<std::size_t>(launch.threads / kWarp)),
        memory_(launch.shared_bytes + kSharedAlignment + kGuardBytes) {}

  void run(int x, int y);

  OCTAVO_WITH_ITS_CALLER void sync_block() { meet(all_, launch_.threads, true, Waits::kBlock, 0); }
  OCTAVO_WITH_ITS_CALLER void arrive(int barrier, bool waits);
  OCTAVO_WITH_ITS_CALLER void sync_warp() {
    meet_warp(Operation::kSyncWarp, [](WarpState&) {});
  }
  OCTAVO_WITH_ITS_CALLER std::uint32_t shuffle_xor(std::uint32_t v, int mask);
  OCTAVO_WITH_ITS_CALLER void mma(int (&d)[4], const MmaOperands& operands, MmaForm form);
  void copy16(void* to, const void* from);
  void commit() { state().group_ends.push_back(state().copies.size()); }
  void wait_copies(int but);

  /// Runs threads that have not begun yet, until one of them waits.
  void run_threads();

 private:
  ThreadState& state() { return threads_.data()[place.thread]; }
  WarpState& warp_state() { return warps_.data()[place.thread / kWarp]; }
  [[noreturn]] void fail(const std::string& what) const {
    throw MisuseError(fmt::format("thread {} of block ({}, {}) {}", place.thread, place.block_x, place.block_y, what));
  }
  void reset(int x, int y);
  void check_memory() const;
  OCTAVO_WITH_ITS_CALLER void meet(Barrier& barrier, int threads, bool waits, Waits where, int number);
  template <class Last>
  OCTAVO_WITH_ITS_CALLER unsigned meet_warp(Operation operation, const Last& last);
  OCTAVO_WITH_ITS_CALLER void wait(auto& among, Waits where, int number);
  OCTAVO_WITH_ITS_CALLER void leave();
  void run_thread(int thread);
  std::string waiting_threads() const;

  EmulatedLaunch launch_;
  const std::function<void()>& body_;
  std::vector<ThreadState> threads_;
  std::vector<WarpState> warps_;
  Barrier all_;
  std::array<Barrier, kNamedBarriers> named_;
  std::vector<std::uint8_t> memory_;
  std::uint8_t* shared_ = nullptr;
  Queue<kMaxThreads> ready_;
  int begun_ = 0, ended_ = 0;
  std::exception_ptr error_;
};

/// The fibers of a thread of the system, which all its launches use.
struct Fibers {
  Fiber main;
  std::vector<std::unique_ptr<Fiber>> all;
  std::vector<Fiber*> idle;
  Fiber* now = &main;
  Block* block = nullptr;

  Fiber& take_idle();
  void forget_all() {
    idle.clear();
    for (const auto& fiber : all) {
      fiber->restart();
      idle.push_back(fiber.get());
    }
  }
  OCTAVO_WITH_ITS_CALLER void switch_to(Fiber& next) {
    Fiber& before = *now;
    now = &next;
    before.switch_to(next);
  }
};
thread_local Fibers fibers;

OCTAVO_WITH_ITS_CALLER Block& current() {
  if (fibers.block == nullptr) throw MisuseError("an operation of a card outside of a launch");
  return *fibers.block;
}

[[noreturn]] void fiber_main() {
  for (;;) fibers.block->run_threads();
}

Fiber& Fibers::take_idle() {
  if (idle.empty()) {
    all.push_back(std::make_unique<Fiber>(&fiber_main, static_cast<int>(all.size())));
    idle.push_back(all.back().get());
  }
  Fiber& fiber = *idle.back();
  idle.pop_back();
  return fiber;
}

void Block::reset(int x, int y) {
  for (ThreadState& thread : threads_) thread.clear();
  std::fill(memory_.begin(), memory_.end(), kPoison);
  const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
  shared_ = memory_.data() + (kSharedAlignment - address % kSharedAlignment) % kSharedAlignment;
  begun_ = ended_ = 0;
  place = {0, x, y, launch_.grid_x, shared_};
}

void Block::run(int x, int y) {
  reset(x, y);
  fibers.block = this;
  fibers.switch_to(fibers.take_idle());
  fibers.block = nullptr;
  const bool stuck = ended_ < launch_.threads;
  if (stuck) fibers.forget_all();
  if (error_) std::rethrow_exception(error_);
  if (stuck) throw MisuseError(fmt::format("block ({}, {}): no thread can go on: {}", x, y, waiting_threads()));
  check_memory();
}

void Block::check_memory() const {
  for (const std::uint8_t* p = shared_ + launch_.shared_bytes; p < memory_.data() + memory_.size(); ++p)
    if (*p != kPoison)
      throw MisuseError(fmt::format("block ({}, {}) has written byte {} of its {} bytes of shared memory",
                                    place.block_x, place.block_y, p - shared_, launch_.shared_bytes));
  for (int id = 1; id < kNamedBarriers; ++id)
    if (named_[static_cast<std::size_t>(id)].count != 0)
      throw MisuseError(fmt::format("block ({}, {}) has ended, and {} threads have arrived at barrier {} in vain",
                                    place.block_x, place.block_y, named_[static_cast<std::size_t>(id)].count, id));
}

std::string Block::waiting_threads() const {
  std::array<int, 3> counts{};
  std::array<int, kNamedBarriers> at_barrier{};
  for (const ThreadState& thread : threads_) {
    if (thread.waits == Waits::kBlock) ++counts[0];
    if (thread.waits == Waits::kWarp) ++counts[1];
    if (thread.waits == Waits::kBarrier) ++at_barrier[static_cast<std::size_t>(thread.barrier)];
  }
  std::string text = fmt::format("{} wait for the block, {} for their warp", counts[0], counts[1]);
  for (int id = 1; id < kNamedBarriers; ++id)
    if (at_barrier[static_cast<std::size_t>(id)] > 0)
      text += fmt::format(", {} at barrier {}", at_barrier[static_cast<std::size_t>(id)], id);
  return text + fmt::format(", {} have ended", ended_);
}

/// Goes on with another thread; returns when this fiber's turn has come again.
void Block::leave() {
  if (error_ || (ready_.empty() && begun_ == launch_.threads)) {
    fibers.switch_to(fibers.main);
  } else if (!ready_.empty()) {
    const Waiting next = ready_.pop();
    place.thread = next.thread;
    fibers.switch_to(*next.fiber);
  } else {
    fibers.switch_to(fibers.take_idle());
  }
}

void Block::wait(auto& among, Waits where, int number) {
  const int thread = place.thread;
  state().waits = where;
  state().barrier = number;
  among.push({fibers.now, thread});
  leave();
  state().waits = Waits::kNot;
}

void Block::run_threads() {
  while (begun_ < launch_.threads && !error_ && ready_.empty()) {
    const int number = begun_++;
    run_thread(launch_.order == ThreadOrder::kAscending ? number : launch_.threads - 1 - number);
  }
  fibers.idle.push_back(fibers.now);
  leave();
}

void Block::run_thread(int thread) {
  place.thread = thread;
  try {
    body_();
    if (const std::size_t copies = state().copies.size(); copies != 0)
      fail(fmt::format("ends with {} copies for which it has not waited", copies));
  } catch (...) {
    error_ = std::current_exception();
  }
  ++ended_;
}

void Block::meet(Barrier& barrier, int threads, bool waits, Waits where, int number) {
  if (barrier.arrived[static_cast<std::size_t>(place.thread)])
    fail(fmt::format("arrives at barrier {} again before the others have come", number));
  barrier.arrived.set(static_cast<std::size_t>(place.thread));
  if (++barrier.count < threads) {
    if (waits) wait(barrier.waiting, where, number);
    return;
  }
  if (!waits && barrier.waiting.empty()) fail(fmt::format("is the last one at barrier {}, where nobody waits", number));
  barrier.count = 0;
  barrier.arrived.reset();
  ready_.take_all_of(barrier.waiting);
}

void Block::arrive(int barrier, bool waits) {
  if (barrier < 1 || barrier >= kNamedBarriers) fail(fmt::format("arrives at barrier {}; there are 1 to 15", barrier));
  meet(named_[static_cast<std::size_t>(barrier)], kThreadsOfPair, waits, Waits::kBarrier, barrier);
}

/// The warp's lanes come together; the last one to come calls last(). Returns the operation's set of places.
template <class Last>
unsigned Block::meet_warp(Operation operation, const Last& last) {
  WarpState& warp = warp_state();
  if (warp.count != 0 && warp.operation != operation) fail("and others of its warp meet at different operations");
  warp.operation = operation;
  const unsigned set = warp.turn % 2;
  if (++warp.count < kWarp) {
    wait(warp.waiting, Waits::kWarp, 0);
    return set;
  }
  last(warp);
  warp.count = 0;
  ++warp.turn;
  ready_.take_all_of(warp.waiting);
  return set;
}

std::uint32_t Block::shuffle_xor(std::uint32_t v, int mask) {
  const auto lane = static_cast<std::size_t>(place.thread % kWarp);
  WarpState& warp = warp_state();
  warp.values[warp.turn % 2][lane] = v;
  const unsigned set = meet_warp(Operation::kShuffle, [](WarpState&) {});
  return warp.values[set][(lane ^ static_cast<std::size_t>(mask)) % kWarp];
}

void Block::mma(int (&d)[4], const MmaOperands& operands, MmaForm form) {
  const auto lane = static_cast<std::size_t>(place.thread % kWarp);
  WarpState& warp = warp_state();
  warp.operands[lane] = operands;
  const unsigned set =
      meet_warp(Operation::kMma, [form](WarpState& all) { multiply(all.operands, form, all.sums[all.turn % 2]); });
  for (int i = 0; i < 4; ++i) d[i] = warp.sums[set][lane][static_cast<std::size_t>(i)];
}

void Block::copy16(void* to, const void* from) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    fail("copies 16 bytes between addresses that are not aligned");
  if (to < shared_ || static_cast<std::uint8_t*>(to) + 16 > shared_ + launch_.shared_bytes)
    fail(fmt::format("copies to byte {} of {} bytes of shared memory", static_cast<std::uint8_t*>(to) - shared_,
                     launch_.shared_bytes));
  if (launch_.copies == Copies::kAtOnce) {
    std::memcpy(to, from, 16);
  } else {
    state().copies.push_back({to, from});
  }
}

void Block::wait_copies(int but) {
  ThreadState& thread = state();
  const auto groups = static_cast<std::ptrdiff_t>(thread.group_ends.size()) - but;
  if (groups <= 0) return;
  const auto end = static_cast<std::ptrdiff_t>(thread.group_ends[static_cast<std::size_t>(groups) - 1]);
  for (std::ptrdiff_t i = 0; i < end; ++i) {
    const PendingCopy& copy = thread.copies[static_cast<std::size_t>(i)];
    std::memcpy(copy.to, copy.from, 16);
  }
  thread.copies.erase(thread.copies.begin(), thread.copies.begin() + end);
  thread.group_ends.erase(thread.group_ends.begin(), thread.group_ends.begin() + groups);
  for (std::size_t& group_end : thread.group_ends) group_end -= static_cast<std::size_t>(end);
}

void check_launch(const EmulatedLaunch& launch) {
  if (launch.threads < kWarp || launch.threads > kMaxThreads || launch.threads % kWarp != 0)
    throw MisuseError(fmt::format("a block of {} threads; there may be 32 to 1024, in whole warps", launch.threads));
  if (launch.shared_bytes > gpu::kMaxSharedBytes)
    throw MisuseError(fmt::format("a block with {} bytes of shared memory; it may have {}", launch.shared_bytes,
                                  gpu::kMaxSharedBytes));
  if (launch.grid_x < 1 || launch.grid_y < 1 || launch.grid_y > 65535)
    throw MisuseError(fmt::format("a grid of {} x {} blocks", launch.grid_x, launch.grid_y));
}

}  // namespace

void run_emulated(const EmulatedLaunch& launch, const std::function<void()>& body) {
  check_launch(launch);
  Block block(launch, body);
  for (int y = 0; y < launch.grid_y; ++y)
    for (int x = 0; x < launch.grid_x; ++x) block.run(x, y);
}

namespace emulation {

void sync_block() { current().sync_block(); }
void sync_warp() { current().sync_warp(); }
std::uint32_t shuffle_xor(std::uint32_t v, int mask) { return current().shuffle_xor(v, mask); }
void arrive(int barrier, bool waits) { current().arrive(barrier, waits); }
void copy16(void* to, const void* from) { current().copy16(to, from); }
void commit() { current().commit(); }
void wait_copies(int but) { current().wait_copies(but); }
void mma(int (&d)[4], const MmaOperands& operands, MmaForm form) { current().mma(d, operands, form); }

}  // namespace emulation
}  // namespace octavo::simt
