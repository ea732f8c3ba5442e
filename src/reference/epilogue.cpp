// SPDX-License-Identifier: Apache-2.0
#include "reference/elements.hpp"
#include "reference/families.hpp"

namespace colonnade::reference {

Epilogue::Epilogue(const FusedEpilogue& epilogue, const Call& call) : epilogue_(epilogue) {
  const std::size_t count = call.inputs.size();
  const std::size_t residuals = epilogue.residual ? 1 : 0;
  if (epilogue.residual) {
    residual_ = &call.input(count - 1);
    if (residual_->shape() != call.shape()) call.invalid("the residual's shape is not the output's");
  }
  if (epilogue.prelu_slope) slope_ = load_all<double>(call.input(count - 1 - residuals));
  if (epilogue.prelu_slope && !call.shape().empty() &&
      static_cast<std::int64_t>(slope_.size()) != call.shape().back()) {
    call.invalid("{} slopes for {} channels", slope_.size(), call.shape().back());
  }
  const bool activates = epilogue.prelu_slope || epilogue.activation.kind != UnaryKind::identity;
  if (activates && !is_real(call.dtype())) call.unsupported("an activation on {} sums", name_of(call.dtype()));
}

void Epilogue::run(double* sums, std::int64_t offset, std::int64_t count, std::int64_t channels) const {
  std::vector<double> residual(static_cast<std::size_t>(residual_ == nullptr ? 0 : count));
  if (residual_ != nullptr) load(*residual_, offset, count, residual.data());
  for (std::int64_t i = 0; i < count; ++i) {
    double x = sums[i];
    const double r = residual_ == nullptr ? 0 : residual[static_cast<std::size_t>(i)];
    if (residual_ != nullptr && !epilogue_.residual_after) x += r;
    if (epilogue_.prelu_slope) {
      x = x < 0 ? x * slope_[static_cast<std::size_t>((offset + i) % channels)] : x;
    } else if (epilogue_.activation.kind != UnaryKind::identity) {
      x = unary_value(epilogue_.activation, x);
    }
    sums[i] = residual_ != nullptr && epilogue_.residual_after ? x + r : x;
  }
}

void Epilogue::run(std::uint64_t* sums, std::int64_t offset, std::int64_t count, std::int64_t) const {
  if (residual_ == nullptr) return;
  std::vector<std::uint64_t> residual(static_cast<std::size_t>(count));
  load(*residual_, offset, count, residual.data());
  for (std::int64_t i = 0; i < count; ++i) sums[i] += residual[static_cast<std::size_t>(i)];
}

}  // namespace colonnade::reference
