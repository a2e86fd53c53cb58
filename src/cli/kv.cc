// octavo kv: lists the prefixes in a directory on disk, and removes some.
#include <boost/json.hpp>
#include <chrono>
#include <ostream>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/kv_verify.h"
#include "cli/options/nearest.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "kv_store/housekeeping.h"
#include "kv_store/store_folder.h"

namespace octavo::cli {
namespace {

struct KvOptions {
  bool json = false;
  std::optional<std::uint64_t> size = {};
  std::optional<std::chrono::seconds> older = {};
  std::optional<std::string> domain = {};
  VerifyOptions verify = {};
};

constexpr std::string_view kList = "list", kGc = "gc", kVerify = "verify", kPurge = "purge";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string format_age(std::int64_t seconds) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds >= 2 * kDay) return fmt::format("{} d", seconds / kDay);
  if (seconds >= 2 * kHour) return fmt::format("{} h", seconds / kHour);
  if (seconds >= 2 * kMinute) return fmt::format("{} min", seconds / kMinute);
  return fmt::format("{} s", std::max<std::int64_t>(0, seconds));
}

boost::json::object to_json(const StoredDomain& row, std::int64_t now) {
  return {{"address", row.address_digest},
          {"address_text", to_valid_utf8(row.address)},
          {"domain", to_valid_utf8(row.domain)},
          {"files", row.files},
          {"blocks", row.blocks},
          {"tokens", row.tokens},
          {"bytes", row.bytes},
          {"last_used_seconds_ago", now - row.used_s},
          {"longest_unused_seconds", now - row.oldest_s}};
}

void print_rows(const std::vector<StoredDomain>& rows, std::int64_t now, std::ostream& out) {
  out << fmt::format("{:<8}  {:<16} {:>7} {:>9} {:>10} {:>10} {:>7}  {}\n", "address", "domain", "files", "blocks",
                     "tokens", "size", "used", "of");
  for (const StoredDomain& row : rows)
    out << fmt::format("{:<8}  {:<16} {:>7} {:>9} {:>10} {:>10} {:>7}  {}\n", row.address_digest.substr(0, 8),
                       row.domain.empty() ? "-" : escaped(row.domain), row.files, row.blocks, row.tokens,
                       format_bytes(row.bytes), format_age(now - row.used_s), escaped(first_line(row.address)));
}

Result<int> list(const std::string& folder, const KvOptions& options, const Context& context) {
  OCTAVO_TRY(const std::vector<StoredDomain> rows, list_store(folder));
  const std::int64_t now = now_s();
  if (options.json) {
    boost::json::array out;
    for (const StoredDomain& row : rows) out.push_back(to_json(row, now));
    context.out << boost::json::serialize(boost::json::object{{"prefixes", std::move(out)}}) << '\n' << std::flush;
  } else if (rows.empty()) {
    context.err << "octavo: " << escaped(folder) << " has no prefixes\n" << std::flush;
  } else {
    print_rows(rows, now, context.out);
    context.out.flush();
  }
  return finish_output(context);
}

Result<int> perform(const std::string& action, const std::string& folder, const KvOptions& options, Context& context) {
  if (action == kList) return list(folder, options, context);
  if (action == kVerify) return verify(folder, options.verify, context);
  const auto used_before_s = options.older ? std::optional(now_s() - options.older->count()) : std::nullopt;
  OCTAVO_TRY(const Housekeeping done, action == kGc ? make_room_in_store(folder, options.size, used_before_s)
                                                    : purge_store(folder, options.domain, used_before_s));
  context.out << fmt::format("files: removed {} of {}, left {} of {}\n", done.files, format_bytes(done.bytes),
                             done.files_left, format_bytes(done.bytes_left))
              << std::flush;
  return finish_output(context);
}

Result<void> check(const std::vector<std::string>& words, const KvOptions& options) {
  const std::vector<std::string> actions = {std::string(kList), std::string(kGc), std::string(kVerify),
                                            std::string(kPurge)};
  if (words.size() != 2)
    return fail("found {} words, expected two: list, gc, verify or purge, and a directory", words.size());
  const std::string& action = words.front();
  if (std::ranges::find(actions, action) == actions.end())
    return fail("found '{}', expected list, gc, verify or purge{}", escaped(action), did_you_mean(action, actions));
  if (options.json && action != kList) return fail("--json: kv {} prints no table", action);
  if (options.size && action != kGc) return fail("--size: it is for kv gc");
  if (options.domain && action != kPurge) return fail("--domain: it is for kv purge");
  if (options.older && action != kGc && action != kPurge) return fail("--older: it is for kv gc and kv purge");
  if (action == kVerify && options.verify.model.empty()) return fail("kv verify: expected -m MODEL, which computes");
  if (action != kVerify && !options.verify.model.empty()) return fail("--model: it is for kv verify");
  if (action == kGc && !options.size && !options.older) return fail("kv gc: expected --size, --older or both");
  return {};
}

}  // namespace

void add_kv_command(Program& program, Context& context) {
  auto options = std::make_shared<KvOptions>();
  Command& command = program.add_command("kv", "Lists, verifies and removes prefixes on disk");
  command.accept_words("list|gc|verify|purge DIR");
  command.footer(
      "DIR is a directory of prefixes on disk. Programs may use it meanwhile: what is\n"
      "removed they compute again.\n"
      "  list   what is there, by what it was computed with and by domain\n"
      "  gc     removes what nobody used for --older, then what was used longest ago\n"
      "         until the others take --size\n"
      "  verify computes --sample files again and compares all of their bits; -m and\n"
      "         options of the engine are those of who wrote them; exit code 1: some\n"
      "         differ, or a file is damaged\n"
      "  purge  removes all, or what is of --domain and that nobody used for --older\n\n"
      "Examples:\n"
      "  octavo kv list /var/cache/octavo\n"
      "  octavo kv gc /var/cache/octavo --size 50GiB --older 30d\n"
      "  octavo kv verify /var/cache/octavo -m model.gguf\n"
      "  octavo kv purge /var/cache/octavo --domain alice");
  command.add_flag("--json", options->json, "list: print one JSON object");
  add_parsed(
      command, "--size", "SIZE", parse_size, [options](std::uint64_t bytes) { options->size = bytes; },
      "gc: what may be left");
  add_parsed(
      command, "--older", "AGE", parse_age, [options](std::chrono::seconds age) { options->older = age; },
      "gc, purge: what was not used for so long, such as 30d, 12h, 90m, 600s");
  add_parsed(
      command, "--domain", "NAME", [](const std::string& text) -> Result<std::string> { return text; },
      [options](std::string name) { options->domain = std::move(name); }, "purge: what is of this domain");
  add_integer(command, "--sample", options->verify.sample, 0, 1 << 20,
              "verify: files, chosen at random; 0: all; default 16");
  command.add_option("-m,--model", options->verify.model, "verify: the model, as of octavo run")
      ->check(refuse_empty)
      ->type_name("MODEL");
  add_draft_options(command, options->verify.engine);
  add_engine_options(command, options->verify.engine, context);
  command.on_parsed([options, &command] { return check(command.words(), *options); });
  command.action(
      [options, &command, &context] { return perform(command.words()[0], command.words()[1], *options, context); });
}

}  // namespace octavo::cli
