// SPDX-License-Identifier: Apache-2.0
// Resize along any axes of whole tensors, in every mode: the last axis that is resized is a line. What the axes before
// it read is blended into one line first, whose elements are then looked up. Units are lines of the output.
#include <cstring>

#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/resize_walk.hpp"
#include "families/rows.hpp"
#include "families/table.hpp"
#include "kernels/move/move.hpp"
#include "kernels/resize/resize.hpp"

namespace colonnade {
namespace {

using namespace resize_walk;

constexpr std::int64_t kBatchLines = 16, kBatchFloats = 8192;

/// Positions along the line outside of the region that is read.
std::vector<std::int64_t> outside_of(const ResizeTaps& taps) {
  std::vector<std::int64_t> positions;
  for (std::size_t i = 0; i < taps.outside.size(); ++i)
    if (taps.outside[i]) positions.push_back(static_cast<std::int64_t>(i));
  return positions;
}

/// Taps of the line; an identity has one.
ResizeTaps line_taps(const Resize& op, const ResizeAxis& axis) {
  if (!axis.is_identity()) return resize_taps(op, axis);
  ResizeTaps taps;
  for (std::int64_t i = 0; i < axis.out_size; ++i) taps.indices.push_back(i);
  taps.weights.assign(taps.indices.size(), 1);
  return taps;
}

/// Lines that are blended before their elements are looked up.
std::int64_t batch_of(const LinesForm& form) {
  return std::clamp<std::int64_t>(kBatchFloats / form.axes.back().in_size, 1, kBatchLines);
}

/// Positions of the line are single elements.
class ElementLinesOp final : public RowOp {
 public:
  ElementLinesOp(const LowerContext& context, const Resize& op)
      : kernel_(kernels::resize::select(context.features)),
        extrapolation_(op.extrapolation),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        outer_(op, context.form<LinesForm>()),
        combinations_(combinations_of(op, context.form<LinesForm>())),
        batch_(outer_.crops() ? 1 : batch_of(context.form<LinesForm>())) {
    const ResizeAxis& axis = context.form<LinesForm>().axes.back();
    const ResizeTaps taps = line_taps(op, axis);
    outside_ = outside_of(taps);
    line_.width_in = static_cast<std::size_t>(axis.in_size);
    line_.width_out = static_cast<std::size_t>(axis.out_size);
    line_.taps = static_cast<std::size_t>(taps.taps);
    by_taps(taps);
    kernel_.settle(line_);
  }

