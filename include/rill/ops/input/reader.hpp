// Records of files as values of a step: the beginning of an input pipeline (white paper §4.5).
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/epochs.hpp"
#include "rill/ops/array/constant.hpp"
#include "rill/ops/input/read_record.hpp"
#include "rill/ops/state/assign.hpp"

namespace rill {

/// Options of a reader.
struct reader_options {
  std::int64_t epochs = 1;     ///< -1: without end
  bool shuffle_files = false;  ///< shuffles the files in each epoch, by seed and epoch only
  std::int64_t seed = 0;       ///< of that order
  std::int64_t record_bytes = 0, header_bytes = 0, footer_bytes = 0;  ///< of records of fixed length
  std::int64_t header_lines = 0;                                      ///< of each CSV file; skipped
  char delimiter = ',';                                               ///< of CSV fields
};

/// A record: a unique key ("train.csv:12") and the value.
template <type T> struct record_handles {
  expr<of<std::string>> key;
  expr<T> value;
};

namespace detail {

/// Returns the name of a reader that was given none.
constexpr std::string_view usual_name(record_format f) {
  constexpr std::string_view names[] = {"text_reader",         "csv_reader", "tfrecord_reader", "whole_file_reader",
                                        "fixed_length_reader", "idx_reader", "npy_reader"};
  return names[static_cast<std::size_t>(f)];
}

}  // namespace detail

/// Reads files record by record. Each run of a node recorded by `next()` reads the next record; several threads may run
/// it. The position is a variable, `<name>/place`: checkpoints contain it, and a session that restores it continues
/// from there. After the last epoch a step fails with error(out_of_range), which ends a queue_runner. Graphs that share
/// a container share the readers of one name, which must have equal options; without a name a reader gets a unique one.
template <type T> class file_reader {
 public:
  file_reader(graph& g, std::vector<std::string> files, record_format format, reader_options const& o,
              std::string name) try
      : graph_(&g),
        place_(new_place(g, name, detail::usual_name(format))),
        about_{name.empty() ? named_by(place_) : std::move(name),
               std::move(files),
               format,
               T,
               o.epochs,
               o.shuffle_files,
               o.seed,
               o.record_bytes,
               o.header_bytes,
               o.footer_bytes,
               o.header_lines,
               static_cast<std::uint8_t>(o.delimiter)} {
  } catch (...) {
    rethrow_as_error();
  }

  /// Returns the next record.
  expr<T> next() const { return next_with_key().value; }
  record_handles<T> next_with_key() const try {
    auto const node = record_erased<ops::read_record_op>(*graph_, about_, {place_}, about_.reader + "/next");
    return {{node}, {{node.graph, node.node, 1}}};
  } catch (...) {
    rethrow_as_error();
  }
  /// Returns the position: epoch, file, byte, record.
  value place() const { return place_; }

 private:
  static constexpr std::string_view place_suffix = "/place";

  static variable_value new_place(graph& g, std::string const& name, std::string_view usual) {
    auto const begin = [&](std::string const& at) {
      return variable(value(rill::constant<std::int64_t, 4>(g, {0, 0, 0, 0})), at, {.trainable = false});
    };
    return begin(name.empty() ? detail::numbered_variable(g, usual, place_suffix) : name + std::string(place_suffix));
  }
  static std::string named_by(value const& place) {
    auto const of_place = place.name();
    return std::string(of_place.substr(0, of_place.size() - place_suffix.size()));
  }

  graph* graph_;
  variable_value place_;
  ops::read_record_op::attributes about_;
};

/// Returns a reader of the lines of text files; `files` are names or patterns such as "data/part-*.txt".
file_reader<of<std::string>> text_reader(graph& g, std::vector<std::string> files, reader_options const& o = {},
                                         std::string name = {});
file_reader<of<std::string>> text_reader(graph& g, std::vector<std::string> files, rill::epochs many,
                                         std::string name = {});
/// Returns a reader of the records of CSV files, which decode_csv decodes. It skips the first `o.header_lines` lines of
/// each file.
file_reader<of<std::string>> csv_reader(graph& g, std::vector<std::string> files, reader_options const& o = {},
                                        std::string name = {});
file_reader<of<std::string>> csv_reader(graph& g, std::vector<std::string> files, rill::epochs many,
                                        std::string name = {});
/// Returns a reader of the records of TFRecord files.
file_reader<of<std::string>> tfrecord_file_reader(graph& g, std::vector<std::string> files,
                                                  reader_options const& o = {}, std::string name = {});
/// Returns a reader of whole files, one record each.
file_reader<of<std::string>> whole_files_reader(graph& g, std::vector<std::string> files, reader_options const& o = {},
                                                std::string name = {});
/// Returns a reader of records of `o.record_bytes` bytes each.
file_reader<of<std::string>> fixed_length_reader(graph& g, std::vector<std::string> files, reader_options const& o,
                                                 std::string name = {});
/// Returns a reader of the rows of IDX files (MNIST's format), tensors of type T: `idx_reader<of<std::uint8_t, 28,
/// 28>>(g, {"images.gz"})`.
template <type T>
auto idx_reader(graph& g, std::vector<std::string> files, reader_options const& o = {}, std::string name = {}) {
  return file_reader<T>(g, std::move(files), record_format::idx_row, o, std::move(name));
}
/// Returns a reader of the rows of npy files, tensors of type T.
template <type T>
auto npy_reader(graph& g, std::vector<std::string> files, reader_options const& o = {}, std::string name = {}) {
  return file_reader<T>(g, std::move(files), record_format::npy_row, o, std::move(name));
}

#if RILL_IO_RUNTIME

RILL_IO_INLINE file_reader<of<std::string>> text_reader(graph& g, std::vector<std::string> files,
                                                        reader_options const& o, std::string name) {
  return file_reader<of<std::string>>(g, std::move(files), record_format::text_line, o, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> text_reader(graph& g, std::vector<std::string> files, rill::epochs many,
                                                        std::string name) {
  return text_reader(g, std::move(files), reader_options{.epochs = many.count}, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> csv_reader(graph& g, std::vector<std::string> files,
                                                       reader_options const& o, std::string name) {
  return file_reader<of<std::string>>(g, std::move(files), record_format::csv, o, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> csv_reader(graph& g, std::vector<std::string> files, rill::epochs many,
                                                       std::string name) {
  return csv_reader(g, std::move(files), reader_options{.epochs = many.count}, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> tfrecord_file_reader(graph& g, std::vector<std::string> files,
                                                                 reader_options const& o, std::string name) {
  return file_reader<of<std::string>>(g, std::move(files), record_format::tfrecord, o, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> whole_files_reader(graph& g, std::vector<std::string> files,
                                                               reader_options const& o, std::string name) {
  return file_reader<of<std::string>>(g, std::move(files), record_format::whole_file, o, std::move(name));
}

RILL_IO_INLINE file_reader<of<std::string>> fixed_length_reader(graph& g, std::vector<std::string> files,
                                                                reader_options const& o, std::string name) {
  return file_reader<of<std::string>>(g, std::move(files), record_format::fixed, o, std::move(name));
}

#endif

}  // namespace rill
