// Tiny vision encoders with made weights, as llama.cpp's converter writes their files, and made pictures for them.
//
// A number is made of its tensor's name and its place alone, as in tools/tiny_tower.py, so that the vectors of
// tests/data/original_towers.gguf are those of these files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "support/gguf_writer.h"
#include "tensor/dequantize.h"
#include "tensor/quantize.h"
#include "vision/picture.h"

namespace octavo::test {

struct TinyTower {
  int layers = 2, width = 64, heads = 4, ffn = 96, patch = 16, merge = 2, grid = 48, text = 32;
  std::vector<int> deepstack = {};
  std::string family = "qwen3vl_merger";
  bool clamps = false, standardizes = false;  // gemma4v's
  int edge = 0;                // the longest side of a picture, of idefics3 and pixtral, or a slice's, of minicpmv4_6
  int hidden = 0;              // between the projector's products, of lfm2 and muse-glimmer
  bool norms_joined = false;   // the projector's input, of lfm2
  int join = 0;                // the layer behind which rows are joined, of minicpmv4_6
  DType type = DType::kF32;    // of matrices
  bool exchanges_ffn = false;  // ffn_up and ffn_down have each other's names, as in old files of idefics3
  bool fused = true;           // Q, K and V lie in one tensor
  bool deepstack_key = true;
  std::string left_out = {};                        // a key or a tensor that the file lacks
  std::function<void(GgufWriter&)> keys = nullptr;  // writes more keys; none of those named in `replaced`
  std::map<std::string, std::uint32_t> replaced = {};
  std::function<void(GgufWriter&)> tensors = nullptr;

  /// No size of it fills whole vectors.
  static TinyTower odd() {
    return {.layers = 3, .width = 72, .heads = 2, .ffn = 100, .patch = 4, .grid = 5, .text = 40, .deepstack = {0, 2}};
  }

  /// A token is 3 x 3 patches.
  static TinyTower threes() {
    return {.layers = 1, .width = 32, .heads = 2, .ffn = 40, .patch = 4, .merge = 3, .grid = 7, .text = 24};
  }

  /// The shapes of that name in tools/tiny_tower.py.
  static TinyTower gemma4v() { return {.ffn = 96, .merge = 3, .grid = 40, .family = "gemma4v"}; }
  static TinyTower gemma4v_clamped() {
    return {.width = 72,
            .heads = 2,
            .ffn = 100,
            .patch = 4,
            .merge = 3,
            .grid = 50,
            .text = 40,
            .family = "gemma4v",
            .clamps = true,
            .standardizes = true};
  }

  /// It has no layers, and a patch of 12 x 12 pixels is a token.
  static TinyTower gemma4uv() {
    return {.layers = 0,
            .width = 72,
            .heads = 0,
            .ffn = 0,
            .patch = 4,
            .merge = 3,
            .grid = 50,
            .text = 40,
            .family = "gemma4uv"};
  }

  static TinyTower gemma3() {
    return {.width = 72, .heads = 2, .ffn = 100, .patch = 4, .grid = 8, .text = 40, .family = "gemma3"};
  }
  static TinyTower idefics3() { return {.grid = 6, .family = "idefics3", .edge = 192}; }
  static TinyTower lfm2() {
    return {.width = 72,
            .heads = 2,
            .ffn = 100,
            .patch = 4,
            .grid = 5,
            .text = 40,
            .family = "lfm2",
            .hidden = 56,
            .norms_joined = true};
  }
  static TinyTower pixtral() { return {.merge = 1, .grid = 0, .family = "pixtral", .edge = 1024}; }
  static TinyTower mistral3() {
    return {.width = 72, .heads = 2, .ffn = 100, .patch = 4, .grid = 0, .text = 40, .family = "pixtral", .edge = 200};
  }

