// Names of models, made fit for addresses. Pure; any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "octavo/model_info.h"

namespace octavo {

/// A name for /v1/models: "SmolLM2 135M Instruct" -> "smollm2-135m-instruct"; "model" if nothing is left.
std::string slug(std::string_view name);

/// The id of a model that was given none: the name of its file as a slug, without ".gguf" and the number of a part.
/// People know a model by that name. A name inside the file is often that of a training run, so it counts only if the
/// file's says nothing: "model", "ggml-model-q4_0", a checksum.
std::string model_id(const ModelInfo& info);

/// Its other names: the `given` ones, its file's name, and that without ".gguf"; each once, and not `id`.
std::vector<std::string> model_aliases(const ModelInfo& info, std::string_view id, std::span<const std::string> given);

}  // namespace octavo
