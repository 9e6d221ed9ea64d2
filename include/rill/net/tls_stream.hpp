// Encrypted connections: TLS 1.3 (RFC 8446) by OpenSSL, with certificates of both sides or with a key that they share.
#pragma once
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "rill/net/byte_stream.hpp"
#include "rill/net/security.hpp"

#if RILL_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

namespace rill::net {

/// Who the other side of a connection has proved to be.
struct identity {
  std::string name = {};   ///< of its key or its certificate; empty: it has proved nothing
  bool is_client = false;  ///< whether it can be no task of the cluster
};

#if RILL_TLS

/// What the connections of a process are encrypted by.
class tls_context {
 public:
  /// `clients`: keys of clients that a server accepts as well. Throws error(invalid_argument) for files that can't be
  /// read or do not fit each other. Returns null if there is neither a certificate nor a key.
  static std::shared_ptr<tls_context const> make(tls const& files, shared_key key, std::vector<shared_key> clients) {
    if (files.empty() && key.empty()) {
      if (clients.empty()) return nullptr;
      throw error(code::invalid_argument, "clients have keys, so a server needs one, too");
    }
    if (!files.empty() && !key.empty())
      throw error(code::invalid_argument, "a process has certificates or a key, not both");
    return std::shared_ptr<tls_context const>(new tls_context(files, std::move(key), std::move(clients)));
  }
  ~tls_context() { SSL_CTX_free(context_); }
  tls_context(tls_context const&) = delete;
  tls_context& operator=(tls_context const&) = delete;

