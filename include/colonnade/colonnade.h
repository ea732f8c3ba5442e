// SPDX-License-Identifier: Apache-2.0
// The C interface of Colonnade (C99): run ONNX models on CPUs by tensor columns.
//
//   colonnade_model* model = NULL;
//   colonnade_status* status = colonnade_model_load("net.onnx", NULL, &model);
//   if (status != NULL) { puts(colonnade_status_message(status)); colonnade_status_free(status); }
//
// Errors. Functions that can fail return a status: NULL when all went well, else an object of the caller's, who frees
// it. Nothing is thrown and no argument, null included, makes the library abort. What a failed call would have made is
// set to NULL.
//
// Handles. `..._free` takes NULL. A session keeps what it needs of its model, a model of its bytes: free in any order.
// Text and arrays that a handle returns belong to it and live as long as it does.
//
// Threads. Models may be shared between threads. A session and the tensors of a run belong to one call at a time: a
// call beside another thread's is COLONNADE_INVALID_ARGUMENT. Stops may be requested by any thread. The hooks are for
// the whole process. A child of fork may use everything; runs that were under way in other threads are lost to it.
//
// Versions. Structs start with `struct_size`, which the caller sets to sizeof the struct it was compiled with; fields
// are only ever appended, and zero is the default of each. So a program runs with any later library, and with an
// earlier one unless it asks for what that does not know, which is COLONNADE_INVALID_ARGUMENT. No function changes or
// goes within a major version. The initialiser `{.struct_size = sizeof(colonnade_options)}` leaves the rest at zero.
#ifndef COLONNADE_COLONNADE_H
#define COLONNADE_COLONNADE_H

#include <stddef.h>
#include <stdint.h>

#include "colonnade/version.h"

#ifndef COLONNADE_API
#if defined(_WIN32)
#define COLONNADE_API
#else
#define COLONNADE_API __attribute__((visibility("default")))
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/// The library's version, "0.1.0"; the header's is COLONNADE_VERSION.
COLONNADE_API const char* colonnade_version(void);

// --- Errors ---------------------------------------------------------------------------------------------------------

/// What went wrong, coarsely; the message says exactly what.
enum {
  COLONNADE_OK = 0,
  COLONNADE_INVALID_ARGUMENT = 1,  ///< the caller's mistake: null, wrong option, shape, name or type
  COLONNADE_INVALID_MODEL = 2,     ///< the model file is malformed or contradicts itself
  COLONNADE_INVALID_INPUT = 3,     ///< an input tensor cannot be used
  COLONNADE_UNSUPPORTED = 4,       ///< valid, but this build has no implementation
  COLONNADE_RESOURCE_LIMIT = 5,    ///< no memory, or a limit cannot be honoured
  COLONNADE_IO = 6,                ///< a file cannot be read or written
  COLONNADE_INTERNAL = 7,          ///< a bug in Colonnade
  COLONNADE_CANCELLED = 8,         ///< a stop was requested
  COLONNADE_DEADLINE = 9           ///< a run did not end in time
};

typedef struct colonnade_status colonnade_status;
/// COLONNADE_OK for NULL.
COLONNADE_API int32_t colonnade_status_code(const colonnade_status* status);
/// One line that names node, operator, tensor, expected and found as far as they apply; "" for NULL.
COLONNADE_API const char* colonnade_status_message(const colonnade_status* status);
COLONNADE_API void colonnade_status_free(colonnade_status* status);

/// Frees text that a function below hands to the caller as `char**`.
COLONNADE_API void colonnade_text_free(char* text);

// --- Tensors --------------------------------------------------------------------------------------------------------

