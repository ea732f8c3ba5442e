// SPDX-License-Identifier: Apache-2.0
#include "api/compiled_content.hpp"

#include <elf.h>
#include <fcntl.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "base/hash.hpp"
#include "topology/blocking.hpp"

namespace colonnade {
namespace {

constexpr std::array<char, 16> kMagic = {'C', 'o', 'l', 'o', 'n', 'n', 'a', 'd', 'e', ' ', 'p', 'l', 'a', 'n', 's', 1};

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kBlockBytes = 256 * 1024;  ///< hashed while it is in a cache
constexpr std::uint64_t kBlocksAThread = 8;        ///< less is not worth starting one

struct Header {
  std::array<char, 16> magic = kMagic;
  std::uint64_t archive_offset = 0, archive_bytes = 0, archive_hash = 0;
  std::uint64_t hash = 0;  ///< of what is above
  std::uint64_t hash_above() const { return hash_of(std::as_bytes(std::span(this, 1)).first(offsetof(Header, hash))); }
};
static_assert(sizeof(Header) <= AlignedBuffer::kAlignment);

/// The build id among the notes of a loaded object.
std::string build_id(const dl_phdr_info& object, const ElfW(Phdr) & notes) {
  const auto align4 = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  const auto* at = reinterpret_cast<const char*>(object.dlpi_addr + notes.p_vaddr);
  const char* const end = at + notes.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* text = name + align4(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string id;
      for (std::size_t i = 0; i < note.n_descsz; ++i) id += fmt::format("{:02x}", static_cast<unsigned char>(text[i]));
      return id;
    }
    at = text + align4(note.n_descsz);
  }
  return "";
}

/// The build id of the program or library that this function is linked into.
std::string own_build_id() {
  std::string id;
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* result) {
        const auto here = reinterpret_cast<ElfW(Addr)>(&own_build_id);
        const std::span headers(object->dlpi_phdr, object->dlpi_phnum);
        const auto holds = [&](const ElfW(Phdr) & part) {
          const ElfW(Addr) begin = object->dlpi_addr + part.p_vaddr;
          return part.p_type == PT_LOAD && here >= begin && here - begin < part.p_memsz;
        };
        if (std::none_of(headers.begin(), headers.end(), holds)) return 0;
        auto& found = *static_cast<std::string*>(result);
        for (const ElfW(Phdr) & part : headers) {
          if (part.p_type == PT_NOTE && found.empty()) found = build_id(*object, part);
        }
        return 1;
      },
      &id);
  return id;
}

std::string options_text(const Options& options, std::string_view blocking) {
  std::string text =
      fmt::format("schedule {}, math {}, memory limit {}, blocking {}", static_cast<int>(options.schedule),
                  static_cast<int>(options.math), options.memory_limit_bytes, blocking);
  if (options.dynamic_scale != DynamicScale::tensor)
    text += fmt::format(", dynamic scale {}", static_cast<int>(options.dynamic_scale));
  if (!options.numa.empty()) text += ", numa " + options.numa;
  for (const auto& [symbol, size] : options.dimensions) text += fmt::format(", {} = {}", symbol, size);
  return text;
}

template <class... Parts>
std::uint64_t hash_of_fields(const Parts&... parts) {
  ConstantTable none;
  ArchiveWriter writer(none);
  (writer.write(parts), ...);
  const std::string bytes = writer.take();
  return hash_of(std::as_bytes(std::span(bytes)));
}

MachineKey machine_key_of(const Topology& topology) {
  std::vector<NumaNode> nodes = topology.nodes;
  for (NumaNode& node : nodes) node.memory_bytes = 0;
  Rates rates = topology.rates;
  rates.source.clear();
  return {hash_of_fields(topology.cpu_model, topology.cores, topology.core_of), hash_of_fields(topology.caches),
          hash_of_fields(nodes), hash_of_fields(topology.cpu_quota), hash_of_fields(rates)};
}

/// What is missing to a multiple.
std::span<const std::byte> zeros_up_to(std::uint64_t size, std::uint64_t multiple) {
  static constexpr std::array<std::byte, kPageBytes> kZeros{};
  return std::span(kZeros).first(static_cast<std::size_t>((multiple - size % multiple) % multiple));
}

