// Reads and writes files and checkpoints: CSV, IDX, JSON lines, npy, npz, safetensors, TFRecord and other records. It
// needs zlib and nlohmann-json.
#pragma once
#include "rill/io/csv.hpp"
#include "rill/io/idx.hpp"
#include "rill/io/json_lines.hpp"
#include "rill/io/npy.hpp"
#include "rill/io/npz.hpp"
#include "rill/io/records.hpp"
#include "rill/io/safetensors.hpp"
#include "rill/ops/files/tensor_file.hpp"
#include "rill/ops/input/decode_csv.hpp"
#include "rill/ops/input/decode_json.hpp"
#include "rill/ops/input/reader.hpp"
#include "rill/ops/list/io_operations.hpp"
#include "rill/train/checkpoint_folder.hpp"
#include "rill/train/saver.hpp"
#include "rill/train/training_loop.hpp"
