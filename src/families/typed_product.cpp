// SPDX-License-Identifier: Apache-2.0
// Products of matrices of float64 and of integers, and of bytes less their zero points.
#include "kernels/typed_product/typed_product.hpp"

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/matrices.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "graph/contraction.hpp"

namespace colonnade {
namespace {

using kernels::typed_product::sum_bytes;
using kernels::typed_product::Type;

constexpr std::int64_t kRows = 128, kColumns = 64;  // one unit of work
constexpr std::int64_t kFewRowsColumns = 256;       // the same of few rows, by a matrix as it lies
constexpr std::int64_t kAlignment = 64;             // of what a kernel has room for

std::optional<Type> type_of(DType dtype) {
  if (dtype == DType::f64) return Type::f64;
  if (dtype == DType::i8) return Type::i8;
  if (dtype == DType::u8) return Type::u8;
  if (dtype == DType::i16) return Type::i16;
  if (dtype == DType::i32) return Type::i32;
  if (dtype == DType::i64) return Type::i64;
  return std::nullopt;
}

/// How operands lie; null for other operators.
const MatMul* product_of(const Operator& op) {
  static const MatMul plain;
  return std::holds_alternative<IntegerMatMul>(op) ? &plain : std::get_if<MatMul>(&op);
}

struct TypedProduct {
  Type a = Type::f64, b = Type::f64;
  Shape batch;
  std::int64_t rows = 1, columns = 1, depth = 1;
  std::int64_t packed_matrices = 0;  ///< constant right ones, packed once; 0: others, by each run
  const kernels::typed_product::Kernel* kernel = nullptr;
  bool few = false;  ///< rows, by a matrix as it lies

  std::int64_t row_blocks() const { return ceil_div(rows, kRows); }
  std::int64_t block_columns() const { return few ? kFewRowsColumns : kColumns; }
  std::int64_t column_blocks() const { return ceil_div(columns, block_columns()); }
  std::int64_t units() const { return element_count(batch) * column_blocks() * row_blocks(); }
  std::size_t terms() const { return kernel->terms(a, b); }
  /// Of a block of rows.
  std::int64_t room_bytes() const {
    return static_cast<std::int64_t>(kernels::typed_product::room_bytes(
        terms(), static_cast<std::size_t>(std::min(rows, kRows)), static_cast<std::size_t>(depth)));
  }
  /// Of a block of columns.
  std::int64_t panel_bytes() const {
    constexpr std::int64_t kPanels = kColumns / static_cast<std::int64_t>(kernels::typed_product::kPanel);
    return kPanels *
           static_cast<std::int64_t>(kernels::typed_product::panel_bytes(terms(), b, static_cast<std::size_t>(depth)));
  }
};

/// A batch of matrices that follow each other is one matrix where they meet the same right one.
void join_batch(const MatMul& op, bool shared, TypedProduct& form) {
  if (!shared || op.transpose_a || op.heads_inside_a || op.heads_inside_out) return;
  form.rows *= element_count(form.batch);
  form.batch.clear();
}

TypedProduct form_of(const Candidate& node) {
  const MatMul& op = *product_of(node.node.op);
  const Shape logical = heads_swapped(node.output_shape(), op.heads_inside_out);
  TypedProduct form{*type_of(node.input(0).type.dtype), *type_of(node.input(1).type.dtype), {}};
  form.batch.assign(logical.begin(), logical.end() - 2);
  form.rows = logical[logical.size() - 2];
  form.columns = logical.back();
  const Shape a = heads_swapped(node.input_shape(0), op.heads_inside_a);
  form.depth = op.transpose_a ? a[a.size() - 2] : a.back();
  form.kernel = &kernels::typed_product::select(node.features, form.a, form.b);
  const bool one_b = node.input_shape(1).size() == 2;
  const bool has_zeros = std::holds_alternative<IntegerMatMul>(node.node.op);
  if (node.constant(1) && !op.heads_inside_b && !has_zeros)
    form.packed_matrices = element_count(node.input_shape(1)) / (form.depth * form.columns);
  join_batch(op, one_b && node.input_shape(0).size() == node.output_shape().size(), form);
  form.few = form.packed_matrices == 0 && form.rows <= static_cast<std::int64_t>(kernels::typed_product::kFewRows) &&
             !op.transpose_b && form.kernel->few(form.a, form.b) != nullptr;
  return form;
}

/// Units are blocks of columns of a matrix of the batch, cut into blocks of rows.
class TypedProductOp final : public RowOp {
 public:
  explicit TypedProductOp(const LowerContext& context)
      : op_(*product_of(context.node.op)),
        form_(context.form<TypedProduct>()),
        pack_(form_.kernel->pack(form_.a, form_.b)),
        product_(form_.few ? form_.kernel->few(form_.a, form_.b) : form_.kernel->product(form_.a, form_.b)),
        a_at_(joined(context.input_shape(0), op_.heads_inside_a)),
        b_at_(matrices_of(context.input_shape(1), op_.heads_inside_b, form_.batch)),
        out_at_(joined(context.output_shape(), op_.heads_inside_out)),
        a_(context.in<std::byte>(0)),
        b_(context.in<std::byte>(1)),
        out_(context.out<std::byte>()) {
    if (std::holds_alternative<IntegerMatMul>(context.node.op)) {
      a_zero_ = context.in<std::byte>(2), b_zero_ = context.in<std::byte>(3);
    } else {
      bias_ = context.in<std::byte>(2);
    }
    if (form_.packed_matrices == 0) return;
    packed_ =
        reinterpret_cast<const std::byte*>(context.packed(1, packing_name(), [&](const Tensor& b, WeightRoom& room) {
          const std::int64_t panels = form_.packed_matrices * form_.column_blocks();
          WeightMemory packed = room.take(static_cast<std::size_t>(panels * form_.panel_bytes()));
          for (std::int64_t panel = 0; panel < panels; ++panel)
            pack(0, static_cast<const std::byte*>(b.data()) + panel / form_.column_blocks() * matrix_bytes(),
                 panel % form_.column_blocks(),
                 reinterpret_cast<std::byte*>(packed.floats()) + panel * form_.panel_bytes());
          return packed;
        }));
  }

