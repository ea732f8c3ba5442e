// SPDX-License-Identifier: Apache-2.0
#include "api/archive.hpp"

#include <cstring>

#include "reference/onnx/definitions.hpp"

namespace colonnade {

std::uint32_t ConstantTable::number_of(const std::shared_ptr<const Constant>& constant) {
  const auto [found, fresh] = numbers_.try_emplace(constant.get(), static_cast<std::uint32_t>(all_.size()));
  if (fresh) all_.push_back(constant);
  return found->second;
}

std::optional<std::uint32_t> ConstantTable::find(const Constant& constant) const {
  const auto found = numbers_.find(&constant);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

void ArchiveWriter::write_struct(const Tensor& tensor) {
  write(tensor.dtype());
  write(tensor.shape());
  write(tensor.strings());
  append(tensor.data(), tensor.byte_size());
}

void ArchiveWriter::write_struct(const kernels::Features& features) {
  for (const kernels::Isa isa : kernels::kAllIsas) write(features.contains(isa));
}

void ArchiveWriter::write_struct(const Opaque& op) {
  write(std::string(op.definition->name));
  write(op.version);
  write(op.attributes);
}

void ArchiveReader::refuse() { fail(ErrorCode::io, "its content is malformed"); }

void ArchiveReader::end() const {
  if (!bytes_.empty()) refuse();
}

void ArchiveReader::copy(void* into, std::size_t bytes) {
  if (bytes > bytes_.size()) refuse();
  if (bytes > 0) std::memcpy(into, bytes_.data(), bytes);
  bytes_.remove_prefix(bytes);
}

bool ArchiveReader::read_bool() {
  const auto value = read<std::uint8_t>();
  if (value > 1) refuse();
  return value == 1;
}

std::size_t ArchiveReader::read_size(std::size_t bytes) {
  const auto size = read<std::uint64_t>();
  if (size > bytes_.size() / bytes) refuse();
  return static_cast<std::size_t>(size);
}

std::shared_ptr<const Constant> ArchiveReader::constant(std::uint32_t number) const {
  if (number >= constants_.all().size()) refuse();
  return constants_.all()[number];
}

void ArchiveReader::read_struct(Tensor& tensor) {
  const auto dtype = read<DType>();
  auto shape = read<Shape>();
  auto strings = read<std::vector<std::string>>();
  std::int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const Error&) {
    refuse();
  }
  const std::size_t element = size_of(dtype);
  const auto elements = static_cast<std::size_t>(count);
  if (dtype == DType::string ? strings.size() != elements
      : element == 0         ? count > 0
                             : elements > bytes_.size() / element)
    refuse();
  tensor = Tensor(dtype, std::move(shape));
  tensor.strings() = std::move(strings);
  copy(tensor.data(), tensor.byte_size());
}

void ArchiveReader::read_struct(Opaque& op) {
  const auto name = read<std::string>();
  const auto version = read<std::int64_t>();
  auto attributes = read<Attributes>();
  const Definition* definition = reference::find_definition(name);
  if (definition == nullptr) refuse();
  op = make_opaque(*definition, version, std::move(attributes));
}

template void ArchiveWriter::write(const Graph&);
template void ArchiveWriter::write(const std::unique_ptr<const Rest>&);
template void ArchiveWriter::write(const Plan&);
template Graph ArchiveReader::read<Graph>();
template std::unique_ptr<const Rest> ArchiveReader::read<std::unique_ptr<const Rest>>();
template Plan ArchiveReader::read<Plan>();

}  // namespace colonnade
