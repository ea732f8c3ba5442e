// SPDX-License-Identifier: Apache-2.0
// A loaded model and the options it is loaded with. Part of colonnade/colonnade.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "colonnade/tensor.hpp"

namespace colonnade {

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
/// `bf16` is `fast`, and products with constant weights round both operands to bf16 where that is faster (AVX512_BF16,
/// AMX), or the weights alone where reading them is what takes time; sums are float32's.
enum class Math { fast, exact, bf16 };

/// What outputs of tokens hold where a network of texts has a mask that bars padding from attention: zeros, and no
/// padding is computed, or what the network makes of it, as other engines give it. What outputs hold of live tokens and
/// of texts is the same. `describe` says of a model whether its padding is left out.
enum class Padding { zeros, compute };

/// Over what DynamicQuantizeLinear takes a scale and a zero point: the whole tensor, as ONNX has it; each index of the
/// first axis, so that a text's or an image's answer does not depend on its neighbours in a batch; or each row of the
/// last axis, where there are at most three axes (else as sequence), so that it does not depend on padding either.
/// Outputs for scales and zero points then have one element for each of these.
enum class DynamicScale { tensor, sequence, row };

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
  /// "baseline", "avx2", "avxvnni", "avx512", "vnni", "bf16", "amx"; "": COLONNADE_ISA or the best
  std::string isa = {};
  /// Class of machine whose kernels are chosen, as `colonnade machine` names this one's: where the order of sums
  /// differs between classes, another machine's class gives its bits. "": this machine's.
  std::string blocking = {};
  /// Sizes of open dimensions by their symbol ("batch"); unknown symbols are refused.
  std::map<std::string, std::int64_t> dimensions = {};
  /// A file with packed weights and plans of the model: used when it fits model, machine and version, else written anew
  /// and said so in one line of the log. "": none.
  std::string compiled = {};
  /// On a machine of several NUMA nodes: "replicate" keeps a copy of the weights on each node that the model runs on,
  /// "interleave" one, its pages on all nodes in turns, "node=N" one on node N, where all threads but the caller's are
  /// too, and "off" asks for nothing. Unless it is off, a session's memory and the threads of its runs are on one node:
  /// its first caller's, or another where its callers have been for some time. Only what is large takes threads of
  /// others. "": a copy a node while there is memory for it, else "interleave"; on one node "off". Results are the same
  /// bits.
  std::string numa = {};
  /// Where two plans for a shape are predicted to be about as fast, the first runs of the shape time both and the
  /// faster one is kept. Results are the same bits. Never where a schedule, a memory limit or a compiled file is asked
  /// for.
  bool duel = true;
  Padding padding = Padding::zeros;
  DynamicScale dynamic_scale = DynamicScale::tensor;
  /// Refuse nodes with attributes, or inputs of types, that their operator has not in ONNX (Error{invalid_model}); else
  /// what nobody reads is left alone, and what can be computed is.
  bool schema = false;
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

  /// Evaluates the imported graph by the slow reference implementation, a quantised one as the arithmetic on bytes that
  /// it stands for: the oracle. Throws as Session::run does.
  std::vector<Tensor> evaluate_reference(std::span<const TensorView> inputs) const;
  std::vector<Datum> evaluate_reference(std::span<const Datum> inputs) const;

  struct Impl;
  explicit Model(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const std::shared_ptr<const Impl>& impl() const { return impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace colonnade
