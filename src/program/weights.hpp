// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/aligned_buffer.hpp"
#include "graph/constant.hpp"

namespace colonnade {

/// Packed weights by the constant they were packed from and the format. Holds them as long as a program does.
/// Safe to use from several threads.
class WeightStore {
 public:
  /// The packed form of `constant`; `pack` makes it when no program has it.
  std::shared_ptr<const AlignedBuffer> get(const std::shared_ptr<const Constant>& constant, const std::string& format,
                                           const std::function<AlignedBuffer(const Constant&)>& pack);
  /// Null unless a program has it.
  std::shared_ptr<const AlignedBuffer> find(const std::shared_ptr<const Constant>& constant, const std::string& format);

  /// Asked before something is packed; null where it has nothing.
  using Source = std::function<std::shared_ptr<const AlignedBuffer>(const Constant&, const std::string& format)>;
  void set_source(Source source) { source_ = std::move(source); }

 private:
  struct Entry {
    std::weak_ptr<const Constant> constant;
    std::weak_ptr<const AlignedBuffer> packed;
  };
  std::mutex mutex_;
  Source source_;
  std::size_t kept_ = 64;  ///< entries after the last time that dead ones were dropped
  std::map<std::pair<const Constant*, std::string>, Entry> entries_;
};

}  // namespace colonnade