  static TinyTower qwen2vl() {
    return {.width = 72, .heads = 2, .ffn = 288, .patch = 4, .grid = 0, .text = 40, .family = "qwen2vl_merger"};
  }
  static TinyTower qwen25vl() {
    return {.layers = 3,
            .width = 72,
            .heads = 2,
            .ffn = 100,
            .patch = 14,
            .grid = 0,
            .text = 40,
            .family = "qwen2.5vl_merger"};
  }
  static TinyTower minicpmv() {
    return {.layers = 3,
            .width = 72,
            .heads = 2,
            .ffn = 100,
            .patch = 4,
            .merge = 4,
            .grid = 5,
            .text = 40,
            .family = "minicpmv4_6",
            .edge = 32,
            .join = 1};
  }
  /// A token is 2 x 2 patches; no rows are joined in the middle.
  static TinyTower minicpmv_4x() { return {.layers = 1, .patch = 4, .grid = 5, .family = "minicpmv4_6", .edge = 32}; }
  static TinyTower muse_glimmer() {
    return {.layers = 5,
            .width = 72,
            .heads = 2,
            .ffn = 100,
            .patch = 4,
            .grid = 8,
            .text = 40,
            .family = "muse-glimmer",
            .hidden = 56};
  }

  static std::uint32_t hash(std::string_view name, std::uint32_t place) {
    std::uint32_t x = 2166136261U;
    for (const char letter : name) x = (x ^ static_cast<std::uint8_t>(letter)) * 16777619U;
    x += place * 0x9E3779B9U;
    x = (x ^ x >> 16) * 0x7FEB352DU;
    x = (x ^ x >> 15) * 0x846CA68BU;
    return x ^ x >> 16;
  }
  /// A picture of so many patches.
  Picture picture(int rows, int columns) const {
    Picture made{.size = {columns * patch, rows * patch}};
    const std::string name = "picture " + std::to_string(made.size.width) + "x" + std::to_string(made.size.height);
    made.rgb.resize(3 * static_cast<std::size_t>(made.size.pixels()));
    for (std::size_t i = 0; i < made.rgb.size(); ++i)
      made.rgb[i] = static_cast<std::uint8_t>(hash(name, static_cast<std::uint32_t>(i)) >> 24);
    return made;
  }

  std::string bytes() const {
    GgufWriter writer;
    write_keys(writer);
    if (keys) keys(writer);
    write_tensors(writer);
    if (tensors) tensors(writer);
    return writer.bytes();
  }

  void matrix(GgufWriter& writer, const std::string& name, int rows, int cols, std::vector<std::uint64_t> dims = {},
              DType stored = DType::kF32) const {
    int bits = 0;
    while (cols >> (bits + 1) != 0) ++bits;
    const auto at = [&](int i) { return number(name, i) / static_cast<float>(1 << bits / 2); };
    add(writer, name, rows * cols, at, dims.empty() ? shape_of({cols, rows}) : dims, stored);
  }
  void vector(GgufWriter& writer, const std::string& name, int size, float mean, float scale) const {
    add(writer, name, size, [&](int i) { return mean + number(name, i) * scale; }, shape_of({size}), DType::kF32);
  }

 private:
  const char* merge_key() const {
    return is_siglip() || is_gemma4() ? "clip.vision.projector.scale_factor" : "clip.vision.spatial_merge_size";
  }
  bool is_gemma4() const { return family == "gemma4v" || family == "gemma4uv"; }
  bool is_qwen2() const { return family == "qwen2vl_merger" || family == "qwen2.5vl_merger"; }
  bool is_siglip() const {
    return family == "gemma3" || family == "idefics3" || family == "lfm2" || family == "minicpmv4_6";
  }
  bool has_clips_mean() const { return family == "pixtral" || is_qwen2(); }
  int image_size() const {
    if (is_gemma4()) return 224;
    if (is_qwen2()) return 560;
    if (family == "muse-glimmer") return grid * patch * merge;
    return family == "pixtral" || family == "minicpmv4_6" ? edge : grid * patch;
  }
  static std::vector<std::uint64_t> shape_of(std::vector<int> sizes) { return {sizes.begin(), sizes.end()}; }
  static float number(std::string_view name, int place) {
    return static_cast<float>(hash(name, static_cast<std::uint32_t>(place)) >> 8) * 0x1p-23F - 1;
  }

  template <class At>
  void add(GgufWriter& writer, const std::string& name, int count, const At& at, const std::vector<std::uint64_t>& dims,
           DType stored) const {
    if (name == left_out) return;
    std::vector<float> floats;
    for (int i = 0; i < count; ++i) floats.push_back(at(i));
    std::vector<std::byte> stored_bytes(*dtype_bytes(stored, static_cast<std::uint64_t>(count)));
    quantize(stored, floats, {}, stored_bytes).value();
    writer.add_tensor(name, dims, stored, {reinterpret_cast<const char*>(stored_bytes.data()), stored_bytes.size()});
  }

