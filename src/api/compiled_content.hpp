// SPDX-License-Identifier: Apache-2.0
// What a compiled file holds and how its bytes lie: a header, areas of packed weights and of elements of large
// constants, then everything else as an archive.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "api/archive.hpp"
#include "api/layouts.hpp"
#include "frontends/onnx/bytes.hpp"
#include "graph/narrow_weights.hpp"
#include "topology/topology.hpp"

namespace colonnade {

/// What a compiled file holds for, besides the model.
/// Hashes of a topology by its parts. How much memory there is does not count: it may change, and no plan asks.
struct MachineKey {
  std::uint64_t processors = 0;
  std::uint64_t caches = 0;
  std::uint64_t nodes = 0;
  std::uint64_t quota = 0;
  std::uint64_t rates = 0;
  bool operator==(const MachineKey&) const = default;
};
/// Which parts differ.
std::string difference(const MachineKey& one, const MachineKey& other);

struct CompiledKey {
  std::string library;  ///< version and build
  std::string isa;
  std::int64_t threads = 1;
  std::string options;
  MachineKey machine;
};
/// The library is "" when nothing tells its builds apart.
CompiledKey compiled_key(const Options& options, const Topology& topology, int threads);

/// The model's bytes, or a file beside it.
struct CompiledFile {
  std::string location;  ///< "": the model
  std::string identity;  ///< of the file that was read; "" where nobody knows
  std::int64_t bytes = 0;
  std::uint64_t hash = 0;
};

/// Of weights that are narrow, all but their numbers, which only the model has.
struct CompiledNarrow {
  DType type = DType::undefined;
  std::int64_t block_rows = 0, block_columns = 0;
  bool has_zeros = false;
  float zero = 0;
  bool byte_rows = false;
};

struct CompiledConstant {
  DType dtype = DType::undefined;
  Shape shape;
  bool is_normal = false;
  std::shared_ptr<const Tensor> elements;  ///< of small ones; null: a blob, or to be made of the model
  std::optional<CompiledNarrow> narrow;
};

std::optional<CompiledNarrow> record_of(const std::shared_ptr<const NarrowWeights>& weights);
/// The narrow weights of a constant that `original` gives, whose numbers are asked of that; null where it has none.
std::shared_ptr<const NarrowWeights> weights_of(const CompiledConstant& stored,
                                                std::function<std::shared_ptr<const Constant>()> original);

/// A part of the file that is read as a whole: what lies in it is in memory when any of it is.
struct CompiledArea {
  std::uint64_t offset = 0, bytes = 0;
  std::vector<std::uint64_t> hashes;  ///< of its blocks
};

/// Bytes within an area, aligned as buffers are.
struct CompiledBlob {
  std::uint32_t constant = 0;
  std::string format;  ///< of packed weights; "": the constant's elements, an area of their own
  std::uint32_t area = 0;
  std::uint64_t offset = 0, bytes = 0;
};

struct CompiledPlan {
  std::vector<Shape> shapes;
  Layouts layouts;
  std::int64_t threads = 1;
  std::string bytes;  ///< graph, rest, plan
};

struct CompiledContent {
  std::vector<CompiledFile> files;
  std::vector<TensorInfo> inputs, outputs;
  ModelMetadata metadata;
  std::vector<CompiledConstant> constants;
  std::string optimized;  ///< the graph's bytes
  std::vector<CompiledPlan> plans;
  std::vector<CompiledArea> areas;
  std::vector<CompiledBlob> blobs;
};

/// Header and archive of an open file, its hash compared. Throws Error{io} saying what is wrong with it.
std::string read_archive(const onnx_import::Bytes& file);
/// The archive's two parts. The key comes first and is read alone: the rest may be another build's.
CompiledKey read_key(ArchiveReader& reader);
CompiledContent read_content(ArchiveReader& reader);
/// Reads an area by several threads where it is large; false when it is damaged.
bool read_area(const onnx_import::Bytes& file, const CompiledArea& area, std::span<std::byte> into, int threads);

/// Writes a compiled file beside `path`, then puts it in its place. What is at `path` stays if anything fails.
class CompiledWriter {
 public:
  /// Throws Error{io}, also when something at `path` is no regular file.
  explicit CompiledWriter(std::string path);
  CompiledWriter(const CompiledWriter&) = delete;
  CompiledWriter& operator=(const CompiledWriter&) = delete;
  ~CompiledWriter();

  /// Appends an area of these bytes; answers it, and through `offsets` where each lies in it.
  CompiledArea add(std::span<const std::span<const std::byte>> parts, std::vector<std::uint64_t>& offsets);
  /// Appends an area of another file; nothing when it is damaged, and then the file is none the worse.
  std::optional<CompiledArea> copy(const onnx_import::Bytes& file, const CompiledArea& area);
  /// Ends the file. Answers it, open for reading.
  std::shared_ptr<const onnx_import::FileBytes> finish(const CompiledKey& key, const CompiledContent& content);

 private:
  void append(std::span<const std::byte> bytes);

  std::string path_, temporary_;
  onnx_import::FileDescriptor file_;
  std::uint64_t size_ = 0;
};

}  // namespace colonnade
