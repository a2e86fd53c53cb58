/* Octavo's C interface: models in this process, for programs of any language.
 *
 *     octavo_handle model = 0, queue = 0;
 *     octavo_load_options load = {.size = sizeof load, .model = "model.gguf"};
 *     if (octavo_load(&load, &model) != OCTAVO_OK) return report();
 *     octavo_queue_open(NULL, &queue);
 *     octavo_request request = {.size = sizeof request, .api = "/v1/completions",
 *                               .body = "{\"prompt\": \"Once upon a time\", \"stream\": true}"};
 *     octavo_submit(model, queue, &request, NULL);
 *     octavo_events* events;
 *     while (octavo_poll(queue, -1, &events) == OCTAVO_OK && ...) octavo_events_free(events);
 *     octavo_close(queue);
 *     octavo_close(model);
 *
 * Requests are those of the server, as JSON (docs/server/): a program that speaks one of its APIs needs no other words.
 *
 * Models, queues, constraints, servers and stops are handles: numbers that are never used twice. A call with a handle
 * that was closed, or never was one, is an error and nothing else. Any thread may make any call; a call that one thread
 * waits in ends when another closes what it waits for. No exception leaves a call. A process that was forked cannot use
 * its parent's handles, with which calls give OCTAVO_FORKED; it may load models of its own.
 *
 * In a callback, calls that may wait for a callback are OCTAVO_INVALID, so that none waits for itself, nor two for each
 * other: octavo_close() of a model that a thread of the library drives, or of a server; octavo_step(), octavo_serve(),
 * octavo_release_memory(), and octavo_poll() with a timeout other than 0. All others may be made there.
 *
 * Structs begin with their size in bytes, which the caller sets. Later versions add fields at the end: a field behind
 * `size` counts as 0, and a size that ends inside a field is OCTAVO_INVALID. Texts are UTF-8; where a number of bytes
 * stands beside a text, 0 means that the text ends at its first zero byte. Texts of more than OCTAVO_MAX_BYTES and
 * arrays of more than OCTAVO_MAX_COUNT elements, which numbers below 0 become, are OCTAVO_INVALID. */
#ifndef OCTAVO_H
#define OCTAVO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names are as C has them. NOLINTBEGIN(readability-identifier-naming) */

#define OCTAVO_API __attribute__((visibility("default")))

/* The version of this interface. A library with a higher one has all that this header has. */
#define OCTAVO_INTERFACE 1

#define OCTAVO_MAX_BYTES ((size_t)1 << 30) /* of a text */
#define OCTAVO_MAX_COUNT ((size_t)1 << 24) /* elements of an array: tokens, options, words of a mask */
#define OCTAVO_MAX_WAITING_BYTES \
  ((size_t)1 << 30) /* events that wait in a queue, unless its options say more or less */

/* A model, queue, constraint, server or stop; 0: none. */
typedef uint64_t octavo_handle;

typedef enum octavo_status {
  OCTAVO_OK = 0,
  OCTAVO_INVALID = 1,   /* an argument, a field of a request, a file or an option is wrong */
  OCTAVO_CLOSED = 2,    /* the handle was closed, or is none of this kind */
  OCTAVO_FORKED = 3,    /* the handle is that of a process that this one was forked from */
  OCTAVO_NO_MEMORY = 4, /* the system has none for the call */
  OCTAVO_TOO_LONG = 5,  /* a prompt, or a prompt and its answer, beyond the context */
  OCTAVO_BUSY = 6,      /* the queue of requests is full: later there is room again */
  OCTAVO_STOPPED = 7,   /* the request was cancelled, its deadline is over, or the model was closed */
  OCTAVO_FAILED = 8     /* anything else */
} octavo_status;

/* The last error of the calling thread. The texts are valid until its next call of this library. */
typedef struct octavo_error {
  size_t size;
  int32_t status;      /* octavo_status; OCTAVO_OK: there was no error yet */
  int32_t http;        /* the status that the server would answer with; 0: it is no error of a request */
  const char* message; /* what was found and what was expected; never NULL */
  const char* field;   /* the request's field; "": none */
  const char* code;    /* such as "context_length_exceeded"; "": none */
} octavo_error;

