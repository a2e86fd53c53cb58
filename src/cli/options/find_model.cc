#include "cli/options/find_model.h"

#include <algorithm>
#include <ostream>

#include "base/text.h"
#include "cli/terminal/transfer_bar.h"
#include "model/config.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultModel = "octavo/models/SmolLM2-135M-Instruct.Q4_1.gguf";

/// The script scripts/setup of the source tree in which the program was built, if that exists: the program is a few
/// folders below it. An installed program has none.
fs::path find_setup_script(const fs::path& program) {
  std::error_code ignored;
  fs::path folder = program.parent_path();
  for (int level = 0; level < 4 && folder.has_relative_path(); ++level, folder = folder.parent_path())
    if (fs::is_regular_file(folder / "scripts/setup", ignored)) return folder / "scripts/setup";
  return {};
}

Result<fs::path> default_model(const Context& context) {
  if (context.cache_folder.empty())
    return fail("the default model's folder is unknown: set HOME or XDG_CACHE_HOME, or name a model with -m");
  fs::path path = context.cache_folder / kDefaultModel;
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  if (error) return fail("{}: cannot look for the default model: {}", path.string(), error.message());
  if (is_there) return path;
  if (const fs::path setup = find_setup_script(context.program); !setup.empty())
    return fail("{}: the default model is not there; fetch it with {}, or name a GGUF file with -m", path.string(),
                setup.string());
  return fail(
      "{}: the default model is not there; name a GGUF file (octavo run model.gguf \"Hello\", or -m model.gguf), or "
      "put "
      "{} into that folder",
      path.string(), path.filename().string());
}

/// The one model whose name has `named` as a part. Error: there are none, or several.
Result<fs::path> only_model(const std::string& named, const std::vector<hub::LocalModel>& models,
                            const std::vector<const hub::LocalModel*>& found, const Context& context) {
  if (found.size() > 1) return fail("{}: several models here have this in their names: {}", named, names_of(found));
  if (found.empty()) {
    std::vector<const hub::LocalModel*> all;
    all.reserve(models.size());
    for (const hub::LocalModel& model : models) all.push_back(&model);
    return fail("{}: no such file is here, nor a model of such a name; {}; octavo pull ORG/REPO fetches one", named,
                all.empty() ? "no model is here" : "here are: " + names_of(all));
  }
  const fs::path& path = found.front()->path;
  if (found.front()->name != named)
    context.err << "octavo: " << printable(named) << " is " << printable(found.front()->name) << '\n' << std::flush;
  return path;
}

/// Calls `pull` with events that are shown to the user.
template <class Pull>
Result<fs::path> pull_shown(const Context& context, const std::stop_token& stop, const Pull& pull) {
  TransferBar bar(context.err);
  const hub::PullEvents events = {
      .say =
          [&](const std::string& text) {
            bar.clear();
            context.err << "octavo: " << text << '\n' << std::flush;
          },
      .progress = [&](const hub::PullProgress& p) { bar.update(p.done_bytes, p.total_bytes); },
      .stop = stop};
  return pull(events);
}

/// Whether a file has a draft head, or is an assistant.
bool may_draft(const fs::path& path) {
  const auto source = open_model(path);
  if (!source) return false;
  const auto config = ModelConfig::load(**source);
  return config && (config->is_assistant() || config->prediction_layer);
}

}  // namespace

hub::PullKind model_to_talk_to(const EngineOptions& options) {
  return options.finds_mmproj && options.mmproj_path.empty() ? hub::PullKind::kModelToTalkTo : hub::PullKind::kModel;
}

Result<fs::path> resolve_model(const std::string& named, const Context& context, const std::stop_token& stop,
                               hub::PullKind kind) {
  if (named.empty()) return default_model(context);
  std::error_code ignored;
  const bool is_path = named.ends_with(".gguf") && !named.contains(':');
  if (is_path || named.starts_with('/') || named.starts_with('.') || fs::exists(named, ignored)) return named;
  const auto ref = hub::ModelRef::parse(named);
  if (ref) {
    OCTAVO_TRY(auto cached, hub::find_cached(context.hub, *ref));
    if (cached) return std::move(*cached);
  }
  const std::vector<hub::LocalModel> models = hub::list_local_models(context.hub, {});
  const std::vector<const hub::LocalModel*> found = hub::find_local_models(models, named);
  const bool is_whole_name = found.size() == 1 && found.front()->name == named;
  if (!ref || is_whole_name) return only_model(named, models, found, context);
  auto path = pull_model(*ref, context, stop, kind);
  if (!path)
    return fail("{}: no such file is here, nor such a model in the hub's cache; {}", named, path.error().message);
  return path;
}

std::string names_of(const std::vector<const hub::LocalModel*>& models) {
  constexpr std::size_t kMostShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(models.size(), kMostShown); ++i)
    text += (i > 0 ? ", " : "") + printable(models[i]->name);
  return text + (models.size() > kMostShown ? ", ..." : "");
}

Result<fs::path> resolve_draft(const std::string& named, const Context& context, const std::stop_token& stop) {
  std::error_code ignored;
  if (fs::exists(named, ignored)) return named;
  const auto ref = hub::ModelRef::parse(named);
  if (!ref) return fail("{}: no such draft file is here, expected a file or ORG/REPO[:TYPE]", named);
  OCTAVO_TRY(auto cached, hub::find_cached(context.hub, *ref, hub::PullKind::kDraft));
  if (cached && may_draft(*cached)) return std::move(*cached);
  return pull_model(*ref, context, stop, hub::PullKind::kDraft);
}

Result<fs::path> resolve_encoder(const std::string& named, const Context& context, const std::stop_token& stop) {
  std::error_code ignored;
  if (fs::exists(named, ignored)) return named;
  const auto ref = hub::ModelRef::parse(named);
  if (!ref && named.contains("://"))
    return fail("{}: expected a file's address on the hub; octavo pull URL --sha256 HASH fetches another", named);
  if (!ref) return named;
  OCTAVO_TRY(auto cached, hub::find_cached(context.hub, *ref, hub::PullKind::kEncoder));
  if (cached) return std::move(*cached);
  return pull_model(*ref, context, stop, hub::PullKind::kEncoder);
}

std::optional<fs::path> find_draft_beside(const fs::path& model, const Context& context) {
  auto found = hub::find_draft_beside(model);
  if (!found || may_draft(model)) return std::nullopt;
  context.err << "octavo: the draft file is " << printable(found->filename().string()) << ", beside the model\n"
              << std::flush;
  return found;
}

Result<fs::path> pull_model(const hub::ModelRef& ref, const Context& context, const std::stop_token& stop,
                            hub::PullKind kind) {
  return pull_shown(context, stop,
                    [&](const hub::PullEvents& events) { return hub::pull(context.hub, ref, events, kind); });
}

Result<fs::path> pull_url(const std::string& url, const std::string& sha256, const Context& context) {
  return pull_shown(context, {},
                    [&](const hub::PullEvents& events) { return hub::pull_url(context.hub, url, sha256, events); });
}

}  // namespace octavo::cli