/// Element types.
enum {
  COLONNADE_UNDEFINED = 0,
  COLONNADE_FLOAT32 = 1,
  COLONNADE_FLOAT64 = 2,
  COLONNADE_FLOAT16 = 3,
  COLONNADE_BFLOAT16 = 4,
  COLONNADE_INT8 = 5,
  COLONNADE_INT16 = 6,
  COLONNADE_INT32 = 7,
  COLONNADE_INT64 = 8,
  COLONNADE_UINT8 = 9,
  COLONNADE_UINT16 = 10,
  COLONNADE_UINT32 = 11,
  COLONNADE_UINT64 = 12,
  COLONNADE_BOOL = 13,
  COLONNADE_STRING = 14,
  COLONNADE_FLOAT8E4M3FN = 15,
  COLONNADE_FLOAT8E4M3FNUZ = 16,
  COLONNADE_FLOAT8E5M2 = 17,
  COLONNADE_FLOAT8E5M2FNUZ = 18,
  COLONNADE_FLOAT8E8M0 = 19,
  COLONNADE_FLOAT4E2M1 = 20,
  COLONNADE_INT4 = 21,
  COLONNADE_UINT4 = 22,
  COLONNADE_INT2 = 23,
  COLONNADE_UINT2 = 24,
  COLONNADE_COMPLEX64 = 25,
  COLONNADE_COMPLEX128 = 26,
  COLONNADE_FLOAT6E2M3 = 27,
  COLONNADE_FLOAT6E3M2 = 28
};

/// Bytes of one element in memory: 1 for types narrower than a byte; 0 for strings and unknown types.
COLONNADE_API size_t colonnade_dtype_size(int32_t dtype);
/// As ONNX names it, "float32"; "undefined" for unknown types.
COLONNADE_API const char* colonnade_dtype_name(int32_t dtype);

/// Elements of one type, outermost dimension first, and a shape that never changes.
typedef struct colonnade_tensor colonnade_tensor;

/// A dense row-major tensor of zeros (or empty strings) that owns its memory, aligned to 64 bytes.
COLONNADE_API colonnade_status* colonnade_tensor_create(int32_t dtype, const int64_t* shape, size_t rank,
                                                        colonnade_tensor** tensor);
/// A tensor over `bytes` bytes of the caller's memory, which must outlive it; written to only as the output of a run.
/// `strides` says how many elements (not bytes) lie between neighbours along each axis, NULL means dense and row-major.
/// They may be zero (inputs only) or negative; `memory` is the element of index 0, and with negative strides what lies
/// before it is read on the caller's word. A permutation of a dense array, such as an image whose channels are
/// innermost, is read and written where it is, anything else is copied once a run. Not for strings.
COLONNADE_API colonnade_status* colonnade_tensor_borrow(int32_t dtype, const int64_t* shape, size_t rank,
                                                        const int64_t* strides, const void* memory, size_t bytes,
                                                        colonnade_tensor** tensor);
COLONNADE_API void colonnade_tensor_free(colonnade_tensor* tensor);

COLONNADE_API int32_t colonnade_tensor_dtype(const colonnade_tensor* tensor);
COLONNADE_API size_t colonnade_tensor_rank(const colonnade_tensor* tensor);
/// `rank` sizes.
COLONNADE_API const int64_t* colonnade_tensor_shape(const colonnade_tensor* tensor);
/// Number of elements.
COLONNADE_API int64_t colonnade_tensor_size(const colonnade_tensor* tensor);
/// The elements; NULL for strings and where there are none.
COLONNADE_API void* colonnade_tensor_data(colonnade_tensor* tensor);
/// Element `index` of a string tensor. The text may hold zeros; it lives until it is set again.
COLONNADE_API colonnade_status* colonnade_tensor_get_string(const colonnade_tensor* tensor, int64_t index,
                                                            const char** text, size_t* length);
COLONNADE_API colonnade_status* colonnade_tensor_set_string(colonnade_tensor* tensor, int64_t index, const char* text,
                                                            size_t length);

// --- Models ---------------------------------------------------------------------------------------------------------

enum { COLONNADE_SCHEDULE_AUTOMATIC = 0, COLONNADE_SCHEDULE_COLUMNS = 1, COLONNADE_SCHEDULE_LAYERS = 2 };
enum { COLONNADE_DYNAMIC_SCALE_TENSOR = 0, COLONNADE_DYNAMIC_SCALE_SEQUENCE = 1, COLONNADE_DYNAMIC_SCALE_ROW = 2 };
enum { COLONNADE_MATH_FAST = 0, COLONNADE_MATH_EXACT = 1, COLONNADE_MATH_BF16 = 2 };

/// The size of an open dimension by its symbol.
typedef struct colonnade_dimension {
  const char* symbol;
  int64_t size;
} colonnade_dimension;