/// Reads the block of an area that begins `at`; false when it is damaged.
bool read_block(const onnx_import::Bytes& file, const CompiledArea& area, std::uint64_t at,
                std::span<std::byte> bytes) noexcept {
  const auto size = static_cast<std::uint64_t>(file.size());
  const std::uint64_t number = at / kBlockBytes;
  if (area.offset > size || area.bytes > size - area.offset || number >= area.hashes.size()) return false;
  try {
    file.read(static_cast<std::int64_t>(area.offset + at), bytes);
  } catch (const std::exception&) {
    return false;
  }
  return hash_of(bytes) == area.hashes[number];
}

}  // namespace

std::string difference(const MachineKey& one, const MachineKey& other) {
  std::vector<std::string_view> parts;
  const auto compare = [&](std::string_view name, std::uint64_t MachineKey::*part) {
    if (one.*part != other.*part) parts.push_back(name);
  };
  compare("processors", &MachineKey::processors);
  compare("caches", &MachineKey::caches);
  compare("NUMA nodes", &MachineKey::nodes);
  compare("quota", &MachineKey::quota);
  compare("rates", &MachineKey::rates);
  return fmt::format("{}", fmt::join(parts, ", "));
}

CompiledKey compiled_key(const Options& options, const Topology& topology, int threads) {
  const std::string id = own_build_id();
  return {id.empty() ? "" : fmt::format("{} {}", version(), id), std::string(kernels::name_of(topology.features)),
          threads, options_text(options, blocking_of(topology).name), machine_key_of(topology)};
}

std::string read_archive(const onnx_import::Bytes& file) {
  Header header;
  const auto size = static_cast<std::uint64_t>(file.size());
  if (size < sizeof header) fail(ErrorCode::io, "it is cut off");
  file.read(0, std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != kMagic) fail(ErrorCode::io, "it is no compiled file of this version");
  if (header.hash != header.hash_above()) fail(ErrorCode::io, "it is damaged");
  if (header.archive_offset > size || header.archive_bytes != size - header.archive_offset)
    fail(ErrorCode::io, "it is cut off");
  std::string bytes(static_cast<std::size_t>(header.archive_bytes), '\0');
  file.read(static_cast<std::int64_t>(header.archive_offset), std::as_writable_bytes(std::span(bytes)));
  if (hash_of(std::as_bytes(std::span(bytes))) != header.archive_hash) fail(ErrorCode::io, "it is damaged");
  return bytes;
}

CompiledKey read_key(ArchiveReader& reader) { return reader.read<CompiledKey>(); }

CompiledContent read_content(ArchiveReader& reader) {
  auto content = reader.read<CompiledContent>();
  reader.end();
  return content;
}

bool read_area(const onnx_import::Bytes& file, const CompiledArea& area, std::span<std::byte> into, int threads) {
  if (into.size() != area.bytes) return false;
  const std::uint64_t blocks = (area.bytes + kBlockBytes - 1) / kBlockBytes;
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> good{true};
  const auto work = [&] {
    for (std::uint64_t block = next++; block < blocks && good; block = next++) {
      const std::uint64_t at = block * kBlockBytes;
      const auto bytes = into.subspan(static_cast<std::size_t>(at));
      if (!read_block(file, area, at, bytes.first(std::min<std::size_t>(bytes.size(), kBlockBytes)))) good = false;
    }
  };
  {
    std::vector<std::jthread> helpers;
    const auto most = std::min<std::uint64_t>(static_cast<std::uint64_t>(threads), blocks / kBlocksAThread);
    try {
      for (std::uint64_t i = 1; i < most; ++i) helpers.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads: those that are there do it all
    }
    work();
  }
  return good;
}

std::optional<CompiledNarrow> record_of(const std::shared_ptr<const NarrowWeights>& weights) {
  if (!weights) return std::nullopt;
  const NarrowWeights& w = *weights;
  return CompiledNarrow{w.type, w.block_rows, w.block_columns, w.has_zeros, w.zero, w.byte_rows};
}