  void write_keys(GgufWriter& writer) const {
    const auto key = [&](const std::string& name, const auto& value) {
      if (name == left_out) return;
      const auto other = replaced.find(name);
      other == replaced.end() ? writer.add(name, value) : writer.add(name, other->second);
    };
    const auto array = [&](const std::string& name, const auto& values) {
      if (name != left_out && !replaced.contains(name)) writer.add_array(name, values);
    };
    key("general.architecture", "clip");
    key("clip.has_vision_encoder", true);
    key("clip.projector_type", family);
    if (family == "pixtral") key("clip.use_silu", true);
    if (is_siglip() || family == "qwen3vl_merger") key("clip.use_gelu", true);
    const std::pair<const char*, int> sizes[] = {
        {"clip.vision.embedding_length", width},
        // Files of Qwen2-VL have the width of the text model there.
        {"clip.vision.feed_forward_length", family == "qwen2vl_merger" ? text : ffn},
        {"clip.vision.block_count", layers},
        {"clip.vision.attention.head_count", heads},
        {"clip.vision.projection_dim", text},
        {"clip.vision.image_size", image_size()},
        {"clip.vision.patch_size", patch},
        {merge_key(), merge}};
    for (const auto& [name, size] : sizes)
      if (name != merge_key() || merge > 1) key(name, static_cast<std::uint32_t>(size));
    if (family == "idefics3") key("clip.vision.preproc_image_size", static_cast<std::uint32_t>(edge));
    if (family == "qwen2.5vl_merger") key("clip.vision.n_wa_pattern", 2U);
    if (family == "minicpmv4_6" && merge == 4) array("clip.vision.wa_layer_indexes", std::vector<std::int32_t>{join});
    key("clip.vision.attention.layer_norm_epsilon", family == "pixtral" || family == "muse-glimmer" ? 1e-5F : 1e-6F);
    std::vector<float> mean(3, 0.5F), deviation = mean;
    if (is_gemma4()) mean = {0, 0, 0}, deviation = {1, 1, 1};
    if (has_clips_mean())
      mean = {0.48145466F, 0.4578275F, 0.40821073F}, deviation = {0.26862954F, 0.26130258F, 0.27577711F};
    array("clip.vision.image_mean", mean);
    array("clip.vision.image_std", deviation);
    if (deepstack.empty() || !deepstack_key) return;
    std::vector<bool> flags(static_cast<std::size_t>(layers));
    for (const int layer : deepstack) flags[static_cast<std::size_t>(layer)] = true;
    array("clip.vision.is_deepstack_layers", flags);
  }

  void linear(GgufWriter& writer, const std::string& stem, int rows, int cols) const {
    matrix(writer, stem + ".weight", rows, cols, {}, type);
    vector(writer, stem + ".bias", rows, 0, 0.125F);
  }
  void norm(GgufWriter& writer, const std::string& stem, int size) const {
    vector(writer, stem + ".weight", size, 1, 0.25F);
    vector(writer, stem + ".bias", size, 0, 0.125F);
  }

  /// Q, K and V apart have the numbers of the one tensor.
  void write_qkv(GgufWriter& writer, const std::string& layer) const {
    const std::string fused_name = layer + "attn_qkv";
    if (fused) return linear(writer, fused_name, 3 * width, width);
    int bits = 0;
    while (width >> (bits + 1) != 0) ++bits;
    for (int part = 0; part < 3; ++part) {
      const std::string stem = layer + "attn_" + "qkv"[part];
      const auto weight = [&](int i) {
        return number(fused_name + ".weight", part * width * width + i) / static_cast<float>(1 << bits / 2);
      };
      const auto bias = [&](int i) { return number(fused_name + ".bias", part * width + i) * 0.125F; };
      add(writer, stem + ".weight", width * width, weight, shape_of({width, width}), type);
      add(writer, stem + ".bias", width, bias, shape_of({width}), DType::kF32);
    }
  }

  void write_tables(GgufWriter& writer) const {
    const std::string positions = "v.position_embd.weight";
    add(
        writer, positions, 2 * grid * width, [&](int i) { return number(positions, i) * 0.5F; },
        shape_of({width, grid, 2}), DType::kF32);
  }

