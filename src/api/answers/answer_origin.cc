#include "api/answers/answer_origin.h"

namespace octavo {

void write_origin(const CompletionCall& call, const ServedModel& model, JsonWriter json) {
  json.fields("system_fingerprint", model.fingerprint);
  if (call.seed) json.fields("seed", *call.seed);
  if (call.return_token_ids && !model.settings.empty()) json.fields("settings_fingerprint", model.settings);
}

}  // namespace octavo
