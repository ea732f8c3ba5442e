// SPDX-License-Identifier: Apache-2.0
// Plans, compiles and runs a graph as a session does, without the passes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "program/compile.hpp"
#include "runtime/executor.hpp"
#include "support/known_blocking.hpp"

namespace colonnade::test {

inline std::vector<Tensor> random_inputs(const Graph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> element(-1, 1);
  std::vector<Tensor> inputs;
  for (const ValueId id : graph.inputs) {
    inputs.emplace_back(graph.value(id).type.dtype, graph.value(id).type.static_shape());
    if (inputs.back().dtype() != DType::f32) continue;
    for (float& x : inputs.back().values<float>()) x = element(random);
  }
  return inputs;
}

inline std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) { return {tensors.begin(), tensors.end()}; }

/// A machine on paper that runs a tier, and chooses kernels as the class that tests know does.
inline Topology topology_of(kernels::Features features, const char* machine = "zen4-2") {
  Topology topology = fixed_topology(machine);
  topology.features = features;
  topology.blocking = known_blocking().name;
  return topology;
}

inline std::shared_ptr<const Program> program_of(const Graph& graph, const PlanOptions& options,
                                                 kernels::Features features, const char* machine = "zen4-2") {
  const Plan plan = make_plan(graph, topology_of(features, machine), options);
  verify(plan, graph);
  WeightStore weights;
  return compile(graph, plan, features, weights);
}

inline std::vector<Tensor> run(Executor& executor, const std::vector<Tensor>& inputs,
                               const RunControl& control = RunControl(RunOptions())) {
  const Program& program = executor.program();
  std::vector<const void*> in;
  for (const Tensor& input : inputs) in.push_back(input.data());
  std::vector<Tensor> outputs;
  std::vector<void*> out;
  for (std::size_t i = 0; i < program.output_shapes.size(); ++i) {
    outputs.emplace_back(program.output_types[i], program.output_shapes[i]);
    if (const std::size_t bytes = outputs.back().byte_size()) std::memset(outputs.back().data(), 0xff, bytes);
  }
  for (Tensor& output : outputs) out.push_back(output.data());
  executor.run(in, out, control);
  return outputs;
}

inline std::vector<Tensor> run(const Graph& graph, const PlanOptions& options, kernels::Features features,
                               const std::vector<Tensor>& inputs) {
  Executor executor(program_of(graph, options, features));
  return run(executor, inputs);
}

inline bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  const auto same = [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.shape() == y.shape() &&
           (x.byte_size() == 0 || std::memcmp(x.data(), y.data(), x.byte_size()) == 0);
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

/// The largest difference over the largest magnitude, at least 1; infinite where a result is not a number.
inline double worst_error(const std::vector<Tensor>& found, const std::vector<Tensor>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto a = found[i].values<float>(), b = expected[i].values<float>();
    double largest = 1, difference = 0;
    for (std::size_t k = 0; k < b.size(); ++k) {
      largest = std::max(largest, std::abs(static_cast<double>(b[k])));
      const double error = std::abs(static_cast<double>(a[k]) - static_cast<double>(b[k]));
      difference = error >= 0 ? std::max(difference, error) : std::numeric_limits<double>::infinity();
      if (std::isinf(difference)) break;
    }
    worst = std::max(worst, difference / largest);
  }
  return worst;
}

inline std::vector<kernels::Isa> host_isas() {
  std::vector<kernels::Isa> isas;
  for (const kernels::Isa isa : kernels::kAllIsas)
    if (kernels::usable_features().contains(isa)) isas.push_back(isa);
  return isas;
}

}  // namespace colonnade::test
