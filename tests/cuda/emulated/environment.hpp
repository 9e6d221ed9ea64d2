// Settings of the emulated driver that come from the environment.
#pragma once
#include <cstdlib>
#include <string>

namespace rill::emulated {

inline unsigned long long number_of_environment(char const* name, unsigned long long otherwise) {
  char const* const text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline std::string text_of_environment(char const* name, char const* otherwise) {
  char const* const text = std::getenv(name);
  return text && *text ? text : otherwise;
}

}  // namespace rill::emulated
