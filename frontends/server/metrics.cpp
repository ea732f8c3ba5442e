// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/metrics.hpp"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <fstream>
#include <limits>

namespace colonnade::serve {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double microseconds(const Tally& tally) { return std::chrono::duration<double, std::micro>(tally.time).count(); }

class Collection {
 public:
  MetricFamily& family(const std::string& name, const std::string& help, MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }

  void add(const std::string& name, const std::string& help, MetricType type, double value) {
    ClientMetric metric;
    (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = value;
    family(name, help, type).metric.push_back(metric);
  }

  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

/// Every model's value of one metric.
struct Row {
  std::vector<ClientMetric::Label> labels;
  Counts counts;
  std::size_t waiting = 0;
  std::size_t memory = 0;
};

template <class Value>
void add(Collection& all, std::span<const Row> rows, const std::string& name, const std::string& help, MetricType type,
         const Value& value) {
  MetricFamily& family = all.family(name, help, type);
  for (const Row& row : rows) {
    ClientMetric metric;
    metric.label = row.labels;
    (type == MetricType::Gauge ? metric.gauge.value : metric.counter.value) = static_cast<double>(value(row));
    family.metric.push_back(std::move(metric));
  }
}

void add_failures(Collection& all, std::span<const Row> rows) {
  MetricFamily& family = all.family("nv_inference_request_failure",
                                    "Number of failed inference requests, all batch sizes", MetricType::Counter);
  constexpr std::array<const char*, kReasons> kNames = {"REJECTED", "CANCELED", "BACKEND", "OTHER"};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < kReasons; ++i) {
      ClientMetric metric;
      metric.label = row.labels;
      metric.label.push_back({"reason", kNames[i]});
      metric.counter.value = static_cast<double>(row.counts.failures[i]);
      family.metric.push_back(std::move(metric));
    }
  }
}

void add_histogram(Collection& all, std::span<const Row> rows, const std::string& name, const std::string& help,
                   Histogram Counts::*which) {
  MetricFamily& family = all.family(name, help, MetricType::Histogram);
  for (const Row& row : rows) {
    const Histogram& histogram = row.counts.*which;
    ClientMetric metric;
    metric.label = row.labels;
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < histogram.buckets.size(); ++i) {
      count += histogram.buckets[i];
      const double bound = i < kBucketBounds.size() ? kBucketBounds[i] : std::numeric_limits<double>::infinity();
      metric.histogram.bucket.push_back({count, bound});
    }
    metric.histogram.sample_count = count;
    metric.histogram.sample_sum = std::chrono::duration<double, std::milli>(histogram.sum).count();
    family.metric.push_back(std::move(metric));
  }
}

void add_durations(Collection& all, std::span<const Row> rows) {
  const auto duration = [&](const std::string& phase, const std::string& what, Tally Counts::*which) {
    add(all, rows, "nv_inference_" + phase + "_duration_us", "Cumulative " + what + " duration in microseconds",
        MetricType::Counter, [&](const Row& row) { return microseconds(row.counts.*which); });
  };
  duration("request", "inference request", &Counts::success);
  duration("queue", "inference queuing", &Counts::queue);
  duration("compute_input", "compute input", &Counts::input);
  duration("compute_infer", "compute inference", &Counts::infer);
  duration("compute_output", "inference compute output", &Counts::output);
}

/// Bytes of a row of /proc/meminfo; 0 where there is none.
double memory_row(const std::string& wanted) {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kilobytes = 0;
  while (file >> key >> kilobytes && std::getline(file, unit))
    if (key == wanted + ":") return kilobytes * 1024;
  return 0;
}

void add_machine(Collection& all, const CpuTime& before, const CpuTime& now) {
  const auto total = static_cast<double>(now.total - before.total);
  const double busy = total > 0 ? static_cast<double>(now.busy - before.busy) / total : 0;
  all.add("nv_cpu_utilization", "CPU utilization rate [0.0 - 1.0]", MetricType::Gauge, busy);
  const double memory = memory_row("MemTotal");
  all.add("nv_cpu_memory_total_bytes", "CPU total memory (RAM), in bytes", MetricType::Gauge, memory);
  all.add("nv_cpu_memory_used_bytes", "CPU used memory (RAM), in bytes", MetricType::Gauge,
          memory - memory_row("MemAvailable"));
}

