// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/messages.hpp"

#include "frontends/server/datatype.hpp"

namespace colonnade::serve {
namespace {

void fill(inference::StatisticDuration& into, const Tally& tally) {
  into.set_count(tally.count);
  into.set_ns(static_cast<std::uint64_t>(tally.time.count()));
}

void fill(inference::ModelMetadataResponse::TensorMetadata& into, const Port& port, bool is_batched) {
  into.set_name(port.name);
  into.set_datatype(std::string(datatype_of(port.dtype)));
  if (is_batched) into.add_shape(-1);
  for (const std::int64_t dim : port.dims) into.add_shape(dim);
}

}  // namespace

inference::ModelMetadataResponse metadata_of(const Card& card, const std::vector<std::int64_t>& versions) {
  inference::ModelMetadataResponse response;
  const Signature& signature = card.signature;
  response.set_name(signature.model);
  for (const std::int64_t version : versions) response.add_versions(std::to_string(version));
  response.set_platform(card.config.platform());
  for (const Port& port : signature.inputs) fill(*response.add_inputs(), port, signature.max_batch > 0);
  for (const Port& port : signature.outputs) fill(*response.add_outputs(), port, signature.max_batch > 0);
  return response;
}

inference::ModelStatistics statistics_of(const Card& card) {
  inference::ModelStatistics message;
  const Counts counts = card.statistics->counts();
  message.set_name(card.signature.model);
  message.set_version(std::to_string(card.version));
  message.set_last_inference(static_cast<std::uint64_t>(counts.last_inference_ms));
  message.set_inference_count(counts.samples);
  message.set_execution_count(counts.runs);
  inference::InferStatistics& stats = *message.mutable_inference_stats();
  fill(*stats.mutable_success(), counts.success);
  fill(*stats.mutable_fail(), counts.fail);
  fill(*stats.mutable_queue(), counts.queue);
  fill(*stats.mutable_compute_input(), counts.input);
  fill(*stats.mutable_compute_infer(), counts.infer);
  fill(*stats.mutable_compute_output(), counts.output);
  fill(*stats.mutable_cache_hit(), counts.hit);
  fill(*stats.mutable_cache_miss(), counts.miss);
  for (const auto& [samples, times] : counts.batches) {
    inference::InferBatchStatistics& batch = *message.add_batch_stats();
    batch.set_batch_size(static_cast<std::uint64_t>(samples));
    fill(*batch.mutable_compute_input(), times.input);
    fill(*batch.mutable_compute_infer(), times.infer);
    fill(*batch.mutable_compute_output(), times.output);
  }
  return message;
}

}  // namespace colonnade::serve
