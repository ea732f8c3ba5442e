// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values.
#include "frontends/onnx/opaque/sequence.hpp"

#include <algorithm>

#include "frontends/onnx/lowering.hpp"
#include "frontends/onnx/opaque/definitions.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"

namespace colonnade::onnx_import {
namespace {

using reference::Call;
using reference::Data;

ValueType wrapped(ValueType element, Container container) {
  element.containers.insert(element.containers.begin(), container);
  return element;
}

ValueType sequence_of(ValueType element) { return wrapped(std::move(element), Container::sequence); }

/// The type of the elements of an input that is a sequence.
ValueType element_type(const RuleContext& ctx, std::size_t input) {
  ctx.inputs(input + 1, ctx.input_count());
  ValueType type = ctx.type(input);
  if (type.is_tensor() || type.containers.front() != Container::sequence) {
    ctx.fail("{} must be a sequence, is {}", ctx.text(input), to_text(type));
  }
  type.containers.erase(type.containers.begin());
  return type;
}

/// The type of elements that are of both types.
ValueType joined(const RuleContext& ctx, const ValueType& a, const ValueType& b) {
  const auto type = common_type(a, b);
  if (!type) ctx.fail("the elements of a sequence must have one type, are {} and {}", to_text(a), to_text(b));
  return *type;
}

void check_position(const RuleContext& ctx, std::size_t input) {
  if (!ctx.has(input)) return;
  ctx.integer(input);
  if (ctx.type(input).is_static() && element_count(*ctx.shape(input)) != 1) {
    ctx.fail("{} must have one element, is {}", ctx.text(input), to_text(ctx.type(input)));
  }
}

const std::vector<Datum>& elements_of(const Call& call, std::size_t input) {
  const Datum& datum = call.datum(input);
  if (datum.kind() != Datum::Kind::sequence) call.invalid("input {} must be a sequence", input);
  return datum.elements();
}

/// A position in [0, limit); negative ones count from `size` on.
std::ptrdiff_t position(const Call& call, std::size_t input, std::size_t size, std::size_t limit) {
  const Ints values = call.ints(input);
  if (values.size() != 1) call.invalid("input {} has {} elements, expected one position", input, values.size());
  const std::int64_t index = values[0] < 0 ? values[0] + static_cast<std::int64_t>(size) : values[0];
  if (index < 0 || index >= static_cast<std::int64_t>(limit)) {
    call.invalid("position {} is out of range for a sequence of {} elements", values[0], size);
  }
  return static_cast<std::ptrdiff_t>(index);
}

Types infer_empty(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(0, 0);
  const std::int64_t dtype = op.int_or("dtype", onnx::TensorProto::FLOAT);
  return {sequence_of({dtype_of(dtype, "attribute 'dtype'"), {}})};
}
Data evaluate_empty(const Opaque&, const Call& call) { return {Datum::sequence({}, call.dtype())}; }
constexpr Definition kSequenceEmpty{"SequenceEmpty", infer_empty, evaluate_empty};

Types infer_construct(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(ctx.input_count(), ctx.input_count());
  ValueType type = ctx.type(0);
  for (std::size_t i = 1; i < ctx.input_count(); ++i) type = joined(ctx, type, ctx.type(i));
  return {sequence_of(std::move(type))};
}
Data evaluate_construct(const Opaque&, const Call& call) {
  Data elements;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) elements.push_back(call.datum(i));
  return {Datum::sequence(std::move(elements), call.dtype())};
}
constexpr Definition kSequenceConstruct{"SequenceConstruct", infer_construct, evaluate_construct};

Types infer_at(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  check_position(ctx, 1);
  return {element_type(ctx, 0)};
}
Data evaluate_at(const Opaque&, const Call& call) {
  const auto& elements = elements_of(call, 0);
  return {elements[static_cast<std::size_t>(position(call, 1, elements.size(), elements.size()))]};
}
}  // namespace
constexpr Definition kSequenceAt{"SequenceAt", infer_at, evaluate_at};
namespace {

Types infer_insert(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(2, 3);
  check_position(ctx, 2);
  return {sequence_of(joined(ctx, element_type(ctx, 0), ctx.type(1)))};
}
Data evaluate_insert(const Opaque&, const Call& call) {
  Data elements = elements_of(call, 0);
  const std::size_t size = elements.size();
  const auto at = call.optional(2) ? position(call, 2, size, size + 1) : static_cast<std::ptrdiff_t>(size);
  elements.insert(elements.begin() + at, call.datum(1));
  return {Datum::sequence(std::move(elements), call.dtype())};
}
}  // namespace
constexpr Definition kSequenceInsert{"SequenceInsert", infer_insert, evaluate_insert};
namespace {

Types infer_erase(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  check_position(ctx, 1);
  return {sequence_of(element_type(ctx, 0))};
}
Data evaluate_erase(const Opaque&, const Call& call) {
  Data elements = elements_of(call, 0);
  if (elements.empty()) call.invalid("nothing can be erased from an empty sequence");
  const std::size_t size = elements.size();
  elements.erase(call.optional(1) ? elements.begin() + position(call, 1, size, size) : elements.end() - 1);
  return {Datum::sequence(std::move(elements), call.dtype())};
}
constexpr Definition kSequenceErase{"SequenceErase", infer_erase, evaluate_erase};

Types infer_length(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  element_type(ctx, 0);
  return {{DType::i64, Shape{}}};
}
Data evaluate_length(const Opaque&, const Call& call) {
  return {ints_tensor({static_cast<std::int64_t>(elements_of(call, 0).size())}).reshaped({})};
}
}  // namespace
constexpr Definition kSequenceLength{"SequenceLength", infer_length, evaluate_length};
namespace {

Types infer_split(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 2);
  if (ctx.has(1)) ctx.integer(1);
  ValueType piece = ctx.type(0);
  const std::int64_t axis = op.int_or("axis", 0);
  if (!piece.shape) return {sequence_of(std::move(piece))};
  const std::int64_t normal = ctx.axis(axis, static_cast<std::int64_t>(piece.shape->size()));
  if (ctx.has(1)) {
    at(*piece.shape, normal) = kUnknownDim;
  } else if (op.int_or("keepdims", 1) != 0) {
    at(*piece.shape, normal) = 1;
  } else {
    piece.shape->erase(piece.shape->begin() + normal);
  }
  return {sequence_of(std::move(piece))};
}

