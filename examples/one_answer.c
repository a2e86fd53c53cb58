/* One answer in C, token by token. Its argument is the model's file; without one it is the default model. */
#include <stdio.h>

#include "octavo.h"

static int report(void) {
  octavo_error error = {.size = sizeof error};
  octavo_last_error(&error);
  fprintf(stderr, "%s\n", error.message);
  return 1;
}

int main(int argc, char** argv) {
  octavo_load_options options = {.size = sizeof options, .model = argc > 1 ? argv[1] : NULL};
  octavo_handle model = 0, queue = 0;
  if (octavo_load(&options, &model) != OCTAVO_OK || octavo_queue_open(NULL, &queue) != OCTAVO_OK) return report();
  octavo_request request = {
      .size = sizeof request,
      .api = "/v1/chat/completions",
      .body = "{\"messages\": [{\"role\": \"user\", \"content\": \"Name the capital of France.\"}],"
              " \"temperature\": 0, \"max_tokens\": 40}",
      .form = OCTAVO_TOKENS};
  if (octavo_submit(model, queue, &request, NULL) != OCTAVO_OK) return report();
  int has_ended = 0;
  while (!has_ended) {
    octavo_events* events = NULL;
    if (octavo_poll(queue, -1, &events) != OCTAVO_OK) return report();
    for (size_t i = 0; i < events->count; ++i) {
      fwrite(events->events[i].text, 1, events->events[i].text_size, stdout);
      has_ended = events->events[i].kind == OCTAVO_END;
    }
    octavo_events_free(events);
  }
  octavo_counts counts = {.size = sizeof counts};
  octavo_stats(model, &counts);
  printf("\n-- %llu tokens in %llu steps\n", (unsigned long long)counts.generated_tokens,
         (unsigned long long)counts.steps);
  octavo_close(queue);
  octavo_close(model);
  return 0;
}
