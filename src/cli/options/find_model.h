// Finds the file of the model that a user means by a path, a name on the hub, or nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/terminal/context.h"
#include "hub/local_models.h"
#include "hub/model_ref.h"
#include "hub/pull.h"
#include "octavo/engine.h"

namespace octavo::cli {

/// The model to use: the file of this name; ORG/REPO[:TYPE], from the hub's cache or fetched, of which a line tells;
/// the only model on this machine with this as a part of its name, of which a line tells; for an empty name the default
/// model. Errors: the default model is not there, or nobody knows where; those of the hub; no or several models of that
/// name, with those there are; a stop during a fetch. `kind`: what is fetched with it.
Result<std::filesystem::path> resolve_model(const std::string& named, const Context& context,
                                            const std::stop_token& stop = {},
                                            hub::PullKind kind = hub::PullKind::kModel);

/// The files fetched with a model that generates text: its encoder of pictures, too, unless the options exclude it or
/// name another.
hub::PullKind model_to_talk_to(const EngineOptions& options);

/// The draft file of a name: a file; or ORG/REPO[:TYPE], from the hub's cache or fetched. Errors: those of
/// resolve_model().
Result<std::filesystem::path> resolve_draft(const std::string& named, const Context& context,
                                            const std::stop_token& stop = {});
/// The encoder of pictures of a name: a file or a folder; or ORG/REPO[:TYPE], or a file's address on the hub, from the
/// hub's cache or fetched. Errors: those of resolve_model(); another address.
Result<std::filesystem::path> resolve_encoder(const std::string& named, const Context& context,
                                              const std::stop_token& stop = {});
/// The draft file beside a model whose own file has no draft head; a line tells of it. None: there is none.
std::optional<std::filesystem::path> find_draft_beside(const std::filesystem::path& model, const Context& context);

/// Fetches a model by its name, with a progress bar on a terminal and a line for each event.
Result<std::filesystem::path> pull_model(const hub::ModelRef& ref, const Context& context,
                                         const std::stop_token& stop = {}, hub::PullKind kind = hub::PullKind::kModel);
/// Fetches the file at an address in the same way.
Result<std::filesystem::path> pull_url(const std::string& url, const std::string& sha256, const Context& context);

/// The first names of some models, for a message; empty: there are none.
std::string names_of(const std::vector<const hub::LocalModel*>& models);

}  // namespace octavo::cli
