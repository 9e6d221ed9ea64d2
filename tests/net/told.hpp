// Surroundings that a test sets.
#pragma once
#include <map>
#include <string>

#include "rill/net/surroundings.hpp"

namespace rill::net {

inline surroundings told(std::map<std::string, std::string> variables, std::string domain = "") {
  return {.variable = [variables](char const* name) -> std::optional<std::string> {
            auto const at = variables.find(name);
            return at == variables.end() ? std::nullopt : std::optional(at->second);
          },
          .full_name = [domain](std::string const& host) { return (host.empty() ? "here" : host) + domain; }};
}

}  // namespace rill::net
