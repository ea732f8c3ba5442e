// SPDX-License-Identifier: Apache-2.0
// What runs a primitive of oneDNN on the caller's memory, on one thread. Only for onednn.cpp.
#pragma once

#include <omp.h>

#include <dnnl.hpp>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "families/onednn.hpp"

namespace colonnade::onednn {

using Dims = dnnl::memory::dims;
using Type = dnnl::memory::data_type;
using MemoryDesc = dnnl::memory::desc;

/// oneDNN counts the calling thread's OpenMP threads both when it makes and when it runs a primitive. It gets one: a
/// team of OpenMP's would compete with our workers, hang in a forked child, end the process where there are no threads
/// left, and might add up in another order. What the caller had set is restored.
class OneThread {
 public:
  OneThread() : saved_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(saved_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int saved_;
};

inline const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// Scratch is ours: oneDNN's own belongs to the primitive, which sessions on several threads run at the same time.
inline dnnl::primitive_attr with_scratch() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

inline Dims row_major(const Shape& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

inline MemoryDesc dense(const Shape& shape) { return {shape, Type::f32, row_major(shape)}; }

inline dnnl::memory view(const MemoryDesc& desc, const void* data) {
  return dnnl::memory(desc, engine(), const_cast<void*>(data));
}

/// A created primitive and the operands it takes: (argument, index of a node input or, for DNNL_ARG_DST, output 0).
class Primitive final : public OneDnnPrimitive {
 public:
  struct Operand {
    int argument;
    std::size_t input;
    MemoryDesc desc;
    std::shared_ptr<const Tensor> constant;
  };

  Primitive(dnnl::primitive primitive, std::string implementation, std::vector<Operand> operands,
            MemoryDesc destination, MemoryDesc scratch)
      : primitive_(std::move(primitive)),
        implementation_("onednn:" + std::move(implementation)),
        operands_(std::move(operands)),
        destination_(std::move(destination)),
        scratch_(std::move(scratch)) {
    for (const Operand& operand : operands_)
      if (operand.constant) constants_.emplace(operand.argument, view(operand.desc, operand.constant->data()));
  }

  void run(const void* const* inputs, void* const* outputs) const override {
    const OneThread threads;
    dnnl::stream stream(engine());
    std::unordered_map<int, dnnl::memory> arguments = constants_;
    for (const Operand& operand : operands_)
      if (!constants_.contains(operand.argument))
        arguments.emplace(operand.argument, view(operand.desc, inputs[operand.input]));
    arguments.emplace(DNNL_ARG_DST, dnnl::memory(destination_, engine(), outputs[0]));
    const dnnl::memory scratch = take_scratch();
    arguments.emplace(DNNL_ARG_SCRATCHPAD, scratch);
    primitive_.execute(stream, arguments);
    stream.wait();
    const std::scoped_lock lock(mutex_);
    idle_scratch_.push_back(scratch);
  }

  std::string_view implementation() const override { return implementation_; }

 private:
  dnnl::memory take_scratch() const {
    const std::scoped_lock lock(mutex_);
    if (idle_scratch_.empty()) return dnnl::memory(scratch_, engine());
    dnnl::memory scratch = std::move(idle_scratch_.back());
    idle_scratch_.pop_back();
    return scratch;
  }

  dnnl::primitive primitive_;
  std::string implementation_;
  std::vector<Operand> operands_;
  std::unordered_map<int, dnnl::memory> constants_;  ///< by argument
  MemoryDesc destination_, scratch_;
  mutable std::mutex mutex_;
  mutable std::vector<dnnl::memory> idle_scratch_;  ///< of runs that are over, for the next ones
};

}  // namespace colonnade::onednn
