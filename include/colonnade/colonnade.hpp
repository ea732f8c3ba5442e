// SPDX-License-Identifier: Apache-2.0
// The public C++ API of Colonnade: run ONNX models on CPUs by tensor columns.
//
//   colonnade::Model model = colonnade::Model::load("net.onnx");
//   colonnade::Session session(model);
//   std::vector<colonnade::Tensor> outputs = session.run(inputs);
#pragma once

#if __cplusplus < 201709L  // where C++20 is complete enough: GCC 10, clang 10
#error "colonnade/colonnade.hpp needs C++20: compile with -std=c++20, or use the C interface, colonnade/colonnade.h"
#else

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/version.h"

#if defined(_WIN32)
#define COLONNADE_API
#else
#define COLONNADE_API __attribute__((visibility("default")))
#endif

namespace colonnade {

/// What went wrong, coarsely; the message says exactly what.
enum class ErrorCode {
  invalid_argument,  ///< the caller's mistake: wrong option, shape, name or type
  invalid_model,     ///< the model file is malformed or contradicts itself
  invalid_input,     ///< an input tensor or input file cannot be used
  unsupported,       ///< valid, but this build has no implementation
  resource_limit,    ///< a memory limit cannot be honoured
  io,                ///< a file cannot be read or written
  internal,          ///< a bug in Colonnade
  cancelled,         ///< the caller's stop token asked for the end of a run
  deadline,          ///< a run did not end in time
};

/// Every failure of this library. `what()` is one line that names node, operator, tensor, expected and found
/// as far as they apply. Any function that allocates may throw Error{resource_limit}, and Error{internal} is a bug that
/// should be reported; the comments below name the other codes. What a call has failed at is as it was before: models
/// and sessions may be used further.
class COLONNADE_API Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

/// Element types of tensors.
enum class DType : std::uint8_t {
  undefined,
  f32,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean,
  string,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
  c64,
  c128,
  f6e2m3,
  f6e3m2,
};

/// Bytes of one element; 0 for `undefined` and `string`. Types narrower than a byte take one byte an element, integers
/// sign-extended, float4 and float6 in the low bits; files pack them. Complex numbers: real part, then imaginary part.
COLONNADE_API std::size_t size_of(DType dtype) noexcept;
/// ONNX-style name: "float32", "int64", ...
COLONNADE_API std::string_view name_of(DType dtype) noexcept;

/// Dimensions, outermost first; -1 marks a dimension that is unknown until run time.
using Shape = std::vector<std::int64_t>;

/// Number of elements; throws Error on overflow or an unknown dimension. 1 for a scalar (empty shape).
COLONNADE_API std::int64_t element_count(std::span<const std::int64_t> shape);

/// A dense row-major tensor that owns its memory (64-byte aligned). Copies are deep. Threads may read it at the same
/// time; who writes must be alone.
class COLONNADE_API Tensor {
 public:
  Tensor();
  /// Zero-initialised. Throws Error{resource_limit} when the size overflows or cannot be allocated.
  Tensor(DType dtype, Shape shape);
  Tensor(const Tensor&);
  Tensor(Tensor&&) noexcept;
  Tensor& operator=(const Tensor&);
  Tensor& operator=(Tensor&&) noexcept;
  ~Tensor();

  DType dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t size() const noexcept { return size_; }
  std::size_t byte_size() const noexcept { return static_cast<std::size_t>(size_) * size_of(dtype_); }

  void* data() noexcept { return data_; }
  const void* data() const noexcept { return data_; }
  /// Elements as T, unchecked: T must match dtype().
  template <class T>
  std::span<T> values() noexcept {
    return {static_cast<T*>(data_), static_cast<std::size_t>(size_)};
  }
  template <class T>
  std::span<const T> values() const noexcept {
    return {static_cast<const T*>(data_), static_cast<std::size_t>(size_)};
  }
  /// Elements of a string tensor (its data() is null).
  std::vector<std::string>& strings() noexcept { return strings_; }
  const std::vector<std::string>& strings() const noexcept { return strings_; }

