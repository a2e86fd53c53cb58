// The options of `octavo serve` by which others learn which KV blocks can be found.
//
// Free functions; one thread.
#pragma once

#include <optional>
#include <string>

#include "cli/options/command_line.h"
#include "octavo/kv_events.h"
#include "server/server_options.h"

namespace octavo::cli {

/// The options as they are given. A plain value.
struct EventsFlags {
  std::optional<std::string> topic = {};  // none: the usual one
};

/// Adds --kv-events and its like. All references must outlive the command.
void add_kv_events_options(Command& command, KvEventsSettings& events, EventsFlags& flags);

/// Sets the topic: that of the flags, or vLLM's "kv@HOST:PORT@MODEL" for a server that listens there, and whose model
/// has this name, or else the one that follows from its file. Errors: several models; a port that nobody knows.
Result<void> complete_kv_events(KvEventsSettings& events, const EventsFlags& flags, const server::ListenOptions& listen,
                                const std::string& name, bool is_one_model);

}  // namespace octavo::cli
