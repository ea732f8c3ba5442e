// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>

#include "graph/operators.hpp"
#include "graph/text.hpp"

namespace colonnade {
namespace {

std::string_view text_of(AutoPad pad) {
  switch (pad) {
    case AutoPad::explicit_pads: return "explicit";
    case AutoPad::same_upper: return "same_upper";
    case AutoPad::same_lower: return "same_lower";
    case AutoPad::valid: return "valid";
  }
  return "?";
}

std::string_view text_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::max: return "max";
    case PoolKind::average: return "average";
    case PoolKind::lp: return "lp";
  }
  return "?";
}

std::string_view text_of(ResizeMode mode) {
  switch (mode) {
    case ResizeMode::nearest: return "nearest";
    case ResizeMode::linear: return "linear";
    case ResizeMode::cubic: return "cubic";
  }
  return "?";
}

std::string_view text_of(CoordinateMode mode) {
  switch (mode) {
    case CoordinateMode::half_pixel: return "half_pixel";
    case CoordinateMode::half_pixel_symmetric: return "half_pixel_symmetric";
    case CoordinateMode::pytorch_half_pixel: return "pytorch_half_pixel";
    case CoordinateMode::align_corners: return "align_corners";
    case CoordinateMode::asymmetric: return "asymmetric";
    case CoordinateMode::tf_crop_and_resize: return "tf_crop_and_resize";
  }
  return "?";
}

std::string_view text_of(NearestMode mode) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return "round_prefer_floor";
    case NearestMode::round_prefer_ceil: return "round_prefer_ceil";
    case NearestMode::floor: return "floor";
    case NearestMode::ceil: return "ceil";
  }
  return "?";
}

std::string_view text_of(PowerRounding rounding) {
  switch (rounding) {
    case PowerRounding::up: return "up";
    case PowerRounding::down: return "down";
    case PowerRounding::nearest: return "nearest";
  }
  return "?";
}
std::string_view text_of(AspectPolicy policy) {
  switch (policy) {
    case AspectPolicy::stretch: return "stretch";
    case AspectPolicy::not_larger: return "not_larger";
    case AspectPolicy::not_smaller: return "not_smaller";
  }
  return "?";
}

std::string_view text_of(PadMode mode) {
  switch (mode) {
    case PadMode::constant: return "constant";
    case PadMode::reflect: return "reflect";
    case PadMode::edge: return "edge";
    case PadMode::wrap: return "wrap";
  }
  return "?";
}

std::string_view text_of(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::replace: return "replace";
    case ScatterMode::add: return "add";
    case ScatterMode::mul: return "mul";
    case ScatterMode::min: return "min";
    case ScatterMode::max: return "max";
  }
  return "?";
}

std::string_view text_of(RecurrentKind kind) {
  switch (kind) {
    case RecurrentKind::rnn: return "rnn";
    case RecurrentKind::gru: return "gru";
    case RecurrentKind::lstm: return "lstm";
  }
  return "?";
}

std::string_view text_of(Direction direction) {
  switch (direction) {
    case Direction::forward: return "forward";
    case Direction::reverse: return "reverse";
    case Direction::bidirectional: return "bidirectional";
  }
  return "?";
}

std::string_view text_of(GridSample::Padding padding) {
  switch (padding) {
    case GridSample::Padding::zeros: return "zeros";
    case GridSample::Padding::border: return "border";
    case GridSample::Padding::reflection: return "reflection";
  }
  return "?";
}

std::string_view text_of(TreeEnsemble::Post post) {
  switch (post) {
    case TreeEnsemble::Post::none: return "none";
    case TreeEnsemble::Post::softmax: return "softmax";
    case TreeEnsemble::Post::logistic: return "logistic";
    case TreeEnsemble::Post::softmax_zero: return "softmax_zero";
    case TreeEnsemble::Post::probit: return "probit";
  }
  return "?";
}

std::string_view text_of(TreeEnsemble::Aggregate aggregate) {
  switch (aggregate) {
    case TreeEnsemble::Aggregate::sum: return "sum";
    case TreeEnsemble::Aggregate::average: return "average";
    case TreeEnsemble::Aggregate::min: return "min";
    case TreeEnsemble::Aggregate::max: return "max";
  }
  return "?";
}

