// A tiny model of some architecture, its bytes changed at some places: it gives a model or an error, and a model
// computes a step. Four bytes of input are a change: three of the place, one of the value; every other one is in the
// head.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/aligned_buffer.h"
#include "cpu/cpu_runner.h"
#include "source/gguf/gguf_file.h"
#include "support/load_runner.h"
#include "support/tiny_model.h"

namespace {

using octavo::test::TinyModel;

constexpr std::size_t kHeadBytes = 3000;  // about: keys, and the directory of tensors

/// The key has a flag for each layer, as an integer.
std::string with_flags(const std::string& arch, const std::string& key) {
  TinyModel model{.arch = arch, .layers = 2, .biases = true};
  model.extra = [&](octavo::test::GgufWriter& writer) {
    writer.add_array(arch + "." + key, std::vector<std::uint32_t>{1, 0});
  };
  return model.bytes();
}

const std::string& bytes_of_model(std::size_t index) {
  static const std::array kModels = {
      TinyModel{.layers = 1}.bytes(),
      TinyModel{.layers = 1, .type = octavo::DType::kQ8_0, .experts = 3, .chosen = 2}.bytes(),
      TinyModel{.arch = "mistral3", .layers = 1}.bytes(),
      TinyModel{.arch = "qwen2", .layers = 1}.bytes(),
      TinyModel{.arch = "qwen2", .layers = 1, .fused_qkv = true}.bytes(),
      TinyModel{.arch = "qwen3", .layers = 1, .type = octavo::DType::kQ8_0}.bytes(),
      TinyModel{.arch = "qwen3moe", .layers = 1}.bytes(),
      TinyModel{.arch = "deci", .layers = 4}.bytes(),
      TinyModel{.arch = "olmo2", .layers = 2}.bytes(),
      TinyModel{.arch = "cohere2", .layers = 4}.bytes(),
      TinyModel{.arch = "hunyuan-dense", .layers = 1}.bytes(),
      TinyModel{.arch = "granite", .layers = 1}.bytes(),
      TinyModel{.arch = "granitemoe", .layers = 1}.bytes(),
      TinyModel{.arch = "smollm3", .layers = 4}.bytes(),
      TinyModel{.arch = "minicpm", .layers = 1}.bytes(),
      TinyModel{.arch = "arcee", .layers = 1}.bytes(),
      TinyModel{.arch = "muse-glimmer", .layers = 4}.bytes(),
      TinyModel{.arch = "phi3", .layers = 1, .long_context = true}.bytes(),
      TinyModel{.arch = "starcoder2", .layers = 1}.bytes(),
      TinyModel{.arch = "stablelm", .layers = 1}.bytes(),
      TinyModel{.arch = "stablelm", .layers = 1, .norms_by_head = true, .is_parallel = true}.bytes(),
      TinyModel{.arch = "apertus", .layers = 1}.bytes(),
      TinyModel{.arch = "deepseek2", .layers = 1}.bytes(),
      TinyModel{.arch = "minicpm3", .layers = 1, .type = octavo::DType::kQ8_0}.bytes(),
      TinyModel{.arch = "gemma2", .layers = 2}.bytes(),
      TinyModel{.arch = "gemma3", .layers = 1}.bytes(),
      TinyModel{.arch = "gemma4", .layers = 5, .width = 32, .ffn = 32, .vocab = 20}.bytes(),
      TinyModel{.arch = "gemma4", .layers = 2, .experts = 3, .chosen = 2, .fused_gate_up = true}.bytes(),
      TinyModel{.arch = "qwen35", .layers = 2}.bytes(),
      TinyModel{.arch = "gpt-oss", .layers = 1, .type = octavo::DType::kQ8_0}.bytes(),
      TinyModel{.arch = "qwen35moe"}.bytes(),
      TinyModel{.arch = "qwen3next", .layers = 2}.bytes(),
      TinyModel{.arch = "glm4moe", .layers = 2}.bytes(),
      TinyModel{.arch = "lfm2", .layers = 2}.bytes(),
      TinyModel{.arch = "lfm2", .layers = 2, .taps = 3, .type = octavo::DType::kQ8_0}.bytes(),
      TinyModel{.arch = "granitehybrid", .layers = 2}.bytes(),
      TinyModel{.arch = "nemotron_h_moe", .layers = 4}.bytes(),
      TinyModel{.arch = "falcon-h1", .layers = 1}.bytes(),
      TinyModel{.arch = "nanbeige", .layers = 2}.bytes(),
      TinyModel{.arch = "laguna", .layers = 2}.bytes(),
      TinyModel{.arch = "spark2_5", .layers = 4}.bytes(),
      TinyModel{.arch = "cohere2moe", .layers = 2}.bytes(),
      TinyModel{.arch = "llama4", .layers = 4, .window = 3}.bytes(),
      TinyModel{.arch = "step35", .layers = 3, .window = 3}.bytes(),
      TinyModel{.layers = 1, .biases = true}.bytes(),
      TinyModel{.arch = "mistral3", .layers = 1, .experts = 3, .chosen = 2, .biases = true}.bytes(),
      with_flags("gemma2", "attention.sliding_window_pattern"),
      with_flags("qwen35", "attention.recurrent_layers")};
  return kModels[index % kModels.size()];
}

void compute_step(octavo::CpuRunner& runner, octavo::ThreadPool& pool) {
  octavo::Batch batch;
  batch.groups.resize(static_cast<std::size_t>(runner.info().room.layout.num_groups()));
  batch.clear();
  for (int i = 0; i < 3; ++i) batch.add_row(i * 7 % runner.info().vocab_size, i, i);
  batch.seq_begin.push_back(3);
  batch.kv_len.push_back(3);
  for (octavo::Batch::Group& group : batch.groups) {
    group.block_ids.push_back(0);
    group.block_begin.push_back(1);
  }
  if (runner.info().room.num_snapshots > 0) {
    batch.state_slots.push_back(0);
    batch.num_drafted.push_back(0);
  }
  batch.logit_rows.push_back(2);
  const octavo::ThreadPool::Step step(pool);
  runner.begin(batch);
  const octavo::BatchOutcome outcome = runner.wait();
  if (!outcome.is_refused && runner.logits(0, 1).size() != static_cast<std::size_t>(runner.info().vocab_size))
    std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string& whole = bytes_of_model(data[0]);
  octavo::AlignedBuffer<std::byte> bytes(whole.size());
  std::memcpy(bytes.data(), whole.data(), whole.size());
  const bool repack = data[0] < 128;
  const std::size_t end = std::min(size, 1 + 4 * (1 + std::size_t{data[0]} / 8 % 4));  // more would leave no model
  for (std::size_t i = 1; i + 4 <= end; i += 4) {
    const std::size_t place = data[i] | data[i + 1] << 8 | data[i + 2] << 16;
    bytes.data()[place % ((i & 4) != 0 ? kHeadBytes : whole.size())] = static_cast<std::byte>(data[i + 3]);
  }
  const auto file = octavo::GgufFile::parse(bytes.span(), "fuzz");
  if (!file) return 0;
  octavo::ThreadPool pool(1);
  octavo::MemoryBudget budget(0);
  const auto runner = octavo::test::load_cpu_runner(
      *file, {.kv_memory_bytes = 1U << 20, .max_step_tokens = 4, .max_sequences = 1, .repack = repack}, pool, budget);
  if (!runner) {
    if (runner.error().message.empty()) std::abort();  // every refusal gives its reason
    return 0;
  }
  compute_step(**runner, pool);
  return 0;
}
