#include "model/weights.h"

#include <algorithm>
#include <array>
#include <set>

#include "gguf/text.h"
#include "kernels/pack.h"
#include "tensor/dequantize.h"

namespace octavo {

namespace {

constexpr std::size_t kSampleBytes = 4096;  // of a matrix that stays in the file, for its hash
constexpr std::size_t kVectorAlign = kCacheLineBytes / sizeof(float);

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

WeightNeed weight_need(const GgufFile& file) {
  WeightNeed need;
  for (const GgufTensor& tensor : file.tensors()) {
    const Tensor& t = tensor.tensor;
    if (t.rows == 1) {
      need.vector_bytes += sizeof(float) * rounded_up(static_cast<std::size_t>(t.cols), kVectorAlign);
    } else {
      need.packed_bytes += packed_bytes(t.type, t.rows, t.cols);
      need.mapped_bytes += t.data.size();
    }
  }
  return need;
}

/// First lists what the model needs and checks it, so that a wrong file is refused before memory is taken; then loads.
class WeightLoader {
 public:
  WeightLoader(const GgufFile& file, const ModelConfig& config) : file_(file), config_(config) {}

  Result<void> list(Weights& w);
  // Each gives a hash of what it loads.
  Result<ContentHash> load_vectors(Weights& w) const;
  Result<ContentHash> pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress) const;
  Result<ContentHash> map_matrices(Weights& w) const;

 private:
  struct Matrix {
    const GgufTensor* source;
    WeightMatrix* target;
  };
  struct Vector {
    const GgufTensor* source;
    const float** target;
  };

  Result<const GgufTensor*> find(const std::string& name, std::int64_t rows, std::int64_t cols, Presence presence);
  Result<void> matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target);
  Result<void> vector(const std::string& name, std::int64_t size, Presence presence, const float*& target);
  Result<void> list_attention(const std::string& prefix, LayerWeights& w);
  Result<void> list_feed_forward(const std::string& prefix, LayerWeights& w);
  Result<void> check_all_used() const;

  const GgufFile& file_;
  const ModelConfig& config_;
  std::vector<Matrix> matrices_;
  std::vector<Vector> vectors_;
  std::set<std::string_view> used_;
};

Result<const GgufTensor*> WeightLoader::find(const std::string& name, std::int64_t rows, std::int64_t cols,
                                             Presence presence) {
  const GgufTensor* tensor = presence == Presence::kAbsent ? nullptr : file_.find_tensor(name);
  if (tensor == nullptr) {
    if (presence != Presence::kRequired) return nullptr;
    return fail("{}: no tensor {}, which architecture {} needs", file_.path().string(), name, config_.arch->name);
  }
  if (tensor->tensor.rows != rows || tensor->tensor.cols != cols)
    return fail("{}: tensor {} has {} rows of {}, expected {} rows of {} by the metadata of {}", file_.path().string(),
                name, tensor->tensor.rows, tensor->tensor.cols, rows, cols, config_.arch->name);
  used_.insert(tensor->name);
  return tensor;
}

Result<void> WeightLoader::matrix(const std::string& name, std::int64_t rows, std::int64_t cols, WeightMatrix& target) {
  OCTAVO_TRY(const GgufTensor* tensor, find(name, rows, cols, Presence::kRequired));
  target = {.type = tensor->tensor.type, .rows = rows, .cols = cols};
  matrices_.push_back({tensor, &target});
  return {};
}

Result<void> WeightLoader::vector(const std::string& name, std::int64_t size, Presence presence, const float*& target) {
  OCTAVO_TRY(const GgufTensor* tensor, find(name, 1, size, presence));
  if (tensor != nullptr) vectors_.push_back({tensor, &target});
  return {};
}