  /// Same elements under another shape. Throws Error{invalid_argument} when the counts of elements differ.
  Tensor reshaped(Shape shape) &&;
  /// The elements as another type, as ONNX's Cast converts them. Throws Error{unsupported} for complex numbers and
  /// Error{invalid_input} for strings that are no numbers.
  Tensor converted(DType dtype) const;

  /// Parses an ONNX TensorProto (the `.pb` files of ONNX test data). Throws Error{invalid_input}.
  static Tensor from_onnx(std::span<const std::byte> bytes);
  /// Serialises to an ONNX TensorProto.
  std::string to_onnx(std::string_view name) const;

 private:
  DType dtype_ = DType::undefined;
  Shape shape_{0};
  std::int64_t size_ = 0;
  void* data_ = nullptr;
  std::vector<std::string> strings_;
};

/// Borrowed memory of the caller; must outlive the call it is passed to. Of a string tensor `data` points at
/// std::string objects. Dense and row-major unless `strides` says how many elements (not bytes) lie between neighbours
/// along each axis; they may be zero or negative, `data` then being the element of index 0. A permutation of a dense
/// array is read where it is, anything else is copied once. Runs of several threads may read the same memory.
struct TensorView {
  DType dtype = DType::undefined;
  Shape shape;
  const void* data = nullptr;
  std::vector<std::int64_t> strides = {};

  TensorView() = default;
  TensorView(DType type, Shape dims, const void* memory, std::vector<std::int64_t> steps = {})
      : dtype(type), shape(std::move(dims)), data(memory), strides(std::move(steps)) {}
  TensorView(const Tensor& tensor)  // NOLINT
      : dtype(tensor.dtype()),
        shape(tensor.shape()),
        data(dtype == DType::string ? static_cast<const void*>(tensor.strings().data()) : tensor.data()) {}
};

/// Borrowed writable memory of the caller, laid out as a TensorView's; no two elements may overlap, nor elements of two
/// views, nor those of outputs and inputs of one run. Until the run is over nobody else may touch it.
struct MutableTensorView {
  DType dtype = DType::undefined;
  Shape shape;
  void* data = nullptr;
  std::vector<std::int64_t> strides = {};

  MutableTensorView() = default;
  MutableTensorView(DType type, Shape dims, void* memory, std::vector<std::int64_t> steps = {})
      : dtype(type), shape(std::move(dims)), data(memory), strides(std::move(steps)) {}
  MutableTensorView(Tensor& tensor)  // NOLINT
      : dtype(tensor.dtype()),
        shape(tensor.shape()),
        data(dtype == DType::string ? static_cast<void*>(tensor.strings().data()) : tensor.data()) {}
};

/// What a value may be besides a tensor.
enum class Container : std::uint8_t { sequence, optional, map_of_int64, map_of_string };

/// Anything that models take and give: a tensor, a sequence of data, an optional datum or a map. Immutable and cheap to
/// copy: copies share their elements. Safe to share between threads.
class COLONNADE_API Datum {
 public:
  enum class Kind : std::uint8_t { tensor, sequence, optional, map };

  /// An optional datum that is absent.
  Datum() = default;
  Datum(Tensor tensor);                         // NOLINT
  Datum(std::shared_ptr<const Tensor> tensor);  // NOLINT
  /// `dtype` is the elements' type, which an empty sequence needs to know.
  static Datum sequence(std::vector<Datum> elements, DType dtype);
  /// An optional datum that is present.
  static Datum optional(Datum element);
  static Datum absent(DType dtype);
  /// Keys int64 or string [n], values [n, ...].
  static Datum map(Tensor keys, Tensor values);

