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

/// Lines of elements for columns, by the kernel for their size. Strides in elements.
class Turn {
 public:
  struct Lines {
    std::int64_t rows, columns;
    const std::byte* in;
    std::ptrdiff_t in_stride;
    std::byte* out;
    std::ptrdiff_t out_stride;
  };

  /// `to_last`: the lines are planes, else pixels.
  Turn(const LowerContext& context, bool to_last)
      : kernel_(kernels::move::select(context.features)), to_last_(to_last), bytes_(element_bytes(context.input(0))) {}

  void operator()(const Lines& l) const {
    const auto rows = static_cast<std::size_t>(l.rows), columns = static_cast<std::size_t>(l.columns);
    const auto* in = reinterpret_cast<const float*>(l.in);
    auto* out = reinterpret_cast<float*>(l.out);
    if (bytes_ != sizeof(float))
      kernel_.transpose({static_cast<std::size_t>(bytes_), rows, columns, l.in, l.in_stride, l.out, l.out_stride});
    else if (to_last_)
      kernel_.planes_to_pixels({columns, rows, in, l.in_stride, out, l.out_stride});
    else
      kernel_.pixels_to_planes({rows, columns, in, l.in_stride, out, l.out_stride});
  }
  std::int64_t bytes() const { return bytes_; }
  std::string_view kernel() const { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  bool to_last_;
  std::int64_t bytes_;
};

/// Between planes [image][channel][row][column] of a whole tensor and channels-last rows.
class LayoutOp final : public RowOp {
 public:
  LayoutOp(const LowerContext& context, bool to_last)
      : turn_(context, to_last),
        to_last_(to_last),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        shape_(row_shape(to_last ? context.output_shape() : context.input_shape(0))) {}

  void run(const StepContext& step) const override {
    const Rows rows(step, to_last_ ? out_ : in_, 0), out(step, out_, 0);
    const std::int64_t bytes = turn_.bytes();
    std::byte* planes = whole(step, to_last_ ? in_ : out_) + step.image * shape_.rows * shape_.row_elements() * bytes;
    const std::ptrdiff_t plane_stride = shape_.rows * shape_.width, pixel_stride = rows.pixel_stride() / bytes;
    const bool whole_rows = out.width() == shape_.width;
    for (std::int64_t r = step.row_begin, end = r; r < step.row_end; r = end) {
      end = whole_rows ? rows.even_until(r, step.row_end, shape_.width) : r + 1;
      std::byte* plane_row = planes + (r * shape_.width + out.column_begin()) * bytes;
      const std::int64_t pixels = (end - r) * out.width();
      if (to_last_)
        turn_({shape_.channels, pixels, plane_row, plane_stride, rows(r), pixel_stride});
      else
        turn_({pixels, shape_.channels, rows.at(r, out.column_begin()), pixel_stride, plane_row, plane_stride});
    }
  }

  std::string_view kernel() const override { return turn_.kernel(); }

 private:
  Turn turn_;
  bool to_last_;
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
