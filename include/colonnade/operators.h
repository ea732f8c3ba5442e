// SPDX-License-Identifier: Apache-2.0
// Operators of the program's own, which models name by domain and type, by the C interface. Structs may grow at their
// end, as those of colonnade.h.
#ifndef COLONNADE_OPERATORS_H
#define COLONNADE_OPERATORS_H

#include "colonnade/colonnade.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What is known of a tensor before it is there: COLONNADE_UNDEFINED for a type that is not, -1 for such a dimension.
typedef struct colonnade_custom_type {
  int32_t dtype;
  int64_t rank;          ///< -1: not known
  const int64_t* shape;  ///< an operator's own must live until its function is called again by the same thread
} colonnade_custom_type;

/// A node that runs an operator of the program; it lives while the model is being made, and its kernel's calls.
typedef struct colonnade_custom_node colonnade_custom_node;
COLONNADE_API const char* colonnade_custom_node_name(const colonnade_custom_node* node);
COLONNADE_API size_t colonnade_custom_node_input_count(const colonnade_custom_node* node);
COLONNADE_API size_t colonnade_custom_node_output_count(const colonnade_custom_node* node);
/// The elements of an input that is constant, to be read; NULL for others.
COLONNADE_API const colonnade_tensor* colonnade_custom_node_constant(const colonnade_custom_node* node, size_t input);
/// An attribute by its name, COLONNADE_INVALID_ARGUMENT where there is none of that type. Pointers live as the node.
COLONNADE_API colonnade_status* colonnade_custom_node_ints(const colonnade_custom_node* node, const char* name,
                                                           const int64_t** values, size_t* count);
COLONNADE_API colonnade_status* colonnade_custom_node_floats(const colonnade_custom_node* node, const char* name,
                                                             const float** values, size_t* count);
COLONNADE_API colonnade_status* colonnade_custom_node_text(const colonnade_custom_node* node, const char* name,
                                                           const char** text, size_t* length);

/// An operator of the program. Functions return 0, else a COLONNADE_... code, and may write a line that says why into
/// `message`, which has room for COLONNADE_MESSAGE_BYTES. Several threads may call them at the same time.
enum { COLONNADE_MESSAGE_BYTES = 512 };
typedef struct colonnade_custom_operator {
  size_t struct_size;
  const char* domain;
  const char* type;
  /// Called for every node as the model is made; `kernel` is given to the functions below. NULL: it is null.
  int32_t (*create)(const colonnade_custom_node* node, void** kernel, char* message, void* user);
  /// Called for each kernel that was created, when nothing uses it any more. May be NULL.
  void (*destroy)(void* kernel, void* user);
  /// Types of the outputs as far as they follow from the inputs'. NULL: the first input's element type.
  int32_t (*infer)(const colonnade_custom_node* node, void* kernel, const colonnade_custom_type* inputs,
                   colonnade_custom_type* outputs, char* message, void* user);
  /// Sets every output to a tensor of its own, which the library frees. An input that is left out is NULL; inputs are
  /// read only.
  int32_t (*run)(const colonnade_custom_node* node, void* kernel, const colonnade_tensor* const* inputs,
                 colonnade_tensor** outputs, char* message, void* user);
  void* user;
} colonnade_custom_operator;
/// As colonnade_model_load and colonnade_model_from_bytes, with operators that come before those of the library.
/// Bytes are copied. Compiled files cannot hold them: COLONNADE_INVALID_ARGUMENT.
COLONNADE_API colonnade_status* colonnade_model_load_with(const colonnade_custom_operator* const* operators,
                                                          size_t count, const char* path,
                                                          const colonnade_options* options, colonnade_model** model);
COLONNADE_API colonnade_status* colonnade_model_from_bytes_with(const colonnade_custom_operator* const* operators,
                                                                size_t count, const void* bytes, size_t size,
                                                                const colonnade_options* options,
                                                                colonnade_model** model);

#ifdef __cplusplus
}
#endif

#endif
