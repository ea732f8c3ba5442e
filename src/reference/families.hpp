// SPDX-License-Identifier: Apache-2.0
// One function an operator. Each gets a call whose inputs agree with the operator's shape rule.
#pragma once

#include <vector>

#include "reference/call.hpp"

namespace colonnade::reference {

Tensors apply(const Unary&, const Call&);
Tensors apply(const Binary&, const Call&);
Tensors apply(const Select&, const Call&);
Tensors apply(const Cast&, const Call&);
Tensors apply(const Conv&, const Call&);
Tensors apply(const ConvTranspose&, const Call&);
Tensors apply(const MatMul&, const Call&);
Tensors apply(const Pool&, const Call&);
Tensors apply(const Reduce&, const Call&);
Tensors apply(const ArgReduce&, const Call&);
Tensors apply(const Softmax&, const Call&);
Tensors apply(const Hardmax&, const Call&);
Tensors apply(const BatchNorm&, const Call&);
Tensors apply(const InstanceNorm&, const Call&);
Tensors apply(const LayerNorm&, const Call&);
Tensors apply(const Lrn&, const Call&);
Tensors apply(const Resize&, const Call&);
Tensors apply(const Reshape&, const Call&);
Tensors apply(const Flatten&, const Call&);
Tensors apply(const Squeeze&, const Call&);
Tensors apply(const Unsqueeze&, const Call&);
Tensors apply(const Transpose&, const Call&);
Tensors apply(const Concat&, const Call&);
Tensors apply(const Slice&, const Call&);
Tensors apply(const Split&, const Call&);
Tensors apply(const Pad&, const Call&);
Tensors apply(const Expand&, const Call&);
Tensors apply(const Tile&, const Call&);
Tensors apply(const Gather&, const Call&);
Tensors apply(const GatherElements&, const Call&);
Tensors apply(const GatherNd&, const Call&);
Tensors apply(const ScatterNd&, const Call&);
Tensors apply(const ScatterElements&, const Call&);
Tensors apply(const DepthToSpace&, const Call&);
Tensors apply(const SpaceToDepth&, const Call&);
Tensors apply(const ShapeOf&, const Call&);
Tensors apply(const SizeOf&, const Call&);
Tensors apply(const Fill&, const Call&);
Tensors apply(const Range&, const Call&);
Tensors apply(const OneHot&, const Call&);
Tensors apply(const TopK&, const Call&);
Tensors apply(const CumSum&, const Call&);
Tensors apply(const NonZero&, const Call&);
Tensors apply(const Trilu&, const Call&);
Tensors apply(const Einsum&, const Call&);
Tensors apply(const Recurrent&, const Call&);
Tensors apply(const GridSample&, const Call&);
Tensors apply(const TreeEnsemble&, const Call&);
Tensors apply(const Quantize&, const Call&);
Tensors apply(const Dequantize&, const Call&);
Tensors apply(const ByteScale&, const Call&);
Tensors apply(const Lookup&, const Call&);
Tensors apply(const ByteConv&, const Call&);
Tensors apply(const ByteMatMul&, const Call&);
Tensors apply(const IntegerMatMul&, const Call&);
Tensors apply(const ByteBinary&, const Call&);
Tensors apply(const ByteAverage&, const Call&);
Tensors apply(const Attention&, const Call&);
Data apply(const If&, const Call&);
Data apply(const Loop&, const Call&);
Data apply(const Scan&, const Call&);
Data apply(const Opaque&, const Call&);

/// f(x) of a real number.
double unary_value(const Unary& unary, double x);

/// What follows a contraction's sums, read from the operator's last inputs.
class Epilogue {
 public:
  Epilogue(const FusedEpilogue& epilogue, const Call& call);
  /// Finishes `count` sums of the output from `offset` on; channels repeat with period `channels`.
  void run(double* sums, std::int64_t offset, std::int64_t count, std::int64_t channels) const;
  /// Integer sums know no activation, only a residual; wraps around.
  void run(std::uint64_t* sums, std::int64_t offset, std::int64_t count, std::int64_t channels) const;

 private:
  FusedEpilogue epilogue_;
  std::vector<double> slope_;
  const Tensor* residual_ = nullptr;
};

/// sums[p][o] += x[p][c] * weights[c][o] for every row x[p] that is not null.
template <class C>
void multiply_add(std::span<const C* const> x, std::int64_t depth, const C* weights, std::int64_t columns, C* sums,
                  std::int64_t sums_stride);

}  // namespace colonnade::reference
