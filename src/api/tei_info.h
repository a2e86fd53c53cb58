// GET /info of Hugging Face's server of embeddings (TEI): what the model is, and how much a request may hold.
//
// Free function without state; any thread.
#pragma once

#include <boost/json/object.hpp>

#include "api/completion.h"
#include "octavo/engine.h"

namespace octavo {

boost::json::object tei_info(const ServedModel& model, const ModelInfo& info);

}  // namespace octavo
