#include "cli/serve/serve_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "api/call/text.h"
#include "base/cpu_info.h"
#include "base/stop_check.h"
#include "base/text.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/serve/model_sections.h"
#include "cli/terminal/parse.h"
#include "engine/load/draft_file.h"
#include "engine/load/embedding_info.h"
#include "engine/load/matrix_types.h"
#include "engine/load/model_file.h"
#include "hub/local_models.h"
#include "model/config.h"
#include "model/model_state.h"
#include "model/weight_need.h"
#include "source/encoder_name.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

namespace fs = std::filesystem;

struct FoundModel {
  fs::path path;
  std::vector<std::string> given = {};  // names that the user gave, the folder has, or clients had it fetched by
  const ModelSection* section = nullptr;
  bool is_optional = false;  // left out where it cannot be used: nobody named it at the start
  bool is_pulled = false;    // clients alone want it, and have told its names: what its file says is anybody's word
};

/// Names of a file as requests may call it, the likeliest first. One that clients had fetched has those by which they
/// did, so that no file takes another model's name.
std::vector<std::string> names_of(const FoundModel& model, const ModelSource& source) {
  if (model.is_pulled) return model.given;
  const auto name = source.get_string("general.name");
  ModelInfo info;
  info.name = name ? printable(*name) : "";
  info.file_name = model.path.filename().string();
  std::vector<std::string> names = {model_id(info)};
  for (const std::string& given : model.given)
    if (!fs::exists(given)) names.push_back(given);
  std::ranges::copy(model_aliases(info, names.front(), {}), std::back_inserter(names));
  return names;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Attaches each section that names a file to that, or adds it.
Result<void> attach(std::vector<FoundModel>& models, const std::vector<ModelSection>& sections, const Context& context,
                    const std::stop_token& stop) {
  for (const ModelSection& section : sections) {
    if (section.model.empty()) continue;
    OCTAVO_TRY(const fs::path path, resolve_model(section.model, context, stop, model_to_talk_to(section.engine)));
    auto model =
        std::ranges::find_if(models, [&](const FoundModel& m) { return m.path == path && m.section == nullptr; });
    if (model == models.end()) model = models.insert(model, {.path = path, .given = {section.model}});
    model->section = &section;
  }
  return {};
}

/// Sections that name no file, as long as no model was found that they are about.
using OpenSections = std::vector<const ModelSection*>;

/// Takes out the section that calls a model by one of its names; null: none does. Error: several do.
Result<const ModelSection*> take_section(OpenSections& open, const std::vector<std::string>& names) {
  const auto is_about = [&](const ModelSection* section) { return contains(names, section->id); };
  const auto found = std::ranges::find_if(open, is_about);
  if (found == open.end()) return nullptr;
  const auto second = std::find_if(found + 1, open.end(), is_about);
  if (second != open.end()) return fail("[model.{}]: found a second section about one model", (*second)->id);
  const ModelSection* section = *found;
  open.erase(found);
  return section;
}

Result<std::vector<FoundModel>> find_files(const ModelsOptions& options, const EngineOptions& engine,
                                           const Context& context, const std::stop_token& stop) {
  std::vector<FoundModel> models;
  for (const std::string& named : options.named) {
    OCTAVO_TRY(const fs::path path, resolve_model(named, context, stop, model_to_talk_to(engine)));
    models.push_back({.path = path, .given = {named}});
  }
  const std::vector<fs::path> folders(options.folders.begin(), options.folders.end());
  std::error_code ignored;  // a link to itself is no folder
  for (const fs::path& folder : folders)
    if (!fs::is_directory(folder, ignored)) return fail("--models-dir: found no folder {}", folder.string());
  std::map<fs::path, std::size_t> places;  // of models, by their whole path
  const auto place_of = [&](const fs::path& path) {
    return places.try_emplace(fs::absolute(path).lexically_normal(), models.size()).first->second;
  };
  for (std::size_t i = 0; i < models.size(); ++i)
    places.try_emplace(fs::absolute(models[i].path).lexically_normal(), i);
  if (!folders.empty())
    for (const hub::LocalModel& local : hub::list_local_models(context.hub, folders))
      if (local.place == "folder" && place_of(local.path) == models.size())
        models.push_back({.path = local.path, .given = {local.name}, .is_optional = true});
  if (!options.pulled) return models;
  for (const PulledModels::Model& pulled : options.pulled->list()) {
    if (!fs::exists(pulled.path)) continue;
    const std::size_t place = place_of(pulled.path);
    if (place < models.size()) {
      models[place].given.push_back(pulled.name);
    } else {
      models.push_back({.path = pulled.path, .given = {pulled.name}, .is_optional = true, .is_pulled = true});
    }
  }
  return models;
}

bool has_encoder_beside(const fs::path& model) {
  if (has_encoder(model)) return true;
  const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    if (is_encoder_name(at->path().filename().string())) return true;
  return false;
}

/// The files of models that are named or lie in folders, as far as they are here.
std::vector<fs::path> paths_here(const std::vector<std::string>& named, const std::vector<std::string>& folders,
                                 const Context& context) {
  std::vector<fs::path> paths;
  std::vector<std::string> others;  // names of a hub, or parts of names
  std::error_code ignored;
  for (const std::string& name : named) {
    if (fs::exists(name, ignored)) {
      paths.emplace_back(name);
    } else {
      others.push_back(name);
    }
  }
  if (others.empty() && folders.empty()) return paths;
  const std::vector<fs::path> places(folders.begin(), folders.end());
  const std::vector<hub::LocalModel> models = hub::list_local_models(context.hub, places);
  for (const hub::LocalModel& model : models)
    if (model.place == "folder") paths.push_back(model.path);
  for (const std::string& name : others)
    for (const hub::LocalModel* model : hub::find_local_models(models, name)) paths.push_back(model->path);
  return paths;
}

/// Changes when another engine would be loaded.
std::string version_of(const fs::path& path, const EngineOptions& engine) {
  std::error_code ignored;
  const auto size = fs::is_directory(path, ignored) ? 0 : fs::file_size(path, ignored);
  const auto time = fs::last_write_time(path, ignored).time_since_epoch().count();
  const std::hash<std::string> hash;
  return fmt::format(
      "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", path.string(), size, time, static_cast<int>(engine.kv_type),
      engine.kv_memory_bytes, engine.max_context, hash(engine.chat_template), hash(engine.generation_config),
      engine.tokenizer_path.string(), engine.quantize, engine.pooling ? pooling_name(*engine.pooling) : "",
      static_cast<int>(engine.draft), engine.draft_path.string(), engine.max_drafts, engine.kv_store.folder.string());
}

/// A model as an engine loads it, with what drafts for it, and the memory of all weights.
struct LoadedNeed {
  ModelConfig config;
  WeightNeed weights;
};

/// Adds the draft head of the model's file or that of a draft file, or an assistant. What is wrong with these is told
/// when the model is loaded, and a draft file that is not here yet has no size.
void add_drafts(const ModelSource& source, const EngineOptions& engine, const MatrixTypes& types, LoadedNeed& need) {
  if (engine.draft < DraftMode::kMtp) return;
  LoadedNeed with = need;
  if (std::error_code ignored; !engine.draft_path.empty() && fs::exists(engine.draft_path, ignored)) {
    const auto file = DraftFile::open(engine.draft_path, source, with.config, {.quantize = engine.quantize});
    if (!file) return;
    if (file->assistant) {
      const WeightNeed own = weight_need(file->weights);
      need.weights.packed_bytes += own.packed_bytes;
      need.weights.mapped_bytes += own.mapped_bytes;
      need.weights.turned_bytes += own.turned_bytes;
      need.weights.vector_bytes += own.vector_bytes;
      return;
    }
    with.config.add_draft_head();
    if (const auto weights = weight_need(*file->source, with.config, types))
      need = {.config = std::move(with.config), .weights = *weights};
    return;
  }
  if (!with.config.prediction_layer) return;
  with.config.add_draft_head();
  if (const auto weights = weight_need(source, with.config, types))
    need = {.config = std::move(with.config), .weights = *weights};
}

Result<LoadedNeed> loaded_need(const ModelSource& source, ModelConfig config, const EngineOptions& engine) {
  OCTAVO_TRY(const MatrixTypes types, matrix_types(source, engine.quantize));
  OCTAVO_TRY(const WeightNeed weights, weight_need(source, config, types));
  LoadedNeed need{.config = std::move(config), .weights = weights};
  add_drafts(source, engine, types, need);
  return need;
}

/// The facts that clients are told of a model that was not loaded yet. Its words are not read: that takes longer than
/// all else.
ModelInfo head_of(const ModelSource& source, const ModelConfig& config, const WeightNeed& need,
                  const EngineOptions& engine) {
  const int context = engine.max_context != 0 ? engine.max_context : config.context_length;
  ModelInfo info;
  info.name = config.name;
  info.file_name = printable(source.path().filename().string());
  info.architecture = config.architecture;
  info.file = model_file(source, config, engine.quantize);
  info.embedding = embedding_info(config, engine.pooling);
  info.vocab_size = config.vocab_size;
  info.num_layers = config.num_layers();
  info.max_context =
      std::min(context, largest_context(config, engine.kv_type, engine.block_size, engine.kv_memory_bytes));
  info.weight_bytes = need.bytes(true);
  return info;
}

std::function<void(SamplingParams&)> setting(const SamplingFlags& flags) {
  return [flags](SamplingParams& params) { apply_sampling(flags, params); };
}

Result<server::ModelEntry> make_entry(const FoundModel& model, OpenSections& open, const EngineOptions& base,
                                      const ModelsOptions& options, Context& context, const std::stop_token& stop) {
  OCTAVO_TRY(const auto source, open_model(model.path, stop));
  const std::vector<std::string> names = names_of(model, *source);
  const ModelSection* section = model.section;
  if (section == nullptr) {
    OCTAVO_TRY(section, take_section(open, names));
  }
  OCTAVO_TRY(ModelConfig config, ModelConfig::load(*source));
  EngineOptions engine = section != nullptr ? section->engine : base;
  if (engine.pooling == Pooling::kRank && config.head.num_scores == 0) engine.pooling.reset();  // it is about others
  OCTAVO_TRY(const LoadedNeed need, loaded_need(*source, std::move(config), engine));
  const WeightNeed& weights = need.weights;
  server::ModelEntry entry{.version = version_of(model.path, engine),
                           .memory_bytes = weights.bytes(engine.repack) + engine.kv_memory_bytes,
                           .set_sampling = setting(section != nullptr ? section->sampling : options.sampling),
                           .head = head_of(*source, need.config, weights, engine)};
  if (section != nullptr) {
    entry.names = {section->id};
    std::ranges::copy(section->aliases, std::back_inserter(entry.names));
    entry.takes_any_name = server::take_any_name(entry.names);
  }
  for (const std::string& name : names)
    if (!contains(entry.names, name)) entry.names.push_back(name);
  entry.load = [engine, path = model.path.string(), &context](std::stop_token stopped) {
    EngineOptions stoppable = engine;
    stoppable.stop = std::move(stopped);
    return load_engine(std::move(stoppable), path, context);
  };
  return entry;
}

/// No two models have the same id; further ones get a number.
void make_unique(std::vector<server::ModelEntry>& entries) {
  std::set<std::string> ids;
  std::map<std::string, int> numbers;  // the last number that models of one name got
  for (server::ModelEntry& entry : entries) {
    std::string id = entry.names.front();
    for (int& number = numbers.try_emplace(id, 1).first->second; !ids.insert(id).second;)
      id = fmt::format("{}-{}", entry.names.front(), ++number);
    if (id != entry.names.front()) entry.names.insert(entry.names.begin(), id);
  }
}

}  // namespace

