// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/grpc/credentials.hpp"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <mutex>

namespace colonnade::serve {
namespace {

/// The C++ interface of gRPC takes certificates once; that of C asks before each handshake.
class FreshCredentials final : public grpc::ServerCredentials {
 public:
  explicit FreshCredentials(Certificates& certificates) : certificates_(certificates) {
    const bool knows_clients = !certificates.now()->texts[2].empty();
    credentials_ =
        grpc_ssl_server_credentials_create_with_options(grpc_ssl_server_credentials_create_options_using_config_fetcher(
            knows_clients ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                          : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE,
            fetch, this));
  }
  FreshCredentials(const FreshCredentials&) = delete;
  FreshCredentials& operator=(const FreshCredentials&) = delete;
  ~FreshCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<FreshCredentials*>(self)->fetch(config);
  }

  grpc_ssl_certificate_config_reload_status fetch(grpc_ssl_server_certificate_config** config) {
    certificates_.look();
    const std::shared_ptr<Certificates::Used> now = certificates_.now();
    const std::lock_guard lock(mutex_);
    if (now == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    given_ = now;
    const auto& [certificate, key, authority] = now->texts;
    const grpc_ssl_pem_key_cert_pair pair{key.c_str(), certificate.c_str()};
    // An authority must be there, even where no client is asked for a certificate.
    const std::string& roots = authority.empty() ? certificate : authority;
    *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  Certificates& certificates_;
  grpc_server_credentials* credentials_ = nullptr;
  std::mutex mutex_;
  std::shared_ptr<Certificates::Used> given_;  ///< to gRPC
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> grpc_credentials(Certificates& certificates) {
  if (!certificates.is_on()) return grpc::InsecureServerCredentials();
  return std::make_shared<FreshCredentials>(certificates);
}

}  // namespace colonnade::serve
