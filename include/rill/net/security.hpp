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
  /// Reads the first line of a file. Throws error(not_found) if there is no such file, and what `read_file` throws.
  static shared_key file(std::string const& path);
  bool empty() const { return name.empty() && bytes.empty(); }
};

#if RILL_NET_RUNTIME
}  // namespace rill

#include <algorithm>

#include "rill/io/file.hpp"

namespace rill {

namespace detail {

/// Takes the next word from a text; returns an empty one at its end.
inline std::string_view take_word(std::string_view& text) {
  constexpr std::string_view spaces = " \t\n\v\f\r";  // in every locale
  text.remove_prefix(std::min(text.find_first_not_of(spaces), text.size()));
  auto const word = text.substr(0, text.find_first_of(spaces));
  text.remove_prefix(word.size());
  return word;
}

/// The bytes of the file of a key: far more than a line needs.
inline constexpr std::uint64_t max_key_file_bytes = std::uint64_t{1} << 20;

}  // namespace detail

// No streams: when memory runs out they stop silently, and the key would be cut short.
RILL_NET_INLINE shared_key shared_key::parse(std::string_view line) try {
  auto const refuse = [](char const* why) {
    throw error(code::invalid_argument, std::string("this is no key ('rill-key NAME task|client HEX'): ") + why);
  };
  shared_key k;
  auto const begin = detail::take_word(line);
  k.name = detail::take_word(line);
  auto const role = detail::take_word(line), digits = detail::take_word(line);
  if (begin != "rill-key") refuse("it does not begin with 'rill-key'");
  if (role == "client") k.of = role::client;
  else if (role != "task") refuse("its role is neither 'task' nor 'client'");
  if (!detail::take_word(line).empty()) refuse("more follows behind the digits");
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
} catch (...) {
  rethrow_as_error();
}

RILL_NET_INLINE shared_key shared_key::file(std::string const& path) try {
  auto const all = read_file(path, detail::max_key_file_bytes);
  return parse(std::string_view(all).substr(0, all.find('\n')));
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