/// How a model is run; NULL instead of a pointer to it means the defaults.
typedef struct colonnade_options {
  size_t struct_size;
  int32_t threads;              ///< at most 4096; 0: what affinity, cgroup quota and physical cores allow
  int32_t schedule;             ///< COLONNADE_SCHEDULE_...
  int32_t math;                 ///< COLONNADE_MATH_...; FAST, BF16: infinities may become NaN, subnormals zero
  int32_t strict;               ///< not 0: refuse models with islands (COLONNADE_UNSUPPORTED)
  uint64_t memory_limit_bytes;  ///< of a plan's arena, of a tensor made apart from plans; 0: none
  uint64_t plan_cache_bytes;    ///< of all plans that a session keeps; 0: 256 MiB
  /// "baseline", "avx2", "avxvnni", "avx512", "vnni", "bf16", "amx"; NULL: COLONNADE_ISA or the best
  const char* isa;
  const colonnade_dimension* dimensions;  ///< unknown symbols are refused
  size_t dimension_count;
  const char* compiled;      ///< a file for packed weights and plans, used when it fits, else written; NULL: none
  int64_t weights_per_node;  ///< not 0, and `numa` NULL: as "replicate"
  const char* blocking;      ///< class of machine whose kernels are chosen; NULL: this machine's
  int64_t no_duel;           ///< not 0: keep the plan that was predicted, time no other in the first runs
  /// Not 0: outputs of tokens hold at padded positions what the network makes of them, else zeros where padding is
  /// left out (networks of texts whose mask bars it from attention).
  int64_t compute_padding;
  const char* numa;       ///< "replicate", "interleave", "node=N", "off", as Options::numa; NULL: by memory
  int64_t dynamic_scale;  ///< COLONNADE_DYNAMIC_SCALE_...: over what DynamicQuantizeLinear takes a scale
} colonnade_options;

/// Immutable; may be shared between threads.
typedef struct colonnade_model colonnade_model;

/// Reads an ONNX file, its external data from its folder only. The files stay open and are read when plans are made.
COLONNADE_API colonnade_status* colonnade_model_load(const char* path, const colonnade_options* options,
                                                     colonnade_model** model);
/// Parses ONNX bytes, which are not kept. External data is refused.
COLONNADE_API colonnade_status* colonnade_model_from_bytes(const void* bytes, size_t size,
                                                           const colonnade_options* options, colonnade_model** model);

/// A model of `size` bytes that the caller reads when they are needed: encrypted or packed files.
typedef struct colonnade_reader {
  size_t struct_size;
  uint64_t size;
  /// Fills `into` with `bytes` bytes from `offset` on; not 0 when it cannot, which is COLONNADE_IO. Called from any
  /// thread, by one at a time.
  int32_t (*read)(uint64_t offset, void* into, size_t bytes, void* user);
  /// Called once, when nothing reads any more: the model and its sessions are gone or could not be made. May be NULL.
  void (*release)(void* user);
  void* user;
} colonnade_reader;
COLONNADE_API colonnade_status* colonnade_model_from_reader(const colonnade_reader* reader,
                                                            const colonnade_options* options, colonnade_model** model);
/// A model within the library, by its name.
COLONNADE_API colonnade_status* colonnade_model_embedded(const char* name, const colonnade_options* options,
                                                         colonnade_model** model);
/// The name of embedded model `index`; NULL from the last one on.
COLONNADE_API const char* colonnade_embedded_name(size_t index);
COLONNADE_API void colonnade_model_free(colonnade_model* model);

/// What a value is. Sequences, optionals and maps can be run from C++ only (Session::run_data).
enum { COLONNADE_KIND_TENSOR = 0, COLONNADE_KIND_SEQUENCE = 1, COLONNADE_KIND_OPTIONAL = 2, COLONNADE_KIND_MAP = 3 };

/// An input or output of a model.
typedef struct colonnade_value_info {
  size_t struct_size;
  const char* name;
  int32_t dtype;
  int32_t kind;                  ///< COLONNADE_KIND_...
  int64_t rank;                  ///< -1: the model says nothing about the shape
  const int64_t* shape;          ///< -1 where a dimension is open
  const char* const* dim_names;  ///< symbols of open dimensions, "" where there is none
} colonnade_value_info;
COLONNADE_API size_t colonnade_model_input_count(const colonnade_model* model);
COLONNADE_API size_t colonnade_model_output_count(const colonnade_model* model);
/// Fills `info`, whose struct_size is set.
COLONNADE_API colonnade_status* colonnade_model_input(const colonnade_model* model, size_t index,
                                                      colonnade_value_info* info);
