// octavo pull: fetches a model from the hub, or a file by its address.
#include <ostream>

#include "cli/commands.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "hub/digest.h"

namespace octavo::cli {
namespace {

struct PullOptions {
  std::string name, sha256;
};

/// Whether a name is the address of a file, and no name on the hub.
bool is_address(const std::string& name) { return name.contains("://") && !hub::ModelRef::parse(name); }

Result<void> take_name(const std::vector<std::string>& words, PullOptions& options) {
  if (words.size() != 1)
    return fail("found {} names, expected one: ORG/REPO, ORG/REPO:TYPE or an address", words.size());
  options.name = words.front();
  if (is_address(options.name)) {
    if (options.sha256.empty())
      return fail("{}: an address needs --sha256, the hash that its publisher gives", options.name);
    return {};
  }
  if (!options.sha256.empty()) return fail("--sha256 is for addresses: the hub tells the hashes of its files itself");
  if (!hub::ModelRef::parse(options.name))
    return fail("found '{}', expected ORG/REPO, ORG/REPO:TYPE such as org/repo:Q4_K_M, or an address", options.name);
  return {};
}

Result<std::string> parse_sha256(const std::string& text) {
  constexpr std::size_t kDigits = 64;
  const auto hash = hub::hash_of_etag(text);
  if (!hash || hash->size() != kDigits) return fail("found '{}', expected {} hexadecimal digits", text, kDigits);
  return *hash;
}

Result<int> pull(const PullOptions& options, const Context& context) {
  OCTAVO_TRY(const auto path, is_address(options.name) ? pull_url(options.name, options.sha256, context)
                                                       : pull_model(*hub::ModelRef::parse(options.name), context, {},
                                                                    hub::PullKind::kModelWithAll));
  context.out << path.string() << '\n' << std::flush;
  return finish_output(context);
}

}  // namespace

void add_pull_command(Program& program, Context& context) {
  auto options = std::make_shared<PullOptions>();
  Command& command = program.add_command("pull", "Fetches a model and prints where it lies");
  command.accept_words("ORG/REPO[:TYPE]");
  command.footer(
      "TYPE is a word of the file's name, such as Q4_K_M or q8_0, or all of the name.\n"
      "hf.co/ or https://huggingface.co/ may stand in front. Without TYPE the first of\n"
      "Q4_K_M, Q4_K_S, Q4_0 and others that the repository has is taken, and where\n"
      "there is no GGUF file a folder of safetensors, which :safetensors asks for. A\n"
      "model in several files is fetched whole, and with it a draft file mtp-*.gguf\n"
      "(--draft mtp uses that) and an encoder of pictures mmproj-*.gguf, if there is\n"
      "one beside it. What was cut off goes on where it was;\n"
      "a file gets its name when its hash is right.\n\n"
      "Models lie where other tools of the hub look for them: in HF_HUB_CACHE, or the\n"
      "folder hub in HF_HOME. Also heeded: HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, and\n"
      "https_proxy. An address of a file needs --sha256; its file lies beside the\n"
      "default model.\n\n"
      "Examples:\n"
      "  octavo pull Qwen/Qwen3-0.6B-GGUF:Q8_0\n"
      "  octavo run -m Qwen/Qwen3-0.6B-GGUF:Q8_0 \"Hello\"   fetches what is not there\n"
      "  octavo pull https://example.org/model.gguf --sha256 0123...");
  add_parsed(
      command, "--sha256", "HASH", parse_sha256, [options](std::string hash) { options->sha256 = std::move(hash); },
      "The hash that a file fetched by its address must have");
  add_log_level_option(command, context);
  command.on_parsed([&command, options] { return take_name(command.words(), *options); });
  command.action([options, &context] { return pull(*options, context); });
}

}  // namespace octavo::cli
