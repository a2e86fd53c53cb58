// A file that drafts for a model of another file: an assistant, a small model whose layers read the model's keys and
// values (model/assistant.h).
//
// Used while an engine is loaded.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>
#include <string>

#include "model/config.h"
#include "model/runner_options.h"

namespace octavo {

/// Error: the file holds no model of its own but drafts for another one.
Result<void> refuse_draft_file(const ModelSource& source, const ModelConfig& config);

struct DraftFile {
  std::unique_ptr<const ModelSource> source;
  ModelConfig config;  // of an assistant, attached to its model
  WeightList weights;

  /// Opens a file that is to draft for the model of `of_model`. `quantize`: the mix of EngineOptions::quantize. Errors
  /// say what was found and what was expected: it is no draft file, or one of another model, vocabulary or width.
  static Result<DraftFile> open(const std::filesystem::path& path, const ModelSource& of_model,
                                const ModelConfig& model, const std::string& quantize, const std::stop_token& stop);
};

}  // namespace octavo
