// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "frontends/server/raw_tensor.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

constexpr std::size_t kMostNameBytes = 255;
constexpr auto kMostOffset = static_cast<std::uint64_t>(std::numeric_limits<off_t>::max());

/// "/" and a name of one part, as shm_open(3) wants it.
bool is_key(std::string_view key) {
  if (!key.starts_with('/') || key.size() < 2 || key.size() > kMostNameBytes) return false;
  const std::string_view name = key.substr(1);
  const auto is_bad = [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; };
  return name != "." && name != ".." && std::none_of(name.begin(), name.end(), is_bad);
}

/// Of parts that lie one in the other: `offset` and `bytes` within `all`.
bool fits(std::uint64_t offset, std::uint64_t bytes, std::uint64_t all) {
  return offset <= all && bytes <= all - offset;
}

template <class T>
std::optional<T> take(Parameters& parameters, const std::string& name, std::string_view where, const char* expected) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) return std::nullopt;
  const T* value = std::get_if<T>(&found->second);
  if (value == nullptr) reject(fmt::format("{}: {}: expected {}", where, name, expected));
  T taken = *value;
  parameters.erase(found);
  return taken;
}

std::optional<std::uint64_t> take_count(Parameters& parameters, const std::string& name, std::string_view where) {
  constexpr const char* kExpected = "an integer of 0 or more";
  const auto value = take<std::int64_t>(parameters, name, where, kExpected);
  if (value.value_or(0) < 0) reject(fmt::format("{}: {}: expected {}", where, name, kExpected));
  return value;
}

}  // namespace

SharedRegion::SharedRegion(std::string name, std::string key, std::uint64_t offset, std::uint64_t bytes)
    : name_(std::move(name)), key_(std::move(key)), offset_(offset), bytes_(bytes) {
  if (bytes == 0 || !fits(offset, bytes, kMostOffset))
    reject(fmt::format("shared memory region '{}': byte_size {} at offset {} is no region", name_, bytes, offset));
  file_ = ::shm_open(key_.c_str(), O_RDWR | O_NONBLOCK, 0);
  if (file_ < 0) {
    const Code code = errno == EMFILE || errno == ENFILE ? Code::resource_exhausted : Code::invalid_argument;
    throw Failure(code, fmt::format("shared memory region '{}': '{}' cannot be opened to read and write: {}", name_,
                                    key_, std::strerror(errno)));
  }
  if (holds(offset + bytes)) return;
  ::close(file_);
  reject(
      fmt::format("shared memory region '{}': '{}' does not hold {} bytes at offset {}", name_, key_, bytes, offset));
}

SharedRegion::~SharedRegion() { ::close(file_); }

bool SharedRegion::holds(std::uint64_t end) const {
  struct stat status {};
  return ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && status.st_size >= 0 &&
         static_cast<std::uint64_t>(status.st_size) >= end;
}

void SharedRegion::refuse(std::uint64_t at, std::size_t bytes) const {
  reject(fmt::format("shared memory region '{}': {} bytes at {} are not there any more", name_, bytes, at));
}

void SharedRegion::read(std::uint64_t at, std::span<std::byte> into) const {
  if (!fits(at, into.size(), bytes_)) refuse(at, into.size());
  for (std::size_t done = 0; done < into.size();) {
    const auto place = static_cast<off_t>(offset_ + at + done);
    const ssize_t count = ::pread(file_, into.data() + done, into.size() - done, place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) refuse(at, into.size());
    done += static_cast<std::size_t>(count);
  }
}

void SharedRegion::write(std::uint64_t at, std::span<const std::byte> from) const {
  // What is written behind the end would make the object longer.
  if (!fits(at, from.size(), bytes_) || !holds(offset_ + at + from.size())) refuse(at, from.size());
  for (std::size_t done = 0; done < from.size();) {
    const auto place = static_cast<off_t>(offset_ + at + done);
    const ssize_t count = ::pwrite(file_, from.data() + done, from.size() - done, place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0)
      reject(fmt::format("shared memory region '{}': {} bytes at {} cannot be written: {}", name_, from.size(), at,
                         std::strerror(errno)));
    done += static_cast<std::size_t>(count);
  }
}

SharedMemory::SharedMemory(std::string prefix) : prefix_(std::move(prefix)) {
  if (!prefix_.empty() && prefix_ != "/" && !is_key(prefix_))
    reject(fmt::format("shared memory: expected '/' and how names begin, without another '/', found '{}'", prefix_));
}

