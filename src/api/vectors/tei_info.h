// GET /info of Hugging Face's server for embeddings (TEI): what the model is, and how much a request may have.
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "api/call/completion.h"
#include "octavo/model_info.h"

namespace octavo {

/// The JSON of the answer. `model_type` is null where the model makes no vectors and ranks nothing: TEI has none such.
boost::json::object tei_info(std::string_view id, const ModelInfo& info, const RequestPolicy& policy);
/// Whether `model_type` is not null. The function has the form of Serves.
bool has_tei_type(const ModelInfo& info, const RequestPolicy& policy);

}  // namespace octavo
