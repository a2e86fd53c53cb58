#include "cli/serve/model_sections.h"

#include <algorithm>
#include <utility>

#include "cli/options/arguments.h"
#include "cli/options/config_file.h"
#include "cli/options/nearest.h"
#include "cli/options/options.h"
#include "cli/serve/serve_options.h"

namespace octavo::cli {
namespace {

struct SectionEntries {
  std::string id;
  std::vector<FileEntry> entries = {};
};

/// The entries of each section, with their names in it.
Result<std::vector<SectionEntries>> entries_of_sections(const std::string& path) {
  std::vector<SectionEntries> sections;
  OCTAVO_TRY(std::vector<FileEntry> entries, read_options_file(path));
  for (FileEntry& entry : entries) {
    if (!entry.name.starts_with(kModelSections)) continue;
    const std::size_t dot = entry.name.rfind('.');
    if (dot < kModelSections.size())
      return fail("{}: {}: expected a section with a model's name, such as [model.chat]", path, entry.name);
    const std::string id = entry.name.substr(kModelSections.size(), dot - kModelSections.size());
    auto section = std::ranges::find(sections, id, &SectionEntries::id);
    if (section == sections.end()) section = sections.insert(section, {.id = id});
    section->entries.push_back({.name = entry.name.substr(dot + 1), .values = std::move(entry.values)});
  }
  return sections;
}

/// Reads one section, by the rows of the command line.
class SectionReader {
 public:
  SectionReader(std::string id, const EngineOptions& engine, const SamplingFlags& sampling, Context& context) {
    section_.id = std::move(id);
    options_.server.engine = engine;
    options_.models.sampling = sampling;
    about_.add_option("--model", section_.model, "")->check(refuse_empty)->type_name("MODEL");
    about_.add_option("--alias", section_.aliases, "")->check(refuse_empty)->type_name("NAME");
    add_serve_options(rows_, options_, context);
  }

  Result<void> take(const FileEntry& entry) {
    const std::string name = "--" + entry.name;
    if (about_.find_option(name) != nullptr) return apply_entry(about_, entry);
    const Option* option = rows_.find_option(name);
    if (option == nullptr) return fail("there is no such option{}", did_you_mean(entry.name, names()));
    if (!option->is_per_model())
      return fail("there is no such option of one model: it stands above all sections, for the whole server");
    // A list in a section replaces that of the command line, and is not added to it.
    if (option->is_repeatable()) options_.models.sampling.dry_breakers.clear();
    return apply_entry(rows_, entry);
  }

  Result<ModelSection> finish() {
    for (const Option& option : rows_.options()) OCTAVO_TRY_VOID(option.check_company());
    section_.engine = std::move(options_.server.engine);
    section_.sampling = std::move(options_.models.sampling);
    return std::move(section_);
  }

 private:
  std::vector<std::string> names() {
    std::vector<std::string> names = {"model", "alias"};
    for (const Option& option : rows_.options())
      for (const std::string& name : option.names())
        if (option.is_per_model() && name.starts_with("--")) names.push_back(name.substr(2));
    return names;
  }

  ModelSection section_;
  ServeOptions options_;
  Command about_{"model", ""}, rows_{"serve", ""};
};

}  // namespace

Result<std::vector<ModelSection>> read_model_sections(const std::string& path, const EngineOptions& engine,
                                                      const SamplingFlags& sampling, Context& context) {
  std::vector<ModelSection> sections;
  if (path.empty()) return sections;
  OCTAVO_TRY(const std::vector<SectionEntries> found, entries_of_sections(path));
  for (const SectionEntries& entries : found) {
    SectionReader reader(entries.id, engine, sampling, context);
    for (const FileEntry& entry : entries.entries) {
      if (const auto taken = reader.take(entry); !taken)
        return fail("{}: {}{}.{}: {}", path, kModelSections, entries.id, entry.name, taken.error().message);
    }
    auto section = reader.finish();
    if (!section) return fail("{}: [{}{}]: {}", path, kModelSections, entries.id, section.error().message);
    sections.push_back(std::move(*section));
  }
  return sections;
}

}  // namespace octavo::cli
