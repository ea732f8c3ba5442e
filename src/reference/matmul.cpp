// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "reference/elements.hpp"
#include "reference/families.hpp"
#include "reference/indexing.hpp"

namespace colonnade::reference {
namespace {

constexpr std::int64_t kTile = 4;

/// One operand as batches of matrices with element strides.
struct Matrices {
  Ints batch;  ///< batch dimensions
  std::int64_t rows = 1, columns = 1, row_stride = 1, column_stride = 1;
};

Matrices matrices_of(const Shape& shape, bool transpose, bool vector_is_row) {
  Matrices m;
  const std::size_t rank = shape.size();
  if (rank == 1) {
    (vector_is_row ? m.columns : m.rows) = shape[0];
    return m;
  }
  m.batch.assign(shape.begin(), shape.end() - 2);
  m.rows = shape[rank - 2];
  m.columns = shape[rank - 1];
  m.row_stride = m.columns;
  if (transpose) {
    std::swap(m.rows, m.columns);
    std::swap(m.row_stride, m.column_stride);
  }
  return m;
}

/// Strides of the batch dimensions, in elements, broadcast to `target`.
Ints batch_strides(const Matrices& m, const Ints& target) {
  Ints strides = broadcast_strides(m.batch, target);
  for (std::int64_t& stride : strides) stride *= m.rows * m.columns;
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
  Epilogue epilogue;
  std::vector<C> bias;
  Tensor& y;

  void multiply(std::int64_t a_offset, const std::vector<C>& right, std::int64_t y_offset) {
    std::vector<C> sums(static_cast<std::size_t>(kTile * b.columns));
    for (std::int64_t row = 0; row < a.rows; row += kTile) {
      const std::int64_t count = std::min(kTile, a.rows - row);
      const std::vector<C> left = dense<C>(call.input(0), a, a_offset, row, count);
      std::array<const C*, kTile> rows{};
      for (std::int64_t p = 0; p < count; ++p) {
        rows[static_cast<std::size_t>(p)] = left.data() + p * a.columns;
        std::copy(bias.begin(), bias.end(), sums.begin() + p * b.columns);
      }
      multiply_add<C>(std::span(rows).first(static_cast<std::size_t>(count)), a.columns, right.data(), b.columns,
                      sums.data(), b.columns);
      const std::int64_t offset = y_offset + row * b.columns;
      epilogue.run(sums.data(), offset, count * b.columns, b.columns);
      store(sums.data(), count * b.columns, y, offset);
    }
  }

  void run(const Ints& batch) {
    const Ints a_strides = batch_strides(a, batch), b_strides = batch_strides(b, batch);
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
      multiply(a_offset, right, n * a.rows * b.columns);
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
  const Matrices a = matrices_of(call.input(0).shape(), op.transpose_a, true);
  const Matrices b = matrices_of(call.input(1).shape(), op.transpose_b, false);
  const Tensor* bias = call.optional(2);
  std::vector<C> sums = bias == nullptr ? std::vector<C>{} : load_all<C>(*bias);
  sums.resize(static_cast<std::size_t>(b.columns), sums.size() == 1 ? sums[0] : C{0});
  Product<C>{call, a, b, Epilogue(op.epilogue, call), std::move(sums), y}.run(broadcast(a.batch, b.batch));
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
