// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/certificates.hpp"

#include <fmt/core.h>
#include <sys/stat.h>

#include "frontends/server/log.hpp"
#include "frontends/server/status.hpp"

namespace colonnade::serve::http {
namespace {

namespace ssl = boost::asio::ssl;

void check_file(const char* what, const std::string& path, const boost::system::error_code& error) {
  if (error) reject(fmt::format("{} '{}': {}", what, path, error.message()));
}

}  // namespace

Certificates::Certificates(const HttpOptions& options)
    : files_{options.certificate, options.key, options.client_authority} {
  const bool is_none = files_[0].empty() && files_[1].empty();
  if (is_none && !files_[2].empty()) reject("an authority for clients needs a certificate and a key");
  if (is_none) return;
  if (files_[0].empty() || files_[1].empty()) reject("TLS needs both a certificate and a key");
  stamp_ = stamp();
  context_ = read();
}

std::shared_ptr<Certificates::Context> Certificates::now() const {
  const std::lock_guard lock(mutex_);
  return context_;
}

std::shared_ptr<Certificates::Context> Certificates::read() const {
  auto context = std::make_shared<Context>(Context::tls_server);
  context->set_options(Context::default_workarounds | Context::no_sslv2 | Context::no_sslv3 | Context::no_tlsv1 |
                       Context::no_tlsv1_1);
  boost::system::error_code error;
  context->use_certificate_chain_file(files_[0], error);
  check_file("certificate", files_[0], error);
  context->use_private_key_file(files_[1], Context::pem, error);
  check_file("key", files_[1], error);
  if (files_[2].empty()) return context;
  context->load_verify_file(files_[2], error);
  check_file("authority", files_[2], error);
  context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  return context;
}

Certificates::Stamp Certificates::stamp() const {
  Stamp text;
  for (const std::string& path : files_) {
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
  std::shared_ptr<Context> fresh;
  try {
    fresh = read();
    log(LogLevel::info, "certificates are read again");
  } catch (const std::exception& error) {
    log(LogLevel::warning, "certificates cannot be read again", {{"reason", std::string_view(error.what())}});
  }
  const std::lock_guard lock(mutex_);
  (fresh ? stamp_ : failed_) = found;
  if (fresh) context_ = std::move(fresh);
}

}  // namespace colonnade::serve::http
