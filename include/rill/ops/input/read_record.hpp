// Reads the next record of a sequence of files. The position is a variable, so checkpoints contain it and training
// resumes where it stopped.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/base/philox.hpp"
#include "rill/device/step.hpp"
#include "rill/dsl/expr.hpp"
#include "rill/io/records.hpp"
#include "rill/ops/state/variable.hpp"
#include "rill/state/container.hpp"

namespace rill {

/// What a reader treats as a record.
enum class record_format : std::uint8_t { text_line, csv, tfrecord, whole_file, fixed, idx_row, npy_row };

namespace ops {

struct read_record_op {
  static constexpr std::string_view
      name = "read_record",
      doc = "the key and the value of a reader's next record; a variable holds the reader's position";
  static constexpr std::int8_t arity = 1;
  static constexpr std::size_t outputs = 2;
  static constexpr std::uint32_t by_reference = 1;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::string reader;                 ///< its name in the container
    std::vector<std::string> patterns;  ///< of files
    record_format format = record_format::text_line;
    type of;  ///< of a record
    std::int64_t epochs = 1;
    bool shuffle_files = false;
    std::int64_t seed = 0, record_bytes = 0, header_bytes = 0, footer_bytes = 0, header_lines = 0;
    std::uint8_t delimiter = ',';
    static constexpr auto fields(auto const& take) {
      return take(field{"reader", &attributes::reader}, field{"patterns", &attributes::patterns},
                  field{"format", &attributes::format}, field{"of", &attributes::of},
                  field{"epochs", &attributes::epochs}, field{"shuffle_files", &attributes::shuffle_files},
                  field{"seed", &attributes::seed}, field{"record_bytes", &attributes::record_bytes},
                  field{"header_bytes", &attributes::header_bytes}, field{"footer_bytes", &attributes::footer_bytes},
                  field{"header_lines", &attributes::header_lines}, field{"delimiter", &attributes::delimiter});
    }
    friend bool operator==(attributes const&, attributes const&) = default;
  };
  static std::array<type, 2> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

}  // namespace ops

namespace detail {

/// A reader of many files for several epochs. A variable holds its position.
class file_sequence {
 public:
  explicit file_sequence(ops::read_record_op::attributes a) : a_(std::move(a)) {}

  /// Returns the container's reader of that name. Throws error(failed_precondition) if that has other attributes.
  static std::shared_ptr<file_sequence> in(container& c, ops::read_record_op::attributes const& a);

  /// Returns the next record and advances the variable. Throws error(out_of_range) after the last epoch.
  keyed_record next(variable_state& place, std::uint64_t version);

 private:
  struct point {
    std::int64_t epoch = 0, file = 0;
    record_position in_file = {};
    friend bool operator==(point const&, point const&) = default;
  };

  static point where(tensor const& t);
  static tensor as_tensor(point const& p);

  void go(point const& to);

  void set_order(std::int64_t epoch);

  std::optional<record_reader> open(std::filesystem::path const& path) const;

