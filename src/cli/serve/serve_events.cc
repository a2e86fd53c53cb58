#include "cli/serve/serve_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/call/text.h"
#include "base/ascii.h"
#include "cli/options/options.h"
#include "http/listener.h"

namespace octavo::cli {
namespace {

constexpr std::string_view kLoopback = "127.0.0.1";

/// An address of ZeroMQ: of a port alone, on this machine.
Result<std::string> parse_events_address(const std::string& text) {
  const bool is_port = !text.empty() && std::ranges::all_of(text, is_digit);
  OCTAVO_TRY(const ListenAddress address, parse_listen_address(is_port ? fmt::format("{}:{}", kLoopback, text) : text));
  const bool is_v6 = address.host.contains(':');
  return fmt::format("tcp://{}{}{}:{}", is_v6 ? "[" : "", address.host, is_v6 ? "]" : "", address.port);
}

Result<std::string> parse_topic(const std::string& text) { return text; }

Result<std::filesystem::path> parse_file(const std::string& text) {
  if (text.empty()) return fail("found an empty name, expected a file");
  return std::filesystem::path(text);
}

}  // namespace

void add_kv_events_options(Command& command, KvEventsSettings& events, EventsFlags& flags) {
  command.group("Network");
  Option* const address =
      add_parsed(command, "--kv-events", "PORT", parse_events_address, store_in(events.address),
                 "Publish which blocks of the one model are cached, as vLLM does over ZeroMQ, for routers: on this "
                 "machine, or at ADDRESS:PORT. The tokens of everybody's prompts are in it; default: nowhere")
          ->of_servers();
  add_parsed(command, "--kv-events-replay", "PORT", parse_events_address, store_in(events.replay_address),
             "Where subscribers get again what they have missed: a port of this machine, or ADDRESS:PORT")
      ->needs(address)
      ->of_servers();
  add_parsed(command, "--kv-events-topic", "TEXT", parse_topic, store_in(flags.topic),
             "The topic of its messages, which may be empty; default: kv@HOST:PORT@MODEL")
      ->needs(address)
      ->of_servers();
  add_parsed(command, "--kv-events-key", "FILE", parse_file, store_in(events.key_file),
             "A key that the replicas of a fleet share, so that equal blocks have equal hashes: 16 bytes or 32 "
             "hexadecimal digits, of the mode 0600; default: that of --kv-store, or else a random one")
      ->needs(address)
      ->of_servers();
}

Result<void> complete_kv_events(KvEventsSettings& events, const EventsFlags& flags, const server::ListenOptions& listen,
                                const std::string& name, bool is_one_model) {
  if (events.address.empty()) return {};
  if (!is_one_model)
    return fail("--kv-events: found several models, expected one: subscribers number the messages of one");
  if (flags.topic) {
    events.topic = [topic = *flags.topic](const ModelInfo&) { return topic; };
    return {};
  }
  if (listen.port == 0)
    return fail("--kv-events: found --port 0, expected a port, which the topic names, or --kv-events-topic");
  const std::string place = fmt::format("kv@{}:{}@", listen.host, listen.port);
  events.topic = [place, name](const ModelInfo& info) { return place + (name.empty() ? model_id(info) : name); };
  return {};
}

}  // namespace octavo::cli
