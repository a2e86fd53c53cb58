// The type of each tensor of a model that is to be written: a mix, and what was asked for by name.
#pragma once

#include <regex>
#include <string>
#include <vector>

#include "convert/type_mix.h"
#include "source/model_source.h"

namespace octavo {

/// Tensors whose names have a part that matches get this type in place of the mix's.
struct TypeOverride {
  std::string pattern;  // as it was given
  std::regex regex;     // ECMAScript
  DType type;

  /// "PATTERN=TYPE". Error: it is not of that form, the pattern is no expression, the type cannot be written.
  static Result<TypeOverride> parse(const std::string& text);
};

struct TypeRequest {
  TypeMix mix;
  bool pure = false;                         // all tensors that a mix looks at get its base
  std::vector<TypeOverride> overrides = {};  // of several that match, the first counts
  bool keep_quantized = false;               // tensors that are quantized already stay as they are
};

struct PlannedTensor {
  const SourceTensor* tensor;
  DType type;              // that it will have
  bool fell_back = false;  // its rows are no whole blocks of the type it should have had
};

/// A row for each tensor, in the order of their data. Tensors that no mix looks at (norms, biases, routers) keep their
/// types. Error: an override matches no tensor.
Result<std::vector<PlannedTensor>> plan_types(const ModelSource& source, const TypeRequest& request);

/// Error: the tensor cannot get the type that is planned for it, or, unless that is allowed, is quantized already.
Result<void> check_change(const ModelSource& source, const PlannedTensor& planned, bool allow_requantize);

}  // namespace octavo
