#define RILL_RUNTIME 1
#include <rill/io.hpp>
#include <rill/rill.hpp>
