// SPDX-License-Identifier: Apache-2.0
#include "families/matrices.hpp"

#include "reference/indexing.hpp"

namespace colonnade {

bool has_heads_inside(const MatMul& op) { return op.heads_inside_a || op.heads_inside_b || op.heads_inside_out; }

bool is_by_rows(const Subject& product) {
  const MatMul& op = std::get<MatMul>(product.node.op);
  return product.constant(1) && product.input_shape(1).size() == 2 && !op.transpose_a && !has_heads_inside(op);
}

Shape logical_output(const Subject& product) {
  return heads_swapped(product.output_shape(), std::get<MatMul>(product.node.op).heads_inside_out);
}

std::int64_t depth_of(const Subject& product) {
  const MatMul& op = std::get<MatMul>(product.node.op);
  const Shape a = heads_swapped(product.input_shape(0), op.heads_inside_a);
  return op.transpose_a ? a[a.size() - 2] : a.back();
}

std::int64_t Matrices::offset(std::int64_t matrix, std::span<const std::int64_t> batch) const {
  std::int64_t result = 0;
  for (std::size_t axis = batch.size(); axis-- > 0; matrix /= batch[axis])
    result += matrix % batch[axis] * strides[axis];
  return result;
}

Matrices matrices_of(const Shape& shape, bool heads_inside, std::span<const std::int64_t> batch) {
  const Shape logical = heads_swapped(shape, heads_inside);
  const Ints strides = heads_swapped(reference::strides_of(shape), heads_inside);
  const std::size_t axes = shape.size() - 2;
  Matrices matrices{Ints(batch.size(), 0), strides[axes]};
  for (std::size_t axis = 0; axis < axes; ++axis)
    if (logical[axis] != 1) matrices.strides[batch.size() - axes + axis] = strides[axis];
  return matrices;
}

}  // namespace colonnade