  void run(const StepContext& step) const override {
    std::int64_t packed_at = -1, packed_block = -1;
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit) {
      const std::int64_t block = unit / form_.row_blocks() % form_.column_blocks();
      const std::int64_t matrix = unit / form_.row_blocks() / form_.column_blocks();
      const std::int64_t at = b_at_.offset(matrix, form_.batch) * bytes_of(form_.b);
      std::byte* const room = reinterpret_cast<std::byte*>(step.scratch) + room_of_rows();
      if (form_.few) {
        multiply(step, matrix, block, 0, whole(step, b_) + at + block * kFewRowsColumns);
        continue;
      }
      if (packed_ == nullptr && (at != packed_at || block != packed_block))
        pack(zero_of(step, b_zero_, form_.b), whole(step, b_) + at, block, room);
      packed_at = at, packed_block = block;
      const std::int64_t panel = at / matrix_bytes() * form_.column_blocks() + block;
      multiply(step, matrix, block, unit % form_.row_blocks(),
               packed_ == nullptr ? room : packed_ + panel * form_.panel_bytes());
    }
  }

  std::string_view kernel() const override { return form_.kernel->name; }

 private:
  Matrices joined(const Shape& shape, bool heads_inside) const {
    if (!form_.batch.empty()) return matrices_of(shape, heads_inside, form_.batch);
    return {{}, heads_inside ? shape[shape.size() - 2] * shape.back() : shape.back()};
  }
  std::string packing_name() const { return "typed/" + std::to_string(form_.terms()) + (op_.transpose_b ? "/t" : ""); }
  static std::int64_t bytes_of(Type type) {
    if (type == Type::i16) return 2;
    return type == Type::i8 || type == Type::u8 ? 1
                                                : static_cast<std::int64_t>(kernels::typed_product::sum_bytes(type));
  }
  std::int64_t matrix_bytes() const { return form_.depth * form_.columns * bytes_of(form_.b); }

  std::int32_t zero_of(const StepContext& step, ValueOf<std::byte> zero, Type type) const {
    if (!zero) return 0;
    const std::byte* at = whole(step, zero);
    return type == Type::i8 ? *reinterpret_cast<const std::int8_t*>(at) : *reinterpret_cast<const std::uint8_t*>(at);
  }

  void pack(std::int32_t zero, const std::byte* b, std::int64_t block, std::byte* to) const {
    const std::int64_t first = block * kColumns;
    const std::ptrdiff_t k_stride = op_.transpose_b ? 1 : b_at_.row, n_stride = op_.transpose_b ? b_at_.row : 1;
    pack_({static_cast<std::size_t>(form_.depth), static_cast<std::size_t>(std::min(kColumns, form_.columns - first)),
           b + first * n_stride * bytes_of(form_.b), k_stride, n_stride, to, zero});
  }