  Kind kind() const noexcept { return kind_; }
  bool is_tensor() const noexcept { return kind_ == Kind::tensor; }
  /// Element type of the tensors within; undefined where none is known.
  DType dtype() const noexcept { return dtype_; }
  /// The tensor, or the values of a map. Throws Error{invalid_argument} for other kinds.
  const Tensor& tensor() const;
  /// The tensor itself, moved out where nobody else holds it, else copied.
  Tensor take_tensor() &&;
  /// Elements of a sequence; none or the one of an optional.
  const std::vector<Datum>& elements() const noexcept { return elements_; }
  /// The keys of a map. Throws Error{invalid_argument} for other kinds.
  const Tensor& keys() const;

  /// Parses an ONNX TensorProto, SequenceProto, OptionalProto or MapProto (the `.pb` files of ONNX test data), as the
  /// outermost container says, and the name of the value that it holds ("" when it does not say). Throws
  /// Error{invalid_input}.
  static Datum from_onnx(std::span<const std::byte> bytes, std::span<const Container> containers = {},
                         std::string* name = nullptr);
  /// Serialises to the same.
  std::string to_onnx(std::string_view name) const;

 private:
  Kind kind_ = Kind::optional;
  DType dtype_ = DType::undefined;
  bool owns_ = false;  ///< tensor_ was made here, of a Tensor that may be moved out again
  std::shared_ptr<const Tensor> tensor_, keys_;
  std::vector<Datum> elements_;
};

/// An input or output of a model. A dimension is -1 when the model leaves it open; `dim_names` then holds its
/// symbol ("" where it has none). Unless it is a tensor, `containers` says what the tensors are in, outermost first.
struct TensorInfo {
  std::string name;
  DType dtype = DType::undefined;
  Shape shape;
  std::vector<std::string> dim_names;
  std::vector<Container> containers = {};
  bool has_rank = true;  ///< false: the model says nothing about the shape, any will do
};

/// What the author's tools wrote into the model's file; "" and 0 where they wrote nothing.
struct ModelMetadata {
  std::string producer_name, producer_version;
  std::string domain, description;
  std::int64_t model_version = 0;
  std::int64_t ir_version = 0;  ///< of the ONNX format
  std::string graph_name, graph_description;
  std::map<std::string, std::int64_t> opsets = {};  ///< version by domain, "ai.onnx" the default one
  std::map<std::string, std::string> custom = {};   ///< the author's own
};

/// How segments are chosen: by the cost model, columns wherever possible, or one operator after another.
enum class Schedule { automatic, columns, layers };

/// Numeric policy. `fast` allows Winograd and matrix units (float32 as three bf16 pieces), through which an infinity
/// among the inputs becomes NaN, in Winograd's tiles in neighbouring elements too; and it counts subnormal numbers as
/// zero (FTZ and DAZ), the model's weights included. `exact` does none of this: infinities and gradual underflow are
/// IEEE's, as in the reference evaluation, except for functions (Exp, Tanh, ...) whose own results are subnormal.
enum class Math { fast, exact };

struct Options {
  int threads = 0;  ///< at most 4096; 0: min(affinity, cgroup quota, physical cores)
  Schedule schedule = Schedule::automatic;
  Math math = Math::fast;
  bool strict = false;  ///< refuse models with islands (Error{unsupported})
  /// Limit of a plan's arena, which is refused with the smallest limit that would do, and of each tensor that a node
  /// evaluated apart from plans makes (a shape or a count known only by data), at eight bytes an element. 0: none.
  std::size_t memory_limit_bytes = 0;
  std::size_t plan_cache_bytes = std::size_t{256}
                                 << 20;  ///< arenas of plans kept per session, least recently used go first
  std::string isa = {};  ///< "", "baseline", "avx2", "avx512" or "amx"; "" takes COLONNADE_ISA or the best
  /// Class of machine whose kernels are chosen, as `colonnade machine` names this one's: where the order of sums
  /// differs between classes, another machine's class gives its bits. "": this machine's.
  std::string blocking = {};
  /// Sizes of open dimensions by their symbol ("batch"); unknown symbols are refused.
  std::map<std::string, std::int64_t> dimensions = {};
  /// A file with packed weights and plans of the model: used when it fits model, machine and version, else written anew
  /// and said so in one line of the log. "": none.
  std::string compiled = {};
  /// Keep one copy of the packed weights on each NUMA node instead of one in all.
  bool weights_per_node = false;
};

/// How a run may end before it is done, by Error{cancelled}, Error{deadline} or Error{resource_limit}; the contents of
/// outputs are then unspecified and the session may be used again. Stop, deadline and poll are asked between the steps
/// of a column; between operators that run as islands; while a plan is made, between passes, segments and blocks of
/// weights that are packed (a plan that is broken off is forgotten); and while the run waits for others.
struct RunOptions {
  std::stop_token stop = {};
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::int64_t loop_limit = 0;  ///< iterations of all loops of the model together; 0: none
  /// Threads at most; 0 and more than the model's: the model's. Each number has plans of its own, so that a run beside
  /// others need not follow a plan for threads that are busy. Results are the same bits.
  int threads = 0;
  /// Called now and then, some milliseconds apart, by the thread that runs: what it throws ends the run, which throws
  /// it. So a program may look whether its user has lost patience. It must not use the session.
  std::function<void()> poll = {};
};

/// Inputs and outputs of a run by name.
using NamedInputs = std::map<std::string, TensorView>;
using NamedOutputs = std::map<std::string, Tensor>;

/// Shapes of inputs by name, for models whose dimensions are open.
using ShapeMap = std::map<std::string, Shape>;

/// The values of the pipeline that can be printed.
enum class Stage { graph, optimized_graph, plan, program };

/// A loaded model: immutable, cheap to copy, safe to share between threads. One that was made of nothing, or moved
/// from, throws Error{invalid_argument} when it is used.
///
/// Loading throws Error{io} for what cannot be read, Error{invalid_model} for a file that is malformed or contradicts
/// itself, Error{unsupported} for what this build cannot run (with Options::strict: has no kernel for),
/// Error{invalid_argument} for wrong options and Error{resource_limit} for a model beyond the memory limit.
class COLONNADE_API Model {
 public:
  Model() = default;
  /// Reads an ONNX file; external data is read from the file's folder only. The files stay open, and weights are read
  /// from them whenever a plan packs them: replacing or deleting the files is fine, changing them in place makes a
  /// later plan fail with Error{io}.
  static Model load(const std::string& path, const Options& options = {});
  /// Parses ONNX bytes; the bytes are not kept, so the weights are copied. External data is refused.
  static Model from_bytes(std::span<const std::byte> bytes, const Options& options = {});
  /// Fills `into` with the file's bytes from `offset` on; throws when it cannot. May be called from any thread, by one
  /// at a time, as long as the model or one of its sessions lives.
  using Reader = std::function<void(std::uint64_t offset, std::span<std::byte> into)>;
  /// A model of `size` bytes of which the caller reads what is needed when it is needed: encrypted or packed files.
  static Model from_reader(Reader reader, std::uint64_t size, const Options& options = {});
  /// A model embedded in the library: "mobilenet" (the default), "digits" or "unet".
  static Model embedded(std::string_view name, const Options& options = {});
  static std::vector<std::string> embedded_names();

