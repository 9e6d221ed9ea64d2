// Writes and reads rows of arrays.
#pragma once

#if RILL_DEFINITIONS
#include "rill/tensor/elements.hpp"

namespace rill::ops {

inline kernel array_new_op::cpu(kernel_request const& r) {
  return kernel([of = r.outputs[0]](kernel_call const& call) {
    clear_elements(of.element, call.out(0), static_cast<std::size_t>(rill::elements(of.shape())));
    clear_elements(dtype::boolean, call.out(1), static_cast<std::size_t>(of[0].extent));
  });
}

inline kernel array_full_op::cpu(kernel_request const& r) {
  return kernel([n = r.outputs[0][0].extent](kernel_call const& call) { std::fill_n(call.out<bool>(0), n, true); });
}

/// What kernels of arrays share: the indices and the size of a row.
class array_rows {
 public:
  array_rows(type const& rows, type const& which)
      : read_(which, rows[0].extent), element_(rows.element), count_(static_cast<std::size_t>(rows[0].extent)) {
    for (std::size_t i = 1; i < rows.rank; ++i) width_ *= static_cast<std::size_t>(rows[i].extent);
  }
  /// Copies the whole array, unless it is updated in place.
  void keep(kernel_call const& call) const {
    if (call.in(0) != call.out(0)) copy_elements(element_, call.out(0), call.in(0), count_ * width_);
    if (call.in(1) != call.out(1)) copy_elements(dtype::boolean, call.out(1), call.in(1), count_);
  }
  void write(kernel_call const& call) const {
    auto const* which = call.in(2);
    auto const* const before = call.in<bool>(1);
    read_.check(which);
    for (std::size_t i = 0; i < read_.count(); ++i)
      if (before[read_.at(which, i)]) refuse(read_.at(which, i), "was already written: a row can be written only once");
    keep(call);
    auto* const written = call.out<bool>(1);
    for (std::size_t i = 0; i < read_.count(); ++i) {
      auto const row = read_.at(which, i);
      if (std::exchange(written[row], true))
        refuse(row, "is written twice by one write: a row can be written only once");
      copy(at(call.out(0), row), at(call.in(3), static_cast<std::int64_t>(i)));
    }
  }
  void read(kernel_call const& call) const {
    auto const* which = call.in(2);
    read_.check(which);
    for (std::size_t i = 0; i < read_.count(); ++i)
      if (!call.in<bool>(1)[read_.at(which, i)]) refuse(read_.at(which, i), "was read before it was written");
    for (std::size_t i = 0; i < read_.count(); ++i)
      copy(at(call.out(0), static_cast<std::int64_t>(i)), at(call.in(0), read_.at(which, i)));
  }

 private:
  [[noreturn]] static void refuse(std::int64_t row, char const* why) {
    throw error(code::failed_precondition, "tensor_array: row " + std::to_string(row) + " " + why);
  }
  void* at(void const* rows, std::int64_t row) const {
    return static_cast<std::byte*>(const_cast<void*>(rows)) +
           static_cast<std::size_t>(row) * width_ * size_of(element_);
  }
  void copy(void* to, void const* from) const { copy_elements(element_, to, from, width_); }

  index_reader read_;
  dtype element_;
  std::size_t count_, width_ = 1;
};

inline kernel array_write_op::cpu(kernel_request const& r) {
  return kernel([rows = array_rows(r.inputs[0], r.inputs[2])](kernel_call const& call) { rows.write(call); });
}

inline kernel array_read_op::cpu(kernel_request const& r) {
  return kernel([rows = array_rows(r.inputs[0], r.inputs[2])](kernel_call const& call) { rows.read(call); });
}

inline kernel array_stack_op::cpu(kernel_request const& r) {
  return kernel([of = r.outputs[0]](kernel_call const& call) {
    auto const* const written = call.in<bool>(1);
    auto const* const end = written + of[0].extent;
    if (auto const* const missing = std::find(written, end, false); missing != end)
      throw error(code::failed_precondition,
                  "tensor_array: row " + std::to_string(missing - written) + " was never written");
    if (call.in(0) != call.out(0))
      copy_elements(of.element, call.out(0), call.in(0), static_cast<std::size_t>(rill::elements(of.shape())));
  });
}

}  // namespace rill::ops
#endif
