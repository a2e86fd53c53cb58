#include "convert/quantize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <limits>
#include <random>

#include "source/open_model.h"
#include "support/memory_source.h"
#include "support/temp_folder.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"

namespace octavo {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::MemorySource;
using testing::HasSubstr;

std::vector<float> random_weights(std::size_t size, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02F);
  std::vector<float> weights(size);
  std::ranges::generate(weights, [&] { return normal(random); });
  return weights;
}

/// A model with a matrix, a norm and two experts of three rows.
struct SmallModel {
  std::vector<float> matrix = random_weights(std::size_t{256} * 300, 1);
  std::vector<float> norm = random_weights(256, 2);
  std::vector<float> experts = random_weights(std::size_t{64} * 3 * 2, 3);

  MemorySource source(DType type = DType::kF32) const {
    MemorySource source;
    source.add("general.architecture", "llama").add("llama.block_count", 1U).add("general.file_type", 1U);
    source.add("split.count", std::uint16_t{2}).add("general.name", "small");
    source.add_tensor("blk.0.attn_q.weight", {256, 300}, type, encoded(type));
    source.add_tensor("blk.0.attn_norm.weight", {256}, DType::kF32, bytes_of(norm));
    source.add_tensor("blk.0.ffn_up_exps.weight", {64, 3, 2}, DType::kF32, bytes_of(experts));
    return source;
  }
  std::string encoded(DType type) const {
    std::string bytes(*dtype_bytes(type, matrix.size()), '\0');
    const auto done = quantize(type, matrix, {}, std::as_writable_bytes(std::span(bytes)));
    EXPECT_TRUE(done) << done.error().message;
    return bytes;
  }
};

