#include "cli/info_vision.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <map>
#include <string>

#include "base/text.h"
#include "base/to_size.h"
#include "base/utf8.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "engine/load/picture_loader.h"
#include "model/vision_config.h"
#include "model/vision_weight_list.h"
#include "vision/picture_family.h"

namespace octavo::cli {
namespace {

struct TypeSum {
  std::uint64_t num_tensors = 0, num_weights = 0, bytes = 0;
};

struct VisionReport {
  VisionConfig config;
  const PictureFamily* family = nullptr;  // null: its pictures cannot be prepared
  std::map<DType, TypeSum> by_type;
  std::uint64_t num_weights = 0, file_weight_bytes = 0;  // in the file
  std::uint64_t weight_bytes = 0;                        // in memory

  // The family must be known.
  /// The most tokens of a picture.
  int most() const {
    return config.most_tokens > 0 ? std::min(config.most_tokens, family->most_tokens) : family->most_tokens;
  }
  /// The range of tokens where nobody asks for another.
  TokenRange usual() const {
    const TokenRange tokens = family->usual_tokens({.min = config.min_tokens, .max = config.max_tokens});
    return {.min = std::min(tokens.min, most()), .max = std::min(tokens.max, most())};
  }
  /// The memory that a picture of `tokens` takes while it is encoded.
  std::uint64_t picture_bytes(int tokens) const {
    return config.rows_bytes(std::int64_t{tokens} * config.token_patches());
  }
};

Result<VisionReport> make_report(const ModelSource& source) {
  VisionReport report;
  OCTAVO_TRY(report.config, VisionConfig::load(source));
  OCTAVO_TRY(const VisionWeightList list, VisionWeightList::create(source, report.config));
  report.weight_bytes = list.bytes(report.config);
  report.family = find_picture_family(report.config.family);
  for (const SourceTensor& tensor : source.tensors()) {
    const auto weights = static_cast<std::uint64_t>(tensor.tensor.rows * tensor.tensor.cols);
    TypeSum& sum = report.by_type[tensor.tensor.type];
    ++sum.num_tensors;
    sum.num_weights += weights;
    sum.bytes += tensor.tensor.bytes();
    report.num_weights += weights;
    report.file_weight_bytes += tensor.tensor.bytes();
  }
  return report;
}

void print_line(std::string_view label, const std::string& text, std::ostream& out) {
  out << fmt::format("{:<14}{}\n", label, text);
}

/// Prints what the encoder is.
void print_encoder(const VisionReport& report, std::ostream& out) {
  const VisionConfig& c = report.config;
  const auto line = [&out](std::string_view label, const std::string& text) { print_line(label, text, out); };
  line("encoder", fmt::format("of pictures, family {}, for a model with rows of {}", c.family, c.text_width));
  line("shape", c.layers.empty()
                    ? fmt::format("no layers, width {}", c.width)
                    : fmt::format("{} layers, width {}, feed-forward {}, {} heads of {}", c.num_layers(), c.width,
                                  c.feed_forward().width, c.attention().num_heads, c.attention().head_dim));
  line("tokens", fmt::format("one for {} x {} pixels: {} x {} patches of {} x {}", c.token_side(), c.token_side(),
                             c.merge_side, c.merge_side, c.patch_side, c.patch_side));
  if (!c.deepstack_layers.empty())
    line("deepstack", fmt::format("{} more vectors of each token, behind the layers {}", c.deepstack_layers.size(),
                                  fmt::join(c.deepstack_layers, ", ")));
  if (report.family != nullptr)
    line("pictures",
         fmt::format("{} to {} tokens unless told, at most {}", report.usual().min, report.usual().max, report.most()));
  line("weights", fmt::format("{} in {}", report.num_weights, format_bytes(report.file_weight_bytes)));
}

void print_vision_memory(const VisionReport& report, std::ostream& out) {
  out << fmt::format("  {:<22}{:>12}\n", "weights", format_bytes(report.weight_bytes));
  if (report.family == nullptr) return;
  for (const int tokens : {report.usual().max, report.most()})
    out << fmt::format("  {:<22}{:>12}  while it is encoded, and scratch memory of some tens of MiB\n",
                       fmt::format("a picture, {} tokens", tokens), format_bytes(report.picture_bytes(tokens)));
}

void print_text(const ModelSource& source, const VisionReport& report, std::ostream& out) {
  const SourceFiles& files = source.files();
  print_line("file",
             fmt::format("{} ({}, {} version {}, {} metadata keys)", escaped(source.name()), format_bytes(files.bytes),
                         files.format, files.version, source.metadata().size()),
             out);
  print_line("name", escaped(report.config.name), out);
  print_encoder(report, out);
  out << fmt::format("\n{:<14}{:<8}{:>8}{:>14}{:>12}\n", "by type", "type", "tensors", "weights", "size");
  for (const auto& [type, sum] : report.by_type)
    out << fmt::format("{:<14}{:<8}{:>8}{:>14}{:>12}\n", "", dtype_info(type).name, sum.num_tensors, sum.num_weights,
                       format_bytes(sum.bytes));
  out << "\nmemory\n";
  print_vision_memory(report, out);
}

boost::json::object encoder_to_json(const VisionReport& report) {
  const VisionConfig& c = report.config;
  boost::json::object encoder{
      {"family", c.family},
      {"model_width", c.text_width},
      {"num_layers", c.num_layers()},
      {"width", c.width},
      {"ffn_width", c.feed_forward().width},
      {"num_heads", c.attention().num_heads},
      {"head_dim", c.attention().head_dim},
      {"patch_side", c.patch_side},
      {"token_side", c.token_side()},
      {"deepstack_layers", boost::json::array(c.deepstack_layers.begin(), c.deepstack_layers.end())}};
  if (report.family == nullptr) return encoder;
  encoder["min_tokens"] = report.usual().min;
  encoder["usual_max_tokens"] = report.usual().max;
  encoder["most_tokens"] = report.most();
  return encoder;
}

boost::json::object memory_to_json(const VisionReport& report) {
  boost::json::object memory{{"weight_bytes", report.weight_bytes}};
  if (report.family != nullptr) memory["picture_bytes"] = report.picture_bytes(report.most());
  return memory;
}

boost::json::object to_json(const ModelSource& source, const VisionReport& report) {
  boost::json::array types;
  for (const auto& [type, sum] : report.by_type)
    types.push_back({{"type", dtype_info(type).name},
                     {"tensors", sum.num_tensors},
                     {"weights", sum.num_weights},
                     {"bytes", sum.bytes}});
  return {{"path", to_valid_utf8(source.name())},      {"file_bytes", source.files().bytes},
          {"gguf_version", source.files().version},    {"metadata_keys", source.metadata().size()},
          {"name", to_valid_utf8(report.config.name)}, {"num_weights", report.num_weights},
          {"weight_bytes", report.file_weight_bytes},  {"by_type", std::move(types)},
          {"vision_encoder", encoder_to_json(report)}, {"memory", memory_to_json(report)}};
}

}  // namespace

std::unique_ptr<const ModelSource> find_encoder(const std::filesystem::path& path, const ModelSource& model,
                                                std::ostream& err) {
  EngineOptions options;
  options.model_path = path;
  FoundPictures found = FoundPictures::find(options, model);
  for (const std::string& why : found.passed_over)
    err << "octavo: an encoder of pictures was passed over: " << printable(why) << '\n';
  return found.file ? std::move(found.file->source) : nullptr;
}

Result<void> print_vision_lines(const ModelSource& encoder, std::ostream& out) {
  OCTAVO_TRY(const VisionReport report, make_report(encoder));
  out << fmt::format("\npictures are read by {}\n", escaped(encoder.name()));
  print_encoder(report, out);
  out << "\nmemory of pictures\n";
  print_vision_memory(report, out);
  return {};
}

Result<boost::json::object> vision_to_json(const ModelSource& encoder) {
  OCTAVO_TRY(const VisionReport report, make_report(encoder));
  boost::json::object out = encoder_to_json(report);
  out["path"] = to_valid_utf8(encoder.name());
  out["num_weights"] = report.num_weights;
  out["memory"] = memory_to_json(report);
  return out;
}

Result<void> print_vision_info(const ModelSource& source, bool json, std::ostream& out) {
  OCTAVO_TRY(const VisionReport report, make_report(source));
  if (json) {
    out << boost::json::serialize(to_json(source, report)) << '\n';
  } else {
    print_text(source, report, out);
  }
  out.flush();
  return {};
}

}  // namespace octavo::cli
