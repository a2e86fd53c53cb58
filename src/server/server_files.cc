#include "server/server_files.h"

namespace octavo::server {

Result<ServerFiles> ServerFiles::open(const ServerOptions& options) {
  ServerFiles files;
  const KeySalt salt = options.access.key_salt ? *options.access.key_salt : random_salt();
  if (!options.access.key_file.empty()) {
    OCTAVO_TRY(files.key_watch, KeyWatch::open(options.access.key_file, KeyWatch::kInterval, salt));
    files.keys = files.key_watch->first_keys();
  }
  if (!options.access.keys.empty()) {
    OCTAVO_TRY(files.keys, ApiKeys::of_list(options.access.keys, "--api-key", salt));
  }
  if (options.log.file != "off") {
    OCTAVO_TRY(files.access_log, LineWriter::open(options.log.file, {.is_private = options.log.has_prompts}));
  }
  return files;
}

}  // namespace octavo::server
