// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/interruption.hpp"
#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

constexpr std::int64_t kRowTile = 4;

/// One operand, or the result, as batches of matrices with element strides.
struct Matrices {
  Ints batch;    ///< batch dimensions
  Ints strides;  ///< of the batch dimensions
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
};

Matrices matrices_of(const Shape& shape, bool transpose, bool heads_inside, bool vector_is_row) {
  Matrices m;
  const std::size_t rank = shape.size();
  if (rank == 1) {
    (vector_is_row ? m.columns : m.rows) = shape[0];
    return m;
  }
  const Shape logical = heads_swapped(shape, heads_inside);
  const Ints strides = heads_swapped(strides_of(shape), heads_inside);
  m.batch.assign(logical.begin(), logical.end() - 2);
  m.strides.assign(strides.begin(), strides.end() - 2);
  m.rows = logical[rank - 2];
  m.columns = logical[rank - 1];
  m.row_stride = strides[rank - 2];
  if (transpose) {
    std::swap(m.rows, m.columns);
    std::swap(m.row_stride, m.column_stride);
  }
  return m;
}

/// Strides of the batch dimensions, in elements, broadcast to `target`.
Ints batch_strides(const Matrices& m, const Ints& target) {
  Ints strides(target.size(), 0);
  const std::size_t shift = target.size() - m.batch.size();
  for (std::size_t axis = 0; axis < m.batch.size(); ++axis)
    if (m.batch[axis] != 1) strides[axis + shift] = m.strides[axis];
  return strides;
}

/// The matrix's elements [rows][columns], dense.
template <class C>
std::vector<C> dense(const Tensor& tensor, const Matrices& m, std::int64_t offset, std::int64_t row,
                     std::int64_t rows) {
  std::vector<C> values(static_cast<std::size_t>(rows * m.columns));
  C* to = values.data();
  for (std::int64_t r = row; r < row + rows; ++r, to += m.columns) {
    const std::int64_t from = offset + r * m.row_stride;
    if (m.column_stride == 1) {
      load(tensor, from, m.columns, to);
    } else {
      for (std::int64_t c = 0; c < m.columns; ++c) load(tensor, from + c * m.column_stride, 1, to + c);
    }
  }
  return values;
}

template <class C>
struct Product {
  const Call& call;
  Matrices a, b;
  bool heads_inside_out;
  Epilogue epilogue;
  std::vector<C> bias;
  Tensor& y;

  void multiply(std::int64_t a_offset, const std::vector<C>& right, std::int64_t y_offset, std::int64_t y_stride) {
    std::vector<C> sums(static_cast<std::size_t>(kRowTile * b.columns));
    for (std::int64_t row = 0; row < a.rows; row += kRowTile) {
      const std::int64_t count = std::min(kRowTile, a.rows - row);
      count_work(count * a.columns * b.columns);
      const std::vector<C> left = dense<C>(call.input(0), a, a_offset, row, count);
      std::array<const C*, kRowTile> rows{};
      for (std::int64_t p = 0; p < count; ++p) {
        rows[static_cast<std::size_t>(p)] = left.data() + p * a.columns;
        std::copy(bias.begin(), bias.end(), sums.begin() + p * b.columns);
      }
      multiply_add<C>(std::span(rows).first(static_cast<std::size_t>(count)), a.columns, right.data(), b.columns,
                      sums.data(), b.columns);
      for (std::int64_t p = 0; p < count; ++p) {
        const std::int64_t offset = y_offset + (row + p) * y_stride;
        epilogue.run(sums.data() + p * b.columns, offset, b.columns, b.columns);
        store(sums.data() + p * b.columns, b.columns, y, offset);
      }
    }
  }

  void run(const Ints& batch) {
    const Ints a_strides = batch_strides(a, batch), b_strides = batch_strides(b, batch);
    const std::int64_t heads = heads_inside_out ? batch.back() : 1;
    Ints index(batch.size(), 0);
    std::vector<C> right;
    std::int64_t right_offset = -1;
    const std::int64_t count = product(batch, 0, batch.size());
    for (std::int64_t n = 0; n < count; ++n, next_index(index, batch)) {
      std::int64_t a_offset = 0, b_offset = 0;
      for (std::size_t axis = 0; axis < batch.size(); ++axis) {
        a_offset += index[axis] * a_strides[axis];
        b_offset += index[axis] * b_strides[axis];
      }
      if (b_offset != right_offset) right = dense<C>(call.input(1), b, b_offset, 0, b.rows);
      right_offset = b_offset;
      multiply(a_offset, right, (n / heads * a.rows * heads + n % heads) * b.columns, heads * b.columns);
    }
  }
};

Ints broadcast(const Ints& a, const Ints& b) {
  Ints result(std::max(a.size(), b.size()), 1);
  const auto merge = [&](const Ints& from) {
    const std::size_t shift = result.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] != 1) result[i + shift] = from[i];
    }
  };
  merge(a);
  merge(b);
  return result;
}

template <class C>
void matmul(const MatMul& op, const Call& call, Tensor& y) {
  const Matrices a = matrices_of(call.input(0).shape(), op.transpose_a, op.heads_inside_a, true);
  const Matrices b = matrices_of(call.input(1).shape(), op.transpose_b, op.heads_inside_b, false);
  const Tensor* bias = call.optional(2);
  std::vector<C> sums = bias == nullptr ? std::vector<C>{} : load_all<C>(*bias);
  sums.resize(static_cast<std::size_t>(b.columns), sums.size() == 1 ? sums[0] : C{0});
  Product<C>{call, a, b, op.heads_inside_out, Epilogue(op.epilogue, call), std::move(sums), y}.run(
      broadcast(a.batch, b.batch));
}

}  // namespace

Tensors apply(const MatMul& op, const Call& call) {
  Tensor y(call.dtype(), call.shape());
  if (is_real(y.dtype())) {
    matmul<double>(op, call, y);
  } else {
    matmul<std::uint64_t>(op, call, y);
  }
  return {std::move(y)};
}

}  // namespace colonnade::reference
