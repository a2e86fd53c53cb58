// The report of `octavo info` on a file of a vision encoder.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/error.h"
#include "source/model_source.h"

namespace octavo::cli {

/// The encoder of pictures that a model of this path has beside it or in its folder, as an engine would find it; null:
/// none.
std::unique_ptr<const ModelSource> find_encoder(const std::filesystem::path& path, const ModelSource& model);

/// What the encoder beside a model is, as lines behind those of the model, or as members of its JSON object. Errors:
/// those of print_vision_info().
Result<void> print_vision_lines(const ModelSource& encoder, std::ostream& out);
Result<boost::json::object> vision_to_json(const ModelSource& encoder);

/// Prints what the encoder is and what it takes in memory, as text or as one line of JSON. Errors: a file that is no
/// encoder that Octavo knows.
Result<void> print_vision_info(const ModelSource& source, bool json, std::ostream& out);

}  // namespace octavo::cli
