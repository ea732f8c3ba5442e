// SPDX-License-Identifier: Apache-2.0
#include "api/compiled.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <mutex>

#include "base/hash.hpp"
#include "base/log.hpp"
#include "program/compile.hpp"

namespace colonnade {
namespace {

constexpr std::size_t kMostPlans = 8;

bool is_small(const Constant& constant) {
  return constant.dtype() == DType::string || constant.byte_size() <= Constant::kSmallBytes;
}

bool holds_no_denormals(const Constant& constant) {
  if (constant.is_normal() || constant.dtype() != DType::f32 || !constant.is_kept()) return constant.is_normal();
  const auto tensor = constant.tensor();
  const auto values = tensor->values<float>();
  return std::none_of(values.begin(), values.end(), [](float x) { return std::fpclassify(x) == FP_SUBNORMAL; });
}

std::uint64_t content_hash(const onnx_import::Bytes& bytes) {
  return hash_of(static_cast<std::uint64_t>(bytes.size()), [&](std::uint64_t offset, std::span<std::byte> into) {
    bytes.read(static_cast<std::int64_t>(offset), into);
  });
}

bool is_same(const onnx_import::Bytes& bytes, const CompiledFile& file) {
  if (bytes.size() != file.bytes) return false;
  const std::string identity = bytes.identity();
  return (!identity.empty() && identity == file.identity) || content_hash(bytes) == file.hash;
}

}  // namespace

/// The constants of the same graphs made of the model itself: for elements that the file does not have.
class Compiled::Origin {
 public:
  Origin(std::shared_ptr<onnx_import::Source> source, Options options, const CompiledContent& content)
      : source_(std::move(source)), options_(std::move(options)) {
    for (const CompiledPlan& plan : content.plans) plans_.emplace_back(plan.shapes, plan.layouts);
  }

  /// Graphs are walked in the order in which the file was written, so that numbers agree.
  std::shared_ptr<const Constant> at(std::uint32_t number) {
    const std::scoped_lock lock(mutex_);
    if (!optimized_) {
      optimized_ = optimized_graph(import_graph(*source_, options_), options_.math);
      ArchiveWriter(constants_).write(*optimized_);
    }
    for (; number >= constants_.all().size() && planned_ < plans_.size(); ++planned_) {
      const BoundGraph bound = bound_graph(*optimized_, plans_[planned_].first, plans_[planned_].second, options_.math);
      ArchiveWriter writer(constants_);
      writer.write(bound.graph);
      writer.write(bound.rest);
    }
    if (number >= constants_.all().size()) fail(ErrorCode::io, "the model is not the one that was compiled");
    return constants_.all()[number];
  }

