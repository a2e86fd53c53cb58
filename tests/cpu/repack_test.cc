// Repacking a file: the panels, the progress, the hash, and a file that changes on the way.
#include "cpu/repack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <thread>

#include "base/aligned_buffer.h"
#include "kernels/pack.h"
#include "source/open_model.h"
#include "support/gguf_writer.h"
#include "support/memory_source.h"
#include "support/temp_file.h"
#include "tensor/quantize.h"

namespace octavo::test {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

/// A source of Q8_0 matrices, one behind the other, with some bytes before each.
class MatrixFile {
 public:
  struct Shape {
    std::int64_t rows, cols;
  };

  explicit MatrixFile(const std::vector<Shape>& shapes)
      : path_(content(shapes), ".gguf"), source_(open_model(path_.path()).value()) {
    for (const SourceTensor& t : source_->tensors())
      panels_.emplace_back(packed_bytes(t.tensor.type, t.tensor.rows, t.tensor.cols));
  }

  /// Jobs in the opposite order: the order of the file must not depend on it.
  std::vector<RepackJob> jobs() {
    std::vector<RepackJob> jobs;
    for (std::size_t i = panels_.size(); i-- > 0;) {
      const SourceTensor& tensor = source_->tensors()[i];
      jobs.push_back({&tensor, tensor.tensor.type, 0, tensor.tensor.rows, panels_[i].data()});
    }
    return jobs;
  }
  const ModelSource& source() const { return *source_; }
  std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const SourceTensor& t : source_->tensors()) sum += t.tensor.data.size();
    return sum;
  }

  void forget_panels() {
    for (AlignedBuffer<std::uint8_t>& panels : panels_) std::ranges::fill(panels.span(), std::uint8_t{0xAA});
  }
  void expect_packed() const {
    for (std::size_t i = 0; i < panels_.size(); ++i) {
      const Tensor& matrix = source_->tensors()[i].tensor;
      AlignedBuffer<std::uint8_t> expected(panels_[i].size());
      pack_panels(matrix, 0, num_panels(matrix.rows), expected.data());
      EXPECT_TRUE(std::ranges::equal(expected.span(), panels_[i].span())) << "matrix " << i;
    }
  }

 private:
  static std::string content(const std::vector<Shape>& shapes) {
    GgufWriter writer(3, 128);
    writer.add("general.alignment", 128U);
    std::mt19937 random(3);
    for (const Shape& shape : shapes) {
      std::string bytes(static_cast<std::size_t>(shape.rows * shape.cols / 32 * 34), '\0');
      for (char& c : bytes) c = static_cast<char>(random());
      const std::string name = "matrix" + std::to_string(bytes.size());
      writer.add_tensor(name, {static_cast<std::uint64_t>(shape.cols), static_cast<std::uint64_t>(shape.rows)},
                        DType::kQ8_0, bytes);
    }
    return writer.bytes();
  }

  TempFile path_;
  std::unique_ptr<const ModelSource> source_;
  std::vector<AlignedBuffer<std::uint8_t>> panels_;
};

/// Bytes of files' pages that this process has in memory.
std::uint64_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "RssFile:") {
      std::uint64_t kib = 0;
      status >> kib;
      return kib * 1024;
    }
  throw std::runtime_error("no RssFile in /proc/self/status");
}

TEST(Repack, PacksEveryMatrixWhateverTheNumberOfThreads) {
  // Less than a panel; some panels; several pieces with a rest; a row longer than a piece.
  MatrixFile matrices({{5, 64}, {100, 320}, {1037, 4096}, {20, 1 << 20}});
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    for (const bool beside_others : {false, true}) {
      matrices.forget_panels();
      ASSERT_TRUE(repack(matrices.jobs(), matrices.source(), pool, {}, {.beside_others = beside_others}));
      matrices.expect_packed();
    }
  }
}

TEST(Repack, NothingToPackIsDoneAtOnce) {
  const MatrixFile none({});
  ThreadPool pool(2);
  EXPECT_TRUE(repack({}, none.source(), pool, {}));
}

TEST(Repack, ProgressGrowsByThePieceOnTheCallingThreadAndBesideOthersWhileThePoolIsFree) {
  MatrixFile matrices({{4096, 4096}, {512, 512}});  // 17 MiB in one matrix
  for (const bool beside_others : {false, true}) {
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      std::vector<std::uint64_t> seen;
      const auto hash = repack(matrices.jobs(), matrices.source(), pool,
                               [&, caller = std::this_thread::get_id()](std::uint64_t done, std::uint64_t total) {
                                 EXPECT_EQ(std::this_thread::get_id(), caller);
                                 EXPECT_EQ(total, matrices.bytes());
                                 seen.push_back(done);
                                 if (beside_others) const ThreadPool::Step step(pool);  // would wait for ever
                               },
                               {.beside_others = beside_others});
      EXPECT_TRUE(hash);
      EXPECT_TRUE(std::ranges::is_sorted(seen));
      EXPECT_EQ(seen.back(), matrices.bytes());
      if (threads > 1 || beside_others) continue;
      ASSERT_GE(seen.size(), 17U);
      for (std::size_t i = 1; i < seen.size(); ++i) EXPECT_LE(seen[i] - seen[i - 1], kMiB);
    }
  }
}