std::shared_ptr<const NarrowWeights> weights_of(const CompiledConstant& stored,
                                                std::function<std::shared_ptr<const Constant>()> original) {
  if (!stored.narrow) return nullptr;
  const auto& [type, block_rows, block_columns, has_zeros, zero, byte_rows] = *stored.narrow;
  if (stored.shape.empty() || block_rows < 1 || block_columns < 1) fail(ErrorCode::io, "its content is malformed");
  const auto parts = [original = std::move(original)] {
    const auto constant = original();
    if (!constant->narrow()) fail(ErrorCode::io, "the model is not the one that was compiled");
    return constant->narrow()->parts();
  };
  return std::make_shared<const NarrowWeights>(
      NarrowWeights{type, block_rows, block_columns, has_zeros, zero, byte_rows, parts});
}

CompiledWriter::CompiledWriter(std::string path) : path_(std::move(path)) {
  struct stat status {};
  if (::stat(path_.c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    fail(ErrorCode::io, "what is there is no regular file");
  static std::atomic<unsigned> count{0};
  temporary_ = fmt::format("{}.{}-{}", path_, ::getpid(), count.fetch_add(1));
  constexpr mode_t kReadableByAll = 0666;  // less the process's mask
  file_ = onnx_import::FileDescriptor(
      ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kReadableByAll));
  if (!file_.is_open()) fail(ErrorCode::io, "{}", std::strerror(errno));
  append(std::as_bytes(std::span(&kMagic, 1)));
}

CompiledWriter::~CompiledWriter() {
  if (file_.is_open()) ::unlink(temporary_.c_str());
}

void CompiledWriter::append(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(ErrorCode::io, "{}", std::strerror(count < 0 ? errno : ENOSPC));
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

CompiledArea CompiledWriter::add(std::span<const std::span<const std::byte>> parts,
                                 std::vector<std::uint64_t>& offsets) {
  append(zeros_up_to(size_, kPageBytes));
  CompiledArea area;
  area.offset = size_;
  const AlignedBuffer block(kBlockBytes);
  std::size_t filled = 0;
  const auto flush = [&] {
    const std::span bytes(block.data(), filled);
    area.hashes.push_back(hash_of(bytes));
    append(bytes);
    filled = 0;
  };
  const auto put = [&](std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const std::size_t count = std::min<std::size_t>(bytes.size(), kBlockBytes - filled);
      std::memcpy(block.data() + filled, bytes.data(), count);
      filled += count;
      area.bytes += count;
      bytes = bytes.subspan(count);
      if (filled == kBlockBytes) flush();
    }
  };
  for (const std::span<const std::byte> part : parts) {
    put(zeros_up_to(area.bytes, AlignedBuffer::kAlignment));
    offsets.push_back(area.bytes);
    put(part);
  }
  if (filled > 0) flush();
  return area;
}

std::optional<CompiledArea> CompiledWriter::copy(const onnx_import::Bytes& file, const CompiledArea& area) {
  append(zeros_up_to(size_, kPageBytes));
  CompiledArea copied{size_, area.bytes, area.hashes};
  const AlignedBuffer block(kBlockBytes);
  for (std::uint64_t at = 0; at < area.bytes; at += kBlockBytes) {
    const std::span bytes(block.data(), static_cast<std::size_t>(std::min(kBlockBytes, area.bytes - at)));
    if (!read_block(file, area, at, bytes)) return std::nullopt;
    append(bytes);
  }
  return copied;
}

std::shared_ptr<const onnx_import::FileBytes> CompiledWriter::finish(const CompiledKey& key,
                                                                     const CompiledContent& content) {
  ConstantTable none;
  ArchiveWriter writer(none);
  writer.write(key);
  writer.write(content);
  const std::string archive = writer.take();
  append(zeros_up_to(size_, kPageBytes));
  Header header;
  header.archive_offset = size_;
  header.archive_bytes = archive.size();
  header.archive_hash = hash_of(std::as_bytes(std::span(archive)));
  header.hash = header.hash_above();
  append(std::as_bytes(std::span(archive)));
  const auto bytes = std::as_bytes(std::span(&header, 1));
  if (::pwrite(file_.get(), bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    fail(ErrorCode::io, "{}", std::strerror(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(ErrorCode::io, "{}", std::strerror(errno));
  return std::make_shared<const onnx_import::FileBytes>(std::move(file_), path_);
}

}  // namespace colonnade
