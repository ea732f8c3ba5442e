// SPDX-License-Identifier: Apache-2.0
#include "frontends/server/http/server.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <future>
#include <memory>

#include "frontends/server/certificates.hpp"
#include "frontends/server/http/connection.hpp"
#include "frontends/server/http/event_loops.hpp"
#include "frontends/server/log.hpp"

namespace colonnade::serve {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using http::Connection;
using http::Connections;
using http::EventLoops;
using http::Listening;
using http::Seat;

/// How late what takes too long may be noticed.
constexpr std::chrono::milliseconds kSweepEvery{200};
/// Until descriptors may be free again.
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::size_t kBlockingThreads = 2;
constexpr std::size_t kMetricsConnections = 64;
constexpr std::string_view kTooMany =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nContent-Length: 32\r\n"
    "Connection: close\r\n\r\n{\"error\":\"too many connections\"}";

std::size_t thread_count(int wanted) {
  if (wanted > 0) return static_cast<std::size_t>(wanted);
  // They run what is brief themselves: more than there are cores would take turns on them for milliseconds.
  return static_cast<std::size_t>(std::max(1, default_threads()));
}

[[noreturn]] void fail_to_listen(const std::string& what, const boost::system::error_code& error) {
  throw Failure(Code::invalid_argument, fmt::format("{}: {}", what, error.message()));
}

tcp::acceptor listen(asio::io_context& context, const std::string& address, int port) {
  if (port < 0 || port > 65535)
    throw Failure(Code::invalid_argument, fmt::format("port: expected 0 to 65535, found {}", port));
  const std::string where = fmt::format("cannot listen on {}, port {}", address, port);
  boost::system::error_code error;
  const auto host = asio::ip::make_address(address, error);
  if (error) fail_to_listen(where, error);
  const tcp::endpoint endpoint(host, static_cast<std::uint16_t>(port));
  tcp::acceptor acceptor(context);
  const auto check = [&] {
    if (error) fail_to_listen(where, error);
  };
  acceptor.open(endpoint.protocol(), error), check();
  acceptor.set_option(tcp::acceptor::reuse_address(true), error), check();
  acceptor.bind(endpoint, error), check();
  acceptor.listen(asio::socket_base::max_listen_connections, error), check();
  return acceptor;
}

}  // namespace

struct HttpServer::Impl {
  struct Listener {
    tcp::acceptor acceptor;
    Listening listening;
    asio::steady_timer pause;
    int port;
  };

  Impl(Service& service, const HttpOptions& given);
  ~Impl();
  void add_listener(int port, bool metrics_only);
  int port_of(bool metrics_only) const;
  void accept(Listener& listener);
  void close(Listener& listener);
  Seat seat_for(const Listener& listener);
  void on_socket(const Listener& listener, tcp::socket socket, Seat seat);
  void sweep();
  void stop(std::chrono::milliseconds limit);

  HttpOptions options;
  Clients& clients;
  asio::thread_pool blocking{kBlockingThreads};
  asio::thread_pool decoders;
  http::Endpoints endpoints;
  Certificates certificates;
  Connections connections;
  EventLoops loops;
  asio::steady_timer sweeper;
  std::vector<std::unique_ptr<Listener>> listeners;
};

HttpServer::Impl::Impl(Service& service, const HttpOptions& given)
    : options(given),
      clients(service.clients()),
      decoders(thread_count(options.threads)),
      endpoints(service, options,
                {.blocks = [this](std::function<void()> task) { asio::post(blocking, std::move(task)); },
                 .decodes = [this](std::function<void()> task) { asio::post(decoders, std::move(task)); }}),
      certificates({options.certificate, options.key, options.client_authority}),
      loops(thread_count(options.threads) + 1),
      sweeper(loops.last().loop().context()) {
  if (options.port >= 0) add_listener(options.port, false);
  if (options.metrics_port >= 0) add_listener(options.metrics_port, true);
  for (const auto& listener : listeners) accept(*listener);
  sweep();
}

HttpServer::Impl::~Impl() {
  stop(std::chrono::milliseconds(0));
  blocking.join();
  decoders.join();
  loops.stop();
}

void HttpServer::Impl::add_listener(int port, bool metrics_only) {
  tcp::acceptor acceptor = listen(loops.last().loop().context(), options.address, port);
  const int actual = acceptor.local_endpoint().port();
  asio::steady_timer pause(acceptor.get_executor());
  const Listening listening{endpoints, options, connections, certificates, metrics_only};
  listeners.push_back(std::make_unique<Listener>(Listener{std::move(acceptor), listening, std::move(pause), actual}));
}

