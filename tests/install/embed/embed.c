// SPDX-License-Identifier: Apache-2.0
// A plain C program that embeds the library: loads, asks, runs, fails, waits, stops.
#include <colonnade/colonnade.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE 28
#define DIGITS 10

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "does not hold: %s\n", what);
  ++failures;
}

/* Expects this code, and that the message holds this text. */
static void expect(colonnade_status* status, int32_t code, const char* text) {
  const char* const message = colonnade_status_message(status);
  if (colonnade_status_code(status) != code || strstr(message, text) == NULL) {
    fprintf(stderr, "expected %d '%s', found %d '%s'\n", (int)code, text, (int)colonnade_status_code(status), message);
    ++failures;
  }
  colonnade_status_free(status);
}

/* A vertical stroke: a one. */
static void draw(float* image) {
  int row;
  for (row = 4; row < 24; ++row) image[row * SIDE + 14] = image[row * SIDE + 13] = 1;
}

static int largest(const float* scores) {
  int best = 0, i;
  for (i = 1; i < DIGITS; ++i)
    if (scores[i] > scores[best]) best = i;
  return best;
}

static void try_infos(const colonnade_model* model) {
  colonnade_value_info info = {.struct_size = sizeof info};
  check(colonnade_model_input_count(model) == 1 && colonnade_model_output_count(model) == 1, "one input, one output");
  expect(colonnade_model_input(model, 0, &info), COLONNADE_OK, "");
  check(info.dtype == COLONNADE_FLOAT32 && info.kind == COLONNADE_KIND_TENSOR && info.rank == 4, "the input's type");
  check(info.shape[0] == -1 && strlen(info.dim_names[0]) > 0, "the batch is open and has a name");
  printf("input %s %s [", info.name, colonnade_dtype_name(info.dtype));
  for (int64_t i = 0; i < info.rank; ++i) printf(i > 0 ? ",%ld" : "%ld", (long)info.shape[i]);
  printf("]\n");
  expect(colonnade_model_input(model, 1, &info), COLONNADE_INVALID_ARGUMENT, "input 1 of 1");
}

static void try_run(const colonnade_model* model) {
  static float image[SIDE * SIDE], scores[DIGITS];
  const int64_t image_shape[] = {1, 1, SIDE, SIDE}, score_shape[] = {1, DIGITS}, flat[] = {SIDE, SIDE};
  colonnade_session* session = NULL;
  colonnade_tensor *input = NULL, *output = NULL, *made = NULL, *wrong = NULL;
  colonnade_memory_stats stats = {.struct_size = sizeof stats};
  char* json = NULL;
  draw(image);
  expect(colonnade_session_create(model, &session), COLONNADE_OK, "");
  expect(colonnade_tensor_borrow(COLONNADE_FLOAT32, image_shape, 4, NULL, image, sizeof image, &input), COLONNADE_OK,
         "");
  expect(colonnade_tensor_borrow(COLONNADE_FLOAT32, score_shape, 2, NULL, scores, sizeof scores, &output), COLONNADE_OK,
         "");
  expect(colonnade_session_run(session, &input, 1, &output, 1, NULL), COLONNADE_OK, "");
  check(largest(scores) == 1, "a stroke is a one");
  expect(colonnade_session_run(session, &input, 1, &made, 1, NULL), COLONNADE_OK, "");
  check(made != NULL && colonnade_tensor_rank(made) == 2 && colonnade_tensor_size(made) == DIGITS, "a new output");
  check(memcmp(colonnade_tensor_data(made), scores, sizeof scores) == 0, "the same bits");

  expect(colonnade_tensor_create(COLONNADE_FLOAT32, flat, 2, &wrong), COLONNADE_OK, "");
  expect(colonnade_session_run(session, &wrong, 1, &output, 1, NULL), COLONNADE_INVALID_INPUT, "[28,28]");
  expect(colonnade_session_run(session, NULL, 0, &output, 1, NULL), COLONNADE_INVALID_ARGUMENT, "expected 1 inputs");
  expect(colonnade_session_run(NULL, NULL, 0, NULL, 0, NULL), COLONNADE_INVALID_ARGUMENT, "session is null");

  expect(colonnade_session_memory_stats(session, &stats), COLONNADE_OK, "");
  check(stats.plans > 0 && stats.weights_bytes > 0, "memory is counted");
  expect(colonnade_session_shrink(session), COLONNADE_OK, "");
  expect(colonnade_session_memory_stats(session, &stats), COLONNADE_OK, "");
  check(stats.plans == 0 && stats.arena_bytes == 0, "memory is given back");
  expect(colonnade_model_describe(model, NULL, 0, &json), COLONNADE_OK, "");
  check(json != NULL && strstr(json, "\"segments\"") != NULL, "the plan as JSON");
  colonnade_text_free(json);
  colonnade_tensor_free(wrong);
  colonnade_tensor_free(made);
  colonnade_tensor_free(output);
  colonnade_tensor_free(input);
  colonnade_session_free(session);
}

