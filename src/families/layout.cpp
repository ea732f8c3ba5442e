// SPDX-License-Identifier: Apache-2.0
// Layout changes at the borders.
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"

namespace colonnade {
namespace {

constexpr TypeSet kTurnedTypes{DType::f32,        DType::bf16,   DType::f16,       DType::u8,  DType::i8,
                               DType::i16,        DType::u16,    DType::i32,       DType::u32, DType::f8e4m3fn,
                               DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz};

/// Between planes [image][channel][row][column] of a whole tensor and channels-last rows.
class LayoutOp final : public RowOp {
 public:
  LayoutOp(const LowerContext& context, bool to_last)
      : kernel_(kernels::move::select(context.features)),
        to_last_(to_last),
        bytes_(element_bytes(context.input(0))),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        shape_(row_shape(to_last ? context.output_shape() : context.input_shape(0))) {}

  void run(const StepContext& step) const override {
    const Rows rows(step, to_last_ ? out_ : in_, 0), out(step, out_, 0);
    std::byte* planes = whole(step, to_last_ ? in_ : out_) + step.image * shape_.rows * shape_.row_elements() * bytes_;
    const std::ptrdiff_t plane_stride = shape_.rows * shape_.width, pixel_stride = rows.pixel_stride() / bytes_;
    const bool whole_rows = out.width() == shape_.width;
    for (std::int64_t r = step.row_begin, end = r; r < step.row_end; r = end) {
      end = whole_rows ? rows.even_until(r, step.row_end, shape_.width) : r + 1;
      std::byte* plane_row = planes + (r * shape_.width + out.column_begin()) * bytes_;
      const auto pixels = static_cast<std::size_t>((end - r) * out.width());
      const auto channels = static_cast<std::size_t>(shape_.channels), bytes = static_cast<std::size_t>(bytes_);
      if (to_last_)
        kernel_.transpose({bytes, channels, pixels, plane_row, plane_stride, rows(r), pixel_stride});
      else
        kernel_.transpose(
            {bytes, pixels, channels, rows.at(r, out.column_begin()), pixel_stride, plane_row, plane_stride});
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  bool to_last_;
  std::int64_t bytes_;
  ValueOf<std::byte> in_, out_;
  RowShape shape_;
};

/// Whether a Transpose of an image has this permutation.
bool permutes(const Candidate& node, const Ints& perm) {
  const auto* op = std::get_if<Transpose>(&node.node.op);
  return op != nullptr && node.input_shape(0).size() == 4 && op->perm == perm;
}

Match match_last(const Candidate& node) { return permutes(node, {0, 2, 3, 1}) ? take() : refuse(); }
Match match_first(const Candidate& node) { return permutes(node, {0, 3, 1, 2}) ? take() : refuse(); }

std::unique_ptr<RowOp> lower_last(const LowerContext& context) { return std::make_unique<LayoutOp>(context, true); }
std::unique_ptr<RowOp> lower_first(const LowerContext& context) { return std::make_unique<LayoutOp>(context, false); }

}  // namespace

constinit const Family families::to_channels_last = {.name = "to_channels_last",
                                                     .scope = Scope::rows,
                                                     .border = Border::enters,
                                                     .types = kTurnedTypes,
                                                     .match = match_last,
                                                     .units = one_unit,
                                                     .effort = byte_effort<Work::transpose>,
                                                     .weights_bytes = no_bytes,
                                                     .workspace_bytes = no_bytes,
                                                     .window = same_columns,
                                                     .chunks = no_chunks,
                                                     .placements = no_placements,
                                                     .tell = nothing_told,
                                                     .lower = lower_last};

constinit const Family families::to_channels_first = {.name = "to_channels_first",
                                                      .scope = Scope::rows,
                                                      .border = Border::leaves,
                                                      .types = kTurnedTypes,
                                                      .match = match_first,
                                                      .units = one_unit,
                                                      .effort = byte_effort<Work::transpose>,
                                                      .weights_bytes = no_bytes,
                                                      .workspace_bytes = no_bytes,
                                                      .window = same_columns,
                                                      .chunks = no_chunks,
                                                      .placements = no_placements,
                                                      .tell = nothing_told,
                                                      .lower = lower_first};

}  // namespace colonnade
