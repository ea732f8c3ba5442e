// SPDX-License-Identifier: Apache-2.0
// Matrices of bytes as the numbers they stand for, by a scale a block of elements along an axis.
#include <algorithm>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/bytes/bytes.hpp"

namespace colonnade {
namespace {

struct BlocksForm {
  kernels::bytes::Type integers;
  bool by_rows = false;   ///< blocks of rows; else of columns
  bool one_zero = false;  ///< a constant zero point for all
  std::int64_t block = 1;
  std::int64_t columns = 1;
  Shared rows;
};

class DequantizeBlocksOp final : public RowOp {
 public:
  explicit DequantizeBlocksOp(const LowerContext& context)
      : kernel_(kernels::bytes::select(context.features)),
        form_(context.form<BlocksForm>()),
        dequantize_(kernel_.dequantize(form_.integers)),
        in_(context.in<std::byte>(0)),
        scale_(context.in<float>(1)),
        out_(context.out<float>()),
        zeros_(static_cast<std::size_t>(form_.columns)) {
    if (form_.one_zero)
      std::ranges::fill(zeros_, *context.bytes(2));
    else if (context.has_input(2))
      zero_ = context.in<std::byte>(2);
  }

  void run(const StepContext& step) const override {
    const Interval part = form_.rows.of(step);
    for (std::int64_t row = part.begin; row < part.end; ++row) {
      if (form_.by_rows) {
        dequantize(step, row, row / form_.block * form_.columns, {0, form_.columns}, form_.columns);
        continue;
      }
      const std::int64_t blocks = ceil_div(form_.columns, form_.block);
      const std::int64_t whole_blocks = form_.columns / form_.block, end = whole_blocks * form_.block;
      if (end > 0) dequantize(step, row, row * blocks, {0, end}, form_.block);
      if (end < form_.columns)
        dequantize(step, row, row * blocks + whole_blocks, {end, form_.columns}, form_.columns - end);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Columns of a row by the parameters from `first` on: one a column where blocks are of rows, else one for each
  /// `block` columns.
  void dequantize(const StepContext& step, std::int64_t row, std::int64_t first, Interval columns,
                  std::int64_t block) const {
    const std::int64_t offset = row * form_.columns + columns.begin;
    const auto channels = static_cast<std::ptrdiff_t>(block);
    const std::byte* zero = zero_ ? whole(step, zero_) + first : zeros_.data();
    const std::ptrdiff_t by_block = form_.by_rows ? 0 : 1, by_column = form_.by_rows ? 1 : 0;
    dequantize_(
        {{static_cast<std::size_t>(columns.size() / block), static_cast<std::size_t>(block), channels, channels},
         {whole(step, scale_) + first, zero, by_block, by_column},
         whole(step, in_) + offset,
         whole(step, out_) + offset});
  }

  const kernels::bytes::Kernel& kernel_;
  BlocksForm form_;
  kernels::bytes::DequantizeFn dequantize_;
  ValueOf<std::byte> in_;
  ValueOf<float> scale_;
  ValueOf<std::byte> zero_;
  ValueOf<float> out_;
  std::vector<std::byte> zeros_;  ///< a row of what is no input
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Dequantize>(&node.node.op);
  if (op == nullptr || op->block == 0) return refuse();
  const Shape& shape = node.input_shape(0);
  const DType from = node.input(0).type.dtype;
  if (node.input(1).type.dtype != DType::f32 || (node.has_input(2) && node.input(2).type.dtype != from))
    return refuse("scales or zero points of another type");
  const bool by_rows = normalize_axis(op->axis, 2, node.node) == 0;
  const std::int64_t parameters =
      by_rows ? ceil_div(shape[0], op->block) * shape[1] : shape[0] * ceil_div(shape[1], op->block);
  const auto has_each = [&](std::size_t input) { return element_count(node.input_shape(input)) == parameters; };
  const bool one_zero = node.has_input(2) && !has_each(2);
  if (!has_each(1) || (one_zero && !node.constant(2))) return refuse("one parameter for all");
  const auto integers = from == DType::i8 ? kernels::bytes::Type::i8 : kernels::bytes::Type::u8;
  return take(Form::of(BlocksForm{integers, by_rows, one_zero, op->block, shape[1], {shape[0]}}));
}

std::int64_t units(const Chosen& node) { return node.form<BlocksForm>().rows.units(); }

std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<DequantizeBlocksOp>(context); }

}  // namespace

constinit const Family families::dequantize_blocks = whole_family({.name = "dequantize_blocks",
                                                                   .types = {DType::u8, DType::i8, DType::f32},
                                                                   .match = match,
                                                                   .units = units,
                                                                   .effort = element_effort<Work::arithmetic>,
                                                                   .weights_bytes = no_bytes,
                                                                   .workspace_bytes = no_bytes,
                                                                   .lower = lower});

}  // namespace colonnade