/// Collects "key=value" words.
class Words {
 public:
  template <class T>
  Words& add(std::string_view key, const T& value) {
    if constexpr (std::is_enum_v<T>) {
      return word(fmt::format("{}={}", key, text_of(value)));
    } else {
      return word(fmt::format("{}={}", key, value));
    }
  }
  /// Only where the value is not the default.
  template <class T>
  Words& option(std::string_view key, const T& value, const T& standard) {
    return value == standard ? *this : add(key, value);
  }
  Words& flag(std::string_view key, bool set) { return set ? word(std::string(key)) : *this; }
  /// The list, unless all its elements are `standard`.
  Words& list(std::string_view key, const Ints& values, std::string_view separator, std::int64_t standard) {
    const bool plain = std::all_of(values.begin(), values.end(), [&](std::int64_t v) { return v == standard; });
    return plain ? *this : word(fmt::format("{}={}", key, fmt::join(values, separator)));
  }
  template <class T>
  Words& sequence(std::string_view key, const std::vector<T>& values) {
    return word(fmt::format("{}={}", key, fmt::join(values, ",")));
  }
  std::string take() { return std::move(text_); }

 private:
  Words& word(const std::string& text) {
    if (!text_.empty()) text_ += ' ';
    text_ += text;
    return *this;
  }
  std::string text_;
};

std::string activation_text(const Unary& u) {
  const UnaryFunction& function = function_of(u.kind);
  if (function.parameters.a.name.empty()) return std::string(function.name);
  if (function.parameters.b.name.empty()) return fmt::format("{}({})", function.name, u.a);
  return fmt::format("{}({},{})", function.name, u.a, u.b);
}

void epilogue_words(Words& words, const FusedEpilogue& epilogue) {
  if (epilogue.prelu_slope) {
    words.add("act", "prelu");
  } else if (epilogue.activation.kind != UnaryKind::identity) {
    words.add("act", activation_text(epilogue.activation));
  }
  if (epilogue.residual) words.add("residual", epilogue.residual_after ? "after" : "before");
}

template <class Window>
void window_words(Words& words, const Window& window) {
  words.list("kernel", window.kernel, "x", -1).list("strides", window.strides, "x", 1);
  words.list("dilations", window.dilations, "x", 1).list("pads", window.pads, ",", 0);
  words.option("auto_pad", window.auto_pad, AutoPad::explicit_pads);
}

