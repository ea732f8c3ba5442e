// SPDX-License-Identifier: Apache-2.0
// What families of products with narrow weights share: which products they are, and rows times panels.
#pragma once

#include "base/interval.hpp"
#include "families/lower.hpp"
#include "families/narrow_form.hpp"
#include "kernels/gemm/gemm.hpp"
#include "kernels/narrow_bytes/narrow_bytes.hpp"

namespace colonnade {

/// A MatMul by rows whose second input is a constant of narrow weights; nothing else.
std::optional<NarrowForm> narrow_product_form(const Candidate& node);

/// The packed form of a constant input.
const std::byte* packed_panels(const LowerContext& context, std::size_t input, const NarrowForm& form);

/// Rows and what becomes of them: panels of a matrix of their own.
struct NarrowRows {
  std::int64_t count = 0;
  const float* x = nullptr;         ///< [count, depth]
  float* out = nullptr;             ///< [count, outputs]
  const float* residual = nullptr;  ///< likewise, or null
  const float* bias = nullptr;      ///< [outputs], or null
  const std::byte* panels = nullptr;

  /// Some of them.
  NarrowRows some(const NarrowForm& form, std::int64_t first, std::int64_t most) const;
};

/// Sums of kOutputs outputs of rows: they start from the bias, and end in the epilogue.
class NarrowSums {
 public:
  NarrowSums(const NarrowForm& form, kernels::Features features, const kernels::Epilogue& epilogue)
      : form_(form), gemm_(kernels::gemm::select(features, kernels::Encoding::f32)), epilogue_(epilogue) {}

 protected:
  const std::byte* panel(const NarrowRows& rows, std::int64_t which) const {
    return rows.panels + static_cast<std::size_t>(which) * form_.format.panel_bytes();
  }
  /// Sums of a panel, one row of them a row.
  void start(const NarrowRows& rows, std::int64_t which, float* sums) const;
  void finish(const NarrowRows& rows, std::int64_t which, const float* sums) const;
  /// The product of rows by a panel, all but its terms.
  kernels::gemm::ConvArgs args_of(const NarrowRows& rows, std::int64_t which) const;

  NarrowForm form_;
  const kernels::gemm::Kernel& gemm_;
  kernels::Epilogue epilogue_;
};

/// Rows of floats by some panels. Scratch is of workspace_floats().
class NarrowProduct : NarrowSums {
 public:
  static constexpr std::int64_t kRows = 256;  ///< that a widened panel multiplies at most

  NarrowProduct(const NarrowForm& form, kernels::Features features, const kernels::Epilogue& epilogue)
      : NarrowSums(form, features, epilogue), kernel_(kernels::narrow::select(features, form.format.type)) {}

  /// By the numbers themselves.
  void multiply_vectors(const NarrowRows& rows, Interval panels, float* scratch) const;
  /// By weights that are made for few rows at a time.
  void multiply_few(const NarrowRows& rows, Interval panels) const;
  /// By a panel that is widened, at most kRows rows.
  void multiply_rows(const NarrowRows& rows, std::int64_t which, float* scratch) const;

  std::string_view kernel() const { return kernel_.name; }
  /// For `rows` vectors, or for a panel.
  static std::int64_t vector_floats(const NarrowForm& form, std::int64_t rows);
  static std::int64_t panel_floats(const NarrowForm& form);

 private:
  const kernels::narrow::Kernel& kernel_;
};

/// Rows as bytes by some panels.
class NarrowByteProduct : NarrowSums {
 public:
  NarrowByteProduct(const NarrowForm& form, kernels::Features features, const kernels::Epilogue& epilogue)
      : NarrowSums(form, features, epilogue), kernel_(kernels::narrow_bytes::select(features, form.format.type)) {}

  /// The most rows of a call.
  static constexpr auto kMostRows = static_cast<std::int64_t>(kernels::narrow_bytes::kMostRows);
  void multiply(const NarrowRows& rows, Interval panels, float* scratch) const;

  std::string_view kernel() const { return kernel_.name; }
  static std::int64_t workspace_bytes(const NarrowForm& form, std::int64_t rows);

 private:
  const kernels::narrow_bytes::Kernel& kernel_;
};

}  // namespace colonnade
