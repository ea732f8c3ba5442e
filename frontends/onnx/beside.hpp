// SPDX-License-Identifier: Apache-2.0
// Opens files beside a model. The model is untrusted, and so are the links that came with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "frontends/onnx/bytes.hpp"

namespace colonnade::onnx_import {

/// Where a model's files may be.
struct ModelFolders {
  std::string named;  ///< the folder in the path that the caller gave
  std::string real;   ///< the folder of the file that this path leads to, by the caller's links
};

/// The names in a path, without "." and empty ones.
std::vector<std::string> components_of(std::string_view path);

/// Opens the regular file that `path` leads to from the named folder. Symbolic links are followed, component by
/// component, and the file must then lie below the named folder, or in the real one: caches of models link each file of
/// a model to the same folder of blobs. There, and where it has several hard links, it must belong to the named
/// folder's owner. Nothing else is opened on the way. Throws Error{invalid_model} for what it refuses, Error{io}.
FileDescriptor open_beside(const ModelFolders& folders, const std::string& path, std::string_view where);

}  // namespace colonnade::onnx_import
