// The files that a server's options name, opened: before anybody looks for models, which may take long.
//
// A value; the Service owns it.
#pragma once

#include <memory>

#include "base/error.h"
#include "server/api_keys.h"
#include "server/key_watch.h"
#include "server/line_writer.h"
#include "server/server_options.h"

namespace octavo::server {

struct ServerFiles {
  ApiKeys keys = {};                            // as they are at first; none: everybody may call
  std::shared_ptr<KeyWatch> key_watch = {};     // gives others in their place; null: they are never changed
  std::shared_ptr<LineWriter> access_log = {};  // null: none

  /// Errors: one cannot be opened; keys that are wrong.
  static Result<ServerFiles> open(const ServerOptions& options);
};

}  // namespace octavo::server