/// Sizes of the pieces along an axis of `size`: given one by one, or one for all but the last.
Ints piece_sizes(const Call& call, std::int64_t size) {
  const Tensor* split = call.optional(1);
  if (split == nullptr) return Ints(static_cast<std::size_t>(size), 1);
  Ints sizes = call.ints(1);
  if (split->shape().empty()) {
    const std::int64_t each = sizes.front();
    if (each <= 0) call.invalid("pieces of {} elements: expected at least 1", each);
    sizes.assign(static_cast<std::size_t>(size / each), each);
    if (size % each > 0) sizes.push_back(size % each);
  }
  std::int64_t rest = size;
  for (const std::int64_t each : sizes) {
    if (each < 0 || each > rest) call.invalid("pieces do not fit an axis of {}: {} of {} left", size, each, rest);
    rest -= each;
  }
  if (rest != 0) call.invalid("pieces do not fill an axis of {}: {} are left", size, rest);
  return sizes;
}

Data evaluate_split(const Opaque& op, const Call& call) {
  const Tensor& x = call.input(0);
  const std::int64_t axis = call.axis(op.int_or("axis", 0), x);
  const Ints strides = reference::strides_of(x.shape());
  const bool drops_axis = call.optional(1) == nullptr && op.int_or("keepdims", 1) == 0;
  Data pieces;
  std::int64_t begin = 0;
  for (const std::int64_t size : piece_sizes(call, at(x.shape(), axis))) {
    Shape shape = x.shape();
    at(shape, axis) = size;
    Tensor piece(x.dtype(), shape);
    reference::copy_box(x, {begin * at(strides, axis), strides}, piece, {0, reference::strides_of(shape)}, shape);
    begin += size;
    if (drops_axis) shape.erase(shape.begin() + axis);
    pieces.emplace_back(std::move(piece).reshaped(std::move(shape)));
  }
  return {Datum::sequence(std::move(pieces), x.dtype())};
}
constexpr Definition kSplitToSequence{"SplitToSequence", infer_split, evaluate_split};