OCTAVO_API void octavo_last_error(octavo_error* error);

/* "0.1.0"; octavo_interface() is the library's OCTAVO_INTERFACE. */
OCTAVO_API const char* octavo_version(void);
OCTAVO_API int octavo_interface(void);

/* A text of the library's, which octavo_text_free() takes back. It ends with a zero byte that `size` does not count. */
typedef struct octavo_text {
  char* data;
  size_t size;
} octavo_text;

OCTAVO_API void octavo_text_free(octavo_text* text);

/* Closes whatever a handle is. A model ends its requests, whose last events say OCTAVO_STOPPED, and those of its
 * servers, which answer 503 from then on; its memory goes back to the system once no call is inside it, its constraints
 * are closed, and the events of its requests are polled or their queue is closed. A queue cancels
 * the requests that were submitted with it; its callback is not called any more, and one that is under way on another
 * thread has returned when this call does, unless this call is made in a callback: those wait for nobody. In a callback
 * a model that a thread of the library drives, and a server, is not closed (OCTAVO_INVALID): it goes on, and whoever is
 * outside closes it. */
OCTAVO_API octavo_status octavo_close(octavo_handle handle);

/* ---- Models ---- */

typedef struct octavo_load_options {
  size_t size;
  const char* model;          /* a file, a folder, or a hub's name; NULL: the default model */
  const char* const* options; /* those of `octavo serve` that are about a model and its requests, each a word, such as
                                 "--kv-memory", "2GiB" */
  size_t num_options;
  int32_t shows_progress; /* 1: bars of fetching and loading on standard error, where that is a terminal */
  int32_t is_driven;      /* 1: the caller drives the model by octavo_step(); 0: a thread of the library does */
  octavo_handle shares;   /* a model whose threads this one shares; 0: it has its own */
  octavo_handle stop;     /* of octavo_stop_open(): closing it ends the call; 0: none */
} octavo_load_options;

/* A stop, for loads that another thread may end: once it is closed, the calls that have it give OCTAVO_STOPPED soon,
 * and take back all that they took. It does nothing to a model that is loaded. */
OCTAVO_API octavo_status octavo_stop_open(octavo_handle* stop);

/* Gives a stop to the calls that this thread makes from now on; 0 takes it away. Once the stop is closed, those that
 * read texts and compile constraints (octavo_tokenize(), octavo_answer(), octavo_submit(), octavo_constraint_open())
 * give OCTAVO_STOPPED soon, however long these are. It does nothing to a request that was taken. */
OCTAVO_API octavo_status octavo_stop_calls(octavo_handle stop);

/* Takes as long as fetching and loading do. Errors: OCTAVO_INVALID with the file and its fault, or the option;
 * OCTAVO_STOPPED. */
OCTAVO_API octavo_status octavo_load(const octavo_load_options* options, octavo_handle* model);

/* What the model is, as JSON: name, file, architecture, fingerprint, vocab_size, num_tokens, num_layers, max_context,
 * weight_bytes, kv_memory_bytes, kv_bytes_per_token, num_threads, isa, bits, end_tokens ({id, text, source} each),
 * chat_template, generates, vector_width, scores (the names of a ranking head's). */
OCTAVO_API octavo_status octavo_info(octavo_handle model, octavo_text* json);

typedef struct octavo_counts {
  size_t size;
  uint64_t steps, prompt_tokens, cached_tokens, generated_tokens, finished, preemptions;
  uint64_t drafted_tokens, accepted_draft_tokens;
  uint64_t kv_bytes; /* KV memory that blocks with contents take now */
  uint64_t kv_budget_bytes;
  int32_t running, waiting; /* sequences */
  uint64_t pinned_bytes;    /* KV memory that pinned prompts hold */
} octavo_counts;

