// Opens a model by path, whatever its form: the one place that knows all forms.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>

#include "source/model_source.h"

namespace octavo {

/// Reads a model's directory and checks it; no tensor is read. Errors name the file and what is wrong in it, or what
/// the file seems to be if it is no model. Of a model in several files any one may be named; of one in a folder, the
/// folder. It ends with an error once a stop is asked for.
Result<std::unique_ptr<const ModelSource>> open_model(const std::filesystem::path& path,
                                                      const std::stop_token& stop = {});

/// True for a file that begins as a model does, and for a folder with a config.json. False if it cannot be read.
bool begins_as_model(const std::filesystem::path& path);

}  // namespace octavo