  void run(const StepContext& step) const override {
    const auto width_out = static_cast<std::int64_t>(line_.width_out);
    auto* far_lines = reinterpret_cast<std::int64_t*>(step.scratch);
    LineWalk walk(outer_, step.row_begin, far_lines, step.scratch + 2 * combinations_);
    for (std::int64_t unit = step.row_begin; unit < step.row_end; unit += batch_) {
      const std::int64_t count = std::min(batch_, step.row_end - unit);
      float* out = whole(step, out_) + unit * width_out;
      if (walk.count() == 0) {
        std::fill_n(out, width_out, extrapolation_);
        walk.next();
        continue;
      }
      find_lines(step, walk, count);
      kernel_.lines({&line_, static_cast<std::size_t>(count), step.pointers, out});
      for (std::int64_t i = 0; i < count && !outside_.empty(); ++i)
        for (const std::int64_t x : outside_) out[i * width_out + x] = extrapolation_;
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(batch_ + combinations_); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  void find_lines(const StepContext& step, LineWalk& walk, std::int64_t count) const {
    const float* in = whole(step, in_);
    if (outer_.picks())
      for (std::int64_t i = 0; i < count; ++i, walk.next())
        step.pointers[i] = in + walk.picked() * static_cast<std::int64_t>(line_.width_in);
    else
      for (std::int64_t i = 0; i < count; ++i, walk.next())
        step.pointers[i] = i > 0 && walk.repeats() ? step.pointers[i - 1] : one_line(step, walk, i);
  }

  /// The line at hand, blended into the place of line `index` of a batch where it reads several.
  const float* one_line(const StepContext& step, const LineWalk& walk, std::int64_t index) const {
    const auto width = static_cast<std::int64_t>(line_.width_in);
    const float* in = whole(step, in_);
    const float** pointers = step.pointers + batch_;
    float* weights = step.scratch + 3 * combinations_;
    const std::size_t count = walk.count();
    walk.each([&](std::size_t i, std::int64_t line, float weight) {
      pointers[i] = in + line * width;
      weights[i] = weight;
    });
    if (count == 1 && weights[0] == 1.0f) return pointers[0];
    float* blended = weights + combinations_ + index * width;
    kernel_.blend({line_.width_in, count, pointers, weights, blended});
    return blended;
  }

  /// Columns and weights tap by tap. A tap without weight reads what another one does.
  void by_taps(const ResizeTaps& taps) {
    const std::size_t stride = kernels::resize::tap_stride(line_.width_out), count = line_.taps;
    columns_.resize(stride * count);
    weights_.resize(stride * count);
    starts_.resize(stride * count / 4);
    for (std::size_t x = 0; x < line_.width_out; ++x) {
      std::size_t weighty = 0;
      while (weighty + 1 < count && taps.weights[x * count + weighty] == 0) ++weighty;
      for (std::size_t t = 0; t < count; ++t) {
        const bool weighs = taps.weights[x * count + t] != 0;
        columns_[t * stride + x] = static_cast<std::int32_t>(taps.indices[x * count + (weighs ? t : weighty)]);
        weights_[t * stride + x] = static_cast<float>(taps.weights[x * count + t]);
      }
    }
    const bool moves = count == 1 && std::ranges::all_of(taps.weights, [](double weight) { return weight == 1; });
    line_.weights = moves ? nullptr : weights_.data();
    line_.columns = columns_.data();
    line_.starts = starts_.data();
  }

  const kernels::resize::Kernel& kernel_;
  float extrapolation_;
  ValueOf<float> in_, out_;
  OuterAxes outer_;
  std::int64_t combinations_, batch_;
  kernels::resize::Line line_;
  std::vector<std::int32_t> columns_, starts_;
  std::vector<float> weights_;
  std::vector<std::int64_t> outside_;
};

/// Positions of the line are several elements side by side.
class PositionLinesOp final : public RowOp {
 public:
  PositionLinesOp(const LowerContext& context, const Resize& op)
      : kernel_(kernels::move::select(context.features)),
        extrapolation_(op.extrapolation),
        in_(context.in<float>(0)),
        out_(context.out<float>()),
        outer_(op, context.form<LinesForm>()),
        inner_(context.form<LinesForm>().inner),
        combinations_(combinations_of(op, context.form<LinesForm>())) {
    const ResizeAxis& axis = context.form<LinesForm>().axes.back();
    const ResizeTaps taps = line_taps(op, axis);
    outside_ = outside_of(taps);
    width_in_ = axis.in_size * inner_;
    width_out_ = axis.out_size * inner_;
    taps_ = taps.taps;
    columns_.assign(taps.indices.begin(), taps.indices.end());
    weights_.assign(taps.weights.begin(), taps.weights.end());
  }

  void run(const StepContext& step) const override {
    auto* far_lines = reinterpret_cast<std::int64_t*>(step.scratch);
    float* weights = step.scratch + 3 * combinations_;
    const float* in = whole(step, in_);
    LineWalk walk(outer_, step.row_begin, far_lines, step.scratch + 2 * combinations_);
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit, walk.next()) {
      float* out = whole(step, out_) + unit * width_out_;
      walk.each([&](std::size_t i, std::int64_t line, float weight) {
        step.pointers[i] = in + line * width_in_;
        weights[i] = weight;
      });
      if (walk.count() == 0)
        std::fill_n(out, width_out_, extrapolation_);
      else
        kernel_.resize({static_cast<std::size_t>(width_out_ / inner_), static_cast<std::size_t>(inner_), walk.count(),
                        static_cast<std::size_t>(taps_), step.pointers, weights, columns_.data(), weights_.data(), out,
                        inner_, inner_});
      for (const std::int64_t x : outside_) std::fill_n(out + x * inner_, inner_, extrapolation_);
    }
  }

  std::size_t pointer_count(std::int64_t) const override { return static_cast<std::size_t>(combinations_); }
  std::string_view kernel() const override { return kernel_.name; }

 private:
  const kernels::move::Kernel& kernel_;
  float extrapolation_;
  ValueOf<float> in_, out_;
  OuterAxes outer_;
  std::int64_t inner_, combinations_, width_in_ = 1, width_out_ = 1, taps_ = 1;
  std::vector<std::int32_t> columns_;
  std::vector<float> weights_;
  std::vector<std::int64_t> outside_;
};

/// Nearest neighbours of elements of any type.
class PickLinesOp final : public RowOp {
 public:
  PickLinesOp(const LowerContext& context, const Resize& op)
      : in_(context.in<std::byte>(0)),
        out_(context.out<std::byte>()),
        outer_(op, context.form<LinesForm>()),
        columns_(line_taps(op, context.form<LinesForm>().axes.back()).indices),
        width_in_(context.form<LinesForm>().axes.back().in_size),
        bytes_(context.form<LinesForm>().inner * element_bytes(context.input(0))) {}