/* Counts since the model was loaded, and its present state. */
OCTAVO_API octavo_status octavo_stats(octavo_handle model, octavo_counts* counts);

/* One step of a model with is_driven. `has_more`: 0: there is nothing to do. */
OCTAVO_API octavo_status octavo_step(octavo_handle model, int32_t* has_more);

/* Gives KV memory that no request holds back to the system; with `cached` also that of prompts that were kept. */
OCTAVO_API octavo_status octavo_release_memory(octavo_handle model, int32_t cached);

/* ---- Words ---- */

#define OCTAVO_ADD_SPECIAL 1u   /* the tokens that the model's texts begin and end with */
#define OCTAVO_PARSE_SPECIAL 2u /* control tokens that are written in the text become those tokens */

/* The tokens of a text: *count is their number, and the first `room` of them are written to `tokens`. */
OCTAVO_API octavo_status octavo_tokenize(octavo_handle model, const char* text, size_t size, uint32_t flags,
                                         int32_t* tokens, size_t room, size_t* count);
/* The bytes of tokens, which may be no whole characters. Control tokens give their text, unknown ids nothing. */
OCTAVO_API octavo_status octavo_detokenize(octavo_handle model, const int32_t* tokens, size_t count, octavo_text* text);
/* The answer of /tokenize, /detokenize or /apply-template to a JSON body: a conversation's prompt, for one. */
OCTAVO_API octavo_status octavo_answer(octavo_handle model, const char* path, const char* body, size_t size,
                                       octavo_text* json);

/* ---- Requests ---- */

typedef enum octavo_form {
  OCTAVO_JSON = 0,  /* OCTAVO_TEXT events: the answer as the API has it, whole, or in pieces where it is streamed */
  OCTAVO_TOKENS = 1 /* OCTAVO_TOKEN events */
} octavo_form;

typedef struct octavo_request {
  size_t size;
  const char* api;  /* the path of one of the server's APIs, such as "/v1/chat/completions"; NULL: "/v1/completions" */
  const char* body; /* its JSON; NULL: "{}" */
  size_t body_size;
  const int32_t* tokens; /* the prompt of /v1/completions, in place of the body's */
  size_t num_tokens;
  uint32_t form;        /* octavo_form */
  int32_t wants_logits; /* 1: OCTAVO_LOGITS events give the logits of the prompt's tokens, in order, and no
                               token is drawn; the form is OCTAVO_TOKENS */
  uint64_t tag;         /* the caller's, for its events */
  int32_t pins; /* 1: the prompt is computed and stays in the KV memory, until octavo_cancel() with the request's
                       number gives it back or the model is closed; no token is drawn; the form is
                       OCTAVO_TOKENS. Prompts that begin with it find its whole blocks (16 tokens, unless
                       --block-size says another number) computed.
                       Pins share what begins alike, and leave room for a prompt and its answer as long as the
                       context: beyond that the end is OCTAVO_NO_MEMORY */
} octavo_request;

/* Takes a request, whose events go to the queue. Tokenizing and compiling of a constraint are done in this call. *id is
 * written before the first event can come, so that other threads and callbacks may cancel it while this call is under
 * way. `request` may be NULL. Errors: those of the server, with field and code. */
OCTAVO_API octavo_status octavo_submit(octavo_handle model, octavo_handle queue, const octavo_request* request,
                                       uint64_t* id);
/* Ends a request of the model, whose last event says OCTAVO_STOPPED, or gives back what it has pinned; unknown ids are
 * ignored. */
OCTAVO_API octavo_status octavo_cancel(octavo_handle model, uint64_t id);

/* ---- Events ---- */

typedef enum octavo_event_kind {
  OCTAVO_TEXT = 1,   /* bytes of an answer in its API's form */
  OCTAVO_TOKEN = 2,  /* a token of a choice; `text` is what it shows */
  OCTAVO_LOGITS = 3, /* float32 [num_rows, width]: rows of the prompt from first_row on */
  OCTAVO_END = 4     /* the last event of a request: status, and `text` says why where it is not OCTAVO_OK */
} octavo_event_kind;

