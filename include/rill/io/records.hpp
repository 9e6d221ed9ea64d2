// A common interface of record readers: lines, records of TFRecord or CSV files, rows of arrays, whole files.
#pragma once
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "rill/io/csv_records.hpp"
#include "rill/io/fixed_records.hpp"
#include "rill/io/matching_files.hpp"
#include "rill/io/record_stream.hpp"
#include "rill/io/tensor_rows.hpp"
#include "rill/io/text_lines.hpp"
#include "rill/io/tfrecord.hpp"
#include "rill/io/whole_file.hpp"
#include "rill/tensor/tensor.hpp"

namespace rill {

/// A record with a unique key, its file's name and its number from 1, as in "train.csv:12". The value is a string
/// scalar, or a row of an array.
struct keyed_record {
  std::string key;
  tensor value;
};

/// A reader that returns records one by one and can move back to an earlier position.
template <class R>
concept record_source = requires(R r, R const c, record_position p) {
  { tensor(*r.next()) } -> std::same_as<tensor>;
  { static_cast<bool>(r.next()) };
  { c.name() } -> std::convertible_to<std::string>;
  { c.position() } -> std::same_as<record_position>;
  r.seek(p);
};

/// A reader of any kind: `record_reader r(text_line_reader("a.txt")); while (auto record = r.next()) …`.
class record_reader {
 public:
  template <class R>
    requires(!std::same_as<R, record_reader>) && record_source<R>
  explicit record_reader(R from) : held_(only_errors([&] { return std::make_unique<holder<R>>(std::move(from)); })) {}

  /// Returns the next record; empty at the end.
  std::optional<keyed_record> next() {
    return only_errors([&] { return held_->next(); });
  }
  /// Returns the file's name.
  std::string name() const {
    return only_errors([&] { return held_->name(); });
  }
  /// Returns the position of the next record; `seek` moves a reader of the same file there, in this process or a later
  /// one.
  record_position position() const { return held_->position(); }
  void seek(record_position to) { held_->seek(to); }

 private:
  struct any {
    virtual ~any() = default;
    virtual std::optional<keyed_record> next() = 0;
    virtual std::string name() const = 0;
    virtual record_position position() const = 0;
    virtual void seek(record_position) = 0;
  };
  template <class R> struct holder final : any {
    explicit holder(R r) : from(std::move(r)) {}
    std::optional<keyed_record> next() override {
      auto const before = from.position();
      try {
        auto value = from.next();
        if (!value) return std::nullopt;
        return keyed_record{name() + ":" + std::to_string(from.position().record), tensor(*std::move(value))};
      } catch (...) {
        // For want of memory no record is lost. After other errors a reader may go on behind the record that is bad.
        if (caught_failure()->code() == code::resource_exhausted) seek_without_throwing(before);
        throw;
      }
    }
    std::string name() const override { return from.name(); }
    record_position position() const override { return from.position(); }
    void seek(record_position to) override { from.seek(to); }
    void seek_without_throwing(record_position to) noexcept {
      try {
        from.seek(to);
      } catch (...) {  // the caller has an error to report already
      }
    }
    R from;
  };

  std::unique_ptr<any> held_;
};

}  // namespace rill
