// SPDX-License-Identifier: Apache-2.0
// DFT and STFT: signals along any axis, as many at a time as vectors have lanes, of lengths without large primes.
#include "kernels/fourier/fourier.hpp"

#include <cmath>
#include <numbers>

#include "base/checked.hpp"
#include "families/common.hpp"
#include "families/lower.hpp"
#include "families/rows.hpp"
#include "families/shared.hpp"
#include "families/table.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/definitions.hpp"
#include "reference/onnx/signal.hpp"

namespace colonnade {
namespace {

/// Each thread has room for so many numbers of a vector of signals.
constexpr std::int64_t kMostLength = 1 << 14;

/// Where signals lie: line i begins at i / inner * outer_step + i % inner * inner_step, its numbers `step` floats
/// apart.
struct SignalLines {
  std::int64_t inner = 1, outer_step = 0, inner_step = 0, step = 1, parts = 2;

  std::int64_t at(std::int64_t line) const { return line / inner * outer_step + line % inner * inner_step; }
};

struct FourierForm {
  std::int64_t length = 1, taken = 1, out_count = 1, lines = 0;
  SignalLines in, out;
  bool inverse = false, mirrored = false;
  std::int64_t lanes = 1;  ///< signals that the kernel takes at a time

  /// Real numbers in pairs are half as many complex ones.
  bool halved() const { return in.parts == 1 && !inverse && length % 2 == 0; }
  std::size_t planned() const { return static_cast<std::size_t>(halved() ? length / 2 : length); }
};

/// The one integer of a constant input; nothing where the input is absent.
std::optional<std::int64_t> constant_int(const Candidate& node, std::size_t input) {
  const auto values = node.has_input(input) ? constant_ints(node.graph, node.node, input) : std::nullopt;
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

SignalLines lines_of(const Shape& shape, std::int64_t axis) {
  const reference::AxisView view = reference::axis_view(shape, axis);
  const std::int64_t parts = shape.back();
  return {view.inner / parts, view.size * view.inner, parts, view.inner, parts};
}

std::optional<FourierForm> dft_form_of(const Opaque& op, const Candidate& node) {
  const auto axis = constant_int(node, 2), length = constant_int(node, 1);
  if ((node.has_input(1) && !length) || (node.has_input(2) && !axis)) return std::nullopt;
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  const reference::DftForm dft = reference::dft_form(op, axis, std::ssize(in));
  const std::int64_t size = in[static_cast<std::size_t>(dft.axis)];
  FourierForm form;
  form.length = length.value_or(dft.expands() ? 2 * (size - 1) : size);
  form.taken = std::min(size, dft.expands() ? form.length / 2 + 1 : form.length);
  form.out_count = out[static_cast<std::size_t>(dft.axis)];
  form.in = lines_of(in, dft.axis);
  form.out = lines_of(out, dft.axis);
  form.lines = reference::axis_view(in, dft.axis).outer * form.in.inner;
  form.inverse = dft.inverse;
  form.mirrored = dft.expands();
  return form;
}

std::optional<FourierForm> stft_form_of(const Candidate& node) {
  const auto step = constant_int(node, 1), length = constant_int(node, 3);
  if (!step || (node.has_input(3) && !length)) return std::nullopt;
  if (node.has_input(2) && node.input(2).type.dtype != DType::f32) return std::nullopt;
  const Shape &in = node.input_shape(0), &out = node.output_shape();
  const std::int64_t parts = in.size() == 3 ? in[2] : 1, frames = out[1];
  FourierForm form;
  form.length = form.taken = length ? *length : node.input_shape(2)[0];
  form.out_count = out[2];
  form.in = {frames, in[1] * parts, *step * parts, parts, parts};
  form.out = {frames, frames * out[2] * 2, out[2] * 2, 2, 2};
  form.lines = out[0] * frames;
  return form;
}

std::optional<FourierForm> form_of(const Opaque& op, const Candidate& node) {
  return op.definition == &reference::kSTFT ? stft_form_of(node) : dft_form_of(op, node);
}

/// exp(-2 pi i k / length) for k < count.
std::vector<float> roots_of(std::size_t length, std::size_t count) {
  std::vector<float> roots;
  for (std::size_t k = 0; k < count; ++k) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(length);
    roots.push_back(static_cast<float>(std::cos(angle)));
    roots.push_back(static_cast<float>(std::sin(angle)));
  }
  return roots;
}

Shared groups_of(const FourierForm& form) { return {ceil_div(form.lines, form.lanes), 256}; }

class FourierOp final : public RowOp {
 public:
  explicit FourierOp(const LowerContext& context)
      : kernel_(kernels::fourier::select(context.features)),
        form_(context.form<FourierForm>()),
        groups_(groups_of(form_)),
        in_(context.in<float>(0)),
        out_(context.out<float>()) {
    const bool is_stft = std::get<Opaque>(context.node.op).definition == &reference::kSTFT;
    if (is_stft && context.has_input(2)) window_ = context.in<float>(2);
    kernels::fourier::plan_length(form_.planned(), plan_);
    roots_ = roots_of(plan_.length, plan_.length);
    plan_.roots = roots_.data();
    if (form_.halved()) twists_ = roots_of(static_cast<std::size_t>(form_.length), plan_.length);
    args_.plan = &plan_;
    args_.length = static_cast<std::size_t>(form_.length);
    args_.taken = static_cast<std::size_t>(form_.taken);
    args_.in_step = form_.in.step;
    args_.in_parts = static_cast<std::size_t>(form_.in.parts);
    args_.mirrored = form_.mirrored;
    args_.inverse = form_.inverse;
    args_.halved = form_.halved();
    args_.twists = twists_.data();
    args_.scale = form_.inverse ? 1 / static_cast<float>(form_.length) : 1.0f;
    args_.out_count = static_cast<std::size_t>(form_.out_count);
    args_.out_step = form_.out.step;
    args_.out_parts = static_cast<std::size_t>(form_.out.parts);
  }