  void write_gemma4uv(GgufWriter& writer) const {
    const int pixels = 3 * patch * merge * patch * merge;
    norm(writer, "v.patch_norm.1", pixels);
    matrix(writer, "v.patch_embd.weight", width, pixels, {}, type == DType::kQ8_0 ? DType::kF32 : type);
    vector(writer, "v.patch_embd.bias", width, 0, 0.125F);
    norm(writer, "v.patch_norm.2", width);
    write_tables(writer);
    norm(writer, "v.patch_norm.3", width);
    matrix(writer, "mm.input_projection.weight", text, width, {}, type);
  }

  void write_gemma4v(GgufWriter& writer) const {
    matrix(writer, "v.patch_embd.weight", width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    write_tables(writer);
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      for (const char* name : {"ln1", "ln2", "attn_post_norm", "ffn_post_norm"})
        vector(writer, p + name + ".weight", width, 1, 0.25F);
      for (const char* name : {"attn_q_norm", "attn_k_norm"})
        vector(writer, p + name + ".weight", width / heads, 1, 0.25F);
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out", "ffn_gate", "ffn_up", "ffn_down"}) {
        const bool is_ffn = name[0] == 'f', is_down = name == std::string_view("ffn_down");
        matrix(writer, p + name + ".weight", is_ffn && !is_down ? ffn : width, is_down ? ffn : width, {}, type);
        for (const char* clamp : {".input_min", ".input_max", ".output_min", ".output_max"})
          if (clamps)
            vector(writer, p + name + clamp, 1, std::string_view(clamp).ends_with("min") ? -0.75F : 0.75F, 0.125F);
      }
    }
    if (standardizes) vector(writer, "v.std_bias", width, 0, 0.5F);
    if (standardizes) vector(writer, "v.std_scale", width, 1, 0.5F);
    matrix(writer, "mm.input_projection.weight", text, width, {}, type);
  }

