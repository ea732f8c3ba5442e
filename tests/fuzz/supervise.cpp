// SPDX-License-Identifier: Apache-2.0
#include "fuzz/supervise.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <new>
#include <thread>

namespace colonnade::fuzz {
namespace {

using Clock = std::chrono::steady_clock;

#if defined(COLONNADE_ASAN)
constexpr double kMostProcessorSeconds = 60;  ///< packing half a gigabyte of weights takes seven times as long
#else
constexpr double kMostProcessorSeconds = 10;
#endif
constexpr double kMostSeconds = 600;  ///< of a case that waits for something
constexpr double kReportSeconds = 60;
constexpr int kFailed = 77;

double seconds_of(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double processor_seconds(clockid_t clock) {
  timespec time{};
  return ::clock_gettime(clock, &time) == 0 ? seconds_of(time) : 0;
}

/// Written by the child, read by its parent; lives in memory that both map. The child stores `begin` first: who reads
/// a new index finds a time that is not older than its case.
struct Progress {
  std::atomic<double> begin{0};  ///< processor time of the child when the case began
  std::atomic<std::uint64_t> index{0};
  std::array<char, 1024> message{};  ///< why the child gives up; ends with a zero
};

class SharedProgress {
 public:
  SharedProgress() {
    void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::runtime_error("cannot map memory");
    progress_ = new (memory) Progress;
  }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  ~SharedProgress() { ::munmap(progress_, sizeof(Progress)); }
  Progress& operator*() const { return *progress_; }
  Progress* operator->() const { return progress_; }

 private:
  Progress* progress_ = nullptr;
};

#if !defined(COLONNADE_ASAN)
/// Under the address sanitizer its own options bound memory: see main.cpp.
void limit_memory() {
  constexpr rlim_t kMostBytes = rlim_t{4} << 30;
  const rlimit limit{kMostBytes, kMostBytes};
  ::setrlimit(RLIMIT_AS, &limit);
}
#else
void limit_memory() {}
#endif

class Supervisor {
 public:
  Supervisor(const Target& target, const Campaign& campaign) : target_(target), campaign_(campaign) {}

  std::uint64_t run() {
    const std::uint64_t end = campaign_.count > 0 ? campaign_.from + campaign_.count : UINT64_MAX;
    std::uint64_t next = campaign_.from;
    while (next < end && !is_over()) next = run_child(next, end);
    std::printf("fuzz %s: seed %llu, cases %llu to %llu, %llu failures, %.0f s\n", target_.name.c_str(),
                number(campaign_.seed), number(campaign_.from), number(next), number(failures_), elapsed());
    return failures_;
  }

 private:
  static unsigned long long number(std::uint64_t value) { return value; }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  bool is_over() const { return campaign_.seconds > 0 && elapsed() >= campaign_.seconds; }

  /// The index to go on with.
  std::uint64_t run_child(std::uint64_t from, std::uint64_t end) {
    progress_->index = from;
    progress_->begin = 0;
    progress_->message.front() = 0;
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("cannot fork");
    if (child == 0) work(from, end);
    int status = 0;
    bool hangs = false;
    watch(child, status, hangs);
    const std::uint64_t index = progress_->index;
    if (!hangs && WIFEXITED(status) && WEXITSTATUS(status) == 0) return index;
    report(index, status, hangs);
    return index + 1;
  }

  /// The child: checks cases until they or the time are over. A normal exit looks for leaks.
  [[noreturn]] void work(std::uint64_t from, std::uint64_t end) const {
    limit_memory();
    std::uint64_t index = from;
    for (; index < end && !is_over(); ++index) {
      progress_->begin = processor_seconds(CLOCK_PROCESS_CPUTIME_ID);
      progress_->index = index;
      Random random(campaign_.seed, index);
      try {
        target_.check(target_.make(random));
      } catch (const std::exception& error) {
        std::snprintf(progress_->message.data(), progress_->message.size(), "%s", error.what());
        std::_Exit(kFailed);
      }
    }
    progress_->index = index;
    std::exit(0);
  }

  void watch(pid_t child, int& status, bool& hangs) {
    clockid_t clock = CLOCK_REALTIME;
    const bool has_clock = ::clock_getcpuclockid(child, &clock) == 0;
    std::uint64_t last = progress_->index;
    Clock::time_point changed = Clock::now();
    while (::waitpid(child, &status, WNOHANG) == 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      const double begin = progress_->begin;
      const std::uint64_t index = progress_->index;
      if (index != last) changed = Clock::now();
      last = index;
      const double used = has_clock ? processor_seconds(clock) - begin : 0;
      const double waited = std::chrono::duration<double>(Clock::now() - changed).count();
      if (index == progress_->index && (used > kMostProcessorSeconds || waited > kMostSeconds)) {
        hangs = true;
        ::kill(child, SIGKILL);
        ::waitpid(child, &status, 0);
        return;
      }
      print_progress(index);
    }
  }

  void print_progress(std::uint64_t index) {
    if (elapsed() < next_report_) return;
    next_report_ = elapsed() + kReportSeconds;
    std::printf("fuzz %s: seed %llu, at case %llu, %llu failures, %.0f s\n", target_.name.c_str(),
                number(campaign_.seed), number(index), number(failures_), elapsed());
    std::fflush(stdout);
  }

  void report(std::uint64_t index, int status, bool hangs) {
    ++failures_;
    Random random(campaign_.seed, index);
    std::filesystem::create_directories(campaign_.failures);
    const std::string path =
        campaign_.failures + "/" + target_.name + "-" + std::to_string(campaign_.seed) + "-" + std::to_string(index);
    std::ofstream(path, std::ios::binary) << target_.make(random);
    const std::string message = progress_->message.data();
    const std::string end = !message.empty()      ? message
                            : hangs               ? "takes too long"
                            : WIFSIGNALED(status) ? "dies of signal " + std::to_string(WTERMSIG(status))
                                                  : "exits with status " + std::to_string(WEXITSTATUS(status));
    std::printf("FAILURE: %s --seed %llu --from %llu --count 1 (%s): %s\n", target_.name.c_str(),
                number(campaign_.seed), number(index), path.c_str(), end.c_str());
    std::fflush(stdout);
  }

  const Target& target_;
  const Campaign& campaign_;
  SharedProgress progress_;
  const Clock::time_point begin_ = Clock::now();
  std::uint64_t failures_ = 0;
  double next_report_ = kReportSeconds;
};

}  // namespace

std::uint64_t supervise(const Target& target, const Campaign& campaign) { return Supervisor(target, campaign).run(); }

}  // namespace colonnade::fuzz
