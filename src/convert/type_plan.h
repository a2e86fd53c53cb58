// The type of each tensor of a model that is to be written, by a mix and by what was asked for by name.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "convert/type_mix.h"
#include "source/model_source.h"

namespace octavo {

/// The type of tensors whose names match in part, in place of the mix's.
struct TypeOverride {
  std::string pattern;  // the text as it was given
  std::regex regex;     // ECMAScript
  DType type;

  /// Reads "PATTERN=TYPE". Error: another form, a pattern that is no regular expression, a type that cannot be written.
  static Result<TypeOverride> parse(const std::string& text);
};

struct TypeRequest {
  TypeMix mix;
  bool pure = false;                         // whether all tensors that a mix covers get its base type
  std::vector<TypeOverride> overrides = {};  // where several match, the first counts
  bool keep_quantized = false;               // whether tensors that are quantized already stay as they are
};

struct PlannedTensor {
  const SourceTensor* tensor;
  DType type;              // the type that the tensor gets
  bool fell_back = false;  // whether its rows are no whole blocks of the planned type
};

/// A row for each tensor, in the order of their data. Tensors that no mix looks at (norms, biases, routers) keep their
/// types. Error: an override matches no tensor.
Result<std::vector<PlannedTensor>> plan_types(const ModelSource& source, const TypeRequest& request);

/// Checks a tensor. Error: it cannot get the planned type, or is quantized already where that is not allowed.
Result<void> check_change(const ModelSource& source, const PlannedTensor& planned, bool allow_requantize);

}  // namespace octavo
