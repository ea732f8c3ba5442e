// SPDX-License-Identifier: Apache-2.0
// Axes of a whole tensor in another order, as many transposed matrices: what lies side by side in the input are their
// columns, what does in the output their rows.
#include "families/permute.hpp"

#include <algorithm>
#include <bit>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"
#include "reference/indexing.hpp"

namespace colonnade {
namespace {

/// Strides in elements.
struct Axis {
  std::int64_t size = 1, in = 0, out = 0;
};

/// Several axes as the lines of a matrix, the nearest last.
struct Lines {
  std::vector<Axis> axes{};

  std::int64_t size() const {
    std::int64_t product = 1;
    for (const Axis& axis : axes) product *= axis.size;
    return product;
  }
  bool is_even() const { return axes.size() == 1; }
  /// Of the nearest axis, in one operand.
  std::int64_t stride(std::int64_t Axis::*side) const { return axes.back().*side; }
  /// Of each of the first `count` lines.
  std::vector<std::ptrdiff_t> offsets(std::int64_t Axis::*side, std::int64_t count) const {
    std::vector<std::ptrdiff_t> result;
    for (std::int64_t line = 0; line < count; ++line) {
      std::int64_t rest = line, offset = 0;
      for (std::size_t i = axes.size(); i-- > 0; rest /= axes[i].size) offset += rest % axes[i].size * (axes[i].*side);
      result.push_back(offset);
    }
    return result;
  }
};

/// Elements are as many as lie side by side on both sides.
struct Permutation {
  std::int64_t bytes = 1;      ///< of an element
  Lines rows{}, columns{};     ///< rows lie side by side in the output, columns in the input
  std::vector<Axis> others{};  ///< of matrices, outermost first
  /// The longer of rows and columns comes in parts of so many.
  bool cuts_rows = false;
  std::int64_t part = 1, parts = 1;
  Shared shared{};  ///< matrices of a part, the parts outermost

  bool is_even() const { return rows.is_even() && columns.is_even(); }
};

/// The axes that do not follow each other on both sides, as they lie in the output.
std::vector<Axis> axes_of(const AxisOrder& order) {
  const Ints from = reference::strides_of(order.shape);
  Ints shape;
  std::array<Ints, 2> strides;
  for (const std::int64_t axis : order.axes) {
    shape.push_back(order.shape[static_cast<std::size_t>(axis)]);
    strides[0].push_back(from[static_cast<std::size_t>(axis)]);
  }
  strides[1] = reference::strides_of(shape);
  reference::coalesce(shape, strides);
  std::vector<Axis> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back({shape[i], strides[0][i], strides[1][i]});
  return axes;
}

/// As many elements side by side as a list of them may have.
constexpr std::int64_t kMostListed = 512;

/// Takes from `axes` what lies side by side on one side, until it fills a line of a cache: whole axes, or as much of
/// one as keeps lists short.
void extend(Lines& lines, std::vector<Axis>& axes, std::int64_t Axis::*side, std::int64_t enough) {
  for (std::int64_t size = lines.size(); size < enough;) {
    const auto next = std::ranges::find(axes, size, side);
    if (next == axes.end()) break;
    Axis taken = *next;
    if (size > 1) taken.size = std::min(taken.size, kMostListed / size);
    while (next->size % taken.size != 0) --taken.size;
    if (taken.size == 1) break;
    if (taken.size == next->size)
      axes.erase(next);
    else
      *next = {next->size / taken.size, next->in * taken.size, next->out * taken.size};
    lines.axes.insert(lines.axes.begin(), taken);
    size *= taken.size;
  }
}

/// Cuts the longer lines: where there are few matrices for threads to share, and where offsets are listed.
void cut(Permutation& p) {
  constexpr std::int64_t kFewMatrices = 16, kLeastPart = 256, kGrain = 64;
  const std::int64_t rows = p.rows.size(), columns = p.columns.size(), longer = std::max(rows, columns);
  p.cuts_rows = rows >= columns;
  const bool is_few = p.shared.total < kFewMatrices;
  const std::int64_t wished = is_few ? std::clamp(longer / kLeastPart, std::int64_t{1}, kFewMatrices) : 1;
  p.part = std::max(kGrain, round_up(ceil_div(longer, wished), kGrain));
  if (!p.is_even()) p.part = std::min(p.part, kMostListed);
  if (!(p.cuts_rows ? p.rows : p.columns).is_even()) p.part = longer;
  p.parts = ceil_div(longer, p.part);
  p.shared.total *= p.parts;
}

/// Nothing where rows of many bytes move, or all of them as they lie, or matrices are too small for a call each.
std::optional<Permutation> permutation_of(const AxisOrder& order, std::int64_t bytes) {
  constexpr std::int64_t kMostBytes = 16, kLineBytes = 64, kFewElements = 32;
  std::vector<Axis> axes = axes_of(order);
  Permutation p{.bytes = bytes};
  if (const Axis last = axes.back(); axes.size() > 1 && last.in == 1) {
    p.bytes *= last.size;
    if (p.bytes > kMostBytes || !std::has_single_bit(static_cast<std::uint64_t>(p.bytes))) return std::nullopt;
    axes.pop_back();
    for (Axis& axis : axes) axis = {axis.size, axis.in / last.size, axis.out / last.size};
  }
  if (axes.size() < 2) return std::nullopt;
  const std::int64_t enough = kLineBytes / p.bytes;
  // the nearest of either side first: one may not take the other's
  for (const std::int64_t wanted : {std::int64_t{2}, enough}) {
    extend(p.rows, axes, &Axis::out, wanted);
    extend(p.columns, axes, &Axis::in, wanted);
  }
  if (p.rows.size() * p.columns.size() < kFewElements) return std::nullopt;
  // what lies near on either side comes soon: its lines are still in the cache
  std::ranges::stable_sort(axes, std::greater<>(), [](const Axis& axis) { return std::min(axis.in, axis.out); });
  for (const Axis& axis : axes) p.shared.total *= axis.size;
  p.others = std::move(axes);
  cut(p);
  return p;
}

class PermuteOp final : public RowOp {
 public:
  explicit PermuteOp(const LowerContext& context)
      : kernel_(kernels::move::select(context.features)),
        form_(context.form<Permutation>()),
        in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()) {
    if (form_.is_even()) return;
    row_offsets_ = form_.rows.offsets(&Axis::in, form_.cuts_rows ? form_.part : form_.rows.size());
    column_offsets_ = form_.columns.offsets(&Axis::out, form_.cuts_rows ? form_.columns.size() : form_.part);
  }