COLONNADE_API colonnade_status* colonnade_model_output(const colonnade_model* model, size_t index,
                                                       colonnade_value_info* info);

/// A name and what stands by it.
typedef struct colonnade_opset {
  const char* domain;  ///< "ai.onnx" is the default one
  int64_t version;
} colonnade_opset;
typedef struct colonnade_property {
  const char* key;
  const char* value;
} colonnade_property;

/// What the author's tools wrote into the model's file; "" and 0 where they wrote nothing.
typedef struct colonnade_metadata {
  size_t struct_size;
  const char* name;  ///< the file's without its folder, that of an embedded model, else "model"
  const char* producer_name;
  const char* producer_version;
  const char* domain;
  const char* description;
  int64_t model_version;
  int64_t ir_version;  ///< of the ONNX format
  const char* graph_name;
  const char* graph_description;
  const colonnade_opset* opsets;
  size_t opset_count;
  const colonnade_property* custom;  ///< the author's own, ordered by key
  size_t custom_count;
} colonnade_metadata;
/// Fills `metadata`, whose struct_size is set.
COLONNADE_API colonnade_status* colonnade_model_metadata(const colonnade_model* model, colonnade_metadata* metadata);

/// The shape of an input by its name.
typedef struct colonnade_shape {
  const char* input;
  const int64_t* sizes;
  size_t rank;
} colonnade_shape;
/// The plan for these shapes as a JSON object: inputs, outputs, segments, islands, flop, arena and weight bytes.
/// Dimensions that are open and not given: 224 for height and width of images, else 1.
COLONNADE_API colonnade_status* colonnade_model_describe(const colonnade_model* model, const colonnade_shape* shapes,
                                                         size_t shape_count, char** json);
/// Where the weights of a written model lie; NULL instead of a pointer to it means the defaults.
typedef struct colonnade_optimized_file {
  size_t struct_size;
  const char* weights;   ///< a file in the same folder for large constants; NULL: within the model where that can be
  uint64_t least_bytes;  ///< of a constant in that file; 0: 1024
} colonnade_optimized_file;
/// Writes the model as ONNX, simplified: constants and known shapes folded, nodes without effect left out, equal ones
/// made one, scales and shifts folded into convolutions and products. Models of colonnade_model_from_bytes without
/// operators of the program cannot be written, since their bytes are not kept: COLONNADE_INVALID_ARGUMENT.
COLONNADE_API colonnade_status* colonnade_model_write_optimized(const colonnade_model* model, const char* path,
                                                                const colonnade_optimized_file* file);

/// The machine, as the planner sees it, as a JSON object.
COLONNADE_API colonnade_status* colonnade_describe_machine(char** json);

// --- Runs -----------------------------------------------------------------------------------------------------------

/// Ends runs that were given it, from any thread.
typedef struct colonnade_stop colonnade_stop;
COLONNADE_API colonnade_status* colonnade_stop_create(colonnade_stop** stop);
/// Runs under way, plans that they make included, end with COLONNADE_CANCELLED within one step of a column or one
/// operator that runs as an island, later ones at once.
COLONNADE_API void colonnade_stop_request(colonnade_stop* stop);
COLONNADE_API void colonnade_stop_free(colonnade_stop* stop);

/// How a run may end before it is done; NULL instead of a pointer to it means that it may not.
typedef struct colonnade_run_options {
  size_t struct_size;
  const colonnade_stop* stop;  ///< may be NULL; need not outlive the call that starts the run
  int64_t timeout_ns;          ///< from the call on; 0: none
  int64_t loop_limit;          ///< iterations of all loops of the model together; 0: none
  int32_t threads;             ///< at most; 0 and more than the model's: the model's. Each number has plans of its own
} colonnade_run_options;

/// Plans, arenas and scratch of a model. Cheap: use one per thread.
typedef struct colonnade_session colonnade_session;
COLONNADE_API colonnade_status* colonnade_session_create(const colonnade_model* model, colonnade_session** session);
/// Waits for runs that were started.
COLONNADE_API void colonnade_session_free(colonnade_session* session);

