// How processes prove who they are: by certificates, or by a key that they share. Either way what they send is
// encrypted by TLS 1.3.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rill/base/config.hpp"
#include "rill/base/error.hpp"

namespace rill {

/// Certificates, in files as PEM. Both sides of a connection have one, and check that of the other.
struct tls {
  std::string certificate = {};  ///< of this process, and of those that lead from it to the authority
  std::string private_key = {};  ///< of this process
  std::string authority = {};    ///< the certificates of whoever has signed those of the other processes
  /// The names of the certificates that tasks of the cluster have, by common name or DNS name. Any other that the
  /// authority has signed is a client's. Empty: all are tasks'.
  std::vector<std::string> tasks = {};

  static tls files(std::string certificate, std::string private_key, std::string authority) {
    return {.certificate = std::move(certificate),
            .private_key = std::move(private_key),
            .authority = std::move(authority)};
  }
  bool empty() const { return certificate.empty() && private_key.empty() && authority.empty(); }
};

/// A key that processes share, instead of certificates. Whoever has it may do what its role says.
struct shared_key {
  enum class role : std::uint8_t {
    task,   ///< of a task of the cluster: it may take part in steps, and run them
    client  ///< of an outside client: it may run steps, within `client_limits`
  };
  std::string name = {};  ///< is sent in the clear, so that the other side finds its key
  role of = role::task;
  std::string bytes = {};  ///< 32 to 64 of them, at random

  /// Reads "rill-key NAME task|client HEX", with the bytes in hexadecimal digits. A shell makes such a line by
  /// `echo "rill-key NAME task $(openssl rand -hex 32)"`. Throws error(invalid_argument), and never shows the bytes.
  static shared_key parse(std::string_view line);
  /// Reads the one line of a file. Throws error(not_found) if there is no such file.
  static shared_key file(std::string const& path);
  bool empty() const { return name.empty() && bytes.empty(); }
};

#if RILL_NET_RUNTIME
}  // namespace rill

#include <fstream>
#include <locale>
#include <sstream>

namespace rill {

RILL_NET_INLINE shared_key shared_key::parse(std::string_view line) {
  auto const refuse = [](char const* why) {
    throw error(code::invalid_argument, std::string("this is no key ('rill-key NAME task|client HEX'): ") + why);
  };
  std::istringstream words{std::string(line)};
  words.imbue(std::locale::classic());  // which bytes are spaces depends on the locale
  std::string begin, role, digits, more;
  shared_key k;
  words >> begin >> k.name >> role >> digits;
  if (begin != "rill-key") refuse("it does not begin with 'rill-key'");
  if (role == "client") k.of = role::client;
  else if (role != "task") refuse("its role is neither 'task' nor 'client'");
  if (words >> more) refuse("more follows behind the digits");
  auto const value = [&](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    refuse("a hexadecimal digit is one of 0-9 and a-f");
    return 0;
  };
  if (digits.size() < 64 || digits.size() > 128 || digits.size() % 2 != 0)
    refuse("it has 64 to 128 hexadecimal digits, for 32 to 64 bytes");
  for (std::size_t i = 0; i < digits.size(); i += 2)
    k.bytes.push_back(static_cast<char>(value(digits[i]) * 16 + value(digits[i + 1])));
  return k;
}

RILL_NET_INLINE shared_key shared_key::file(std::string const& path) {
  std::ifstream from(path);
  std::string line;
  if (!from) throw error(code::not_found, "the file of a key can't be read: " + path);
  std::getline(from, line);
  return parse(line);
}

#endif

}  // namespace rill