TEST(Repack, RowsAreQuantizedAnewWhereThePanelsHaveAnotherType) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> floats(100 * 512);
  for (float& x : floats) x = normal(random);
  const auto pack = [&](DType type, int threads) -> Result<std::vector<std::uint8_t>> {
    MemorySource source;
    source.add_tensor("m", {512, 100}, DType::kF32,
                      {reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float)});
    const SourceTensor& tensor = source.tensors()[0];
    std::vector<std::uint8_t> panels(packed_bytes(type, 100, 512));
    ThreadPool pool(threads);
    OCTAVO_TRY_VOID(repack({{&tensor, type, 0, 100, panels.data()}}, source, pool, {}));
    return panels;
  };
  for (const DType type : {DType::kQ8_0, DType::kQ4_K}) {
    const std::size_t row_bytes = static_cast<std::size_t>(*dtype_bytes(type, 512));
    std::vector<std::byte> rows(100 * row_bytes);
    for (std::size_t r = 0; r < 100; ++r)
      ASSERT_TRUE(quantize(type, std::span(floats).subspan(r * 512, 512), {},
                           std::span(rows).subspan(r * row_bytes, row_bytes)));
    std::vector<std::uint8_t> expected(packed_bytes(type, 100, 512));
    pack_panels({.type = type, .rows = 100, .cols = 512, .data = rows}, 0, num_panels(100), expected.data());
    for (const int threads : {1, 3}) EXPECT_EQ(pack(type, threads), expected);
  }
  floats[700] = HUGE_VALF;
  const auto failed = pack(DType::kQ4_K, 3);
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, testing::HasSubstr("tensor 'm'"));
}

TEST(Repack, StepsOfOthersGoOnMeanwhile) {
  MatrixFile matrices({{4096, 4096}, {4096, 4352}, {4096, 4608}});
  ThreadPool pool(2);
  std::atomic<bool> is_packed = false;
  std::atomic<int> num_steps = 0;
  std::thread other([&] {
    while (!is_packed) {
      const ThreadPool::Step step(pool);
      pool.for_ranges(2, 1, [](std::size_t, std::size_t, int) {});
      ++num_steps;
    }
  });
  while (num_steps == 0) std::this_thread::yield();
  const int num_before = num_steps;
  const auto hash = repack(matrices.jobs(), matrices.source(), pool, {}, {.beside_others = true});
  const int num_meanwhile = num_steps - num_before;
  is_packed = true;
  other.join();
  ASSERT_TRUE(hash);
  EXPECT_GT(num_meanwhile, 1);
  matrices.expect_packed();
}

TEST(Repack, PagesOfTheMapAreNeverTouched) {
  MatrixFile matrices({{16384, 4096}, {4096, 4096}});  // 68 MiB and 17 MiB
  ThreadPool pool(2);
  const std::uint64_t before = resident_file_bytes();
  ASSERT_TRUE(repack(matrices.jobs(), matrices.source(), pool, {}));
  EXPECT_LE(resident_file_bytes(), before + 8 * kMiB);
  EXPECT_GT(matrices.bytes(), 80 * kMiB);
  // The measure sees a map that is read.
  matrices.expect_packed();
  EXPECT_GT(resident_file_bytes(), before + 80 * kMiB);
}

TEST(Repack, AFileThatIsCutShortMeanwhileIsAnError) {
  for (const int threads : {1, 3}) {
    MatrixFile matrices({{4096, 4096}, {512, 512}});
    ThreadPool pool(threads);
    std::filesystem::resize_file(matrices.source().path(), 2 * kMiB);
    std::uint64_t most = 0;
    const auto hash = repack(matrices.jobs(), matrices.source(), pool,
                             [&](std::uint64_t done, std::uint64_t) { most = std::max(most, done); });
    ASSERT_FALSE(hash);
    EXPECT_THAT(hash.error().message, testing::HasSubstr("was cut short while it was in use"));
    EXPECT_LE(most, 2 * kMiB);
  }
}