  /// The file's name without its folder, the name of an embedded model, else "model".
  const std::string& name() const;
  const ModelMetadata& metadata() const;
  std::span<const TensorInfo> inputs() const;
  std::span<const TensorInfo> outputs() const;
  const Options& options() const;

  /// Input shapes with open dimensions filled: from `overrides`, else 224 for height and width of images (rank 4),
  /// else 1. Throws Error{invalid_argument} for unknown names and for shapes that contradict the model.
  std::vector<Shape> resolve_shapes(const ShapeMap& overrides = {}) const;

  /// The given stage as text, for the given input shapes. Throws as `resolve_shapes` does, and Error{invalid_model}
  /// where shapes are known to contradict only then.
  std::string print(Stage stage, const ShapeMap& overrides = {}) const;
  /// Everything a tool wants to know about the plan as one JSON object: inputs, outputs, segments (operators,
  /// columns, rings, bytes per level, flop, why it ends), islands [{node, op, engine, reason}], weights_bytes,
  /// arena_bytes, flop, threads, schedule, and as `later` the number of operators that wait for shapes that depend on
  /// data. Throws as `print` does.
  std::string describe(const ShapeMap& overrides = {}) const;

  /// Evaluates the imported graph by the slow reference implementation: the oracle. Throws as Session::run does.
  std::vector<Tensor> evaluate_reference(std::span<const TensorView> inputs) const;
  std::vector<Datum> evaluate_reference(std::span<const Datum> inputs) const;

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Runs a model. Owns plans, arenas and scratch; use one per thread, a call at a time: a call beside another thread's
/// throws Error{invalid_argument}, and so does one of a session that was made of nothing or moved from. Calls wait for
/// runs that `run_async` has started, except `run_async` itself. All sessions of a process share one set of worker
/// threads: a run takes those that are idle and does the rest itself. Where shapes depend on data, what follows is
/// planned when they are known.
///
/// Runs throw Error{invalid_argument} for a wrong number of inputs or outputs and for outputs of a wrong type or shape,
/// Error{invalid_input} for inputs of a wrong type, shape or value (an index out of range), Error{invalid_model} and
/// Error{unsupported} for what shows only now that shapes are known, Error{resource_limit} for a plan beyond the memory
/// limit or loops beyond theirs, Error{io} when the model's file has changed, Error{cancelled} and Error{deadline} as
/// RunOptions says.
class COLONNADE_API Session {
 public:
  Session() noexcept;
  explicit Session(const Model& model);
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  /// Plans for these shapes and threads (as of RunOptions) now, so that the next run does not. Throws as
  /// `Model::resolve_shapes` and runs do.
  void prepare(const ShapeMap& overrides = {}, int threads = 0);
  /// The same for a run with these options, whose stop, deadline and poll end it.
  void prepare(const ShapeMap& overrides, const RunOptions& options);
  /// Shapes of the outputs for the given inputs' shapes; -1 for dimensions that depend on data. Throws as runs do.
  std::vector<Shape> output_shapes(std::span<const Shape> input_shapes, const RunOptions& options = {});

