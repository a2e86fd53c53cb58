// The files that a server's options name. They are opened before models are searched for, which may take long.
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
  ApiKeys keys = {};                            // the keys at first; none: everybody may call
  std::shared_ptr<KeyWatch> key_watch = {};     // gives new keys; null: keys never change
  std::shared_ptr<LineWriter> access_log = {};  // null: there is none

  /// Errors: a file cannot be opened; wrong keys.
  static Result<ServerFiles> open(const ServerOptions& options);
};

}  // namespace octavo::server
