// One of GGUF's tensors, or two, from what a checkpoint stores under one name (TensorForm).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/math.h"
#include "source/folder/stored_rows.h"
#include "source/folder/tensor_list.h"

namespace octavo {

/// The beginning of a message: "model.safetensors: tensor 'model.norm.weight'".
std::string shown(const CheckpointTensor& tensor);

/// The number that a tensor has. Error: it has several, or none.
Result<float> number_of(const CheckpointTensor& tensor);

/// The most experts of a layer.
inline constexpr std::uint64_t kMostExperts = 4096;

/// A maker lives while a folder is opened. Errors name the file, the tensor, and the expected shape or type.
class TensorMaker {
 public:
  /// Reads the numbers of heads of both kinds. The family outlives the maker.
  static Result<TensorMaker> create(const Family& family, const JsonObject& config, Math math);

  /// A maker for encoders of pictures. Rows keep their order, unless GGUF pairs neighbours of so many heads.
  static TensorMaker of_tower(std::optional<std::uint64_t> heads, bool adds_one_to_norms);

  /// Appends the tensors of a stored tensor of any form but MXFP4's.
  Result<void> add(const CheckpointTensor& tensor, const TensorPlace& place, std::vector<NamedTensor>& out);
  /// Appends a matrix of some rows of a stored one.
  static Result<void> add_rows(const CheckpointTensor& tensor, std::span<const std::uint64_t> rows, std::string name,
                               std::vector<NamedTensor>& out);
  /// Appends the tensors of stored codes and scales in MXFP4.
  static Result<void> add_mxfp4(const CheckpointTensor& codes, const CheckpointTensor& scales, const TensorPlace& place,
                                std::vector<NamedTensor>& out);
  /// Appends norms of heads that are stored apart, in their order.
  Result<void> add_norms(const std::string& name, const std::vector<CheckpointTensor>& parts,
                         std::vector<NamedTensor>& out);
  /// Appends matrices of experts that are stored apart, in their order.
  static Result<void> add_experts(const std::string& name, const std::vector<CheckpointTensor>& parts,
                                  std::vector<NamedTensor>& out);

 private:
  /// The order in which pieces of some elements move.
  struct Move {
    PieceOrder order = {};
    std::uint64_t piece = 1;
  };
  struct DeltaHeads {
    std::uint64_t num_keys = 0, num_values = 0, key_dim = 0, value_dim = 0;
  };

  TensorMaker(const Family& family, Math math) : family_(family), math_(math) {}
  Result<Move> value_heads(const CheckpointTensor& tensor, std::uint64_t unit, std::uint64_t kept) const;
  Result<Move> move_of(const CheckpointTensor& tensor, const TensorPlace& place) const;
  /// A matrix whose rows config.json multiplies.
  Result<void> add_multiplied(const CheckpointTensor& tensor, const TensorPlace& place, const Move& move,
                              std::vector<RowFactor> factors, std::vector<NamedTensor>& out) const;
  /// A tensor of these dimensions, as numbers where GGUF has F32.
  Result<void> add_moved(const CheckpointTensor& tensor, const TensorPlace& place, std::vector<std::uint64_t> dims,
                         std::vector<NamedTensor>& out);
  /// The elements of a tensor, which are counted with those of all others.
  Result<std::vector<float>> numbers_of(const CheckpointTensor& tensor, DType type, const FolderTensor& data);
  /// The same in the order in which they are stored.
  Result<std::vector<float>> numbers_of(const CheckpointTensor& tensor);
  Result<void> add_behind_padding(const CheckpointTensor& tensor, const std::string& name,
                                  std::vector<NamedTensor>& out) const;
  Result<void> add_numbers(const CheckpointTensor& tensor, const std::string& name, std::vector<NamedTensor>& out);
  Result<void> add_pixels(const CheckpointTensor& tensor, const TensorPlace& place, std::vector<NamedTensor>& out);
  Result<void> add_queries_keys_values(const CheckpointTensor& tensor, const std::string& name,
                                       std::vector<NamedTensor>& out);
  Result<void> add_frame_rows(const CheckpointTensor& tensor, const std::string& name, std::vector<NamedTensor>& out);
  Result<void> add_frames(const CheckpointTensor& tensor, const std::string& name, std::vector<NamedTensor>& out);
  static Result<void> add_gate_then_up(const CheckpointTensor& tensor, const std::string& name,
                                       std::vector<NamedTensor>& out);
  Result<void> add_by_key_head(const CheckpointTensor& tensor, const std::string& name,
                               std::vector<NamedTensor>& out) const;
  /// The two products of heads with a latent, out of one matrix.
  Result<void> add_keys_then_values(const CheckpointTensor& tensor, const std::string& name,
                                    std::vector<NamedTensor>& out) const;
  static Result<void> add_transposed(const CheckpointTensor& tensor, const TensorPlace& place,
                                     std::vector<NamedTensor>& out);
  /// A vector as a column, or as a row for each group.
  Result<void> add_of_mamba(const CheckpointTensor& tensor, const TensorPlace& place, std::vector<NamedTensor>& out);
  Result<void> add_gate_then_up_rows(const CheckpointTensor& tensor, const std::string& name,
                                     std::vector<NamedTensor>& out) const;
  /// The name of a part of the expert for every row; where there are no experts, that of a dense feed-forward.
  std::string shared_name(std::string name) const;
  Result<void> add_biases(const CheckpointTensor& tensor, const std::string& name, std::vector<NamedTensor>& out);

  const Family& family_;
  Math math_;
  std::uint64_t width_ = 0, num_heads_ = 0, num_kv_heads_ = 0;
  std::uint64_t num_padding_rows_ = 1;  // of learned positions (TensorForm::kBehindPadding)
  std::optional<JsonObject> config_ = {};
  DeltaHeads delta_;
  std::uint64_t num_groups_ = 1;  // of heads of Mamba-2
  bool has_experts_ = false;
  std::uint64_t plain_dim_ = 0, value_dim_ = 0;  // of heads that share a latent: of their keys, of their values
  std::uint64_t num_numbers_ = 0;                // that were converted
};

}  // namespace octavo