void add_cache(Collection& all, std::span<const Row> rows, const ResponseCache::Counts& counts) {
  const auto of_models = [&](const std::string& one, const std::string& many, const std::string& said,
                             Tally Counts::*which) {
    add(all, rows, "nv_cache_num_" + many + "_per_model", "Number of requests " + said, MetricType::Counter,
        [&](const Row& row) { return (row.counts.*which).count; });
    add(all, rows, "nv_cache_" + one + "_duration_per_model",
        "Cumulative time of looking for requests " + said + ", in microseconds", MetricType::Counter,
        [&](const Row& row) { return microseconds(row.counts.*which); });
  };
  of_models("hit", "hits", "answered by the response cache", &Counts::hit);
  of_models("miss", "misses", "whose response was not in the cache", &Counts::miss);
  all.add("colonnade_cache_limit_bytes", "What kept responses may take; 0: none are kept", MetricType::Gauge,
          static_cast<double>(counts.limit));
  all.add("colonnade_cache_bytes", "What kept responses take", MetricType::Gauge, static_cast<double>(counts.bytes));
  all.add("colonnade_cache_entries", "Kept responses", MetricType::Gauge, static_cast<double>(counts.entries));
  all.add("colonnade_cache_evictions", "Responses that made room for others", MetricType::Counter,
          static_cast<double>(counts.evictions));
}

}  // namespace

CpuTime cpu_time() {
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  CpuTime time;
  constexpr int kFields = 8, kIdle = 3, kWaiting = 4;
  for (int i = 0; i < kFields; ++i) {
    std::uint64_t ticks = 0;
    if (!(file >> ticks)) break;
    time.total += ticks;
    if (i != kIdle && i != kWaiting) time.busy += ticks;
  }
  return time;
}

std::string metrics_of(std::span<const Registry::Known> models, const CpuTime& before, const CpuTime& now,
                       const Memory& memory, const ResponseCache& cache, const Tracer& tracer) {
  std::vector<Row> rows;
  for (const auto& [card, model] : models)
    rows.push_back({{{"model", card->signature.model}, {"version", std::to_string(card->version)}},
                    card->statistics->counts(),
                    model ? model->waiting() : 0,
                    model ? card->needed_bytes() : 0});
  Collection all;
  add(all, rows, "nv_inference_request_success", "Number of successful inference requests, all batch sizes",
      MetricType::Counter, [](const Row& row) { return row.counts.success.count; });
  add_failures(all, rows);
  add(all, rows, "nv_inference_count", "Number of inferences performed (does not include cached requests)",
      MetricType::Counter, [](const Row& row) { return row.counts.samples; });
  add(all, rows, "nv_inference_exec_count", "Number of model executions performed (does not include cached requests)",
      MetricType::Counter, [](const Row& row) { return row.counts.runs; });
  add(all, rows, "nv_inference_pending_request_count",
      "Instantaneous number of pending requests awaiting execution per-model", MetricType::Gauge,
      [](const Row& row) { return row.waiting; });
  add_durations(all, rows);
  add_histogram(all, rows, "nv_inference_request_histogram_ms", "Time from receipt to answer of successful requests",
                &Counts::request_times);
  add_histogram(all, rows, "nv_inference_queue_histogram_ms", "Time that successful requests spent in the queue",
                &Counts::queue_times);
  add_histogram(all, rows, "nv_inference_compute_histogram_ms", "Time of runs, batching included", &Counts::run_times);
  add_machine(all, before, now);
  add(all, rows, "colonnade_model_memory_bytes", "What a loaded model needs with all its instances; 0 while it sleeps",
      MetricType::Gauge, [](const Row& row) { return row.memory; });
  all.add("colonnade_memory_limit_bytes", "What loaded models may need together; 0: no limit", MetricType::Gauge,
          static_cast<double>(memory.limit()));
  all.add("colonnade_memory_taken_bytes", "What loaded models need together", MetricType::Gauge,
          static_cast<double>(memory.taken()));
  add_cache(all, rows, cache.counts());
  const Tracer::Counts traces = tracer.counts();
  all.add("colonnade_traces_sent", "Traces of requests that the collector has taken", MetricType::Counter,
          static_cast<double>(traces.sent));
  all.add("colonnade_traces_dropped", "Traces of requests that were lost", MetricType::Counter,
          static_cast<double>(traces.dropped));
  return all.text();
}

}  // namespace colonnade::serve