  void multiply(const StepContext& step, std::int64_t matrix, std::int64_t block, std::int64_t row_block,
                const std::byte* b) const {
    const std::int64_t column = block * form_.block_columns(), row = row_block * kRows;
    const auto sums = static_cast<std::int64_t>(sum_bytes(form_.a));
    kernels::typed_product::ProductArgs args;
    args.m = static_cast<std::size_t>(std::min(kRows, form_.rows - row));
    args.k = static_cast<std::size_t>(form_.depth);
    args.n = static_cast<std::size_t>(std::min(form_.block_columns(), form_.columns - column));
    args.m_stride = op_.transpose_a ? 1 : a_at_.row;
    args.k_stride = op_.transpose_a ? a_at_.row : 1;
    args.a = whole(step, a_) + (a_at_.offset(matrix, form_.batch) + row * args.m_stride) * bytes_of(form_.a);
    args.b = b;
    args.b_stride = b_at_.row;
    args.a_zero = zero_of(step, a_zero_, form_.a);
    args.b_zero = zero_of(step, b_zero_, form_.b);
    args.bias = bias_ ? whole(step, bias_) + column * sums : nullptr;
    args.room = step.scratch;
    args.out_stride = out_at_.row;
    args.out = whole(step, out_) + (out_at_.offset(matrix, form_.batch) + row * out_at_.row + column) * sums;
    product_(args);
  }

  std::int64_t room_of_rows() const { return round_up(form_.room_bytes(), kAlignment); }

  MatMul op_;
  TypedProduct form_;
  kernels::typed_product::PackFn pack_;
  kernels::typed_product::ProductFn product_;
  Matrices a_at_, b_at_, out_at_;
  ValueOf<std::byte> a_, b_, bias_{}, a_zero_{}, b_zero_{}, out_;
  const std::byte* packed_ = nullptr;
};

Match match(const Candidate& node) {
  const MatMul* op = product_of(node.node.op);
  if (op == nullptr || !node.has_input(1)) return refuse();
  const auto a = type_of(node.input(0).type.dtype), b = type_of(node.input(1).type.dtype);
  const auto out = type_of(node.graph.value(node.node.outputs[0]).type.dtype);
  if (!a || !b || !out || sum_bytes(*a) != sum_bytes(*b) || sum_bytes(*a) != sum_bytes(*out)) return refuse();
  if ((*a == Type::f64) != (*b == Type::f64) || !(op->epilogue == FusedEpilogue{})) return refuse();
  if (kernels::typed_product::is_narrow(*out)) return refuse();
  const auto& shapes = {node.input_shape(0), node.input_shape(1)};
  for (const Shape& shape : shapes)
    if (shape.size() < 2 || element_count(shape) == 0) return refuse("one-dimensional or empty operand");
  if (std::holds_alternative<IntegerMatMul>(node.node.op)) return take(Form::of(form_of(node)));
  if (node.has_input(2) && element_count(node.input_shape(2)) != node.output_shape().back()) return refuse();
  return take(Form::of(form_of(node)));
}

std::int64_t units(const Chosen& node) { return node.form<TypedProduct>().units(); }

Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<TypedProduct>();
  // half as many lanes as those of float32, or some products in each
  const double as_wide = form.terms() == 1 ? 2 : 1.6 / static_cast<double>(form.terms());
  const double packed = form.packed_matrices > 0 ? 0 : elements_of(node.graph, node.node.inputs[1]);
  return {rates.seconds(Work::contraction, as_wide * flop_of(node.graph, node.node), static_cast<double>(form.depth)) +
          rates.seconds(Work::copy, packed * static_cast<double>(sum_bytes(form.b)), 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<TypedProduct>();
  return round_up(form.room_bytes(), kAlignment) + (form.packed_matrices > 0 || form.few ? 0 : form.panel_bytes());
}

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<TypedProductOp>(context); }

}  // namespace

constinit const Family families::typed_product =
    whole_family({.name = "typed_product",
                  .types = {DType::f64, DType::i8, DType::u8, DType::i16, DType::i32, DType::i64},
                  .match = match,
                  .units = units,
                  .effort = effort,
                  .weights_bytes = weight_bytes,
                  .workspace_bytes = workspace_bytes,
                  .lower = lower});

}  // namespace colonnade