  void run(const StepContext& step) const override {
    const float* in[kMostLanes];
    float* out[kMostLanes];
    kernels::fourier::Args args = args_;
    args.in = in;
    args.out = out;
    args.window = window_ ? whole(step, window_) : nullptr;
    args.work = step.scratch;
    const Interval groups = groups_.of(step);
    for (std::int64_t group = groups.begin; group < groups.end; ++group) {
      const std::int64_t first = group * form_.lanes, count = std::min(form_.lanes, form_.lines - first);
      for (std::int64_t i = 0; i < count; ++i) {
        in[i] = whole(step, in_) + form_.in.at(first + i);
        out[i] = whole(step, out_) + form_.out.at(first + i);
      }
      args.count = static_cast<std::size_t>(count);
      kernel_.transform(args);
    }
  }

  std::string_view kernel() const override { return kernel_.name; }

 private:
  static constexpr std::size_t kMostLanes = 16;

  const kernels::fourier::Kernel& kernel_;
  FourierForm form_;
  Shared groups_;
  ValueOf<float> in_, out_, window_;
  kernels::fourier::Plan plan_;
  std::vector<float> roots_, twists_;
  kernels::fourier::Args args_;
};

Match match(const Candidate& node) {
  const auto* op = std::get_if<Opaque>(&node.node.op);
  if (op == nullptr || (op->definition != &reference::kDFT && op->definition != &reference::kSTFT)) return refuse();
  if (element_count(node.output_shape()) == 0) return refuse("empty tensors have no kernel");
  auto form = form_of(*op, node);
  if (!form) return refuse("lengths, steps and axes that are computed have no kernel");
  kernels::fourier::Plan plan;
  if (form->length > kMostLength || !kernels::fourier::plan_length(form->planned(), plan))
    return refuse("a transform of this length has no kernel");
  form->lanes = static_cast<std::int64_t>(kernels::fourier::select(node.features).lanes);
  return take(Form::of(*form));
}

std::int64_t units(const Chosen& node) { return groups_of(node.form<FourierForm>()).units(); }

/// As passes of radix 2.
Effort effort(const Chosen& node, const Rates& rates) {
  const auto& form = node.form<FourierForm>();
  const auto numbers = static_cast<double>(form.lines * form.length);
  return {rates.seconds(Work::arithmetic, 8 * numbers * std::log2(static_cast<double>(form.length) + 1), 1)};
}

std::int64_t workspace_bytes(const Chosen& node) {
  const auto& form = node.form<FourierForm>();
  return form.length * form.lanes * static_cast<std::int64_t>(kernels::fourier::kWorkFloats * sizeof(float));
}

std::unique_ptr<RowOp> lower(const LowerContext& context) {
  const bool is_stft = std::get<Opaque>(context.node.op).definition == &reference::kSTFT;
  for (const std::size_t input : {std::size_t{1}, std::size_t{is_stft ? 3U : 2U}})
    if (context.has_input(input)) context.taken[input] = true;
  return std::make_unique<FourierOp>(context);
}

}  // namespace

constinit const Family families::fourier = whole_family({.name = "fourier",
                                                         .types = kFloats,
                                                         .match = match,
                                                         .units = units,
                                                         .effort = effort,
                                                         .weights_bytes = no_bytes,
                                                         .workspace_bytes = workspace_bytes,
                                                         .lower = lower});

}  // namespace colonnade
