// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/response_cache.hpp"

#include <fmt/core.h>
#include <openssl/evp.h>

#include <cstring>
#include <new>

#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

/// Of an entry with its key and places in lists, and of an output's name, shape and owners; generous.
constexpr std::size_t kEntryBytes = 512, kOutputBytes = 512;

/// Bytes, each run of them behind its length, so that none can pass for others.
class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new()) {
    check(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
  }
  Digest(const Digest&) = delete;
  Digest& operator=(const Digest&) = delete;
  ~Digest() { EVP_MD_CTX_free(context_); }

  void add(std::uint64_t number) { add_bytes(&number, sizeof(number)); }
  void add(const void* bytes, std::size_t size) {
    add(std::uint64_t{size});
    add_bytes(bytes, size);
  }
  std::string finish() {
    std::string text(EVP_MAX_MD_SIZE, '\0');
    unsigned size = 0;
    check(EVP_DigestFinal_ex(context_, reinterpret_cast<unsigned char*>(text.data()), &size) == 1);
    text.resize(size);
    return text;
  }

 private:
  void add_bytes(const void* bytes, std::size_t size) {
    if (size > 0) check(EVP_DigestUpdate(context_, bytes, size) == 1);
  }
  static void check(bool is_good) {
    if (!is_good) throw std::bad_alloc();
  }

  EVP_MD_CTX* context_;
};

void add_tensor(Digest& digest, const TensorView& tensor) {
  digest.add(static_cast<std::uint64_t>(tensor.dtype));
  digest.add(tensor.shape.data(), tensor.shape.size() * sizeof(std::int64_t));
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  if (tensor.dtype != DType::string) return digest.add(tensor.data, count * size_of(tensor.dtype));
  const auto* const strings = static_cast<const std::string*>(tensor.data);
  for (std::size_t i = 0; i < count; ++i) digest.add(strings[i].data(), strings[i].size());
}

/// A tensor of its own: those of a batch lie in one. Adds to `bytes` what it takes.
OutputTensor copy_of(const OutputTensor& output, std::size_t& bytes) {
  auto copy = std::make_shared<Tensor>(output.view.dtype, output.view.shape);
  if (output.view.dtype == DType::string) {
    const auto* from = static_cast<const std::string*>(output.view.data);
    for (std::string& text : copy->strings()) {
      text = *from++;
      bytes += sizeof(std::string) + text.capacity();
    }
  } else if (copy->byte_size() > 0) {
    std::memcpy(copy->data(), output.view.data, copy->byte_size());
  }
  bytes += kOutputBytes + output.name.size() + copy->byte_size();
  const TensorView view = *copy;
  return {output.name, view, std::move(copy)};
}

}  // namespace

ResponseCache::ResponseCache(std::size_t limit, Memory& memory) : limit_(limit), share_(memory) {
  if (!share_.set(limit))
    throw Failure(
        Code::invalid_argument,
        fmt::format("a response cache of {} bytes does not fit the memory limit of {}", limit, memory.limit()));
}

std::string ResponseCache::key_of(std::uint64_t load, const Job& job) {
  Digest digest;
  digest.add(load);
  digest.add(job.inputs.size());
  for (const TensorView& input : job.inputs) add_tensor(digest, input);
  for (const Job::Wanted& wanted : job.outputs) {
    digest.add(wanted.output);
    digest.add(static_cast<std::uint64_t>(wanted.classes));
  }
  return digest.finish();
}

ResponseCache::Outputs ResponseCache::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(key);
  if (found == places_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->outputs;
}

void ResponseCache::add(std::uint64_t load, const std::string& key, const std::vector<OutputTensor>& outputs) {
  std::size_t bytes = kEntryBytes;
  for (const OutputTensor& output : outputs)
    bytes += static_cast<std::size_t>(element_count(output.view.shape)) * size_of(output.view.dtype);
  if (bytes > limit_) return;
  auto copies = std::make_shared<std::vector<OutputTensor>>();
  bytes = kEntryBytes;
  for (const OutputTensor& output : outputs) copies->push_back(copy_of(output, bytes));
  const std::lock_guard lock(mutex_);
  if (bytes > limit_ || places_.contains(key)) return;
  for (; bytes_ > limit_ - bytes; ++evictions_) drop(std::prev(entries_.end()));
  entries_.push_front({key, load, std::move(copies), bytes});
  places_.emplace(key, entries_.begin());
  bytes_ += bytes;
}

void ResponseCache::forget(std::uint64_t load) {
  const std::lock_guard lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->load == load) drop(entry);
    entry = next;
  }
}

ResponseCache::Counts ResponseCache::counts() const {
  const std::lock_guard lock(mutex_);
  return {limit_, bytes_, entries_.size(), evictions_};
}

void ResponseCache::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  places_.erase(entry->key);
  entries_.erase(entry);
}

}  // namespace colonnade::serve
