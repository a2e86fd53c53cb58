// Opens a model by path, whatever its form: the one place that knows all forms.
#pragma once

#include <filesystem>
#include <memory>
#include <stop_token>

#include "base/math.h"
#include "source/model_source.h"

namespace octavo {

/// Reads a model's directory and checks it; no tensor is read. Errors name the file and its fault, or what a file that
/// is no model seems to be. `path` is any file of a model, which may have several, or the folder of one model. The call
/// fails once a stop is asked for. `math` makes the numbers that a folder has in another form.
Result<std::unique_ptr<const ModelSource>> open_model(const std::filesystem::path& path,
                                                      const std::stop_token& stop = {}, Math math = Math());

/// Opens an encoder of pictures: a file as open_model() does, or the encoder that lies in a folder beside a text model.
Result<std::unique_ptr<const ModelSource>> open_encoder(const std::filesystem::path& path,
                                                        const std::stop_token& stop = {});

/// Whether a folder's config.json names an encoder of a known family. False also where it cannot be read.
bool has_encoder(const std::filesystem::path& folder);

/// Whether a file begins as a model does, or a folder has a config.json. False also where it cannot be read.
bool begins_as_model(const std::filesystem::path& path);

}  // namespace octavo