Types infer_concat(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ValueType type = element_type(ctx, 0);
  if (!type.is_tensor()) ctx.fail("{} must hold tensors, is {}", ctx.text(0), to_text(ctx.type(0)));
  const bool stacks = op.int_or("new_axis", 0) != 0;
  const std::int64_t axis = op.int_of("axis");
  if (!type.shape) return {std::move(type)};
  const std::int64_t normal = ctx.axis(axis, static_cast<std::int64_t>(type.shape->size()) + (stacks ? 1 : 0));
  if (stacks) {
    type.shape->insert(type.shape->begin() + normal, kUnknownDim);
  } else {
    at(*type.shape, normal) = kUnknownDim;
  }
  return {std::move(type)};
}

/// Shape of the joined elements, whose shapes differ along the axis at most.
Shape joined_shape(const Call& call, const std::vector<Shape>& shapes, std::int64_t axis) {
  Shape joined = shapes.front();
  at(joined, axis) = 0;
  for (const Shape& shape : shapes) {
    Shape rest = shape;
    if (shape.size() == joined.size()) at(rest, axis) = at(joined, axis);
    if (rest != joined) {
      call.invalid("elements of shapes {} and {} cannot be joined along axis {}",
                   to_text({DType::undefined, shapes.front()}), to_text({DType::undefined, shape}), axis);
    }
    at(joined, axis) += at(shape, axis);
  }
  return joined;
}

Data evaluate_concat(const Opaque& op, const Call& call) {
  const auto& elements = elements_of(call, 0);
  if (elements.empty()) call.invalid("an empty sequence cannot be joined");
  const bool stacks = op.int_or("new_axis", 0) != 0;
  const auto rank = static_cast<std::int64_t>(elements.front().tensor().shape().size()) + (stacks ? 1 : 0);
  const std::int64_t axis = normalize_axis(op.int_of("axis"), rank, call.node);
  std::vector<Shape> shapes;
  for (const Datum& element : elements) {
    Shape shape = element.tensor().shape();
    if (static_cast<std::int64_t>(shape.size()) + (stacks ? 1 : 0) != rank) {
      call.invalid("elements of ranks {} and {} cannot be joined", elements.front().tensor().shape().size(),
                   shape.size());
    }
    if (stacks) shape.insert(shape.begin() + axis, 1);
    shapes.push_back(std::move(shape));
  }
  Tensor result(call.dtype(), joined_shape(call, shapes, axis));
  const Ints strides = reference::strides_of(result.shape());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const reference::Strided target{begin * at(strides, axis), strides};
    reference::copy_box(elements[i].tensor(), {0, reference::strides_of(shapes[i])}, result, target, shapes[i]);
    begin += at(shapes[i], axis);
  }
  return {std::move(result)};
}
constexpr Definition kConcatFromSequence{"ConcatFromSequence", infer_concat, evaluate_concat};

bool is_optional(const ValueType& type) { return !type.is_tensor() && type.containers.front() == Container::optional; }

/// The datum within an optional one, or the datum itself; null when there is none.
const Datum* present(const Call& call) {
  const Datum* datum = call.optional_datum(0);
  if (datum == nullptr || datum->kind() != Datum::Kind::optional) return datum;
  return datum->elements().empty() ? nullptr : &datum->elements().front();
}

/// Attributes of an Optional without input, as Lowering finds them in its type.
constexpr std::string_view kDtype = "dtype", kIsSequence = "is_sequence";

Types infer_optional(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(0, 1);
  if (ctx.has(0)) {
    if (is_optional(ctx.type(0))) ctx.fail("{} is optional already, {}", ctx.text(0), to_text(ctx.type(0)));
    return {wrapped(ctx.type(0), Container::optional)};
  }
  ValueType type{static_cast<DType>(op.int_of(kDtype)), {}};
  if (op.int_of(kIsSequence) != 0) type = sequence_of(std::move(type));
  return {wrapped(std::move(type), Container::optional)};
}
Data evaluate_optional(const Opaque&, const Call& call) {
  return {call.optional_datum(0) ? Datum::optional(call.datum(0)) : Datum::absent(call.dtype())};
}
constexpr Definition kOptional{"Optional", infer_optional, evaluate_optional};

