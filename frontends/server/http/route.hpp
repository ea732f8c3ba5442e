// SPDX-License-Identifier: Apache-2.0
// Which endpoint a path means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace colonnade::serve::http {

enum class Endpoint {
  page,  ///< files of the status page
  metrics,
  live,
  ready,
  server_metadata,
  model_metadata,
  model_ready,
  config,
  statistics,
  describe,
  infer,
  index,
  load,
  unload,
  shared_status,
  shared_register,
  shared_unregister,
  unsupported,  ///< known to Triton, not to us
};

struct Route {
  Endpoint endpoint = Endpoint::page;
  std::string_view method;     ///< "GET", which includes HEAD, or "POST"; "" for any
  std::string_view category;   ///< by which access is restricted; "" for none
  std::string model, version;  ///< a region of shared memory is named by `model`
  std::string path;            ///< decoded
};

/// Of a request's target, whose query is ignored. Throws Problem: 400 for malformed paths, 404 for unknown ones.
Route find_route(std::string_view target);

/// The categories there are.
std::span<const std::string_view> restrictable_categories();

}  // namespace colonnade::serve::http
