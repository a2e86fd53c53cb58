// A file that drafts for a model of another file (model/assistant.h): an assistant, or the model's draft head, which
// becomes a part of the model.
//
// Used while an engine is loaded.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "model/config.h"
#include "model/runner_request.h"

namespace octavo {

/// Error: the file holds no model, but drafts for one.
Result<void> refuse_draft_file(const ModelSource& source, const ModelConfig& config);

struct DraftFile {
  /// How the model itself is loaded.
  struct How {
    std::string quantize = {};  // EngineOptions::quantize
    Math math = Math();
    int max_context = 0;  // EngineOptions::max_context
    std::stop_token stop = {};
  };

  std::unique_ptr<const ModelSource> source;  // the assistant's, or that of the model with its head
  std::optional<ModelConfig> assistant;       // attached to its model; none: the file has a draft head
  WeightList weights;                         // the assistant's

  /// Opens a file that drafts for the model of `of_model`, which must outlive it. A draft head becomes a layer of the
  /// model. Errors say what was found and expected: it is no draft file, or one for another model, vocabulary or width.
  static Result<DraftFile> open(const std::filesystem::path& path, const ModelSource& of_model, ModelConfig& model,
                                const How& how);
};

}  // namespace octavo