  /// SigLIP's encoder, of gemma3, idefics3 and lfm2, with the projector of each.
  void write_siglip(GgufWriter& writer) const {
    matrix(writer, "v.patch_embd.weight", width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    vector(writer, "v.patch_embd.bias", width, 0, 0.125F);
    const std::string positions = "v.position_embd.weight";
    add(
        writer, positions, grid * grid * width, [&](int i) { return number(positions, i) * 0.5F; },
        shape_of({width, grid * grid}), DType::kF32);
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      norm(writer, p + "ln1", width);
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) linear(writer, p + name, width, width);
      norm(writer, p + "ln2", width);
      linear(writer, p + (exchanges_ffn ? "ffn_down" : "ffn_up"), ffn, width);
      linear(writer, p + (exchanges_ffn ? "ffn_up" : "ffn_down"), width, ffn);
    }
    norm(writer, "v.post_ln", width);
    const int merged = merge * merge * width;
    if (family == "minicpmv4_6") return write_minicpm(writer);
    if (family == "idefics3") return matrix(writer, "mm.model.fc.weight", text, merged, {}, type);
    if (family == "gemma3") {
      vector(writer, "mm.soft_emb_norm.weight", width, 1, 0.5F);
      return matrix(writer, "mm.input_projection.weight", width, text, {}, type);  // transposed
    }
    if (norms_joined) norm(writer, "mm.input_norm", merged);
    linear(writer, "mm.1", hidden, merged);
    linear(writer, "mm.2", text, hidden);
  }

  /// What minicpmv4_6 has beside SigLIP's encoder.
  void write_minicpm(GgufWriter& writer) const {
    const int joined = 4 * width;
    if (merge == 4) {
      const std::string p = "v.vit_merger.";
      norm(writer, p + "ln1", width);
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) linear(writer, p + name, width, width);
      norm(writer, p + "ds_ln", joined);
      linear(writer, p + "ds_ffn_up", 4 * ffn, joined);
      linear(writer, p + "ds_ffn_down", width, 4 * ffn);
    }
    norm(writer, "mm.input_norm", joined);
    linear(writer, "mm.up", joined, joined);
    linear(writer, "mm.down", text, joined);
  }

  void write_qwen2(GgufWriter& writer) const {
    const bool gated = family == "qwen2.5vl_merger";
    const auto own_norm = [&](const std::string& stem) {
      vector(writer, stem + ".weight", width, 1, 0.25F);
      if (!gated) vector(writer, stem + ".bias", width, 0, 0.125F);
    };
    for (const char* name : {"v.patch_embd.weight", "v.patch_embd.weight.1"})
      matrix(writer, name, width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      own_norm(p + "ln1");
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) linear(writer, p + name, width, width);
      own_norm(p + "ln2");
      if (gated) linear(writer, p + "ffn_gate", ffn, width);
      linear(writer, p + (exchanges_ffn ? "ffn_down" : "ffn_up"), ffn, width);
      linear(writer, p + (exchanges_ffn ? "ffn_up" : "ffn_down"), width, ffn);
    }
    own_norm("v.post_ln");
    const int merged = merge * merge * width;
    linear(writer, "mm.0", merged, merged);
    linear(writer, "mm.2", text, merged);
  }

  void write_muse_glimmer(GgufWriter& writer) const {
    matrix(writer, "v.patch_embd.weight", width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    const std::string positions = "v.position_embd.weight";
    add(
        writer, positions, grid * grid * width, [&](int i) { return number(positions, i) * 0.5F; },
        shape_of({width, grid * grid}), DType::kF32);
    norm(writer, "v.pre_ln", width);
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      norm(writer, p + "ln1", width);
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) linear(writer, p + name, width, width);
      norm(writer, p + "ln2", width);
      linear(writer, p + "ffn_up", ffn, width);
      linear(writer, p + "ffn_down", width, ffn);
    }
    norm(writer, "v.post_ln", width);
    matrix(writer, "mm.0.weight", hidden, merge * merge * width, {}, type);
    matrix(writer, "mm.1.weight", hidden, hidden, {}, type);
    matrix(writer, "mm.2.weight", text, hidden, {}, type);
  }

  void write_pixtral(GgufWriter& writer) const {
    const auto product = [&](const std::string& stem, int rows, int cols) {
      matrix(writer, stem + ".weight", rows, cols, {}, type);
    };
    const auto plain_norm = [&](const std::string& stem) { vector(writer, stem + ".weight", width, 1, 0.25F); };
    matrix(writer, "v.patch_embd.weight", width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    plain_norm("v.pre_ln");
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      plain_norm(p + "ln1");
      for (const char* name : {"attn_q", "attn_k", "attn_v", "attn_out"}) product(p + name, width, width);
      plain_norm(p + "ln2");
      product(p + "ffn_gate", ffn, width);
      product(p + "ffn_up", ffn, width);
      product(p + "ffn_down", width, ffn);
    }
    if (merge > 1) {
      plain_norm("mm.input_norm");
      product("mm.patch_merger", width, width * merge * merge);
      product("mm.1", text, width);
      product("mm.2", text, text);
    } else {
      linear(writer, "mm.1", text, width);
      linear(writer, "mm.2", text, text);
    }
    vector(writer, "v.token_embd.img_break", text, 0, 1);
  }

  void write_tensors(GgufWriter& writer) const {
    if (family == "gemma4v") return write_gemma4v(writer);
    if (family == "gemma4uv") return write_gemma4uv(writer);
    if (family == "pixtral") return write_pixtral(writer);
    if (family == "muse-glimmer") return write_muse_glimmer(writer);
    if (is_qwen2()) return write_qwen2(writer);
    if (is_siglip()) return write_siglip(writer);
    for (const char* name : {"v.patch_embd.weight", "v.patch_embd.weight.1"})
      matrix(writer, name, width, 3 * patch * patch, shape_of({patch, patch, 3, width}));
    vector(writer, "v.patch_embd.bias", width, 0, 0.125F);
    const std::string positions = "v.position_embd.weight";
    add(
        writer, positions, grid * grid * width, [&](int i) { return number(positions, i) * 0.5F; },
        shape_of({width, grid * grid}), DType::kF32);
    for (int layer = 0; layer < layers; ++layer) {
      const std::string p = "v.blk." + std::to_string(layer) + ".";
      norm(writer, p + "ln1", width);
      write_qkv(writer, p);
      linear(writer, p + "attn_out", width, width);
      norm(writer, p + "ln2", width);
      linear(writer, p + "ffn_up", ffn, width);
      linear(writer, p + "ffn_down", width, ffn);
    }
    const int merged = merge * merge * width;
    for (const int layer : deepstack) {
      const std::string p = "v.deepstack." + std::to_string(layer) + ".";
      norm(writer, p + "norm", merged);
      linear(writer, p + "fc1", merged, merged);
      linear(writer, p + "fc2", text, merged);
    }
    norm(writer, "v.post_ln", width);
    linear(writer, "mm.0", merged, merged);
    linear(writer, "mm.2", text, merged);
  }
};

}  // namespace octavo::test