  /// Runs with inputs in the model's order; returns new tensors.
  std::vector<Tensor> run(std::span<const TensorView> inputs, const RunOptions& options = {});
  std::vector<Tensor> run(std::initializer_list<TensorView> inputs, const RunOptions& options = {}) {
    return run(std::span<const TensorView>(inputs.begin(), inputs.size()), options);
  }
  /// The same with inputs and outputs by name. Throws Error{invalid_argument} for names that the model has not and for
  /// inputs that are missing.
  NamedOutputs run_named(const NamedInputs& inputs, const RunOptions& options = {});
  /// The same for any data: models whose inputs or outputs are sequences, optionals or maps.
  std::vector<Datum> run_data(std::span<const Datum> inputs, const RunOptions& options = {});
  /// Runs into the caller's memory, whose shapes must equal the outputs' shapes.
  void run(std::span<const TensorView> inputs, std::span<const MutableTensorView> outputs,
           const RunOptions& options = {});
  void run(std::initializer_list<TensorView> inputs, std::initializer_list<MutableTensorView> outputs,
           const RunOptions& options = {}) {
    run(std::span<const TensorView>(inputs.begin(), inputs.size()),
        std::span<const MutableTensorView>(outputs.begin(), outputs.size()), options);
  }

  /// Starts a run and returns at once; the future has what the run would have thrown. Runs of a session follow each
  /// other in the order of their calls. The memory of
  /// the inputs must live until the run is over; the session's destructor waits for its runs.
  std::future<std::vector<Tensor> > run_async(std::vector<TensorView> inputs, RunOptions options = {});
  /// The same into the caller's memory. `done` is called once, by a thread of the library, with null or with what was
  /// thrown; it must not throw, and may start other runs but not destroy the session.
  void run_async(std::vector<TensorView> inputs, std::vector<MutableTensorView> outputs,
                 std::function<void(std::exception_ptr)> done, RunOptions options = {});

