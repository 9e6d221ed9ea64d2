// Looks up names of several addresses (names.hpp) in the place of the C library, which looks up all others.
#include "net/names.hpp"

#include <dlfcn.h>
#include <netdb.h>

extern "C" int getaddrinfo(char const* host, char const* service, addrinfo const* hints,
                           addrinfo** all) noexcept(noexcept(::getaddrinfo(nullptr, nullptr, nullptr, nullptr))) {
  static auto* const library = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  std::string const name = host ? host : "";
  auto** next = all;
  for (std::size_t from = 0, end = 0; (end = name.find('+', from)) != name.npos; from = end + 1) {
    if (auto const failed = library(name.substr(from, end - from).c_str(), service, hints, next)) return failed;
    while (*next) next = &(*next)->ai_next;
  }
  auto const last = name.rfind('+');
  return library(last == name.npos ? host : host + last + 1, service, hints, next);
}
