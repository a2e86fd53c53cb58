// Names of models as ids, fit for URLs. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/model_info.h"

namespace octavo {

/// A name for /v1/models: "SmolLM2 135M Instruct" -> "smollm2-135m-instruct"; "model" if nothing is left.
std::string slug(std::string_view name);

/// The id of a model that was given none: the file's name as a slug, without ".gguf" and the number of a part. People
/// know a model by that name, while the name inside the file is often that of a training run. So the latter is taken
/// only where the file's says nothing: "model", "ggml-model-q4_0", a checksum.
std::string model_id(const ModelInfo& info);

/// Further names of the model: the `given` ones, the file's name, and that without ".gguf"; each once, without `id`.
std::vector<std::string> model_aliases(const ModelInfo& info, std::string_view id, std::span<const std::string> given);

}  // namespace octavo