  /// Matrices along the innermost of the other axes are a call.
  void run(const StepContext& step) const override {
    const Interval items = form_.shared.of(step);
    const std::int64_t rows = form_.rows.size(), columns = form_.columns.size();
    kernels::move::TransposeArgs args;
    args.bytes = static_cast<std::size_t>(form_.bytes);
    args.in_stride = form_.rows.stride(&Axis::in);
    args.out_stride = form_.columns.stride(&Axis::out);
    if (!form_.is_even()) {
      args.row_offsets = row_offsets_.data();
      args.column_offsets = column_offsets_.data();
    }
    const Axis near = form_.others.empty() ? Axis{} : form_.others.back();
    args.in_step = near.in;
    args.out_step = near.out;
    for (std::int64_t i = items.begin; i < items.end;) {
      const std::int64_t count = std::min(near.size - i % near.size, items.end - i);
      const Place place = place_of(i);
      args.rows = static_cast<std::size_t>(form_.cuts_rows ? place.size : rows);
      args.columns = static_cast<std::size_t>(form_.cuts_rows ? columns : place.size);
      args.in = whole(step, in_) + place.in * form_.bytes;
      args.out = whole(step, out_) + place.out * form_.bytes;
      args.matrices = static_cast<std::size_t>(count);
      kernel_.transpose(args);
      i += count;
    }
  }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  /// Where a matrix begins, and how many of its rows or columns are its part.
  struct Place {
    std::int64_t in = 0, out = 0, size = 0;
  };
  Place place_of(std::int64_t item) const {
    Place place;
    for (std::size_t i = form_.others.size(); i-- > 0; item /= form_.others[i].size) {
      const std::int64_t at = item % form_.others[i].size;
      place.in += at * form_.others[i].in;
      place.out += at * form_.others[i].out;
    }
    const Lines& lines = form_.cuts_rows ? form_.rows : form_.columns;
    const std::int64_t begin = item * form_.part;  // of even lines, or 0
    place.in += begin * lines.stride(&Axis::in);
    place.out += begin * lines.stride(&Axis::out);
    place.size = std::min(form_.part, lines.size() - begin);
    return place;
  }

  const kernels::move::Kernel& kernel_;
  Permutation form_;
  ValueOf<std::byte> in_, out_;
  std::vector<std::ptrdiff_t> row_offsets_, column_offsets_;
};

Match match(const Candidate& node) {
  const std::optional<AxisOrder> order = axis_order_of(node);
  if (!order) return refuse();
  if (node.input(0).type.dtype == DType::string) return refuse("type has no kernel");
  auto form = permutation_of(*order, static_cast<std::int64_t>(size_of(node.input(0).type.dtype)));
  return form ? take(Form::of(std::move(*form))) : refuse();
}

std::int64_t units(const Chosen& node) { return node.form<Permutation>().shared.units(); }
std::unique_ptr<RowOp> lower(const LowerContext& context) { return std::make_unique<PermuteOp>(context); }

}  // namespace

std::optional<AxisOrder> axis_order_of(const Subject& node) {
  const Shape& s = node.input_shape(0);
  const auto is_image = [&](std::int64_t axis) { return axis == 1 && s.size() == 4; };
  if (const auto* op = std::get_if<Transpose>(&node.node.op)) {
    Ints axes = op->perm;
    for (std::size_t i = s.size(); op->perm.empty() && i-- > 0;) axes.push_back(static_cast<std::int64_t>(i));
    return AxisOrder{s, std::move(axes)};
  }
  if (const auto* op = std::get_if<DepthToSpace>(&node.node.op); op != nullptr && is_image(op->axis)) {
    const std::int64_t b = op->block, c = s[1] / (b * b);
    if (op->crd) return AxisOrder{{s[0], c, b, b, s[2], s[3]}, {0, 1, 4, 2, 5, 3}};
    return AxisOrder{{s[0], b, b, c, s[2], s[3]}, {0, 3, 4, 1, 5, 2}};
  }
  if (const auto* op = std::get_if<SpaceToDepth>(&node.node.op); op != nullptr && is_image(op->axis)) {
    const std::int64_t b = op->block;
    return AxisOrder{{s[0], s[1], s[2] / b, b, s[3] / b, b}, {0, 3, 5, 1, 2, 4}};
  }
  return std::nullopt;
}

constinit const Family families::permute = whole_family({.name = "permute",
                                                         .types = kAllTypes,
                                                         .match = match,
                                                         .units = units,
                                                         .effort = byte_effort<Work::transpose>,
                                                         .weights_bytes = no_bytes,
                                                         .workspace_bytes = no_bytes,
                                                         .lower = lower});

}  // namespace colonnade
