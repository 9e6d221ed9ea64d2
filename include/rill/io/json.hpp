// Parses with nlohmann-json, for safetensors, checkpoints and JSON lines.
#pragma once
#if !__has_include(<nlohmann/json.hpp>)
#error "rill: this header needs nlohmann-json; on Debian and Ubuntu: apt-get install nlohmann-json3-dev"
#endif
#include <nlohmann/json.hpp>
#include <string_view>

#include "rill/base/c_locale.hpp"

namespace rill::json {

/// Parses a text. nlohmann-json reads numbers with `std::strtod`, and before that replaces their point by the first
/// byte of the locale's decimal point: in a German locale a program would see "1,5", and where the locale's decimal
/// point has two bytes, another number.
inline void parse_events(std::string_view text, nlohmann::json_sax<nlohmann::json>& events) {
  c_locale const as_json_is_written;
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

}  // namespace rill::json
