// SPDX-License-Identifier: Apache-2.0
// The smallest program: loads the library, a model and runs it. Arguments: the library, models/embedded/digits.onnx.
// Prints the largest of the probabilities and its place.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "frontends/onnxruntime/interface.h"

static const OrtApi* api;

static void check(OrtStatus* status) {
  if (status == NULL) return;
  fprintf(stderr, "%d: %s\n", (int)api->GetErrorCode(status), api->GetErrorMessage(status));
  exit(1);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  void* library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const OrtApiBase* (*get_base)(void) = NULL;
  *(void**)&get_base = dlsym(library, "OrtGetApiBase");
  api = get_base()->GetApi(14);
  OrtEnv* env = NULL;
  OrtSessionOptions* options = NULL;
  OrtSession* session = NULL;
  check(api->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "first", &env));
  check(api->CreateSessionOptions(&options));
  check(api->CreateSession(env, arguments[2], options, &session));

  float picture[28 * 28] = {0};
  for (int row = 4; row < 24; ++row) picture[28 * row + 13] = picture[28 * row + 14] = 1;
  const int64_t shape[] = {1, 1, 28, 28};
  OrtMemoryInfo* memory = NULL;
  OrtValue* input = NULL;
  check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
  check(api->CreateTensorWithDataAsOrtValue(memory, picture, sizeof picture, shape, 4,
                                            ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &input));
  const char* input_names[] = {"image"};
  const char* output_names[] = {"probabilities"};
  const OrtValue* inputs[] = {input};
  OrtValue* output = NULL;
  check(api->Run(session, NULL, input_names, inputs, 1, output_names, 1, &output));

  float* scores = NULL;
  check(api->GetTensorMutableData(output, (void**)&scores));
  int best = 0;
  for (int i = 1; i < 10; ++i)
    if (scores[i] > scores[best]) best = i;
  printf("digit %d %.4f\n", best, (double)scores[best]);

  api->ReleaseValue(output);
  api->ReleaseValue(input);
  api->ReleaseMemoryInfo(memory);
  api->ReleaseSession(session);
  api->ReleaseSessionOptions(options);
  api->ReleaseEnv(env);
  return 0;
}