void add_models_options(Command& command, ModelsOptions& options, std::uint64_t& memory_bytes, Context& context) {
  const Option* option = command
                             .add_option("-m,--model", options.named,
                                         "GGUF file, or ORG/REPO[:TYPE] of the hub, fetched if it is not there; may be "
                                         "repeated; default: SmolLM2-135M-Instruct")
                             ->check(refuse_empty)
                             ->type_name("MODEL");
  command.accept_words("[MODEL.gguf...]");
  command.on_parsed([&command, &options, option]() -> Result<void> {
    if (command.words().empty()) return {};
    if (option->is_from_file()) options.named.clear();
    for (const std::string& word : command.words()) {
      if (!names_model(word)) return fail("found the word '{}', expected the name of a GGUF file", word);
      options.named.push_back(word);
    }
    return {};
  });
  command.add_option("--models-dir", options.folders, "A folder whose models are served too; may be repeated")
      ->check(refuse_empty)
      ->type_name("FOLDER")
      ->of_servers();
  command.add_flag_callback(
      "--offline", [&context] { context.hub.offline = true; },
      "Ask no hub: models that are named are here, or an error");
  add_parsed(
      command, "--models-memory", "SIZE", parse_size, [&memory_bytes](std::uint64_t bytes) { memory_bytes = bytes; },
      "Of several models: what those in memory take together, with their KV memory; default: three quarters of the "
      "machine's")
      ->of_servers();
}