 private:
  const std::shared_ptr<onnx_import::Source> source_;
  const Options options_;
  std::mutex mutex_;
  std::optional<Graph> optimized_;
  std::vector<std::pair<std::vector<Shape>, Layouts>> plans_;
  std::size_t planned_ = 0;
  ConstantTable constants_;
};

/// Bytes for a new blob.
struct Compiled::NewBlob {
  BlobKey key;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

Compiled::Compiled(const Options& options, const Topology& topology, int threads,
                   std::shared_ptr<onnx_import::Source> source)
    : options_(options),
      features_(topology.features),
      blocking_(blocking_of(topology)),
      readers_(topology.default_threads()),
      key_(compiled_key(options, topology, threads)),
      source_(std::move(source)) {
  try {
    load();
  } catch (const Error& error) {
    reason_ = error.what();
  } catch (const std::bad_alloc&) {
    reason_ = "it does not fit into memory";
  }
  if (reason_.empty()) return;
  file_ = nullptr;
  optimized_ = nullptr;
  constants_ = {};
  set_content({});
}

Compiled::~Compiled() = default;

void Compiled::load() {
  onnx_import::FileDescriptor file(::open(options_.compiled.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open() && errno == ENOENT) return;
  if (!file.is_open()) fail(ErrorCode::io, "{}", std::strerror(errno));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) fail(ErrorCode::io, "it is no regular file");
  file_ = std::make_shared<const onnx_import::FileBytes>(std::move(file), options_.compiled);
  const std::string archive = read_archive(*file_);
  ArchiveReader reader(archive, constants_);
  reason_ = misfit(read_key(reader));
  if (!reason_.empty()) return;
  set_content(read_content(reader));
  if (!is_of(content_.files)) fail(ErrorCode::io, "it was made for another model");
  make_constants();
  ArchiveReader graph(content_.optimized, constants_);
  optimized_ = std::make_shared<const Graph>(graph.read<Graph>());
  graph.end();
}

std::string Compiled::misfit(const CompiledKey& found) const {
  const auto other = [](std::string_view what, const auto& was, const auto& now) {
    return fmt::format("it was made for {} {}, now {}", what, was, now);
  };
  if (found.library != key_.library || key_.library.empty()) return "it was made by another build of the library";
  if (found.isa != key_.isa) return other("ISA", found.isa, key_.isa);
  if (found.threads != key_.threads) return other("threads:", found.threads, key_.threads);
  if (found.options != key_.options) return "it was made for other options";
  if (found.machine != key_.machine)
    return "it was made for a machine with other " + difference(found.machine, key_.machine);
  return "";
}

bool Compiled::is_of(const std::vector<CompiledFile>& files) const {
  return !files.empty() && std::all_of(files.begin(), files.end(), [&](const CompiledFile& file) {
    if (file.location.empty()) return is_same(*source_->bytes(), file);
    return is_same(*source_->files().open(file.location, "compiled file").bytes, file);
  });
}

void Compiled::make_constants() {
  const auto origin = std::make_shared<Origin>(source_, options_, content_);
  for (std::uint32_t number = 0; number < content_.constants.size(); ++number) {
    const CompiledConstant& stored = content_.constants[number];
    if (stored.elements) {
      constants_.add(std::make_shared<const Constant>(stored.elements));
      continue;
    }
    const CompiledArea* area = nullptr;
    if (const auto found = blobs_.find({number, ""});
        found != blobs_.end() && found->second.area < content_.areas.size())
      area = &content_.areas[found->second.area];
    const auto make = [number, origin, area = area ? *area : CompiledArea(), file = file_, damaged = damaged_](
                          std::int64_t first, std::span<std::byte> target) {
      if (area.bytes > 0 && first == 0 && target.size() == area.bytes) {
        if (read_area(*file, area, target, 1)) return;
        *damaged = true;
      }
      origin->at(number)->read(first, target);
    };
    const auto narrow = weights_of(stored, [number, origin] { return origin->at(number); });
    constants_.add(std::make_shared<const Constant>(stored.dtype, stored.shape, make, stored.is_normal, narrow));
  }
}

void Compiled::set_content(CompiledContent content) {
  content_ = std::move(content);
  areas_.clear();
  blobs_.clear();
  for (const CompiledBlob& blob : content_.blobs) blobs_[{blob.constant, blob.format}] = blob;
}

const CompiledPlan* Compiled::plan_for(const std::vector<Shape>& shapes, const Layouts& layouts, int threads) const {
  const auto found = std::find_if(content_.plans.begin(), content_.plans.end(), [&](const CompiledPlan& plan) {
    return plan.shapes == shapes && plan.layouts == layouts && plan.threads == threads;
  });
  return found == content_.plans.end() ? nullptr : &*found;
}

std::optional<Compiled::Planned> Compiled::find(const std::vector<Shape>& shapes, const Layouts& layouts,
                                                int threads) const {
  const CompiledPlan* plan = plan_for(shapes, layouts, threads);
  if (plan == nullptr) return std::nullopt;
  ArchiveReader reader(plan->bytes, constants_);
  Planned planned;
  planned.bound.graph = reader.read<Graph>();
  planned.bound.rest = reader.read<std::unique_ptr<const Rest>>();
  planned.plan = reader.read<Plan>();
  reader.end();
  planned.plan.choices = {choose_families(planned.bound.graph, planned.plan.options.math, features_, blocking_)};
  return planned;
}

/// Null when the file does not have it any more.
std::shared_ptr<const AlignedBuffer> Compiled::area(std::uint32_t number, int node, const NumaNodes& nodes) const {
  if (number >= content_.areas.size() || *damaged_) return nullptr;
  auto& held = areas_[{node, number}];
  if (auto block = held.lock()) return block;
  const CompiledArea& area = content_.areas[number];
  if (area.bytes > static_cast<std::uint64_t>(file_->size())) return nullptr;
  auto block = std::make_shared<const AlignedBuffer>(placed_buffer(static_cast<std::size_t>(area.bytes), nodes));
  if (read_area(*file_, area, {block->data(), static_cast<std::size_t>(area.bytes)}, readers_)) {
    held = block;
    return block;
  }
  *damaged_ = true;
  return nullptr;
}

std::optional<PackedWeights> Compiled::weights(const Constant& constant, const std::string& format, int node,
                                               const NumaNodes& nodes) const {
  const auto number = constants_.find(constant);
  const auto found = number ? blobs_.find({*number, format}) : blobs_.end();
  if (found == blobs_.end()) return std::nullopt;
  const CompiledBlob& blob = found->second;
  const auto block = area(blob.area, node, nodes);
  if (!block || blob.offset > block->bytes() || blob.bytes > block->bytes() - blob.offset) return std::nullopt;
  const auto* floats = reinterpret_cast<const float*>(block->data() + blob.offset);
  return PackedWeights{std::shared_ptr<const float>(block, floats), static_cast<std::size_t>(blob.bytes)};
}

bool Compiled::needs_writing(const Made& made) const {
  if (has_failed_) return false;
  return !file_ || *damaged_ ||
         (content_.plans.size() < kMostPlans && !plan_for(made.shapes, made.layouts, made.threads));
}

void Compiled::keep(const Made& made) noexcept {
  try {
    if (!needs_writing(made)) return;
    const bool was_good = file_ != nullptr;
    const std::string reason = *damaged_ ? "it is damaged" : reason_;
    write(made);
    *damaged_ = false;
    reason_.clear();
    if (!reason.empty()) {
      log_line(LogLevel::warning, "compiled file '{}' is written anew: {}", options_.compiled, reason);
    } else {
      log_line(LogLevel::info, "compiled file '{}' {}", options_.compiled,
               was_good ? "keeps one more plan" : "is written");
    }
  } catch (const std::exception& error) {
    has_failed_ = true;
    log_line(LogLevel::warning, "compiled file '{}' cannot be written: {}", options_.compiled, error.what());
  }
}

void Compiled::write(const Made& made) {
  if (key_.library.empty()) fail(ErrorCode::unsupported, "nothing tells this build of the library from others");
  CompiledContent content = content_;
  content.inputs = made.inputs;
  content.outputs = made.outputs;
  content.metadata = made.metadata;
  content.files = files();
  if (!file_) {
    ArchiveWriter optimized(constants_);
    optimized.write(made.optimized);
    content.optimized = optimized.take();
  }
  ArchiveWriter planned(constants_);
  planned.write(made.graph);
  planned.write(made.rest);
  planned.write(made.plan);
  CompiledPlan plan{made.shapes, made.layouts, made.threads, planned.take()};

  CompiledWriter out(options_.compiled);
  write_areas(out, new_blobs(made, plan.bytes), content);
  std::erase_if(content.plans, [&](const CompiledPlan& old) {
    return old.shapes == plan.shapes && old.layouts == plan.layouts && old.threads == plan.threads;
  });
  content.plans.push_back(std::move(plan));
  content.constants = constants();
  file_ = out.finish(key_, content);
  set_content(std::move(content));
}

/// What the old file has, as far as it is good, then what it has not.
void Compiled::write_areas(CompiledWriter& out, std::vector<NewBlob> fresh, CompiledContent& content) const {
  content.areas.clear();
  content.blobs.clear();
  for (std::uint32_t old = 0; old < content_.areas.size(); ++old) {
    auto copied = out.copy(*file_, content_.areas[old]);
    if (!copied) continue;
    for (const auto& [key, blob] : blobs_) {
      if (blob.area != old) continue;
      content.blobs.push_back(blob);
      content.blobs.back().area = static_cast<std::uint32_t>(content.areas.size());
      std::erase_if(fresh, [&, &known = key](const NewBlob& added) { return added.key == known; });
    }
    content.areas.push_back(*std::move(copied));
  }
  const auto add = [&](std::span<const NewBlob> together) {
    std::vector<std::span<const std::byte>> parts;
    for (const NewBlob& blob : together) parts.push_back(blob.bytes);
    std::vector<std::uint64_t> offsets;
    content.areas.push_back(out.add(parts, offsets));
    for (std::size_t i = 0; i < together.size(); ++i) {
      content.blobs.push_back({together[i].key.first, together[i].key.second,
                               static_cast<std::uint32_t>(content.areas.size()) - 1, offsets[i],
                               together[i].bytes.size()});
    }
  };
  const auto elements =
      std::stable_partition(fresh.begin(), fresh.end(), [](const NewBlob& blob) { return !blob.key.second.empty(); });
  if (elements != fresh.begin()) add({fresh.begin(), elements});
  for (auto blob = elements; blob != fresh.end(); ++blob) add({blob, blob + 1});
}

/// Lowers the plan once more as a load would, with constants that notice when someone asks for their elements: what
/// packed weights do not answer has to be in the file as well.
std::vector<Compiled::NewBlob> Compiled::new_blobs(const Made& made, const std::string& planned) const {
  std::vector<NewBlob> fresh;
  ConstantTable watched;
  std::vector<bool> asked(constants_.all().size(), false);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto& constant = constants_.all()[i];
    const auto make = [&asked, i, constant](std::int64_t first, std::span<std::byte> target) {
      asked[i] = true;
      constant->read(first, target);
    };
    watched.add(is_small(*constant) ? constant
                                    : std::make_shared<const Constant>(constant->dtype(), constant->shape(), make, true,
                                                                       constant->narrow()));
  }
  WeightStore store;
  store.set_source([&](const Constant& constant, const std::string& format, int) {
    const auto number = watched.find(constant);
    auto packed = number ? made.weights.find(constants_.all()[*number], format) : std::nullopt;
    if (packed && !is_small(constant)) {
      const auto* bytes = reinterpret_cast<const std::byte*>(packed->floats.get());
      fresh.push_back({{*number, format}, {bytes, packed->bytes}, packed->floats});
    }
    return packed;
  });
  ArchiveReader reader(planned, watched);
  const auto graph = reader.read<Graph>();
  reader.read<std::unique_ptr<const Rest>>();
  auto plan = reader.read<Plan>();
  plan.choices = {choose_families(graph, plan.options.math, features_, blocking_)};
  const auto program = compile(graph, plan, features_, store);
  for (std::uint32_t i = 0; i < asked.size(); ++i) {
    if (!asked[i]) continue;
    const auto tensor = constants_.all()[i]->tensor();
    fresh.push_back({{i, ""}, {static_cast<const std::byte*>(tensor->data()), tensor->byte_size()}, tensor});
  }
  return fresh;
}

std::vector<CompiledFile> Compiled::files() const {
  if (!source_->files().all_last()) fail(ErrorCode::unsupported, "the model has too many files beside it");
  std::vector<CompiledFile> files;
  const auto add = [&](const std::string& location, const onnx_import::Bytes& bytes) {
    const auto known = std::find_if(content_.files.begin(), content_.files.end(),
                                    [&](const CompiledFile& file) { return file.location == location; });
    files.push_back(
        {location, bytes.identity(), bytes.size(), known != content_.files.end() ? known->hash : content_hash(bytes)});
  };
  add("", *source_->bytes());
  for (const auto& [location, bytes] : source_->files().lasting()) add(location, *bytes);
  return files;
}

std::vector<CompiledConstant> Compiled::constants() const {
  std::vector<CompiledConstant> records;
  for (const auto& constant : constants_.all())
    records.push_back({constant->dtype(), constant->shape(), holds_no_denormals(*constant),
                       is_small(*constant) ? constant->tensor() : nullptr, record_of(constant->narrow())});
  return records;
}

}  // namespace colonnade
