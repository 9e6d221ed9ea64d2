#define RILL_RUNTIME 1
#include <rill/rill.hpp>
