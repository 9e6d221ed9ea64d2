// Includes nlohmann-json, for safetensors, checkpoints and JSON lines.
#pragma once
#if !__has_include(<nlohmann/json.hpp>)
#error "rill: this header needs nlohmann-json; on Debian and Ubuntu: apt-get install nlohmann-json3-dev"
#endif
#include <nlohmann/json.hpp>