Result<void> WeightLoader::list_attention(const std::string& prefix, LayerWeights& w) {
  const ArchitectureInfo& arch = *config_.arch;
  OCTAVO_TRY_VOID(vector(prefix + "attn_norm.weight", config_.width, Presence::kRequired, w.attn_norm));
  OCTAVO_TRY_VOID(matrix(prefix + "attn_q.weight", config_.q_width(), config_.width, w.q));
  OCTAVO_TRY_VOID(matrix(prefix + "attn_k.weight", config_.kv_width(), config_.width, w.k));
  OCTAVO_TRY_VOID(matrix(prefix + "attn_v.weight", config_.kv_width(), config_.width, w.v));
  OCTAVO_TRY_VOID(vector(prefix + "attn_q.bias", config_.q_width(), arch.qkv_bias, w.q_bias));
  OCTAVO_TRY_VOID(vector(prefix + "attn_k.bias", config_.kv_width(), arch.qkv_bias, w.k_bias));
  OCTAVO_TRY_VOID(vector(prefix + "attn_v.bias", config_.kv_width(), arch.qkv_bias, w.v_bias));
  OCTAVO_TRY_VOID(vector(prefix + "attn_q_norm.weight", config_.head_dim, arch.qk_norm, w.q_norm));
  OCTAVO_TRY_VOID(vector(prefix + "attn_k_norm.weight", config_.head_dim, arch.qk_norm, w.k_norm));
  return matrix(prefix + "attn_output.weight", config_.width, config_.q_width(), w.o);
}

Result<void> WeightLoader::list_feed_forward(const std::string& prefix, LayerWeights& w) {
  const Presence post_norms = config_.arch->post_norms ? Presence::kRequired : Presence::kAbsent;
  OCTAVO_TRY_VOID(vector(prefix + "post_attention_norm.weight", config_.width, post_norms, w.post_attn_norm));
  OCTAVO_TRY_VOID(vector(prefix + "ffn_norm.weight", config_.width, Presence::kRequired, w.ffn_norm));
  OCTAVO_TRY_VOID(matrix(prefix + "ffn_gate.weight", config_.ffn_width, config_.width, w.gate));
  OCTAVO_TRY_VOID(matrix(prefix + "ffn_up.weight", config_.ffn_width, config_.width, w.up));
  OCTAVO_TRY_VOID(matrix(prefix + "ffn_down.weight", config_.width, config_.ffn_width, w.down));
  return vector(prefix + "post_ffw_norm.weight", config_.width, post_norms, w.post_ffn_norm);
}

Result<void> WeightLoader::check_all_used() const {
  for (const GgufTensor& tensor : file_.tensors())
    if (!used_.contains(tensor.name))
      return fail("{}: tensor {} is not part of architecture {} as Octavo knows it", file_.path().string(),
                  quote(tensor.name), config_.arch->name);
  return {};
}

Result<void> WeightLoader::list(Weights& w) {
  OCTAVO_TRY_VOID(matrix("token_embd.weight", config_.vocab_size, config_.width, w.embedding));
  OCTAVO_TRY_VOID(vector("output_norm.weight", config_.width, Presence::kRequired, w.output_norm));
  if (!config_.tied_output) OCTAVO_TRY_VOID(matrix("output.weight", config_.vocab_size, config_.width, w.output));
  OCTAVO_TRY_VOID(vector("rope_freqs.weight", config_.head_dim / 2, config_.arch->rope_factors, w.rope_factors));
  w.layers.resize(static_cast<std::size_t>(config_.num_layers));
  for (int i = 0; i < config_.num_layers; ++i) {
    const std::string prefix = fmt::format("blk.{}.", i);
    LayerWeights& layer = w.layers[static_cast<std::size_t>(i)];
    OCTAVO_TRY_VOID(list_attention(prefix, layer));
    OCTAVO_TRY_VOID(list_feed_forward(prefix, layer));
  }
  return check_all_used();
}