  ops::read_record_op::attributes a_;
  std::mutex mutex_;
  std::vector<std::filesystem::path> order_;
  std::int64_t ordered_for_ = -1;
  std::optional<record_reader> reader_;
  point stands_;
};

}  // namespace detail

#if RILL_IO_RUNTIME

namespace ops {

RILL_IO_INLINE std::array<type, 2> read_record_op::infer(attributes const& a, std::span<type const> x) {
  expects(accepts(type(dtype::int64, {4}), x[0]), "read_record: a reader's position is a variable of 4 int64");
  expects(!a.patterns.empty(), "read_record: a reader needs at least one file");
  expects(a.epochs >= -1, "read_record: the number of epochs is negative, and not -1 for unlimited");
  expects(a.format != record_format::fixed || (a.record_bytes > 0 && a.header_bytes >= 0 && a.footer_bytes >= 0),
          "read_record: record_bytes must be positive for records of fixed length");
  expects(a.header_lines >= 0, "read_record: the number of header lines is negative");
  expects(a.header_lines == 0 || a.format == record_format::csv, "read_record: only CSV files have header lines");
  expects(a.delimiter != '"' && a.delimiter != '\n' && a.delimiter != '\r',
          "read_record: the delimiter cannot be a quote or the end of a line");
  return {type(dtype::string), a.of};
}

RILL_IO_INLINE kernel read_record_op::cpu(kernel_request const& r) {
  auto const files = rill::detail::file_sequence::in(r.state, decode<attributes>(r.at.attributes));
  kernel k([files, place = r.variables[0]](kernel_call const& call) {
    auto record = files->next(*place, call.step.version);
    call.give(0, tensor(std::move(record.key)));
    call.give(1, std::move(record.value));
  });
  k.allocates_outputs = true;
  return k;
}

}  // namespace ops

namespace detail {

/// Returns the names of the attributes that differ.
template <class Attributes> std::string names_of_differences(Attributes const& a, Attributes const& b) {
  std::string names;
  auto const add = [&](auto const& f) {
    if (!(a.*f.member == b.*f.member)) names += (names.empty() ? "" : ", ") + std::string(f.name);
  };
  Attributes::fields([&](auto const&... each) { (add(each), ...); });
  return names;
}

RILL_IO_INLINE std::shared_ptr<file_sequence> file_sequence::in(container& c,
                                                                ops::read_record_op::attributes const& a) {
  auto const there = c.other<file_sequence>(a.reader, [&] { return new file_sequence(a); });
  if (there->a_ != a)
    throw error(code::failed_precondition,
                "the container already has a reader of that name that is made otherwise: they differ in " +
                    names_of_differences(there->a_, a),
                a.reader);
  return there;
}

RILL_IO_INLINE keyed_record file_sequence::next(variable_state& place, std::uint64_t version) {
  std::lock_guard lock(mutex_);
  auto at = where(place.read(version));
  bool gave_some = at != point{at.epoch, 0, {}};  // in this epoch
  for (;;) {
    if (a_.epochs >= 0 && at.epoch >= a_.epochs)
      throw error(code::out_of_range,
                  "the reader '" + a_.reader + "' has given every record " + std::to_string(a_.epochs) + " times");
    go(at);
    if (auto record = reader_->next()) {
      if (!accepts(a_.of, record->value.type()))
        throw error(code::invalid_argument, "the record '" + record->key + "' is " +
                                                with_article(record->value.type()) + ", not " + with_article(a_.of));
      at.in_file = reader_->position();
      stands_ = at;
      place.assign(as_tensor(at), version);
      return std::move(*record);
    }
    if (at.file + 1 < static_cast<std::int64_t>(order_.size())) {
      at = {at.epoch, at.file + 1, {}};
      continue;
    }
    if (!std::exchange(gave_some, false))  // otherwise it would search forever
      throw error(code::failed_precondition, "the files of reader '" + a_.reader + "' have no records");
    at = {at.epoch + 1, 0, {}};
  }
}

RILL_IO_INLINE file_sequence::point file_sequence::where(tensor const& t) {
  auto const v = t.span<std::int64_t>();
  if (v[0] < 0 || v[1] < 0 || v[2] < 0 || v[3] < 0)
    throw error(code::invalid_argument, "the variable that says where a reader is holds a negative number");
  return {v[0], v[1], {static_cast<std::uint64_t>(v[2]), static_cast<std::uint64_t>(v[3])}};
}

RILL_IO_INLINE tensor file_sequence::as_tensor(point const& p) {
  tensor t(dtype::int64, {4});
  auto* const v = t.mutable_data<std::int64_t>();
  v[0] = p.epoch, v[1] = p.file;
  v[2] = static_cast<std::int64_t>(p.in_file.byte), v[3] = static_cast<std::int64_t>(p.in_file.record);
  return t;
}

RILL_IO_INLINE void file_sequence::go(point const& to) {
  if (reader_ && stands_ == to) return;
  if (order_.empty() || ordered_for_ != to.epoch) set_order(to.epoch);
  if (to.file >= static_cast<std::int64_t>(order_.size()))
    throw error(code::failed_precondition,
                "the reader '" + a_.reader + "' has fewer files than it had when it was saved");
  reader_ = open(order_[static_cast<std::size_t>(to.file)]);
  if (to.in_file != record_position{}) reader_->seek(to.in_file);
  stands_ = to;
}

RILL_IO_INLINE void file_sequence::set_order(std::int64_t epoch) {
  order_.clear();
  for (auto const& p : a_.patterns)
    for (auto& file : matching_files(p)) order_.push_back(std::move(file));
  ordered_for_ = epoch;
  if (!a_.shuffle_files) return;
  random_stream const random{
      random_stream::key_of(static_cast<std::uint64_t>(a_.seed), static_cast<std::uint64_t>(epoch)), 0};
  for (auto n = order_.size(); n > 1; --n) {
    auto const w = random.block(n);
    std::swap(order_[n - 1], order_[(std::uint64_t{w[0]} << 32 | w[1]) % n]);
  }
}

RILL_IO_INLINE std::optional<record_reader> file_sequence::open(std::filesystem::path const& path) const {
  switch (a_.format) {
    case record_format::text_line:
      return record_reader(text_line_reader(path));
    case record_format::csv:
      return record_reader(csv_record_reader(path, {.delimiter = static_cast<char>(a_.delimiter),
                                                    .header_lines = static_cast<std::size_t>(a_.header_lines)}));
    case record_format::tfrecord:
      return record_reader(tfrecord_reader(path));
    case record_format::whole_file:
      return record_reader(whole_file_reader(path));
    case record_format::fixed:
      return record_reader(fixed_record_reader(path, {.record_bytes = static_cast<std::uint64_t>(a_.record_bytes),
                                                      .header_bytes = static_cast<std::uint64_t>(a_.header_bytes),
                                                      .footer_bytes = static_cast<std::uint64_t>(a_.footer_bytes)}));
    case record_format::idx_row:
      return record_reader(idx_rows(path));
    case record_format::npy_row:
      return record_reader(npy_rows(path));
  }
  throw error(code::invalid_argument, "a reader's format is none that is known");
}

}  // namespace detail

#endif

}  // namespace rill