/// Plans for these shapes now, so that the next run does not.
COLONNADE_API colonnade_status* colonnade_session_prepare(colonnade_session* session, const colonnade_shape* shapes,
                                                          size_t shape_count);
/// The shape of output `index` for these shapes: at most `capacity` sizes, -1 where it depends on data. `rank` is set
/// whenever it is known, also when `capacity` is too small, which is COLONNADE_INVALID_ARGUMENT.
COLONNADE_API colonnade_status* colonnade_session_output_shape(colonnade_session* session,
                                                               const colonnade_shape* shapes, size_t shape_count,
                                                               size_t index, int64_t* sizes, size_t capacity,
                                                               size_t* rank);
/// Runs with all inputs in the model's order. `outputs` holds one tensor an output of the model, whose shape must be
/// the output's, or NULL for every one: then they are set to new tensors of the caller's. Outputs may lie where inputs
/// do: results are as if they lay apart, and caches with rows appended or scattered into them are changed in place.
COLONNADE_API colonnade_status* colonnade_session_run(colonnade_session* session, colonnade_tensor* const* inputs,
                                                      size_t input_count, colonnade_tensor** outputs,
                                                      size_t output_count, const colonnade_run_options* options);
/// Called once by a thread of the library. `status` is NULL or lives until it returns. It may start other runs, but not
/// free the session.
typedef void (*colonnade_done)(const colonnade_status* status, void* user);
/// Starts a run into the caller's tensors and returns; the runs of a session follow each other in the order of their
/// calls. The memory of all tensors must live until `done` is called, the handles need not. When this fails, `done` is
/// not called.
COLONNADE_API colonnade_status* colonnade_session_run_async(colonnade_session* session, colonnade_tensor* const* inputs,
                                                            size_t input_count, colonnade_tensor* const* outputs,
                                                            size_t output_count, const colonnade_run_options* options,
                                                            colonnade_done done, void* user);

/// Bytes that a session and its model hold.
typedef struct colonnade_memory_stats {
  size_t struct_size;
  uint64_t weights_bytes;  ///< packed weights, shared by all sessions of the model
  uint64_t arena_bytes;    ///< of all plans that the session keeps
  uint64_t plan_bytes;     ///< what else these plans take
  uint64_t plans;
} colonnade_memory_stats;
COLONNADE_API colonnade_status* colonnade_session_memory_stats(const colonnade_session* session,
                                                               colonnade_memory_stats* stats);
/// Gives back all memory that the next run can make anew.
COLONNADE_API colonnade_status* colonnade_session_shrink(colonnade_session* session);

/// Collects the time of every step from the next run on, or no longer.
COLONNADE_API colonnade_status* colonnade_session_set_profiling(colonnade_session* session, int32_t on);
/// Milliseconds by segment and operator of the runs since then, as a JSON object.
COLONNADE_API colonnade_status* colonnade_session_profile(const colonnade_session* session, char** json);
/// The last profiled run in Chrome's and Perfetto's trace-event format.
COLONNADE_API colonnade_status* colonnade_session_trace(const colonnade_session* session, char** json);

// --- Hooks of the process -------------------------------------------------------------------------------------------

enum { COLONNADE_LOG_DEBUG = 0, COLONNADE_LOG_INFO = 1, COLONNADE_LOG_WARNING = 2, COLONNADE_LOG_ERROR = 3 };
/// One line without its end, by any thread, one at a time; `line` ends with a zero.
typedef void (*colonnade_log_handler)(int32_t level, const char* line, void* user);
/// NULL restores the default: warnings and errors go to stderr.
COLONNADE_API void colonnade_set_log_handler(colonnade_log_handler handler, void* user);

/// Where arenas, tensors and packed weights come from.
typedef struct colonnade_allocation_hooks {
  size_t struct_size;
  void* (*allocate)(size_t bytes, size_t alignment, void* user);  ///< NULL when there is no memory
  void (*release)(void* memory, size_t bytes, void* user);
  void* user;
} colonnade_allocation_hooks;
/// NULL restores the default. Memory is released by the hooks that allocated it, so they must stay valid.
COLONNADE_API colonnade_status* colonnade_set_allocation_hooks(const colonnade_allocation_hooks* hooks);

#ifdef __cplusplus
}
#endif
#endif