  /// Gives back all memory that the next run can make anew: plans, arenas.
  void shrink();
  struct MemoryStats {
    std::size_t weights_bytes = 0;  ///< packed weights of the model, shared by all its sessions
    std::size_t arena_bytes = 0;    ///< of all plans that this session keeps
    std::size_t plan_bytes = 0;     ///< what else these plans take
    std::size_t plans = 0;
  };
  MemoryStats memory_stats() const;

  struct Stats {
    double plan_ms = 0;             ///< time spent on passes, plan and compile for the current shapes
    std::size_t weights_bytes = 0;  ///< packed weights, shared by all sessions of the model
    std::size_t arena_bytes = 0;    ///< of the current plan
    std::size_t cached_plans = 0;
    std::size_t cached_bytes = 0;  ///< what they take, arenas included, packed weights not
    int threads = 1;
  };
  /// Throws Error{invalid_argument} before the first run or `prepare`.
  Stats stats() const;

  /// Collect the time of every step from the next run on (small overhead).
  void set_profiling(bool on);
  /// Both throw Error{invalid_argument} before the first run or `prepare`. JSON: {"segments":[{"index","ms"}],
  /// "operators":[{"node","op","segment","ms","calls"}]} of the runs since profiling was turned on, in milliseconds a
  /// run.
  std::string profile() const;
  /// The same runs in Chrome/Perfetto trace-event format: microseconds from the start of the first, one row a thread
  /// of the plan.
  std::string trace() const;

 private:
  struct Impl;
  Impl& impl() const;
  std::unique_ptr<Impl> impl_;
};

enum class LogLevel { debug, info, warning, error };
/// Called with one line at a time, by any thread, one at a time. Without a handler, warnings and errors go to stderr.
using LogHandler = std::function<void(LogLevel level, std::string_view line)>;
/// For the whole process; an empty handler restores the default.
COLONNADE_API void set_log_handler(LogHandler handler);

/// Where arenas, tensors and packed weights come from. `allocate` returns null when there is no memory.
struct AllocationHooks {
  void* (*allocate)(std::size_t bytes, std::size_t alignment, void* user) = nullptr;
  void (*release)(void* memory, std::size_t bytes, void* user) = nullptr;
  void* user = nullptr;
};
/// For the whole process; hooks with null functions restore the default. Memory is released by the hooks that
/// allocated it, so they must stay valid.
COLONNADE_API void set_allocation_hooks(const AllocationHooks& hooks);

/// The machine as JSON: topology, ISA, caches, NUMA, quota, default threads, and the rates by which plans are made
/// (`rates`; its `source` is "defaults" or the file they were read from). With `measure` they are measured first, which
/// takes a second or two, and kept in that file for all models loaded from then on: COLONNADE_RATES, else one under
/// XDG_CACHE_HOME or ~/.cache; `rates.error` says why when it cannot be written.
COLONNADE_API std::string describe_machine(bool measure);

/// Measured fp32 FMA peak in GFLOP/s of `threads` threads under the given tier ("" = active one).
COLONNADE_API double measure_fma_peak(int threads, const std::string& isa = "");

/// The library's version string.
COLONNADE_API std::string_view version() noexcept;

}  // namespace colonnade

#endif  // C++20