std::uint64_t default_models_memory() { return total_memory_bytes() / 4 * 3; }

std::uint64_t kv_share_of(std::uint64_t memory_bytes) { return memory_bytes / 8; }

Result<bool> is_one_model(const ModelsOptions& options, Context& context) {
  if (options.named.size() > 1 || !options.folders.empty()) return false;
  OCTAVO_TRY(const auto sections, read_model_sections(options.config_file, {}, {}, context));
  return sections.empty();
}

server::ModelEntry one_model(const ModelsOptions& options, const EngineOptions& engine, Context& context) {
  const std::string model = options.named.empty() ? std::string() : options.named.front();
  // The first load decides for all that follow, when another amount of memory may be free.
  const auto kv_memory_bytes = std::make_shared<std::atomic<std::uint64_t>>(engine.kv_memory_bytes);
  const auto load = [engine, model, kv_memory_bytes,
                     &context](std::stop_token stop) -> Result<std::unique_ptr<Engine>> {
    EngineOptions same = engine;
    same.stop = std::move(stop);
    same.kv_memory_bytes = *kv_memory_bytes;
    OCTAVO_TRY(auto loaded, load_engine(std::move(same), model, context));
    *kv_memory_bytes = loaded->info().kv_memory_bytes;
    return loaded;
  };
  server::ModelEntry entry{
      .names = options.names, .load = load, .is_loaded_at_start = true, .set_sampling = setting(options.sampling)};
  entry.takes_any_name = server::take_any_name(entry.names);
  return entry;
}

