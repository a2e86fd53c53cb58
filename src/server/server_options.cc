#include "server/server_options.h"

#include <algorithm>

namespace octavo::server {

JsonLimits ServerOptions::body_limits() const {
  JsonLimits limits;
  limits.max_depth = bodies.max_json_depth;
  // Token ids in JSON take up to five times as much as their text.
  limits.max_memory_bytes = std::max(limits.max_memory_bytes, 8 * http.max_body_bytes);
  return limits;
}

ResponseStore::Limits ServerOptions::stored_limits() const {
  ResponseStore::Limits limits = answers.stored;
  limits.max_request_bytes = http.max_body_bytes;
  return limits;
}

}  // namespace octavo::server