class QuantizeModel : public testing::Test {
 protected:
  Result<QuantizeReport> run(const ModelSource& source, QuantizeOptions options, int threads = 1) {
    ThreadPool pool(threads);
    return quantize_model(source, out_, options, pool);
  }
  static QuantizeOptions to(std::string_view mix) { return {.types = {.mix = *find_type_mix(mix)}}; }
  std::unique_ptr<const ModelSource> written() const {
    auto source = open_model(out_);
    EXPECT_TRUE(source) << source.error().message;
    return std::move(*source);
  }
  std::string content() const {
    std::ifstream in(out_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  test::TempFolder folder_;
  fs::path out_ = folder_.path() / "out.gguf";
  SmallModel model_;
};

std::span<const std::byte> data_of(const ModelSource& source, std::string_view name) {
  return source.find_tensor(name)->tensor.data;
}

TEST_F(QuantizeModel, WritesEachRowAsQuantizeDoes) {
  const MemorySource source = model_.source();
  const auto report = run(source, to("Q4_0"));
  ASSERT_TRUE(report) << report.error().message;
  const auto out = written();
  EXPECT_EQ(out->find_tensor("blk.0.attn_q.weight")->tensor.type, DType::kQ4_0);
  const std::string expected = [&] {
    std::string bytes;
    for (std::size_t row = 0; row < 300; ++row) {
      std::string piece(*dtype_bytes(DType::kQ4_0, 256), '\0');
      EXPECT_TRUE(quantize(DType::kQ4_0, std::span(model_.matrix).subspan(row * 256, 256), {},
                           std::as_writable_bytes(std::span(piece))));
      bytes += piece;
    }
    return bytes;
  }();
  EXPECT_TRUE(std::ranges::equal(data_of(*out, "blk.0.attn_q.weight"), std::as_bytes(std::span(expected))));
  EXPECT_TRUE(std::ranges::equal(data_of(*out, "blk.0.attn_norm.weight"), std::as_bytes(std::span(model_.norm))));
}

TEST_F(QuantizeModel, KeepsKeysAndSaysHowItWasMade) {
  ASSERT_TRUE(run(model_.source(), to("Q4_K_M")));
  const auto out = written();
  EXPECT_EQ(out->get_string("general.name").value(), "small");
  EXPECT_EQ(out->get_u32("general.file_type").value(), 15U);
  EXPECT_EQ(out->get_u32("general.quantization_version").value(), 2U);
  EXPECT_EQ(out->find("split.count"), nullptr) << "the file is whole";
}

TEST_F(QuantizeModel, ReportsWhatItWrote) {
  const auto report = run(model_.source(), to("Q4_K_M"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->tensors.at(DType::kQ4_K), 1U);
  EXPECT_EQ(report->tensors.at(DType::kQ5_0), 1U);
  EXPECT_EQ(report->fell_back.at(64), 1U);
  EXPECT_EQ(report->num_weights, 256U * 300 + 256 + 384);
  EXPECT_EQ(report->bytes, fs::file_size(out_));
}

TEST_F(QuantizeModel, GivesTheSameBytesOnAnyNumberOfThreads) {
  const MemorySource source = model_.source();
  QuantizeOptions options = to("Q5_K_M");
  options.overwrite = true;
  ASSERT_TRUE(run(source, options, 1));
  const std::string alone = content();
  ASSERT_TRUE(run(source, options, 5));
  EXPECT_EQ(content(), alone);
}

TEST_F(QuantizeModel, TakesTheImportanceOfEachExpert) {
  MemorySource sums;
  std::vector<float> values(128, 1.0F);
  values[64 + 7] = 1e6F;  // column 7 of the second expert
  sums.add_tensor("blk.0.ffn_up_exps.weight.in_sum2", {64, 2}, DType::kF32, bytes_of(values));
  sums.add_tensor("blk.0.ffn_up_exps.weight.counts", {1, 2}, DType::kF32, bytes_of(std::vector<float>{1, 1}));
  const auto importance = Importance::from_source(sums);
  ASSERT_TRUE(importance) << importance.error().message;
  QuantizeOptions options = to("Q4_0");
  options.importance = &*importance;
  options.importance_name = "imatrix.gguf";
  const auto report = run(model_.source(), options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->without_importance, 1U) << "the matrix is not in the file";
  const auto out = written();
  EXPECT_EQ(out->get_string("quantize.imatrix.file").value(), "imatrix.gguf");
  const auto data = data_of(*out, "blk.0.ffn_up_exps.weight");
  const std::size_t row_bytes = *dtype_bytes(DType::kQ4_0, 64);
  for (std::size_t row = 0; row < 6; ++row) {
    std::vector<std::byte> expected(row_bytes);
    ASSERT_TRUE(quantize(DType::kQ4_0, std::span(model_.experts).subspan(row * 64, 64),
                         std::span(values).subspan(row / 3 * 64, 64), expected));
    EXPECT_TRUE(std::ranges::equal(data.subspan(row * row_bytes, row_bytes), expected)) << "row " << row;
  }
}

TEST_F(QuantizeModel, NamesTheFirstRowThatCannotBeWritten) {
  for (const int threads : {1, 4}) {
    model_.matrix[256 * 200 + 5] = std::numeric_limits<float>::quiet_NaN();
    model_.matrix[256 * 150 + 9] = std::numeric_limits<float>::infinity();
    MemorySource source;
    source.add("general.architecture", "llama");
    source.add_tensor("blk.0.attn_q.weight", {256, 300}, DType::kF32, bytes_of(model_.matrix));
    const auto report = run(source, to("Q4_0"), threads);
    ASSERT_FALSE(report);
    EXPECT_THAT(report.error().message, HasSubstr("tensor 'blk.0.attn_q.weight', row 150: weight 9 of the row is inf"));
    EXPECT_TRUE(fs::is_empty(folder_.path())) << "nothing is left";
  }
}

TEST_F(QuantizeModel, QuantizesTwiceOnlyIfAllowed) {
  const MemorySource source = model_.source(DType::kQ8_0);
  QuantizeOptions options = to("Q4_0");
  const auto refused = run(source, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("'blk.0.attn_q.weight' is Q8_0 already"));
  EXPECT_THAT(refused.error().message, HasSubstr("--allow-requantize"));
  EXPECT_TRUE(fs::is_empty(folder_.path()));
  options.allow_requantize = true;
  EXPECT_TRUE(run(source, options));
}

// The type that a tensor has already is no reason to refuse: its bytes are copied.
TEST_F(QuantizeModel, CopiesTensorsThatHaveTheirType) {
  const MemorySource source = model_.source(DType::kQ8_0);
  ASSERT_TRUE(run(source, to("Q8_0")));
  EXPECT_TRUE(std::ranges::equal(data_of(*written(), "blk.0.attn_q.weight"), data_of(source, "blk.0.attn_q.weight")));
}

TEST_F(QuantizeModel, DoesNotReplaceAFileUnlessAsked) {
  folder_.write("out.gguf", "precious");
  EXPECT_FALSE(run(model_.source(), to("Q8_0")));
  EXPECT_EQ(content(), "precious");
}

TEST_F(QuantizeModel, ToldProgressGoesUpToAllBytes) {
  QuantizeOptions options = to("Q8_0");
  std::vector<std::uint64_t> seen;
  std::uint64_t all = 0;
  options.on_progress = [&](std::uint64_t done, std::uint64_t total) {
    seen.push_back(done);
    all = total;
  };
  const MemorySource source = model_.source();
  ASSERT_TRUE(run(source, options));
  ASSERT_FALSE(seen.empty());
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), all);
  EXPECT_EQ(all, source.files().bytes);
}

}  // namespace
}  // namespace octavo
