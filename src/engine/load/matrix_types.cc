#include "engine/load/matrix_types.h"

#include <vector>

#include "convert/type_plan.h"

namespace octavo {

Result<MatrixTypes> matrix_types(const ModelSource& source, const std::string& mix) {
  MatrixTypes types;
  if (mix.empty()) return types;
  OCTAVO_TRY(const TypeMix found, parse_type_mix(mix));
  // Floats stay as their makers left them, but experts that they have in MXFP4 get that type.
  const bool is_folder = source.files().format != "GGUF";
  OCTAVO_TRY(const std::vector<PlannedTensor> plan, plan_types(source, {.mix = found, .keep_quantized = is_folder}));
  for (const PlannedTensor& planned : plan) {
    OCTAVO_TRY_VOID(check_change(source, planned, false));
    if (planned.type != planned.tensor->tensor.type) types.emplace(planned.tensor->name, planned.type);
  }
  return types;
}

}  // namespace octavo
