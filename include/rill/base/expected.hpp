// What a function has given, or why it could not: std::expected of C++23, as far as it is needed.
#pragma once
#include <utility>
#include <variant>

#include "rill/base/error.hpp"

namespace rill {

/// A T, or an error in its place.
template <class T> class [[nodiscard]] expected {
 public:
  expected(T value) : held_(std::in_place_index<0>, std::move(value)) {}
  /// `why` is not null.
  expected(failure why) : held_(std::in_place_index<1>, std::move(why)) {}

  bool has_value() const noexcept { return held_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Returns the value, or throws the error.
  T& value() & {
    expect_value();
    return *std::get_if<0>(&held_);
  }
  T const& value() const& {
    expect_value();
    return *std::get_if<0>(&held_);
  }
  T&& value() && { return std::move(value()); }
  /// Returns the value, which must be there.
  T& operator*() & noexcept { return *std::get_if<0>(&held_); }
  T const& operator*() const& noexcept { return *std::get_if<0>(&held_); }
  T&& operator*() && noexcept { return std::move(*std::get_if<0>(&held_)); }
  T* operator->() noexcept { return std::get_if<0>(&held_); }
  T const* operator->() const noexcept { return std::get_if<0>(&held_); }
  /// Returns the error, which must be there.
  rill::error const& error() const noexcept { return **std::get_if<1>(&held_); }

 private:
  void expect_value() const {
    if (!has_value()) throw rill::error(error());
  }
  std::variant<T, failure> held_;
};

/// Success, or an error.
template <> class [[nodiscard]] expected<void> {
 public:
  expected() = default;
  /// `why` is not null.
  expected(failure why) : why_(std::move(why)) {}

  bool has_value() const noexcept { return why_ == nullptr; }
  explicit operator bool() const noexcept { return has_value(); }
  /// Throws the error if there is one.
  void value() const {
    if (why_) throw rill::error(*why_);
  }
  void operator*() const noexcept {}
  /// Returns the error, which must be there.
  rill::error const& error() const noexcept { return *why_; }

 private:
  failure why_;
};

}  // namespace rill