Result<ContentHash> WeightLoader::load_vectors(Weights& w) const {
  std::size_t num_floats = 0;
  for (const Vector& v : vectors_)
    num_floats += rounded_up(static_cast<std::size_t>(v.source->tensor.cols), kVectorAlign);
  w.vectors_ = AlignedBuffer<float>(num_floats);
  float* floats = w.vectors_.data();
  std::vector<std::byte> bytes;
  std::vector<ContentHash> hashes;
  for (const Vector& v : vectors_) {
    const auto size = static_cast<std::size_t>(v.source->tensor.cols);
    bytes.resize(v.source->tensor.data.size());
    OCTAVO_TRY_VOID(file_.file().read(v.source->offset, bytes));
    hashes.push_back(hash_of(bytes));
    dequantize(v.source->tensor.type, bytes.data(), std::span(floats, size));
    *v.target = floats;
    floats += rounded_up(size, kVectorAlign);
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<ContentHash> WeightLoader::pack_matrices(Weights& w, ThreadPool& pool, const RepackProgress& progress) const {
  std::size_t bytes = 0;
  for (const Matrix& m : matrices_) bytes += packed_bytes(m.target->type, m.target->rows, m.target->cols);
  w.matrices_ = AlignedBuffer<std::uint8_t>::with_huge_pages(bytes);
  std::uint8_t* panels = w.matrices_.data();
  std::vector<RepackJob> jobs;
  for (const Matrix& m : matrices_) {
    jobs.push_back({.source = m.source->tensor, .offset = m.source->offset, .panels = panels});
    m.target->panels = panels;
    panels += packed_bytes(m.target->type, m.target->rows, m.target->cols);
  }
  return repack(std::move(jobs), file_.file(), pool, progress);
}

Result<ContentHash> WeightLoader::map_matrices(Weights& w) const {
  const MappedFile& file = file_.file();
  std::vector<ContentHash> hashes = {{file_.file_bytes(), static_cast<std::uint64_t>(file.modified_ns())}};
  std::array<std::byte, kSampleBytes> sample;
  for (const Matrix& m : matrices_) {
    m.target->file = m.source->tensor.data.data();
    w.mapped_bytes_ += m.source->tensor.data.size();
    w.largest_panel_bytes_ = std::max(w.largest_panel_bytes_, panel_bytes(m.target->type, m.target->cols));
    const std::span<std::byte> first = std::span(sample).first(std::min(sample.size(), m.source->tensor.data.size()));
    OCTAVO_TRY_VOID(file.read(m.source->offset, first));
    hashes.push_back(hash_of(first));
  }
  return hash_of(std::as_bytes(std::span(hashes)));
}

Result<Weights> Weights::load(const GgufFile& file, const ModelConfig& config, bool repack, ThreadPool& pool,
                              const RepackProgress& progress) {
  Weights weights;
  WeightLoader loader(file, config);
  OCTAVO_TRY_VOID(loader.list(weights));
  OCTAVO_TRY(const ContentHash vectors, loader.load_vectors(weights));
  OCTAVO_TRY(const ContentHash matrices,
             repack ? loader.pack_matrices(weights, pool, progress) : loader.map_matrices(weights));
  const std::array parts = {hash_of(file.head()), vectors, matrices};
  weights.content_hash_ = hash_of(std::as_bytes(std::span(parts)));
  if (config.tied_output) weights.output = weights.embedding;
  return weights;
}

std::uint64_t Weights::bytes_per_token() const {
  const bool tied = output.panels == embedding.panels && output.file == embedding.file;
  const std::uint64_t embedding_bytes = embedding.bytes();
  return tied ? total_bytes()
              : total_bytes() - embedding_bytes + embedding_bytes / static_cast<std::uint64_t>(embedding.rows);
}

PanelScratch Weights::make_scratch(int num_threads) const {
  return mapped_bytes_ == 0 ? PanelScratch() : PanelScratch(largest_panel_bytes_, num_threads);
}

}  // namespace octavo