void describe(Words& words, const Unary& op) {
  const auto& [a, b] = function_of(op.kind).parameters;
  if (!a.name.empty()) words.add(a.name, op.a);
  if (!b.name.empty()) words.add(b.name, op.b);
}
void describe(Words& words, const Binary& op) { words.flag("exact", op.exact); }
void describe(Words&, const Select&) {}
void describe(Words& words, const Cast& op) {
  words.add("to", name_of(op.to)).option("saturate", op.saturate, true);
  words.option("rounding", op.rounding, PowerRounding::up);
}
void describe(Words& words, const Conv& op) {
  window_words(words, op);
  words.option("groups", op.groups, std::int64_t{1}).flag("exact", op.exact);
  epilogue_words(words, op.epilogue);
}
void describe(Words& words, const ConvTranspose& op) {
  window_words(words, op);
  words.list("output_padding", op.output_padding, ",", 0).list("output_shape", op.output_shape, "x", -1);
  words.option("groups", op.groups, std::int64_t{1});
  epilogue_words(words, op.epilogue);
}
void describe(Words& words, const MatMul& op) {
  words.flag("transpose_a", op.transpose_a).flag("transpose_b", op.transpose_b);
  words.flag("heads_inside_a", op.heads_inside_a).flag("heads_inside_b", op.heads_inside_b);
  words.flag("heads_inside_out", op.heads_inside_out);
  epilogue_words(words, op.epilogue);
}
void describe(Words& words, const Attention& op) {
  words.option("scale", op.scale, 1.0f).option("cap", op.cap, 0.0f);
  words.flag("heads_inside_q", op.heads_inside_q).flag("heads_inside_k", op.heads_inside_k);
  words.flag("heads_inside_v", op.heads_inside_v).flag("heads_inside_out", op.heads_inside_out);
  words.flag("nan_is_zero", op.without_shares == WithoutShares::zero);
  words.flag("barred_is_zero", op.without_shares == WithoutShares::zero_where_barred);
}
void describe(Words& words, const Pool& op) {
  words.add("kind", op.kind);
  window_words(words, op);
  words.flag("ceil_mode", op.ceil_mode).flag("count_include_pad", op.count_include_pad);
  if (op.kind == PoolKind::lp) words.add("p", op.p);
}
void describe(Words& words, const Reduce& op) {
  words.add("kind", name_of(op.kind)).option("keepdims", op.keepdims, true);
  words.flag("noop_with_empty_axes", op.noop_with_empty_axes);
}
void describe(Words& words, const ArgReduce& op) {
  words.add("kind", op.max ? "max" : "min").add("axis", op.axis).option("keepdims", op.keepdims, true);
  words.flag("select_last_index", op.select_last_index);
}
void describe(Words& words, const Softmax& op) { words.add("axis", op.axis).flag("log", op.log); }
void describe(Words& words, const Hardmax& op) { words.add("axis", op.axis); }
void describe(Words& words, const BatchNorm& op) { words.add("axis", op.axis).add("epsilon", op.epsilon); }
void describe(Words& words, const InstanceNorm& op) { words.add("axis", op.axis).add("epsilon", op.epsilon); }
void describe(Words& words, const LayerNorm& op) {
  words.add("axis", op.axis).add("epsilon", op.epsilon).flag("rms", op.rms);
}
void describe(Words& words, const Lrn& op) {
  words.add("axis", op.axis).add("size", op.size).add("alpha", op.alpha).add("beta", op.beta).add("bias", op.bias);
}
void describe(Words& words, const Resize& op) {
  words.add("mode", op.mode).add("coordinates", op.coordinates);
  if (op.mode == ResizeMode::nearest) words.add("nearest", op.nearest);
  if (op.mode == ResizeMode::cubic) words.add("cubic_a", op.cubic_a);
  words.option("aspect", op.aspect, AspectPolicy::stretch).flag("exclude_outside", op.exclude_outside);
  words.flag("antialias", op.antialias).option("extrapolation", op.extrapolation, 0.0f);
  if (!op.axes.empty()) words.sequence("axes", op.axes);
}
void describe(Words& words, const Reshape& op) { words.flag("allow_zero", op.allow_zero); }
void describe(Words& words, const Flatten& op) { words.add("axis", op.axis); }
void describe(Words&, const Squeeze&) {}
void describe(Words&, const Unsqueeze&) {}
void describe(Words& words, const Transpose& op) {
  if (!op.perm.empty()) words.sequence("perm", op.perm);
}
void describe(Words& words, const Concat& op) { words.add("axis", op.axis); }
void describe(Words&, const Slice&) {}
void describe(Words& words, const Split& op) { words.add("axis", op.axis); }
void describe(Words& words, const Pad& op) { words.add("mode", op.mode); }
void describe(Words&, const Expand&) {}
void describe(Words&, const Tile&) {}
void describe(Words& words, const Gather& op) { words.add("axis", op.axis); }
void describe(Words& words, const GatherElements& op) { words.add("axis", op.axis); }
void describe(Words& words, const GatherNd& op) { words.option("batch_dims", op.batch_dims, std::int64_t{0}); }
void describe(Words& words, const ScatterNd& op) { words.option("mode", op.mode, ScatterMode::replace); }
void describe(Words& words, const ScatterElements& op) {
  words.add("axis", op.axis).option("mode", op.mode, ScatterMode::replace);
}
void describe(Words& words, const DepthToSpace& op) {
  words.add("block", op.block).add("axis", op.axis).flag("crd", op.crd);
}
void describe(Words& words, const SpaceToDepth& op) { words.add("block", op.block).add("axis", op.axis); }
void describe(Words& words, const ShapeOf& op) {
  words.option("start", op.start, std::int64_t{0});
  if (op.end) words.add("end", *op.end);
}
void describe(Words&, const SizeOf&) {}
void describe(Words&, const Fill&) {}
void describe(Words&, const Range&) {}
void describe(Words& words, const OneHot& op) { words.add("axis", op.axis); }
void describe(Words& words, const TopK& op) {
  words.add("axis", op.axis).option("largest", op.largest, true).option("sorted", op.sorted, true);
}
void describe(Words& words, const CumSum& op) { words.flag("exclusive", op.exclusive).flag("reverse", op.reverse); }
void describe(Words&, const NonZero&) {}
void describe(Words& words, const Trilu& op) { words.add("part", op.upper ? "upper" : "lower"); }
void describe(Words& words, const Einsum& op) { words.add("equation", quoted(op.equation)); }
void describe(Words& words, const Recurrent& op) {
  words.add("kind", op.kind).add("direction", op.direction).add("hidden", op.hidden_size);
  for (const std::string& activation : op.activations) words.add("activation", quoted(activation));
  if (!op.activation_alpha.empty()) words.sequence("alpha", op.activation_alpha);
  if (!op.activation_beta.empty()) words.sequence("beta", op.activation_beta);
  words.option("clip", op.clip, 0.0f).flag("input_forget", op.input_forget);
  words.flag("linear_before_reset", op.linear_before_reset);
}
void rescale_words(Words& words, const Rescale& out) {
  words.add("to", name_of(out.to));
  if (out.to != DType::u8 && out.to != DType::i8) return;
  words.add("zero", out.zero).add("low", out.low).add("high", out.high);
}
void describe(Words& words, const Quantize& op) { words.add("to", name_of(op.to)).add("axis", op.axis); }
void describe(Words& words, const Dequantize& op) {
  words.add("axis", op.axis).option("block", op.block, std::int64_t{0}).flag("byte_rows", op.byte_rows);
}
void describe(Words&, const ByteScale&) {}
void describe(Words&, const Lookup&) {}
void describe(Words& words, const ByteConv& op) {
  describe(words, op.window);
  rescale_words(words, op.out);
}
void describe(Words& words, const ByteMatMul& op) { rescale_words(words, op.out); }
void describe(Words&, const IntegerMatMul&) {}
void describe(Words& words, const ByteBinary& op) {
  words.add("kind", name_of(op.kind)).add("a_zero", op.a_zero).add("b_zero", op.b_zero);
  words.add("a_factor", op.a_factor).add("b_factor", op.b_factor);
  rescale_words(words, op.out);
}
void describe(Words& words, const ByteAverage& op) {
  describe(words, op.window);
  words.add("x_zero", op.x_zero).add("factor", op.factor);
  rescale_words(words, op.out);
}
void describe(Words& words, const GridSample& op) {
  words.add("mode", op.mode).add("padding", op.padding).flag("align_corners", op.align_corners);
}
void describe(Words& words, const TreeEnsemble& op) {
  words.add("kind", op.classifier ? "classifier" : "regressor").add("trees", op.roots.size());
  words.add("nodes", op.nodes.size()).add("targets", op.target_count);
  words.option("post", op.post, TreeEnsemble::Post::none);
  words.option("aggregate", op.aggregate, TreeEnsemble::Aggregate::sum).flag("binary_case", op.binary_case);
}

void describe(Words&, const If&) {}
void describe(Words& words, const Loop& op) { words.add("states", op.states); }
void describe(Words& words, const Scan& op) {
  words.add("states", op.states).add("scans", op.scans);
  words.list("axes", op.input_axes, ",", 0).list("reversed", op.input_reversed, ",", 0);
  words.list("output_axes", op.output_axes, ",", 0).list("output_reversed", op.output_reversed, ",", 0);
}
void describe(Words& words, const Opaque& op) {
  for (const auto& [name, attribute] : op.attributes) {
    std::visit(
        [&, &key = name]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, std::string>) {
            words.add(key, quoted(value));
          } else if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, float>) {
            words.add(key, value);
          } else if constexpr (std::is_same_v<T, std::shared_ptr<const Tensor>>) {
            words.add(key, fmt::format("{}[{}]", name_of(value->dtype()), fmt::join(value->shape(), ",")));
          } else {
            words.add(key, fmt::format("{} elements", value.size()));
          }
        },
        attribute);
  }
}

}  // namespace

std::string attributes_of(const Operator& op) {
  Words words;
  std::visit([&](const auto& alternative) { describe(words, alternative); }, op);
  return words.take();
}

}  // namespace colonnade
