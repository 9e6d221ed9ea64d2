// A variable: a tensor that outlives the step.
#pragma once
#include <mutex>
#include <string>
#include <utility>

#include "rill/tensor/tensor.hpp"

namespace rill {

/// A named tensor that steps read and update. Reads are snapshots: they share the elements, and an update copies them
/// first if somebody still looks (white paper §2; copy on write).
class variable_state {
 public:
  variable_state(std::string name, type t);

  std::string const& name() const { return name_; }
  /// The declared type; extents may be unknown.
  rill::type const& type() const { return type_; }
  bool initialized() const {
    std::lock_guard lock(mutex_);
    return static_cast<bool>(value_);
  }
  /// A snapshot; error(failed_precondition) before the first assignment.
  tensor read() const {
    std::lock_guard lock(mutex_);
    check();
    return value_;
  }
  /// Replaces the value; error(invalid_argument) if it is not of the declared type.
  void assign(tensor t);
  /// Lets `f(tensor&)` fill elements of the given extents that nobody else sees; the memory that is there is used
  /// again, or new one comes from `memory`. `f` must not throw.
  template <class F> void overwrite(shape const& extents, allocator& memory, F&& f) {
    if (!accepts(type_, rill::type(type_.element, extents)))
      throw error(code::invalid_argument,
                  "a value of " + extents.text() + " can't be assigned to a variable of " + type_.text(), name_);
    std::lock_guard lock(mutex_);
    if (!value_ || value_.shape() != extents || !value_.storage().unique())
      value_ = tensor(type_.element, extents, memory);
    f(value_);
  }
  /// Calls `f(tensor&)` with elements that nobody else sees, under the variable's lock.
  template <class F> void update(F&& f) {
    writer const mine(*this);
    f(mine.value());
  }
  /// The right to write, held as long as this lives; take several in the order of their addresses.
  class writer {
   public:
    explicit writer(variable_state& v);
    /// Elements that nobody else sees.
    tensor& value() const { return variable_.value_; }

   private:
    variable_state& variable_;
    std::unique_lock<std::mutex> lock_;
  };

  /// Calls `f(tensor const&)` under the variable's lock, for who reads a part of a large table.
  template <class F> void inspect(F&& f) const {
    std::lock_guard lock(mutex_);
    check();
    f(value_);
  }
  /// Forgets the value and gives its memory back.
  void reset() {
    std::lock_guard lock(mutex_);
    value_ = tensor();
  }

 private:
  void check() const {
    if (!value_)
      throw error(code::failed_precondition,
                  "the variable has no value yet: run its assignment or initializer(graph) first, or restore it",
                  name_);
  }

  std::string name_;
  rill::type type_;
  mutable std::mutex mutex_;
  tensor value_;
};

#if RILL_RUNTIME

RILL_INLINE variable_state::variable_state(std::string name, rill::type t) : name_(std::move(name)), type_(t) {}

RILL_INLINE void variable_state::assign(tensor t) {
  if (!accepts(type_, t.type()))
    throw error(code::invalid_argument, "a " + t.type().text() + " can't be assigned to a variable of " + type_.text(),
                name_);
  std::lock_guard lock(mutex_);
  std::swap(value_, t);
}

RILL_INLINE variable_state::writer::writer(variable_state& v) : variable_(v), lock_(v.mutex_) {
  v.check();
  if (!v.value_.storage().unique()) v.value_ = v.value_.clone(v.value_.storage().source());
}

#endif

}  // namespace rill