  /// Returns one end of a connection. `host`: the name or number that a server's certificate must have; empty: any.
  std::unique_ptr<SSL, decltype(&SSL_free)> begin(bool is_server, std::string const& host) const {
    std::unique_ptr<SSL, decltype(&SSL_free)> s(SSL_new(context_), SSL_free);
    if (!s) fail("no connection could be made");
    if (is_server) SSL_set_accept_state(s.get());
    else SSL_set_connect_state(s.get());
    if (!is_server && !host.empty() && key_.empty() &&
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s.get()), host.c_str()) != 1) {
      ERR_clear_error();  // it is a name
      if (SSL_set1_host(s.get(), host.c_str()) != 1) fail("no certificate can have this name: " + host);
    }
    return s;
  }
  /// Returns who is at the other end, when both have shaken hands. Throws error(unauthenticated).
  identity of(SSL const* s, bool is_server) const {
    if (SSL_version(s) != TLS1_3_VERSION) throw error(code::unauthenticated, "it does not speak TLS 1.3");
    if (!key_.empty()) {
      if (SSL_session_reused(s) != 1) throw error(code::unauthenticated, "it has no key that this process knows");
      auto const* const used = static_cast<shared_key const*>(SSL_get_ex_data(s, slot()));
      if (!is_server || used == nullptr) return {.name = key_.name, .is_client = false};
      return {.name = used->name, .is_client = used->of == shared_key::role::client};
    }
    std::unique_ptr<X509, decltype(&X509_free)> const c(SSL_get1_peer_certificate(s), X509_free);
    if (!c) throw error(code::unauthenticated, "it has shown no certificate");
    auto const names = names_of(c.get());
    bool is_task = tasks_.empty();
    for (auto const& n : names)
      for (auto const& t : tasks_) is_task = is_task || n == t;
    return {.name = names.empty() ? "a certificate without a name" : names.front(), .is_client = !is_task};
  }

  /// Throws error(unauthenticated), or invalid_argument before there is a connection, with what OpenSSL says.
  [[noreturn]] static void fail(std::string const& what, rill::code c = code::invalid_argument) {
    auto const e = ERR_peek_last_error();
    auto const* const reason = ERR_reason_error_string(e);
    ERR_clear_error();
    throw error(c, what + (reason ? std::string(": ") + reason : std::string()));
  }

 private:
  tls_context(tls const& files, shared_key key, std::vector<shared_key> clients)
      : key_(std::move(key)), tasks_(files.tasks), context_(SSL_CTX_new(TLS_method())) {
    if (context_ == nullptr) fail("TLS is not there");
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> guard(context_, SSL_CTX_free);
    SSL_CTX_set_min_proto_version(context_, TLS1_3_VERSION);
    SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context_, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_num_tickets(context_, 0);
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_early_data(context_, 0);
    SSL_CTX_set_read_ahead(context_, 1);
    SSL_CTX_set_default_read_buffer_len(context_, 128 << 10);
    SSL_CTX_set_verify(context_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
    if (key_.empty()) load(files);
    else use_keys(std::move(clients));
    guard.release();
  }
  void load(tls const& files) {
    if (SSL_CTX_use_certificate_chain_file(context_, files.certificate.c_str()) != 1)
      fail("no certificate can be read from '" + files.certificate + "'");
    if (SSL_CTX_use_PrivateKey_file(context_, files.private_key.c_str(), SSL_FILETYPE_PEM) != 1)
      fail("no private key of this certificate can be read from '" + files.private_key + "'");
    if (SSL_CTX_load_verify_locations(context_, files.authority.c_str(), nullptr) != 1)
      fail("no certificates can be read from '" + files.authority + "'");
  }
  void use_keys(std::vector<shared_key> clients) {
    for (auto& c : clients) add(std::move(c));
    add(key_);
    if (SSL_CTX_set_ciphersuites(context_, "TLS_AES_128_GCM_SHA256") != 1) fail("TLS_AES_128_GCM_SHA256 is not there");
    SSL_CTX_set_session_id_context(context_, session_context, sizeof session_context);
    SSL_CTX_set_ex_data(context_, context_slot(), this);
    SSL_CTX_set_psk_find_session_callback(context_, find_key);
    SSL_CTX_set_psk_use_session_callback(context_, use_key);
  }
  void add(shared_key k) {
    if (k.name.empty() || k.name.size() > 100)
      throw error(code::invalid_argument, "a key has a name, of 100 bytes at most");
    if (k.bytes.size() < 32 || k.bytes.size() > 64)
      throw error(code::invalid_argument,
                  "the key '" + k.name + "' has " + std::to_string(k.bytes.size()) + " bytes: 32 to 64 are expected");
    auto const name = k.name;
    if (!keys_.emplace(name, std::move(k)).second)
      throw error(code::invalid_argument, "two keys are called '" + name + "'");
  }

  // Both sides ask that a session was made for the same use.
  static constexpr unsigned char session_context[] = {'r', 'i', 'l', 'l'};
  static int context_slot() {
    static int const slot = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return slot;
  }
  // Where a connection keeps the key that its other end has named.
  static int slot() {
    static int const slot = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return slot;
  }
  static tls_context const& of_connection(SSL* s) {
    return *static_cast<tls_context const*>(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(s), context_slot()));
  }
  // A key is to OpenSSL a session that both sides know already.
  static SSL_SESSION* session_of(SSL* s, shared_key const& k) {
    static unsigned char const aes_128_gcm_sha256[] = {0x13, 0x01};
    auto const* const cipher = SSL_CIPHER_find(s, aes_128_gcm_sha256);
    std::unique_ptr<SSL_SESSION, decltype(&SSL_SESSION_free)> made(SSL_SESSION_new(), SSL_SESSION_free);
    if (!made || cipher == nullptr) return nullptr;
    bool const is_set = SSL_SESSION_set1_master_key(made.get(), reinterpret_cast<unsigned char const*>(k.bytes.data()),
                                                    k.bytes.size()) == 1 &&
                        SSL_SESSION_set_cipher(made.get(), cipher) == 1 &&
                        SSL_SESSION_set1_id_context(made.get(), session_context, sizeof session_context) == 1 &&
                        SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
    return is_set ? made.release() : nullptr;
  }
  static int find_key(SSL* s, unsigned char const* name, std::size_t n, SSL_SESSION** found) {
    auto const& mine = of_connection(s);
    *found = nullptr;
    auto const at = mine.keys_.find(std::string_view(reinterpret_cast<char const*>(name), n));
    if (at == mine.keys_.end()) return 1;  // there is no certificate, either, so they can't shake hands
    SSL_set_ex_data(s, slot(), const_cast<shared_key*>(&at->second));
    *found = session_of(s, at->second);
    return *found != nullptr ? 1 : 0;
  }
  static int use_key(SSL* s, EVP_MD const* digest, unsigned char const** name, std::size_t* n, SSL_SESSION** used) {
    auto const& mine = of_connection(s);
    *used = nullptr;
    if (digest != nullptr && EVP_MD_get_type(digest) != NID_sha256) return 1;
    *name = reinterpret_cast<unsigned char const*>(mine.key_.name.data());
    *n = mine.key_.name.size();
    *used = session_of(s, mine.key_);
    return *used != nullptr ? 1 : 0;
  }

  static std::vector<std::string> names_of(X509* c) {
    std::vector<std::string> names;
    char common[256];
    if (int const n = X509_NAME_get_text_by_NID(X509_get_subject_name(c), NID_commonName, common, sizeof common); n > 0)
      names.emplace_back(common, static_cast<std::size_t>(n));
    std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> const others(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(c, NID_subject_alt_name, nullptr, nullptr)), GENERAL_NAMES_free);
    for (int i = 0; others && i < sk_GENERAL_NAME_num(others.get()); ++i) {
      auto const* const each = sk_GENERAL_NAME_value(others.get(), i);
      if (each->type != GEN_DNS) continue;
      names.emplace_back(reinterpret_cast<char const*>(ASN1_STRING_get0_data(each->d.dNSName)),
                         static_cast<std::size_t>(ASN1_STRING_length(each->d.dNSName)));
    }
    return names;
  }

  shared_key const key_;
  std::vector<std::string> const tasks_;
  std::map<std::string, shared_key, std::less<>> keys_;
  SSL_CTX* const context_;
};

