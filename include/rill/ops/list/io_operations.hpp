// The operations of rill/io.hpp: a list beside that of operations.hpp, since they need zlib and nlohmann-json.
#pragma once
#include "rill/base/type_list.hpp"
#include "rill/ops/files/tensor_file.hpp"
#include "rill/ops/input/decode_json.hpp"
#include "rill/ops/input/read_record.hpp"

namespace rill {

/// What `all_operations<io_operations>()` has beyond `all_operations()`: operations that read and write files.
using io_operations = type_list<ops::read_record_op, ops::decode_json_op, ops::save_op, ops::restore_op>;

}  // namespace rill