Values lower_optional(Lowering& low) {
  Opaque op{&kOptional, low.opset(), {}};
  if (low.optional_input(0) == kAbsent) {
    const auto found = low.node().attributes.find("type");
    if (found == low.node().attributes.end()) low.invalid("an input or attribute 'type' is required");
    const ValueType type = declared_type(found->second->tp(), low.node().label() + ": attribute 'type'").type;
    const bool is_sequence = type.containers == std::vector{Container::sequence};
    if (type.dtype == DType::undefined || (!type.is_tensor() && !is_sequence)) {
      low.invalid("attribute 'type': expected a tensor or a sequence of tensors, found {}", to_text(type));
    }
    op.attributes.emplace(kDtype, static_cast<std::int64_t>(type.dtype));
    op.attributes.emplace(kIsSequence, std::int64_t{is_sequence});
  }
  return {low.emit(std::move(op), low.inputs())};
}

Types infer_has_element(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(0, 1);
  return {{DType::boolean, Shape{}}};
}
Data evaluate_has_element(const Opaque&, const Call& call) {
  Tensor result(DType::boolean, {});
  result.values<bool>().front() = present(call) != nullptr;
  return {std::move(result)};
}
constexpr Definition kOptionalHasElement{"OptionalHasElement", infer_has_element, evaluate_has_element};

Types infer_get_element(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  ValueType type = ctx.type(0);
  if (is_optional(type)) type.containers.erase(type.containers.begin());
  return {std::move(type)};
}
Data evaluate_get_element(const Opaque&, const Call& call) {
  const Datum* element = present(call);
  if (element == nullptr) call.invalid("the optional input has no element");
  return {*element};
}
}  // namespace
constexpr Definition kOptionalGetElement{"OptionalGetElement", infer_get_element, evaluate_get_element};
namespace {

constexpr Row kRows[] = {
    {kOnnxDomain, "ConcatFromSequence", 11, kNoLimit, 1, 1, 1, opaque<kConcatFromSequence>},
    {kOnnxDomain, "Optional", 15, kNoLimit, 0, 1, 1, lower_optional},
    {kOnnxDomain, "OptionalGetElement", 15, kNoLimit, 1, 1, 1, opaque<kOptionalGetElement>},
    {kOnnxDomain, "OptionalHasElement", 15, kNoLimit, 0, 1, 1, opaque<kOptionalHasElement>},
    {kOnnxDomain, "SequenceAt", 11, kNoLimit, 2, 2, 1, opaque<kSequenceAt>},
    {kOnnxDomain, "SequenceConstruct", 11, kNoLimit, 1, kNoLimit, 1, opaque<kSequenceConstruct>},
    {kOnnxDomain, "SequenceEmpty", 11, kNoLimit, 0, 0, 1, opaque<kSequenceEmpty>},
    {kOnnxDomain, "SequenceErase", 11, kNoLimit, 1, 2, 1, opaque<kSequenceErase>},
    {kOnnxDomain, "SequenceInsert", 11, kNoLimit, 2, 3, 1, opaque<kSequenceInsert>},
    {kOnnxDomain, "SequenceLength", 11, kNoLimit, 1, 1, 1, opaque<kSequenceLength>},
    {kOnnxDomain, "SplitToSequence", 11, kNoLimit, 1, 2, 1, opaque<kSplitToSequence>},
};

}  // namespace

Opaque sequence_empty(DType dtype) {
  return {&kSequenceEmpty, kNewestOpset, {{"dtype", std::int64_t{data_type_of(dtype)}}}};
}

std::span<const Row> sequence_rows() { return kRows; }
std::span<const Definition* const> sequence_definitions() {
  static constexpr const Definition* kAll[] = {&kSequenceEmpty,      &kSequenceConstruct,  &kSequenceAt,
                                               &kSequenceInsert,     &kSequenceErase,      &kSequenceLength,
                                               &kSplitToSequence,    &kConcatFromSequence, &kOptional,
                                               &kOptionalHasElement, &kOptionalGetElement};
  return kAll;
}

}  // namespace colonnade::onnx_import
