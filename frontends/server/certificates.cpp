// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/certificates.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include <boost/asio/buffer.hpp>
#include <fstream>
#include <iterator>

#include "frontends/server/log.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve {
namespace {

namespace ssl = boost::asio::ssl;

constexpr std::array<const char*, 3> kFileKinds = {"certificate", "key", "authority of clients"};
constexpr std::streamsize kMostPemBytes = 1 << 20;

std::string read_pem(const char* kind, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostPemBytes, '\0');
  file.read(text.data(), kMostPemBytes);
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!file.is_open() || file.bad() || text.empty() || !file.eof())
    reject(fmt::format("{} '{}' cannot be read", kind, path));
  return text;
}

}  // namespace

Certificates::Certificates(Files paths) : paths_(std::move(paths)) {
  if (paths_[0].empty() && paths_[1].empty() && paths_[2].empty()) return;
  if (paths_[0].empty() || paths_[1].empty()) reject("TLS needs both a certificate and its key");
  stamp_ = stamp();
  used_ = read();
}

std::shared_ptr<Certificates::Used> Certificates::now() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

std::shared_ptr<Certificates::Used> Certificates::read() const {
  auto used = std::make_shared<Used>();
  Context& context = used->context;
  context.set_options(Context::default_workarounds | Context::no_sslv2 | Context::no_sslv3 | Context::no_tlsv1 |
                      Context::no_tlsv1_1);
  for (std::size_t i = 0; i < paths_.size(); ++i) {
    if (paths_[i].empty()) continue;
    used->texts[i] = read_pem(kFileKinds[i], paths_[i]);
    const boost::asio::const_buffer text = boost::asio::buffer(used->texts[i]);
    boost::system::error_code error;
    if (i == 0) context.use_certificate_chain(text, error);
    if (i == 1) context.use_private_key(text, Context::pem, error);
    if (i == 2) context.add_certificate_authority(text, error);
    if (error)
      reject(fmt::format("{} '{}' is unusable or does not fit: {}", kFileKinds[i], paths_[i], error.message()));
  }
  if (!paths_[2].empty()) context.set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return used;
}

Certificates::Stamp Certificates::stamp() const {
  Stamp text;
  for (const std::string& path : paths_) {
    struct stat status {};
    if (path.empty() || ::stat(path.c_str(), &status) != 0) continue;
    text += fmt::format("{}:{}:{}:{}:{};", status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
                        status.st_mtim.tv_nsec);
  }
  return text;
}

void Certificates::look() {
  const Stamp found = stamp();
  {
    const std::lock_guard lock(mutex_);
    if (found == stamp_ || found == failed_) return;
  }
  std::shared_ptr<Used> fresh;
  try {
    fresh = read();
    log(LogLevel::info, "certificates are read again");
  } catch (const std::exception& error) {
    log(LogLevel::warning, "certificates cannot be read again", {{"reason", std::string_view(error.what())}});
  }
  const std::lock_guard lock(mutex_);
  (fresh ? stamp_ : failed_) = found;
  if (fresh) used_ = std::move(fresh);
}

}  // namespace colonnade::serve
