// Errors of the emulated driver, as exceptions that entry points turn to what they return.
#pragma once
#include "rill/cuda/driver_api.hpp"

namespace rill::emulated {

using cuda::address;
using cuda::status;

/// What the driver returns and rill does not tell apart.
inline constexpr auto invalid_handle = status{400}, context_is_destroyed = status{709};

struct failure {
  status why;
};
inline void expect(bool holds, status otherwise) {
  if (!holds) throw failure{otherwise};
}

}  // namespace rill::emulated
