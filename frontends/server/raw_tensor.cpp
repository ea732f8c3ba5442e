// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/raw_tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <limits>

#include "frontends/server/datatype.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kLengthBytes = 4;

[[noreturn]] void fail(std::string_view tensor, const std::string& what) {
  throw Failure(Code::invalid_argument, fmt::format("input '{}': {}", tensor, what));
}

std::uint32_t length_at(std::span<const std::byte> bytes) {
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  return length;
}

std::vector<std::string> read_strings(std::string_view name, std::size_t count, std::span<const std::byte> bytes) {
  if (count > bytes.size() / kLengthBytes)
    fail(name, fmt::format("{} elements of BYTES cannot be in {} bytes", count, bytes.size()));
  std::vector<std::string> strings(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (bytes.size() < kLengthBytes) fail(name, fmt::format("the bytes end before element {} of {}", i, count));
    const std::uint32_t length = length_at(bytes);
    bytes = bytes.subspan(kLengthBytes);
    if (length > bytes.size())
      fail(name, fmt::format("element {} claims {} bytes, but only {} follow", i, length, bytes.size()));
    strings[i].assign(reinterpret_cast<const char*>(bytes.data()), length);
    bytes = bytes.subspan(length);
  }
  if (!bytes.empty()) fail(name, fmt::format("{} bytes behind the last of {} elements", bytes.size(), count));
  return strings;
}

void check_booleans(std::string_view name, std::span<const std::byte> bytes) {
  for (const std::byte value : bytes)
    if (value > std::byte{1})
      fail(name, fmt::format("BOOL: expected bytes 0 and 1, found {}", std::to_integer<int>(value)));
}

}  // namespace

std::string shape_text(std::span<const std::int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::size_t checked_count(std::span<const std::int64_t> shape, std::string_view tensor) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 16;
  std::uint64_t count = 1;
  bool is_empty = false, too_large = false;
  for (const std::int64_t dimension : shape) {
    if (dimension < 0) fail(tensor, "shape: expected dimensions of 0 or more, found " + shape_text(shape));
    if (dimension == 0) {
      is_empty = true;
    } else if (static_cast<std::uint64_t>(dimension) > kMost / count) {
      too_large = true;
      count = 1;
    } else {
      count *= static_cast<std::uint64_t>(dimension);
    }
  }
  if (too_large) fail(tensor, "shape: more elements than memory can hold: " + shape_text(shape));
  return is_empty ? 0 : static_cast<std::size_t>(count);
}

InputTensor owned_input(std::string name, Tensor tensor) {
  auto kept = std::make_shared<const Tensor>(std::move(tensor));
  return {std::move(name), TensorView(*kept), kept};
}

InputTensor raw_input(std::string name, DType dtype, Shape shape, std::span<const std::byte> bytes,
                      std::shared_ptr<const void> owner) {
  const std::size_t count = checked_count(shape, name);
  if (dtype == DType::string) {
    auto strings = std::make_shared<const std::vector<std::string>>(read_strings(name, count, bytes));
    return {std::move(name), TensorView(dtype, std::move(shape), strings->data()), strings};
  }
  const std::size_t element = size_of(dtype);
  if (bytes.size() != count * element)
    fail(name, fmt::format("expected {} bytes for {} {}, found {}", count * element, datatype_of(dtype),
                           shape_text(shape), bytes.size()));
  if (dtype == DType::boolean) check_booleans(name, bytes);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % element == 0)
    return {std::move(name), TensorView(dtype, std::move(shape), bytes.data()), std::move(owner)};
  Tensor copy(dtype, std::move(shape));
  if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
  return owned_input(std::move(name), std::move(copy));
}

std::span<const std::byte> raw_bytes(const TensorView& tensor, std::string& scratch) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  if (tensor.dtype != DType::string) return {static_cast<const std::byte*>(tensor.data), count * size_of(tensor.dtype)};
  const std::span<const std::string> strings(static_cast<const std::string*>(tensor.data), count);
  std::size_t size = 0;
  for (const std::string& text : strings) size += kLengthBytes + text.size();
  scratch.clear();
  scratch.reserve(size);
  for (const std::string& text : strings) {
    const auto length = static_cast<std::uint32_t>(text.size());
    scratch.append(reinterpret_cast<const char*>(&length), kLengthBytes);
    scratch.append(text);
  }
  return std::as_bytes(std::span(scratch));
}

}  // namespace colonnade::serve
