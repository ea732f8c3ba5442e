// SPDX-License-Identifier: Apache-2.0
// What families of products with narrow weights share: which products they are, where sums start and what they become.
#pragma once

#include "families/family.hpp"
#include "families/lower.hpp"
#include "families/narrow_form.hpp"
#include "families/rows.hpp"
#include "kernels/gemm/gemm.hpp"

namespace colonnade {

/// A MatMul by rows whose second input is a constant of narrow weights; nothing else.
std::optional<NarrowForm> narrow_product_form(const Candidate& node);

/// Sums of kOutputs outputs of rows: they start from the bias, and end in the epilogue.
class NarrowSums {
 public:
  NarrowSums(const LowerContext& context, const NarrowForm& form);

  /// `rows` rows of sums for the outputs from `output` on.
  void start(std::int64_t output, std::int64_t rows, float* sums) const;
  /// The sums of rows from `row` on.
  void finish(const StepContext& step, std::int64_t output, std::int64_t row, std::int64_t rows,
              const float* sums) const;

  /// The product of rows for the outputs from `output` on, all but its terms.
  kernels::gemm::ConvArgs args_of(std::int64_t output, std::int64_t rows) const;
  float* out(const StepContext& step, std::int64_t output, std::int64_t row) const;
  const float* residual(const StepContext& step, std::int64_t output, std::int64_t row) const;
  const kernels::gemm::Kernel& gemm() const { return gemm_; }

 private:
  std::int64_t depth_, outputs_;
  const kernels::gemm::Kernel& gemm_;
  const float* bias_;
  ValueOf<float> out_, residual_;
  kernels::Epilogue epilogue_;
};

}  // namespace colonnade
