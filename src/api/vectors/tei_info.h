// GET /info of Hugging Face's server of embeddings (TEI): what the model is, and how much a request may hold.
//
// Free functions without state; any thread.
#pragma once

#include <boost/json/object.hpp>
#include <string_view>

#include "api/call/completion.h"
#include "octavo/model_info.h"

namespace octavo {

/// `model_type` is null where the model makes no vectors and ranks nothing, which TEI's server knows no model of.
boost::json::object tei_info(std::string_view id, const ModelInfo& info, const RequestPolicy& policy);
/// Whether the model has a type. Serves's.
bool has_tei_type(const ModelInfo& info, const RequestPolicy& policy);

}  // namespace octavo