typedef struct octavo_event {
  uint64_t request;
  uint64_t tag;
  uint32_t kind;
  int32_t status;     /* how the request has ended, in OCTAVO_END */
  uint32_t prompt;    /* the number of the prompt in its request */
  uint32_t choice;    /* the number of the choice of its prompt */
  int32_t token;      /* -1: none */
  float logprob;      /* NaN: nobody asked */
  const char* finish; /* "stop", "length", ... where the choice ends; else "" */
  const char* text;   /* not ended by a zero byte that counts; may have zero bytes */
  size_t text_size;
  const float* rows;
  size_t num_rows, width, first_row;
  const char* error; /* the error as the API answers it, in JSON, where the request has ended with one; else "" */
} octavo_event;

/* A batch of events, which owns all that it points to until octavo_events_free(). Events are event_size bytes apart. */
typedef struct octavo_events {
  size_t size, event_size, count;
  const octavo_event* events;
} octavo_events;

typedef void (*octavo_callback)(void* user, octavo_events* events);

typedef struct octavo_queue_options {
  size_t size;
  /* If set, it gets each batch when it is made, on the thread that drives the model, and owns it; nothing is polled.
   * Where another thread ends a request, the last batch may come on that one. Batches of a request come one after
   * another, none beside or after the last event; what a callback itself ends is told once it has returned.
   * What it may call is said above. Where the system has no memory for the last event of a request it is not called,
   * where a poll would say OCTAVO_NO_MEMORY. */
  octavo_callback on_events;
  void* user;
  size_t max_waiting_bytes; /* memory of events that wait to be polled, such as rows of logits; 0:
                               OCTAVO_MAX_WAITING_BYTES. A request with more ends with OCTAVO_NO_MEMORY; what waits is
                               told before */
} octavo_queue_options;

/* `options` may be NULL. */
OCTAVO_API octavo_status octavo_queue_open(const octavo_queue_options* options, octavo_handle* queue);
/* A descriptor that is readable as long as events wait, for poll() and event loops; it is closed with the queue. */
OCTAVO_API octavo_status octavo_queue_descriptor(octavo_handle queue, int32_t* descriptor);
/* All events that wait, at most some thousand; with none it waits so many milliseconds, or any time where that is
 * below 0, and then gives NULL. Any number of threads may poll a queue; each event is given to one of them. None waits
 * longer than it says, whatever the others do. */
OCTAVO_API octavo_status octavo_poll(octavo_handle queue, int32_t timeout_ms, octavo_events** events);
OCTAVO_API void octavo_events_free(octavo_events* events);

/* ---- Constraints, for those who draw tokens themselves ---- */

/* Compiles what an answer must look like. `kind`: "regex", "grammar" (GBNF), "json_schema", "json_object" or "choice"
 * (a JSON array of texts). */
OCTAVO_API octavo_status octavo_constraint_open(octavo_handle model, const char* kind, const char* text, size_t size,
                                                octavo_handle* constraint);
/* The tokens that may follow `tokens`: bit i % 32 of words[i / 32] for token i, end tokens included. `num_words`: at
 * least (vocab_size + 31) / 32. It is quick where the tokens go on from those of the last call. Errors: OCTAVO_INVALID,
 * the constraint does not allow one of the tokens. */
OCTAVO_API octavo_status octavo_mask(octavo_handle constraint, const int32_t* tokens, size_t count, uint32_t* words,
                                     size_t num_words);

/* ---- A server, and the program ---- */

/* Serves the model over HTTP, as `octavo serve` does with the same options, until the handle is closed, which lets what
 * runs end. The model goes on answering octavo_submit(). `url`: where it listens. */
OCTAVO_API octavo_status octavo_serve(octavo_handle model, const char* const* options, size_t num_options,
                                      octavo_handle* server, octavo_text* url);

/* The program `octavo`: its arguments, with its name first, and its exit code. */
OCTAVO_API int octavo_main(int argc, char** argv);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
