// The report of `octavo info` about the file of a vision encoder.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <memory>
#include <ostream>

#include "base/error.h"
#include "source/model_source.h"

namespace octavo::cli {

/// The encoder of pictures that a model of this path has beside it or in its folder, by the rules of an engine; null:
/// there is none. Lines on `err` say why others that were found are passed over.
std::unique_ptr<const ModelSource> find_encoder(const std::filesystem::path& path, const ModelSource& model,
                                                std::ostream& err);

/// The facts about a model's encoder, as lines after the model's, or as members of the model's JSON object. Errors:
/// those of print_vision_info().
Result<void> print_vision_lines(const ModelSource& encoder, std::ostream& out);
Result<boost::json::object> vision_to_json(const ModelSource& encoder);

/// Prints what the encoder is and what memory it takes, as text or as one line of JSON. Error: the file is no encoder
/// that Octavo knows.
Result<void> print_vision_info(const ModelSource& source, bool json, std::ostream& out);

}  // namespace octavo::cli