namespace detail {

// How OpenSSL reads and writes a socket. Its own way would end the process by SIGPIPE when the other side has hung up.
inline int write_socket(BIO* b, char const* from, int n) {
  BIO_clear_retry_flags(b);
  auto const sent = ::send(*static_cast<int*>(BIO_get_data(b)), from, static_cast<std::size_t>(n), MSG_NOSIGNAL);
  if (sent < 0 && BIO_sock_should_retry(-1)) BIO_set_retry_write(b);
  return static_cast<int>(sent);
}
inline int read_socket(BIO* b, char* to, int n) {
  BIO_clear_retry_flags(b);
  auto const came = ::recv(*static_cast<int*>(BIO_get_data(b)), to, static_cast<std::size_t>(n), 0);
  if (came < 0 && BIO_sock_should_retry(-1)) BIO_set_retry_read(b);
  if (came == 0) BIO_set_flags(b, BIO_FLAGS_IN_EOF);
  return static_cast<int>(came);
}
inline long control_socket(BIO* b, int what, long, void*) {
  if (what == BIO_CTRL_EOF) return BIO_test_flags(b, BIO_FLAGS_IN_EOF) != 0;
  return what == BIO_CTRL_FLUSH;
}
inline BIO_METHOD* socket_method() {
  static auto* const made = [] {  // is never freed, for connections may be closed as the process ends
    auto* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "rill socket");
    if (m != nullptr) {
      BIO_meth_set_write(m, write_socket);
      BIO_meth_set_read(m, read_socket);
      BIO_meth_set_ctrl(m, control_socket);
    }
    return m;
  }();
  return made;
}

}  // namespace detail

/// An encrypted socket.
class tls_stream final : public byte_stream {
 public:
  tls_stream(stream_socket s, std::shared_ptr<tls_context const> by, bool is_server, std::string const& host)
      : socket_(std::move(s)), by_(std::move(by)), is_server_(is_server), tls_(by_->begin(is_server, host)) {
    socket_.non_blocking(true);
    auto* const b = BIO_new(detail::socket_method());
    if (b == nullptr) tls_context::fail("no connection could be made");
    BIO_set_data(b, &handle_);
    BIO_set_init(b, 1);
    SSL_set_bio(tls_.get(), b, b);
  }