TEST(Repack, AStopIsHeardBehindThePieceAtWork) {
  MatrixFile matrices({{4096, 4096}, {512, 512}});
  for (const bool beside_others : {false, true}) {
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      std::stop_source stop;
      std::uint64_t most = 0;
      const auto hash = repack(matrices.jobs(), matrices.source(), pool,
                               [&](std::uint64_t done, std::uint64_t) {
                                 most = std::max(most, done);
                                 stop.request_stop();  // before the first piece
                               },
                               {.beside_others = beside_others, .stop = stop.get_token()});
      ASSERT_FALSE(hash);
      EXPECT_EQ(hash.error().message, "loading was stopped");
      EXPECT_EQ(most, 0U);
    }
  }
  ThreadPool pool(1);
  std::stop_source stop;
  std::uint64_t most = 0;
  EXPECT_FALSE(repack(matrices.jobs(), matrices.source(), pool,
                      [&](std::uint64_t done, std::uint64_t) {
                        most = std::max(most, done);
                        if (done > 0) stop.request_stop();  // behind it
                      },
                      {.stop = stop.get_token()}));
  EXPECT_LE(most, 2 * kMiB) << "one piece";
}

TEST(Repack, TheHashIsOfEveryByteAndOfNothingElse) {
  const std::vector<MatrixFile::Shape> shapes = {{1037, 4096}, {5, 64}};
  const auto hash_with = [](MatrixFile& matrices, int threads) {
    ThreadPool pool(threads);
    return *repack(matrices.jobs(), matrices.source(), pool, {});
  };
  MatrixFile matrices(shapes);
  const ContentHash hash = hash_with(matrices, 1);
  EXPECT_EQ(hash_with(matrices, 5), hash);
  const auto change = [&](std::uint64_t offset) {
    std::fstream file(matrices.source().path(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  };
  change(3);  // before the first matrix
  EXPECT_EQ(hash_with(matrices, 2), hash);
  change(matrices.source().tensors()[0].offset + 3'000'000);
  EXPECT_NE(hash_with(matrices, 2), hash);
}

TEST(Repack, PagesAreDroppedOnceEachBytesArePacked) {
  MemorySource source;
  source.add_tensor("a", {1024, 2000}, DType::kF32, std::string(1024 * 2000 * 4, 'a'));
  source.add_tensor("b", {32, 20}, DType::kF32, std::string(32 * 20 * 4, 'b'));
  for (const FilePages pages : {FilePages::kKept, FilePages::kDropped}) {
    std::deque<std::vector<std::uint8_t>> panels;
    std::vector<RepackJob> jobs;
    std::uint64_t total = 0;
    for (const SourceTensor& t : source.tensors()) {
      panels.emplace_back(packed_bytes(t.tensor.type, t.tensor.rows, t.tensor.cols));
      jobs.push_back({&t, t.tensor.type, 0, t.tensor.rows, panels.back().data()});
      total += t.tensor.data.size();
    }
    ThreadPool pool(2);
    ASSERT_TRUE(repack(jobs, source, pool, {}, {.pages = pages}));
    std::uint64_t end = 0, dropped = 0;
    for (const auto& [offset, size] : source.dropped()) {
      EXPECT_GE(offset, end);
      end = offset + size;
      dropped += size;
    }
    EXPECT_EQ(dropped, pages == FilePages::kDropped ? total : 0);
  }
}

// A level may read its panels in another order than a card.
TEST(Repack, PanelsAreKeptInTheirOrderAndSentInTheOrderOfQuads) {
  MemorySource source;
  std::string bytes(*dtype_bytes(DType::kQ4_0, 64 * 96), '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  source.add_tensor("a", {64, 96}, DType::kQ4_0, bytes);
  const SourceTensor& t = source.tensors().front();
  const auto packed = [&](PanelOrder order) {
    std::vector<std::uint8_t> panels(packed_bytes(t.tensor.type, t.tensor.rows, t.tensor.cols));
    pack_panels({t.tensor.type, t.tensor.rows, t.tensor.cols, std::as_bytes(std::span(bytes))}, 0,
                num_panels(t.tensor.rows), panels.data(), order);
    return panels;
  };
  std::vector<std::uint8_t> kept(packed(PanelOrder::kQuads).size()), sent(kept.size());
  RepackJob job{&t, t.tensor.type, 0, t.tensor.rows, kept.data()};
  job.order = PanelOrder::kOutputs;
  job.send = [&](std::size_t offset, std::span<const std::uint8_t> some) {
    std::ranges::copy(some, sent.begin() + static_cast<std::ptrdiff_t>(offset));
    return Result<void>();
  };
  ThreadPool pool(2);
  ASSERT_TRUE(repack({job}, source, pool, {}));
  EXPECT_NE(kept, sent);
  EXPECT_EQ(kept, packed(PanelOrder::kOutputs));
  EXPECT_EQ(sent, packed(PanelOrder::kQuads));
}

}  // namespace
}  // namespace octavo::test
