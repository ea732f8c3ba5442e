// SPDX-License-Identifier: Apache-2.0
// Sequences and optional values.
#include <algorithm>

#include "base/lists.hpp"
#include "base/tensor_memory.hpp"
#include "graph/shape_rules.hpp"
#include "reference/call.hpp"
#include "reference/elements.hpp"
#include "reference/indexing.hpp"
#include "reference/onnx/attributes.hpp"
#include "reference/onnx/definitions.hpp"

namespace colonnade::reference {
namespace {

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
  return {sequence_of({dtype_or(op, "dtype", DType::f32), {}})};
}
Data evaluate_empty(const Opaque&, const Call& call) { return {Datum::sequence({}, call.dtype())}; }

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

Types infer_at(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(2, 2);
  check_position(ctx, 1);
  return {element_type(ctx, 0)};
}
Data evaluate_at(const Opaque&, const Call& call) {
  const auto& elements = elements_of(call, 0);
  return {elements[static_cast<std::size_t>(position(call, 1, elements.size(), elements.size()))]};
}

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

Types infer_length(const Opaque&, const RuleContext& ctx) {
  ctx.inputs(1, 1);
  element_type(ctx, 0);
  return {{DType::i64, Shape{}}};
}
Data evaluate_length(const Opaque&, const Call& call) {
  return {ints_tensor({static_cast<std::int64_t>(elements_of(call, 0).size())}).reshaped({})};
}

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
  const Ints strides = strides_of(x.shape());
  const bool drops_axis = call.optional(1) == nullptr && op.int_or("keepdims", 1) == 0;
  Data pieces;
  std::int64_t begin = 0;
  for (const std::int64_t size : piece_sizes(call, at(x.shape(), axis))) {
    Shape shape = x.shape();
    at(shape, axis) = size;
    Tensor piece = TensorMemory::unset(x.dtype(), shape);
    copy_box(x, {begin * at(strides, axis), strides}, piece, {0, strides_of(shape)}, shape);
    begin += size;
    if (drops_axis) shape.erase(shape.begin() + axis);
    pieces.emplace_back(std::move(piece).reshaped(std::move(shape)));
  }
  return {Datum::sequence(std::move(pieces), x.dtype())};
}

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
  Tensor result = TensorMemory::unset(call.dtype(), joined_shape(call, shapes, axis));
  const Ints strides = strides_of(result.shape());
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const Strided target{begin * at(strides, axis), strides};
    copy_box(elements[i].tensor(), {0, strides_of(shapes[i])}, result, target, shapes[i]);
    begin += at(shapes[i], axis);
  }
  return {std::move(result)};
}

bool is_optional(const ValueType& type) { return !type.is_tensor() && type.containers.front() == Container::optional; }

/// The datum within an optional one, or the datum itself; null when there is none.
const Datum* present(const Call& call) {
  const Datum* datum = call.optional_datum(0);
  if (datum == nullptr || datum->kind() != Datum::Kind::optional) return datum;
  return datum->elements().empty() ? nullptr : &datum->elements().front();
}

Types infer_optional(const Opaque& op, const RuleContext& ctx) {
  ctx.inputs(0, 1);
  if (ctx.has(0)) {
    if (is_optional(ctx.type(0))) ctx.fail("{} is optional already, {}", ctx.text(0), to_text(ctx.type(0)));
    return {wrapped(ctx.type(0), Container::optional)};
  }
  ValueType type{dtype_of(op, "dtype"), {}};
  if (op.int_of("is_sequence") != 0) type = sequence_of(std::move(type));
  return {wrapped(std::move(type), Container::optional)};
}
Data evaluate_optional(const Opaque&, const Call& call) {
  return {call.optional_datum(0) ? Datum::optional(call.datum(0)) : Datum::absent(call.dtype())};
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

constexpr Definition kSequenceEmpty{"SequenceEmpty", infer_empty, evaluate_empty};
constexpr Definition kSequenceConstruct{"SequenceConstruct", infer_construct, evaluate_construct};
constexpr Definition kSequenceAt{"SequenceAt", infer_at, evaluate_at};
constexpr Definition kSequenceInsert{"SequenceInsert", infer_insert, evaluate_insert};
constexpr Definition kSequenceErase{"SequenceErase", infer_erase, evaluate_erase};
constexpr Definition kSequenceLength{"SequenceLength", infer_length, evaluate_length};
constexpr Definition kSplitToSequence{"SplitToSequence", infer_split, evaluate_split};
constexpr Definition kConcatFromSequence{"ConcatFromSequence", infer_concat, evaluate_concat};
constexpr Definition kOptional{"Optional", infer_optional, evaluate_optional};
constexpr Definition kOptionalHasElement{"OptionalHasElement", infer_has_element, evaluate_has_element};
constexpr Definition kOptionalGetElement{"OptionalGetElement", infer_get_element, evaluate_get_element};

}  // namespace colonnade::reference