  /// Shakes hands with the other side, and returns who it is. Throws error(unauthenticated).
  asio::awaitable<identity> shake_hands() {
    for (;;) {
      auto const [done, why] = call([&] { return SSL_do_handshake(tls_.get()); });
      if (done == 1) break;
      if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        co_await wait_for(why);
        continue;
      }
      if (is_end(why))
        throw error(code::unavailable,
                    "it hung up while both sides were to prove who they are: has it a certificate or the "
                    "same key, too?");
      auto const verified = SSL_get_verify_result(tls_.get());
      std::string const detail = verified != X509_V_OK ? X509_verify_cert_error_string(verified) : "";
      tls_context::fail("it has not proved who it is" + (detail.empty() ? detail : ": " + detail),
                        code::unauthenticated);
    }
    co_return by_->of(tls_.get(), is_server_);
  }

  asio::any_io_executor executor() override { return socket_.get_executor(); }
  asio::awaitable<std::size_t> read(asio::mutable_buffer to) override {
    auto const most = static_cast<int>(std::min<std::size_t>(to.size(), 1 << 20));
    for (;;) {
      auto const [n, why] = call([&] { return SSL_read(tls_.get(), to.data(), most); });
      if (n > 0) co_return static_cast<std::size_t>(n);
      if (is_end(why)) throw std::system_error(make_error_code(asio::error::eof));
      if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
        tls_context::fail("what came was not encrypted by it", code::data_loss);
      co_await wait_for(why);
    }
  }
  std::size_t write(std::span<asio::const_buffer const> from, std::error_code& e) override {
    std::size_t written = 0;
    for (auto at = from.begin(); at != from.end();) {
      // Small buffers go as one record.
      auto next = at;
      staged_.clear();
      for (; next != from.end() && staged_.size() + next->size() <= record; ++next)
        staged_.append(static_cast<char const*>(next->data()), next->size());
      auto const* const data = next == at ? at->data() : staged_.data();
      auto const size = next == at ? at->size() : staged_.size();
      if (next == at) ++next;
      std::size_t done = 0;
      while (done < size) {
        auto const [n, why] = call([&] {
          return SSL_write(tls_.get(), static_cast<char const*>(data) + done,
                           static_cast<int>(std::min<std::size_t>(size - done, 1 << 20)));
        });
        if (n <= 0) {
          if (why != SSL_ERROR_WANT_WRITE && why != SSL_ERROR_WANT_READ) e = asio::error::connection_reset;
          return written + done;
        }
        done += static_cast<std::size_t>(n);
      }
      written += done;
      at = next;
    }
    return written;
  }
  asio::awaitable<void> writable() override {
    return socket_.async_wait(asio::socket_base::wait_write, asio::use_awaitable);
  }
  std::string state() override { return state_of(socket_.native_handle()); }
  bool finish() override {
    say_that_no_more_comes();
    std::error_code e;
    socket_.shutdown(asio::socket_base::shutdown_send, e);
    return !e;
  }
  void close() override {
    say_that_no_more_comes();
    std::error_code ignored;
    socket_.close(ignored);
    handle_ = -1;
  }

 private:
  static constexpr std::size_t record = 16 << 10;  // the most bytes of one
  struct outcome {
    int value, why;
  };
  void say_that_no_more_comes() {
    (void)call([&] { return SSL_is_init_finished(tls_.get()) ? SSL_shutdown(tls_.get()) : 0; });
  }
  // One thread at a time uses a connection, and its errors lie in the thread's own queue.
  template <class F> outcome call(F const& f) {
    std::lock_guard lock(mutex_);
    ERR_clear_error();
    int const value = f();
    return {value, value > 0 ? SSL_ERROR_NONE : SSL_get_error(tls_.get(), value)};
  }
  static bool is_end(int why) {
    return why == SSL_ERROR_ZERO_RETURN || why == SSL_ERROR_SYSCALL ||
           (why == SSL_ERROR_SSL && ERR_GET_REASON(ERR_peek_last_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING);
  }
  asio::awaitable<void> wait_for(int why) {
    return socket_.async_wait(
        why == SSL_ERROR_WANT_WRITE ? asio::socket_base::wait_write : asio::socket_base::wait_read,
        asio::use_awaitable);
  }

  stream_socket socket_;
  int handle_ = socket_.native_handle();
  std::shared_ptr<tls_context const> by_;
  bool const is_server_;
  std::mutex mutex_;
  std::unique_ptr<SSL, decltype(&SSL_free)> tls_;
  std::string staged_;  // of the thread that writes
};

#else

/// This program was built without OpenSSL: connections are not encrypted.
class tls_context {
 public:
  static std::shared_ptr<tls_context const> make(tls const& files, shared_key const& key,
                                                 std::vector<shared_key> const& clients) {
    if (files.empty() && key.empty() && clients.empty()) return nullptr;
    throw error(
        code::unimplemented,
        "this program was built without OpenSSL, which certificates and keys need: install libssl-dev, and define "
        "RILL_TLS=1 (CMake does)");
  }
};

#endif

}  // namespace rill::net
