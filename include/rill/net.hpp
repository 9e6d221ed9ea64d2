// Graphs over several processes: servers, clusters and clients. It needs Asio and Cereal.
#pragma once
#include "rill/net/server.hpp"
#include "rill/rill.hpp"
