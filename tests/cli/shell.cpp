// SPDX-License-Identifier: Apache-2.0
#include "shell.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace colonnade::test {
namespace {

struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(std::size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
};

pid_t start(const std::vector<std::string>& arguments, int out, int err) {
  std::vector<std::string> words{COLONNADE_CLI};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child != 0) return child;
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  execv(argv[0], argv.data());
  _exit(127);
}

void drain(Pipe& out, Pipe& err, CliResult& result) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    std::array<pollfd, 2> polled{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    if (poll(polled.data(), polled.size(), -1) < 0) return;
    for (std::size_t i = 0; i < 2; ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t got = read(polled[i].fd, buffer.data(), buffer.size());
      if (got <= 0) {
        (i == 0 ? out : err).close_end(0);
        continue;
      }
      (i == 0 ? result.out : result.err).append(buffer.data(), static_cast<std::size_t>(got));
    }
  }
}

CliResult run(const std::vector<std::string>& arguments, bool read_stdout) {
  Pipe out;
  Pipe err;
  if (!read_stdout) out.close_end(0);
  CliResult result;
  const pid_t child = start(arguments, out.ends[1], err.ends[1]);
  if (child < 0) throw std::runtime_error("fork failed");
  out.close_end(1);
  err.close_end(1);
  drain(out, err, result);
  int status = 0;
  waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

}  // namespace

CliResult run_cli(const std::vector<std::string>& arguments) { return run(arguments, true); }

CliResult run_cli_unread(const std::vector<std::string>& arguments) { return run(arguments, false); }

nlohmann::ordered_json describe(const std::string& model) {
  const CliResult result = run_cli({"explain", model, "--json"});
  EXPECT_EQ(result.status, 0) << result.err;
  return nlohmann::ordered_json::parse(result.out);
}

}  // namespace colonnade::test
