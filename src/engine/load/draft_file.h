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

/// Error: the file holds no model of its own but drafts for another one.
Result<void> refuse_draft_file(const ModelSource& source, const ModelConfig& config);

struct DraftFile {
  /// How the model itself is loaded.
  struct How {
    std::string quantize = {};  // the mix of EngineOptions::quantize
    Math math = Math();
    int max_context = 0;  // of EngineOptions
    std::stop_token stop = {};
  };

  std::unique_ptr<const ModelSource> source;  // of the assistant; or of the model together with its head
  std::optional<ModelConfig> assistant;       // attached to its model; none: the file has a draft head
  WeightList weights;                         // of the assistant

  /// Opens a file that is to draft for the model of `of_model`, which must outlive it. A head becomes the model's layer
  /// of prediction. Errors say what was found and what was expected: it is no draft file, or one of another model,
  /// vocabulary or width.
  static Result<DraftFile> open(const std::filesystem::path& path, const ModelSource& of_model, ModelConfig& model,
                                const How& how);
};

}  // namespace octavo