/// Connections for requests share all loops but the last, which no request can keep busy.
http::Seat HttpServer::Impl::seat_for(const Listener& listener) {
  return listener.listening.metrics_only ? loops.last() : loops.emptiest_but_last();
}

void HttpServer::Impl::accept(Listener& listener) {
  Seat seat = seat_for(listener);
  auto& context = seat.loop().context();
  listener.acceptor.async_accept(
      context, [this, &listener, seat = std::move(seat)](boost::system::error_code error, tcp::socket socket) mutable {
        if (!error) on_socket(listener, std::move(socket), std::move(seat));
        if (error == asio::error::operation_aborted || !listener.acceptor.is_open()) return;
        if (!error) return accept(listener);
        log(LogLevel::warning, "http_accept_failed", {{"reason", std::string_view(error.message())}});
        listener.pause.expires_after(kAcceptPause);
        listener.pause.async_wait([this, &listener](boost::system::error_code stopped) {
          if (!stopped && listener.acceptor.is_open()) accept(listener);
        });
      });
}

/// Accepts who is connected and waits: closing the listener would reset them, and what they sent would be lost. No more
/// than can wait at a time, so that who goes on connecting does not keep the server from stopping.
void HttpServer::Impl::close(Listener& listener) {
  boost::system::error_code error;
  listener.acceptor.non_blocking(true, error);
  for (int i = 0; i < asio::socket_base::max_listen_connections && !error; ++i) {
    Seat seat = seat_for(listener);
    tcp::socket socket(seat.loop().context());
    listener.acceptor.accept(socket, error);
    if (!error) on_socket(listener, std::move(socket), std::move(seat));
  }
  listener.acceptor.close(error);
  listener.pause.cancel();
}

void HttpServer::Impl::on_socket(const Listener& listener, tcp::socket socket, Seat seat) {
  boost::system::error_code ignored;
  ClientPtr client = clients.client(socket.remote_endpoint(ignored).address().to_string());
  Lease place = Clients::lease(client, Holding::connections);
  // Who reads metrics has places of its own, so that others cannot take them all.
  const std::size_t most = options.most_connections + (listener.listening.metrics_only ? kMetricsConnections : 0);
  if (connections.count() < most && (listener.listening.metrics_only || place.grow_to(1)))
    return make_connection(listener.listening, std::move(socket), std::move(client), std::move(place), std::move(seat))
        ->start();
  socket.non_blocking(true, ignored);
  if (!certificates.is_on()) socket.write_some(asio::buffer(kTooMany), ignored);
}

void HttpServer::Impl::sweep() {
  sweeper.expires_after(kSweepEvery);
  sweeper.async_wait([this](boost::system::error_code error) {
    if (error) return;
    for (const auto& connection : connections.late(Clock::now())) connection->expire();
    if (certificates.is_on()) certificates.look();
    sweep();
  });
}

void HttpServer::Impl::stop(std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  std::vector<std::future<void>> closed;
  for (const auto& listener : listeners) {
    const auto task = std::make_shared<std::packaged_task<void()>>([this, &each = *listener] { close(each); });
    closed.push_back(task->get_future());
    asio::post(listener->acceptor.get_executor(), [task] { (*task)(); });
  }
  for (const auto& each : closed) each.wait_until(std::max(deadline, Clock::now() + kSweepEvery));
  do {
    for (const auto& connection : connections.all()) connection->finish();
  } while (!connections.wait_until_empty(std::min(deadline, Clock::now() + kSweepEvery)) && Clock::now() < deadline);
  do {
    for (const auto& connection : connections.all()) connection->abort();
  } while (!connections.wait_until_empty(Clock::now() + kSweepEvery));
}

int HttpServer::Impl::port_of(bool metrics_only) const {
  for (const auto& listener : listeners)
    if (listener->listening.metrics_only == metrics_only) return listener->port;
  return -1;
}

HttpServer::HttpServer(Service& service, const HttpOptions& options)
    : impl_(std::make_unique<Impl>(service, options)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port_of(false); }
int HttpServer::metrics_port() const { return impl_->port_of(true); }
void HttpServer::stop(std::chrono::milliseconds limit) { impl_->stop(limit); }

}  // namespace colonnade::serve
