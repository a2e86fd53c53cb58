// octavo list: the models on this machine, and how much context of each fits here. octavo rm: removes one.
#include <algorithm>
#include <boost/json.hpp>
#include <ostream>

#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/info_report.h"
#include "cli/options/find_model.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/parse.h"
#include "hub/local_models.h"
#include "source/open_model.h"

namespace octavo::cli {
namespace {

struct ListOptions {
  std::vector<std::string> folders;
  InfoOptions info;
  bool json = false;
};

/// A line of the list.
struct ListRow {
  const hub::LocalModel* model = nullptr;
  std::string architecture = {}, type = {};
  int context = 0;           // the tokens that fit here, at most those that it was trained for
  std::string refusal = {};  // why it cannot be used; empty: it can be
};

std::vector<std::filesystem::path> paths_of(const std::vector<std::string>& folders) {
  return {folders.begin(), folders.end()};
}

ListRow make_row(const hub::LocalModel& model, const InfoOptions& options) {
  ListRow row{.model = &model};
  const auto source = open_model(model.path);
  if (!source) {
    row.refusal = source.error().message;
    return row;
  }
  if (const auto architecture = (*source)->get_string("general.architecture")) row.architecture = *architecture;
  const auto report = make_info_report(**source, options);
  if (!report) {
    row.refusal = report.error().message;
  } else if (!report->here) {
    row.refusal = fmt::format("{}: it holds a vocabulary only", model.path.string());
  } else {
    row.type = dtype_info(report->by_type.front().type).name;
    row.context = report->here->context;
  }
  return row;
}

boost::json::object to_json(const ListRow& row) {
  boost::json::array files;
  for (const auto& file : row.model->files) files.emplace_back(to_valid_utf8(file.string()));
  boost::json::object out{{"name", to_valid_utf8(row.model->name)},
                          {"place", row.model->place},
                          {"files", std::move(files)},
                          {"bytes", row.model->bytes},
                          {"architecture", to_valid_utf8(row.architecture)}};
  if (row.refusal.empty()) {
    out["type"] = row.type;
    out["largest_context"] = row.context;
  } else {
    out["refusal"] = to_valid_utf8(row.refusal);
  }
  return out;
}

void print_rows(const std::vector<ListRow>& rows, std::ostream& out) {
  std::size_t width = std::string_view("name").size();
  for (const ListRow& row : rows) width = std::max(width, escaped(row.model->name).size());
  out << fmt::format("{:<{}}  {:<12} {:<7} {:>10} {:>9}  {}\n", "name", width, "architecture", "type", "size",
                     "context", "place");
  for (const ListRow& row : rows) {
    const std::string name = escaped(row.model->name), architecture = escaped(row.architecture);
    const std::string size = format_bytes(row.model->bytes);
    if (row.refusal.empty()) {
      out << fmt::format("{:<{}}  {:<12} {:<7} {:>10} {:>9}  {}\n", name, width, architecture, row.type, size,
                         row.context, row.model->place);
    } else {
      out << fmt::format("{:<{}}  {:<12} {:<7} {:>10} {:>9}  {}\n", name, width, architecture, "-", size, "-",
                         row.model->place);
      out << "  cannot be used: " << escaped(row.refusal) << '\n';
    }
  }
}

Result<int> list(const ListOptions& options, const Context& context) {
  const std::vector<hub::LocalModel> models = hub::list_local_models(context.hub, paths_of(options.folders));
  std::vector<ListRow> rows;
  rows.reserve(models.size());
  for (const hub::LocalModel& model : models) rows.push_back(make_row(model, options.info));
  if (options.json) {
    boost::json::array out;
    for (const ListRow& row : rows) out.push_back(to_json(row));
    context.out << boost::json::serialize(boost::json::object{{"models", std::move(out)}}) << '\n' << std::flush;
  } else if (rows.empty()) {
    context.err << "octavo: no model is here; octavo pull ORG/REPO fetches one\n" << std::flush;
  } else {
    print_rows(rows, context.out);
    context.out.flush();
  }
  return finish_output(context);
}

Result<int> remove_model(const std::string& name, const std::vector<std::string>& folders, const Context& context) {
  const std::vector<hub::LocalModel> models = hub::list_local_models(context.hub, paths_of(folders));
  const auto same = std::ranges::find(models, name, &hub::LocalModel::name);
  if (same == models.end()) {
    const std::string meant = names_of(hub::find_local_models(models, name));
    return fail("{}: no model has this name{}{}", name,
                meant.empty() ? "; octavo list has their names" : "; did you mean ", meant);
  }
  OCTAVO_TRY(const hub::RemovedModel done, hub::remove_local_model(context.hub, *same));
  for (const auto& file : done.removed) context.out << "removed " << escaped(file.string()) << '\n';
  for (const auto& file : done.kept) context.out << "kept " << escaped(file.string()) << ", which was only linked to\n";
  return finish_output(context);
}

void add_folders_option(Command& command, std::vector<std::string>& folders) {
  command.add_option("--models-dir", folders, "A folder of models beside the usual ones; may be given several times")
      ->check(refuse_empty)
      ->type_name("DIR");
}

constexpr std::string_view kPlaces =
    "Models are looked for in the hub's cache (HF_HUB_CACHE, HF_HOME), in Octavo's\n"
    "own folder, and in those of llama.cpp (LLAMA_CACHE), LM Studio and ollama\n"
    "(OLLAMA_MODELS).";

}  // namespace

void add_list_command(Program& program, Context& context) {
  auto options = std::make_shared<ListOptions>();
  Command& command = program.add_command("list", "Lists the models on this machine");
  command.footer("-m takes a name of the list, or a part of it that no other name has.\n" + std::string(kPlaces) +
                 "\nThe context is the largest that fits into the memory that is free now.\n\n"
                 "Examples:\n"
                 "  octavo list\n"
                 "  octavo list --models-dir /data/models --json");
  add_folders_option(command, options->folders);
  command.add_flag("--json", options->json, "Print one JSON object");
  add_kv_type_option(command, options->info.kv_type);
  add_log_level_option(command, context);
  command.action([options, &context] { return list(*options, context); });
}

void add_rm_command(Program& program, Context& context) {
  auto folders = std::make_shared<std::vector<std::string>>();
  Command& command = program.add_command("rm", "Removes a model from this machine");
  command.accept_words("NAME");
  command.footer(
      "NAME is a whole name of octavo list. All files of the model go; what lies\n"
      "outside of the hub's cache or of its folder, and is only linked to, stays and\n"
      "is named.\n"
      "Models of ollama are left to ollama rm.\n\n"
      "Examples:\n"
      "  octavo rm Qwen/Qwen3-0.6B-GGUF:Qwen3-0.6B-Q8_0.gguf");
  add_folders_option(command, *folders);
  add_log_level_option(command, context);
  command.on_parsed([&command]() -> Result<void> {
    if (command.words().size() == 1) return {};
    return fail("found {} names, expected one of octavo list", command.words().size());
  });
  command.action([folders, &command, &context] { return remove_model(command.words().front(), *folders, context); });
}

}  // namespace octavo::cli