Result<bool> may_see(const ModelsOptions& options, const EngineOptions& engine, Context& context) {
  OCTAVO_TRY(const auto sections, read_model_sections(options.config_file, engine, options.sampling, context));
  const auto names_encoder = [](const ModelSection& section) { return !section.engine.mmproj_path.empty(); };
  if (!engine.mmproj_path.empty() || std::ranges::any_of(sections, names_encoder)) return true;
  const auto finds_encoder = [](const ModelSection& section) { return section.engine.finds_mmproj; };
  if (!engine.finds_mmproj && std::ranges::none_of(sections, finds_encoder)) return false;
  std::vector<std::string> named = options.named;
  for (const ModelSection& section : sections)
    if (!section.model.empty()) named.push_back(section.model);
  return std::ranges::any_of(paths_here(named, options.folders, context), has_encoder_beside);
}

Result<std::vector<server::ModelEntry>> find_models(const ModelsOptions& options, const EngineOptions& engine,
                                                    Context& context, const std::stop_token& stop) {
  std::vector<std::string> names = options.names;
  const bool takes_any_name = server::take_any_name(names);
  if (!names.empty())
    return fail(
        "--served-model-name: found several models, of which it can name none, expected '*'; a section [model.ID] of "
        "the file of options names one");
  OCTAVO_TRY(const std::vector<ModelSection> sections,
             read_model_sections(options.config_file, engine, options.sampling, context));
  OCTAVO_TRY(std::vector<FoundModel> models, find_files(options, engine, context, stop));
  OCTAVO_TRY_VOID(attach(models, sections, context, stop));
  OpenSections open;
  for (const ModelSection& section : sections)
    if (section.model.empty()) open.push_back(&section);
  std::vector<server::ModelEntry> entries;
  for (const FoundModel& model : models) {
    OCTAVO_TRY_VOID(check_stop(stop, "looking for models"));
    auto entry = make_entry(model, open, engine, options, context, stop);
    if (!entry && !model.is_optional) return std::unexpected(std::move(entry.error()));
    if (!entry) {
      context.err << fmt::format("octavo: not served: {}\n", escaped(entry.error().message)) << std::flush;
      continue;
    }
    entry->is_loaded_at_start = entries.empty() && !options.named.empty();
    entries.push_back(std::move(*entry));
  }
  if (!open.empty())
    return fail("[model.{}]: found no such model among -m and --models-dir, expected one, or a line model = ...",
                open.front()->id);
  if (entries.empty()) return fail("found no model that can be served");
  const auto has_ranks = [](const server::ModelEntry& entry) { return !entry.head->embedding.labels.empty(); };
  if (engine.pooling == Pooling::kRank && std::ranges::none_of(entries, has_ranks))
    return fail("--pooling: found rank, expected none, mean, cls or last: no model here has a ranking head");
  if (takes_any_name) entries.front().takes_any_name = true;
  make_unique(entries);
  return entries;
}

}  // namespace octavo::cli