struct outcome {
  int calls;
  int32_t code;
};

static void note(const colonnade_status* status, void* user) {
  struct outcome* const outcome = user;
  outcome->code = colonnade_status_code(status);
  ++outcome->calls;
}

static void try_async(const colonnade_model* model) {
  static float image[SIDE * SIDE], scores[DIGITS];
  const int64_t image_shape[] = {1, 1, SIDE, SIDE}, score_shape[] = {1, DIGITS};
  struct outcome done = {0, -1}, stopped = {0, -1};
  colonnade_session* session = NULL;
  colonnade_tensor *input = NULL, *output = NULL;
  colonnade_stop* stop = NULL;
  colonnade_run_options options = {.struct_size = sizeof options};
  draw(image);
  expect(colonnade_session_create(model, &session), COLONNADE_OK, "");
  expect(colonnade_tensor_borrow(COLONNADE_FLOAT32, image_shape, 4, NULL, image, sizeof image, &input), COLONNADE_OK,
         "");
  expect(colonnade_tensor_borrow(COLONNADE_FLOAT32, score_shape, 2, NULL, scores, sizeof scores, &output), COLONNADE_OK,
         "");
  expect(colonnade_stop_create(&stop), COLONNADE_OK, "");
  colonnade_stop_request(stop);
  options.stop = stop;
  expect(colonnade_session_run(session, &input, 1, &output, 1, &options), COLONNADE_CANCELLED, "");
  expect(colonnade_session_run_async(session, &input, 1, &output, 1, NULL, note, &done), COLONNADE_OK, "");
  expect(colonnade_session_run_async(session, &input, 1, &output, 1, &options, note, &stopped), COLONNADE_OK, "");
  colonnade_stop_free(stop);
  colonnade_tensor_free(output);
  colonnade_tensor_free(input);
  colonnade_session_free(session); /* waits */
  check(done.calls == 1 && done.code == COLONNADE_OK, "the run called back");
  check(stopped.calls == 1 && stopped.code == COLONNADE_CANCELLED, "the stopped run called back");
  check(largest(scores) == 1, "a stroke is a one, later too");
}

static void try_errors(void) {
  static const char text[] = "this is no ONNX model";
  colonnade_model* model = (colonnade_model*)text;
  colonnade_options options = {.struct_size = sizeof options};
  expect(colonnade_model_load("there/is/no/such.onnx", NULL, &model), COLONNADE_IO, "such.onnx");
  check(model == NULL, "no model where loading failed");
  expect(colonnade_model_from_bytes(text, sizeof text, NULL, &model), COLONNADE_INVALID_MODEL, "protobuf");
  expect(colonnade_model_load(NULL, NULL, &model), COLONNADE_INVALID_ARGUMENT, "path is null");
  expect(colonnade_model_embedded("digits", NULL, NULL), COLONNADE_INVALID_ARGUMENT, "model is null");
  options.threads = -3;
  expect(colonnade_model_embedded("digits", &options, &model), COLONNADE_INVALID_ARGUMENT, "-3");
  options.threads = 0;
  options.schedule = 77;
  expect(colonnade_model_embedded("digits", &options, &model), COLONNADE_INVALID_ARGUMENT, "77");
  options.struct_size = 1;
  expect(colonnade_model_embedded("digits", &options, &model), COLONNADE_INVALID_ARGUMENT, "struct_size");
  colonnade_model_free(NULL);
  colonnade_session_free(NULL);
  colonnade_tensor_free(NULL);
  colonnade_status_free(NULL);
}

int main(void) {
  colonnade_model* model = NULL;
  check(strcmp(colonnade_version(), COLONNADE_VERSION) == 0, "header and library are of one version");
  check(colonnade_embedded_name(0) != NULL && colonnade_embedded_name(1000) == NULL, "names of embedded models");
  expect(colonnade_model_embedded("digits", NULL, &model), COLONNADE_OK, "");
  if (model == NULL) return EXIT_FAILURE;
  try_infos(model);
  try_run(model);
  try_async(model);
  try_errors();
  colonnade_model_free(model);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
