// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "graph/graph.hpp"
#include "program/program.hpp"

namespace colonnade {

/// The rows of one value as a step sees them; false when the value is absent.
class Rows {
 public:
  Rows(const StepContext& step, ValueId value, std::int64_t chunk)
      : view_(value == kAbsent ? nullptr : step.views + value), bases_(step.bases), image_(step.image), chunk_(chunk) {}

  explicit operator bool() const { return view_ != nullptr; }
  float* operator()(std::int64_t row) const { return view_->row(bases_, image_, row, view_->chunk_stride ? chunk_ : 0); }
  std::int64_t pixel_stride() const { return view_->pixel_stride; }

 private:
  const View* view_;
  std::byte* const* bases_;
  std::int64_t image_;
  std::int64_t chunk_;
};

/// First element of a whole tensor.
inline float* whole(const StepContext& step, ValueId value) {
  const View& view = step.views[value];
  return reinterpret_cast<float*>(step.bases[view.base] + view.offset);
}

}  // namespace colonnade
