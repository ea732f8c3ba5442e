// SPDX-License-Identifier: Apache-2.0
// Sequences and maps.
#include "frontends/onnxruntime/value.hpp"

namespace colonnade::ort {
namespace {

Datum sequence_of(const OrtValue* const* values, std::size_t count) {
  std::vector<Datum> elements;
  for (std::size_t i = 0; i < count; ++i) elements.push_back(datum_of(deref(values[i], "value")));
  const Datum& first = elements.front();
  for (const Datum& element : elements)
    if (element.kind() != first.kind() || element.dtype() != first.dtype())
      throw Failure(ORT_FAIL, "the elements of a sequence are of one type");
  const DType dtype = first.dtype();
  return Datum::sequence(std::move(elements), dtype);
}

Datum map_of(const OrtValue* const* values, std::size_t count) {
  if (count != 2) throw Failure(ORT_FAIL, "a map is made of two tensors, keys and values");
  const OrtValue& keys = tensor_in(values[0]);
  const OrtValue& content = tensor_in(values[1]);
  if (keys.view.dtype != DType::i64 && keys.view.dtype != DType::string)
    throw Failure(ORT_FAIL, "the keys of a map are int64 or strings");
  if (keys.view.shape.size() != 1 || content.view.shape.empty() || content.view.shape[0] != keys.view.shape[0])
    throw Failure(ORT_FAIL, "a map has as many values as keys, in tensors of one dimension");
  return Datum::map(datum_of(keys).tensor(), datum_of(content).tensor());
}

std::size_t parts_of(const Datum& datum) {
  constexpr std::size_t kKeysAndValues = 2;
  return datum.kind() == Datum::Kind::map ? kKeysAndValues : datum.elements().size();
}

const Datum& container_in(const OrtValue* value) {
  if (deref(value, "value").is_tensor()) throw Failure(ORT_FAIL, "the value is a tensor, which has no parts");
  return *value->datum;
}

}  // namespace

OrtStatus* CreateValue(const OrtValue* const* values, std::size_t count, ONNXType type, OrtValue** out) noexcept {
  return guarded([&] {
    need("values and out", values, out);
    if (count == 0) throw Failure(ORT_FAIL, "a sequence or map is made of at least one value");
    if (type == ONNX_TYPE_SEQUENCE)
      *out = value_of(sequence_of(values, count)).release();
    else if (type == ONNX_TYPE_MAP)
      *out = value_of(map_of(values, count)).release();
    else
      throw Failure(ORT_FAIL, "sequences and maps are made of values");
  });
}

OrtStatus* GetValueCount(const OrtValue* value, std::size_t* out) noexcept {
  return guarded([&] { deref(out, "out") = parts_of(container_in(value)); });
}

OrtStatus* GetValue(const OrtValue* value, int index, OrtAllocator* allocator, OrtValue** out) noexcept {
  return guarded([&] {
    need("allocator and out", allocator, out);
    const Datum& datum = container_in(value);
    if (index < 0 || static_cast<std::size_t>(index) >= parts_of(datum))
      throw Failure(ORT_FAIL, "there is no part " + std::to_string(index));
    if (datum.kind() == Datum::Kind::map)
      *out = value_of(Tensor(index == 0 ? datum.keys() : datum.tensor())).release();
    else
      *out = value_of(Datum(datum.elements()[static_cast<std::size_t>(index)])).release();
  });
}

}  // namespace colonnade::ort