  void run(const StepContext& step) const override {
    const std::int64_t width_out = std::ssize(columns_) * bytes_;
    std::int64_t far = 0;
    float weight = 1;
    const std::byte* in = whole(step, in_.id);
    std::byte* out = whole(step, out_.id) + step.row_begin * width_out;
    LineWalk walk(outer_, step.row_begin, &far, &weight);
    for (std::int64_t unit = step.row_begin; unit < step.row_end; ++unit, out += width_out, walk.next()) {
      if (unit > step.row_begin && walk.repeats())
        std::memcpy(out, out - width_out, static_cast<std::size_t>(width_out));
      else
        walk.each([&](std::size_t, std::int64_t line, float) { pick(in + line * width_in_ * bytes_, out); });
    }
  }
  std::string_view kernel() const override { return "copy"; }

 private:
  void pick(const std::byte* in, std::byte* out) const {
    switch (bytes_) {
      case 1: return pick_sized<1>(in, out);
      case 2: return pick_sized<2>(in, out);
      case 4: return pick_sized<4>(in, out);
      case 8: return pick_sized<8>(in, out);
      default:
        for (const std::int64_t column : columns_) {
          std::memcpy(out, in + column * bytes_, static_cast<std::size_t>(bytes_));
          out += bytes_;
        }
    }
  }
  template <std::size_t kBytes>
  void pick_sized(const std::byte* in, std::byte* out) const {
    for (std::size_t x = 0; x < columns_.size(); ++x)
      std::memcpy(out + x * kBytes, in + static_cast<std::size_t>(columns_[x]) * kBytes, kBytes);
  }

  ValueOf<std::byte> in_, out_;
  OuterAxes outer_;
  std::vector<std::int64_t> columns_;
  std::int64_t width_in_, bytes_;
};

LinesForm form_of(const std::vector<ResizeAxis>& axes) {
  std::size_t last = axes.size();
  while (last > 1 && axes[last - 1].is_identity()) --last;
  LinesForm form;
  for (std::size_t i = last; i < axes.size(); ++i) form.inner *= axes[i].out_size;
  for (std::size_t i = 0; i < last; ++i) {
    const bool joins = i > 0 && i + 1 < last && axes[i].is_identity() && axes[i - 1].is_identity();
    if (!joins) {
      form.axes.push_back(axes[i]);
      continue;
    }
    ResizeAxis& joined = form.axes.back();
    joined.in_size = joined.out_size *= axes[i].out_size;
  }
  return form;
}

Match match(const Candidate& node) {
  const Resize* op = std::get_if<Resize>(&node.node.op);
  if (op == nullptr) return refuse();
  const auto axes = resize_axes(node.graph, node.node);
  if (!axes || axes->empty()) return refuse("scales are not constant");
  constexpr std::int64_t kMostWidth = std::int64_t{1} << 29, kMostLines = 4096;
  LinesForm form = form_of(*axes);
  const ResizeAxis& line = form.axes.back();
  if (line.in_size > kMostWidth || line.out_size > kMostWidth || combinations_of(*op, form) > kMostLines)
    return refuse("a resize that reads too much at once");
  const bool moves = op->mode == ResizeMode::nearest && op->coordinates != CoordinateMode::tf_crop_and_resize;
  if (!moves && node.input(0).type.dtype != DType::f32) return refuse("type has no kernel");
  return take(Form::of(std::move(form)));
}

std::int64_t line_count(const Chosen& node) {
  std::int64_t count = 1;
  const LinesForm& form = node.form<LinesForm>();
  for (std::size_t i = 0; i + 1 < form.axes.size(); ++i) count *= form.axes[i].out_size;
  return count;
}

std::int64_t workspace_bytes(const Chosen& node) {
  const LinesForm& form = node.form<LinesForm>();
  const std::int64_t combinations = combinations_of(std::get<Resize>(node.node.op), form),
                     blended = form.inner == 1 && combinations > 1 ? batch_of(form) * form.axes.back().in_size : 0;
  return (4 * combinations + blended) * static_cast<std::int64_t>(sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const Resize& op = std::get<Resize>(context.node.op);
  if (context.input(0).type.dtype != DType::f32) return std::make_unique<PickLinesOp>(context, op);
  if (context.form<LinesForm>().inner > 1) return std::make_unique<PositionLinesOp>(context, op);
  return std::make_unique<ElementLinesOp>(context, op);
}

}  // namespace

constinit const Family families::resize_lines = whole_family({.name = "resize_lines",
                                                              .types = kAllTypes,
                                                              .match = match,
                                                              .units = line_count,
                                                              .effort = element_effort<Work::resize>,
                                                              .weights_bytes = no_bytes,
                                                              .workspace_bytes = workspace_bytes,
                                                              .lower = lower});

}  // namespace colonnade