void SharedMemory::check_on() const {
  if (!is_on())
    throw Failure(Code::unsupported, "shared memory is off: it is not supported without --shared-memory PREFIX");
}

void SharedMemory::add(const std::string& name, const std::string& key, std::uint64_t offset, std::uint64_t bytes) {
  check_on();
  if (name.empty() || name.size() > kMostNameBytes)
    reject(
        fmt::format("shared memory region: expected a name of 1 to {} bytes, found {}", kMostNameBytes, name.size()));
  const std::string full = key.starts_with('/') ? key : '/' + key;
  if (!is_key(full)) reject(fmt::format("shared memory region '{}': its key is no name of shared memory", name));
  if (!full.starts_with(prefix_))
    throw Failure(
        Code::unauthorized,
        fmt::format("shared memory region '{}': --shared-memory allows keys that begin with '{}'", name, prefix_));
  const std::lock_guard lock(mutex_);
  if (regions_.contains(name)) reject(fmt::format("shared memory region '{}' is registered already", name));
  if (regions_.size() >= kMostRegions)
    throw Failure(Code::resource_exhausted,
                  fmt::format("shared memory region '{}': {} are registered, which is the most", name, kMostRegions));
  regions_.emplace(name, std::make_shared<const SharedRegion>(name, full, offset, bytes));
}

void SharedMemory::remove(const std::string& name) {
  check_on();
  const std::lock_guard lock(mutex_);
  regions_.erase(name);
}

void SharedMemory::remove_all() {
  check_on();
  const std::lock_guard lock(mutex_);
  regions_.clear();
}

std::vector<SharedRegionPtr> SharedMemory::regions(const std::string& name) const {
  check_on();
  std::vector<SharedRegionPtr> found;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, region] : regions_)
    if (name.empty() || key == name) found.push_back(region);
  if (!name.empty() && found.empty())
    throw Failure(Code::not_found,
                  fmt::format("no shared memory region '{}' is registered", name.substr(0, kMostNameBytes)));
  return found;
}

SharedPlacePtr SharedMemory::take_place(Parameters& parameters, std::string_view where) const {
  const auto name = take<std::string>(parameters, "shared_memory_region", where, "a region's name");
  if (!name) return nullptr;
  check_on();
  if (name->empty()) reject(fmt::format("{}: shared_memory_region: expected a region's name", where));
  const auto bytes = take_count(parameters, "shared_memory_byte_size", where);
  const std::uint64_t offset = take_count(parameters, "shared_memory_offset", where).value_or(0);
  if (!bytes) reject(fmt::format("{}: shared_memory_byte_size is missing", where));
  const SharedRegionPtr region = regions(*name).front();
  if (!fits(offset, *bytes, region->size()))
    reject(fmt::format("{}: {} bytes at {} are not within the {} of shared memory region '{}'", where, *bytes, offset,
                       region->size(), *name));
  return std::make_shared<const SharedPlace>(SharedPlace{region, offset, *bytes});
}

InputTensor shared_input(const SharedPlace& place, std::string name, DType dtype, Shape shape, const Lease& client) {
  struct Copy {
    Lease lease;
    std::unique_ptr<std::byte[]> bytes;
  };
  const std::size_t count = checked_count(shape, name);
  if (dtype == DType::string ? count > place.bytes : place.bytes != count * size_of(dtype))
    reject(fmt::format("input '{}': {} bytes of shared memory do not hold its shape {}", name, place.bytes,
                       shape_text(shape)));
  auto copy = std::make_shared<Copy>();
  copy->lease = client.another();
  copy->lease.need(place.bytes + (dtype == DType::string ? count * sizeof(std::string) : 0));
  copy->bytes = std::make_unique_for_overwrite<std::byte[]>(place.bytes);
  const std::span<std::byte> bytes(copy->bytes.get(), place.bytes);
  place.region->read(place.offset, bytes);
  InputTensor input = raw_input(std::move(name), dtype, std::move(shape), bytes, copy);
  if (dtype == DType::string)
    input.owner = std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<Copy>>>(input.owner, copy);
  input.is_lent = true;
  return input;
}

std::uint64_t write_shared(const OutputTensor& output) {
  std::string scratch;
  const std::span<const std::byte> bytes = raw_bytes(output.view, scratch);
  if (bytes.size() > output.place->bytes)
    reject(fmt::format("output '{}': its {} bytes do not fit the {} that shared memory region '{}' has for it",
                       output.name, bytes.size(), output.place->bytes, output.place->region->name()));
  output.place->region->write(output.place->offset, bytes);
  return bytes.size();
}

}  // namespace colonnade::serve
