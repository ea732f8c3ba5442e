// SPDX-License-Identifier: Apache-2.0
// What loading a model makes, kept in a file: the optimised graph, plans, packed weights. A file that does not fit
// model, library, machine and options, or is damaged, is as good as none; what is made then replaces it. It is read,
// not mapped, and hashes are compared as it is read: whoever cuts or changes it does no harm. Weights go from the file
// to where programs use them, without copies between.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/compiled_content.hpp"
#include "api/pipeline.hpp"
#include "families/weights.hpp"
#include "plan/plan.hpp"

namespace colonnade {

/// One thread at a time; the constants of the graphs that come from it may be shared.
class Compiled {
 public:
  /// Reads the file at options.compiled as far as a load needs it.
  Compiled(const Options& options, const Topology& topology, int threads, std::shared_ptr<onnx_import::Source> source);
  ~Compiled();

  /// The file fits: inputs, outputs and graph are known.
  bool is_loaded() const { return optimized_ != nullptr; }
  /// Why a file that is there is of no use, until it is written anew.
  const std::string& reason() const { return reason_; }
  const std::vector<TensorInfo>& inputs() const { return content_.inputs; }
  const std::vector<TensorInfo>& outputs() const { return content_.outputs; }
  const ModelMetadata& metadata() const { return content_.metadata; }
  const std::shared_ptr<const Graph>& optimized() const { return optimized_; }

  struct Planned {
    BoundGraph bound;
    Plan plan;
  };
  /// The plan for these shapes, layouts and threads, if the file has it.
  std::optional<Planned> find(const std::vector<Shape>& shapes, const Layouts& layouts, int threads) const;
  /// Packed weights, if the file has them: a copy of its own for each NUMA node, placed.
  std::optional<PackedWeights> weights(const Constant& constant, const std::string& format, int node,
                                       const NumaNodes& nodes) const;

  /// What was made of the model for one set of shapes, layouts and threads.
  struct Made {
    const std::vector<TensorInfo>& inputs;
    const std::vector<TensorInfo>& outputs;
    const ModelMetadata& metadata;
    const Graph& optimized;
    const std::vector<Shape>& shapes;
    const Layouts& layouts;
    int threads;
    const Graph& graph;
    const std::unique_ptr<const Rest>& rest;
    const Plan& plan;
    WeightStore& weights;
  };
  /// Writes the file anew, this plan in it, unless the file is good and has the plan, or many others. Says so in one
  /// line of the log, and why it cannot.
  void keep(const Made& made) noexcept;

 private:
  class Origin;
  struct NewBlob;
  using BlobKey = std::pair<std::uint32_t, std::string>;

  void load();
  std::string misfit(const CompiledKey& found) const;
  bool is_of(const std::vector<CompiledFile>& files) const;
  void make_constants();
  std::shared_ptr<const AlignedBuffer> area(std::uint32_t number, int node, const NumaNodes& nodes) const;
  const CompiledPlan* plan_for(const std::vector<Shape>& shapes, const Layouts& layouts, int threads) const;
  bool needs_writing(const Made& made) const;
  void write(const Made& made);
  void write_areas(CompiledWriter& out, std::vector<NewBlob> fresh, CompiledContent& content) const;
  std::vector<NewBlob> new_blobs(const Made& made, const std::string& planned) const;
  std::vector<CompiledFile> files() const;
  std::vector<CompiledConstant> constants() const;
  void set_content(CompiledContent content);

  const Options options_;
  const kernels::Features features_;
  const Blocking& blocking_;
  const int readers_;  ///< threads that read
  const CompiledKey key_;
  const std::shared_ptr<onnx_import::Source> source_;
  std::shared_ptr<const onnx_import::FileBytes> file_;  ///< null: none that fits
  CompiledContent content_;
  std::map<BlobKey, CompiledBlob> blobs_;  ///< of the content
  /// Areas of the content by node, while weights in them are used.
  mutable std::map<std::pair<int, std::uint32_t>, std::weak_ptr<const AlignedBuffer>> areas_;
  ConstantTable constants_;
  std::shared_ptr<const Graph> optimized_;
  std::shared_ptr<std::atomic<bool>> damaged_ = std::make_shared<std::atomic<bool>>(false);
  std::string reason_;  ///< why the file has to be written
  bool has_failed_ = false;
};

}  // namespace colonnade
