// SPDX-License-Identifier: Apache-2.0
// Bodies of infer requests.
#pragma once

#include <grpc_service.pb.h>

#include <map>
#include <optional>
#include <string>

#include "frontends/server/http/body.hpp"
#include "frontends/server/inference.hpp"
#include "frontends/server/shared_memory.hpp"

namespace colonnade::serve::http {

/// Which outputs the client wants as bytes behind the JSON.
struct AnswerForm {
  bool binary = false;  ///< those of which the client says nothing
  std::map<std::string, bool, std::less<>> listed;

  bool is_binary(const std::string& output) const {
    const auto found = listed.find(output);
    return found == listed.end() ? binary : found->second;
  }
};

/// The request but for model and version, which the path names.
struct InferCall {
  /// An input whose elements are in shared memory; its place among the inputs is empty until `read_shared`.
  struct SharedInput {
    std::size_t index = 0;
    SharedPlacePtr place;
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
  };
  InferenceRequest request;
  AnswerForm form;
  std::vector<SharedInput> shared;
};

/// What `read_shared` will copy.
std::uint64_t shared_bytes(const InferCall& call);
/// Copies the inputs that are in shared memory. `client`: of whom the copies are lent. Throws Failure.
void read_shared(InferCall& call, const Lease& client);

/// JSON, of which the first `header_bytes` of the body are all when given, then the tensors that it announces. Throws
/// Problem and Failure. Tensors are views into the body where their type allows; those in shared memory are left to
/// `read_shared`.
InferCall parse_infer(const Body& body, std::optional<std::size_t> header_bytes, int deepest_json,
                      const SharedMemory& shared_memory);

/// A body that is the one input of the model. The one dimension that is open follows from the size; before it, an open
/// first one (the batch) is 1. BYTES: the body is the one element.
InferCall parse_raw_infer(const Body& body, const inference::ModelMetadataResponse& metadata);

/// A body that is a PNG or JPEG image: scaled to the one input of the model, bilinear, to 0..1 for floats and 0..255
/// for integers; grey where there is one channel.
/// `most_bytes` bounds what the pixels of the file take.
InferCall parse_image_infer(const Body& body, const inference::ModelMetadataResponse& metadata, std::size_t most_bytes);

}  // namespace colonnade::serve::http
