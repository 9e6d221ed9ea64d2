// Runs a program over tiles: broadcasting, strides, threads and fusion in one place for every elementwise operation.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "rill/base/parallel.hpp"
#include "rill/program/collapse.hpp"
#include "rill/program/passes.hpp"
#include "rill/type/shape.hpp"

namespace rill {

/// A program bound to extents, with the strides of every operand.
class bound_program {
 public:
  /// Binds the program to the extents of its operands, which must broadcast to `output`, the extents of every result.
  bound_program(program const& p, std::vector<shape> const& inputs, shape const& output);

  /// Computes the outputs from the inputs; `pointers` holds the inputs, then the outputs. An output may lie in an
  /// input's memory if `input_output_aliases` allows it.
  void operator()(void* const* pointers, parallel const& threads) const;

  /// Returns the tile function that computes the whole program, if it is short, has one line and no broadcasting; else
  /// null.
  tile_function single_tile() const;

  /// Whether output `o` may be written over input `i`: they have the same extents and element size, and the input is
  /// not read after the output is first written.
  bool input_output_aliases(std::size_t i, std::size_t o) const;

 private:
  static constexpr std::size_t scratch_bytes = 32768;  // on each thread's stack; fits the L1 cache
  static constexpr std::size_t chunk_elements = 16384;
  // Elements times lines that one thread computes in the 25 microseconds that another thread takes to wake up.
  static constexpr std::size_t single_thread_work = 1 << 18;
  static constexpr std::size_t few_registers = 32;

  struct operand {
    access how = access::direct;
    std::size_t size = 4;                          // bytes of an element
    std::array<std::int64_t, max_rank> strides{};  // in elements, over the collapsed extents
    std::int32_t slot = -1;                        // the scratch tile of a scalar or strided operand
  };
  void collapse(std::vector<shape> const& inputs, shape const& output);
  void assign_slots(program const& p);
  std::size_t wanted_scratch() const { return slots_ * tile_ * widest_; }
  void run_chunk(void* const* pointers, std::size_t first, std::size_t last) const;
  void run_range(void* const* pointers, std::size_t first, std::size_t last, std::byte* scratch) const;
  void run_one(void* const* pointers) const;
  void load(operand const&, std::byte const* from, std::byte* to, std::size_t first, std::size_t n) const;
  static void fill(std::byte* to, std::byte const* value, std::size_t size, std::size_t n);

  std::size_t elements_ = 0, tile_ = 1024, inputs_ = 0, outputs_ = 0, first_result_ = 0, registers_ = 0;
  std::vector<operand> operands_;  // for each input and immediate
  std::vector<immediate> immediates_;
  std::vector<program_pass> steps_;
  std::vector<std::int32_t> place_;    // for each register: a scratch slot (≥ 0), or an output (-1 - number)
  std::vector<std::uint16_t> copied_;  // outputs that are inputs, immediates or duplicates of an output
  std::vector<std::uint16_t> output_registers_;
  std::vector<std::size_t> last_reader_;  // for each register: the last result that reads it; copies come last
  std::vector<std::size_t> sizes_;        // for each register: bytes of an element
  std::vector<std::int64_t> extents_;     // collapsed
  std::size_t slots_ = 0, widest_ = 1;
};

#if RILL_RUNTIME
RILL_INLINE bound_program::bound_program(program const& p, std::vector<shape> const& inputs, shape const& output) {
  elements_ = static_cast<std::size_t>(elements(output));
  inputs_ = p.inputs.size();
  outputs_ = p.outputs.size();
  first_result_ = p.first_result();
  registers_ = p.registers();
  immediates_ = p.immediates;
  output_registers_ = p.outputs;
  for (std::size_t r = 0; r < registers_; ++r) sizes_.push_back(size_of(p.element(r)));
  steps_ = passes_of(p);
  collapse(inputs, output);
  assign_slots(p);
}

RILL_INLINE void bound_program::collapse(std::vector<shape> const& inputs, shape const& output) {
  auto all = rill::collapse(inputs, output);
  extents_ = std::move(all.extents);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    operands_.push_back({all.operands[i].how, sizes_[i], all.operands[i].strides, -1});
}

// Assigns scratch tiles to registers; a tile is reused after the last instruction that reads it. Results that are
// outputs are written directly to the output.
RILL_INLINE void bound_program::assign_slots(program const& p) {
  std::vector<std::size_t> last(registers_, 0);
  for (std::size_t s = 0; s < steps_.size(); ++s)
    for (std::size_t k = 0; k < steps_[s].arity; ++k) last[steps_[s].operands[k]] = s;
  last_reader_.assign(registers_, 0);
  for (auto const& s : steps_)
    for (std::size_t k = 0; k < s.arity; ++k)
      last_reader_[s.operands[k]] = std::max<std::size_t>(last_reader_[s.operands[k]], s.result);
  place_.assign(registers_, 0);
  std::vector<bool> is_output(registers_, false);
  for (std::size_t o = 0; o < p.outputs.size(); ++o) {
    auto const r = p.outputs[o];
    if (r < first_result_ || is_output[r])
      copied_.push_back(static_cast<std::uint16_t>(o)), last_reader_[r] = registers_;
    else place_[r] = -1 - static_cast<std::int32_t>(o), is_output[r] = true;
  }
  for (std::size_t r = 0; r < first_result_; ++r) {
    if (r >= inputs_) operands_.push_back({access::scalar, sizes_[r], {}, -1});
    if (operands_[r].how != access::direct) operands_[r].slot = static_cast<std::int32_t>(slots_++);
  }
  std::vector<std::int32_t> free;
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    auto const r = steps_[s].result;
    if (is_output[r]) continue;
    if (free.empty()) free.push_back(static_cast<std::int32_t>(slots_++));
    place_[r] = free.back();
    free.pop_back();
    for (std::size_t k = 0; k < steps_[s].arity; ++k) {
      auto const from = steps_[s].operands[k];
      bool const first_mention =
          std::find(steps_[s].operands.begin(), steps_[s].operands.begin() + static_cast<std::ptrdiff_t>(k), from) ==
          steps_[s].operands.begin() + static_cast<std::ptrdiff_t>(k);
      if (from >= first_result_ && place_[from] >= 0 && last[from] == s && first_mention) free.push_back(place_[from]);
    }
  }
  for (auto size : sizes_) widest_ = std::max(widest_, size);
  if (slots_ > 0) tile_ = std::clamp<std::size_t>(scratch_bytes / (slots_ * widest_) / 64 * 64, 64, 1024);
}

RILL_INLINE tile_function bound_program::single_tile() const {
  bool const direct =
      std::all_of(operands_.begin(), operands_.end(), [](auto const& o) { return o.how == access::direct; });
  bool in_order = steps_.size() == 1 && copied_.empty() && elements_ <= chunk_elements;
  for (std::size_t k = 0; in_order && k < steps_[0].arity; ++k) in_order = steps_[0].operands[k] == k;
  return direct && in_order && inputs_ == steps_[0].arity ? steps_[0].run : nullptr;
}

RILL_INLINE bool bound_program::input_output_aliases(std::size_t i, std::size_t o) const {
  auto const out = output_registers_[o];
  if (out < first_result_ || sizes_[i] != sizes_[out] || operands_[i].how != access::direct ||
      place_[out] != -1 - static_cast<std::int32_t>(o))
    return false;
  return last_reader_[i] <= out;
}

RILL_INLINE void bound_program::fill(std::byte* to, std::byte const* value, std::size_t size, std::size_t n) {
  auto const each = [&]<class T>(T) {
    T v;
    std::memcpy(&v, value, sizeof(T));
    std::fill_n(reinterpret_cast<T*>(to), n, v);
  };
  switch (size) {
    case 1:
      return each(std::uint8_t{});
    case 2:
      return each(std::uint16_t{});
    case 4:
      return each(std::uint32_t{});
    case 8:
      return each(std::uint64_t{});
    default:
      for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * size, value, size);
  }
}

RILL_INLINE void bound_program::load(operand const& o, std::byte const* from, std::byte* to, std::size_t first,
                                     std::size_t n) const {
  auto const rank = extents_.size();
  std::array<std::int64_t, max_rank> index{};
  std::int64_t rest = static_cast<std::int64_t>(first), offset = 0;
  for (std::size_t axis = rank; axis-- > 0;) {
    index[axis] = rest % extents_[axis];
    rest /= extents_[axis];
    offset += index[axis] * o.strides[axis];
  }
  auto const inner = o.strides[rank - 1];
  while (n > 0) {
    auto const run = std::min(n, static_cast<std::size_t>(extents_[rank - 1] - index[rank - 1]));
    auto const* at = from + offset * static_cast<std::int64_t>(o.size);
    if (inner == 1) std::memcpy(to, at, run * o.size);
    else if (inner == 0) fill(to, at, o.size, run);
    else
      for (std::size_t i = 0; i < run; ++i)
        std::memcpy(to + i * o.size, at + static_cast<std::int64_t>(i * o.size) * inner, o.size);
    to += run * o.size;
    n -= run;
    // Advance the odometer: the inner axis is at its end, unless the work is finished.
    offset -= index[rank - 1] * inner;
    index[rank - 1] = 0;
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      offset += o.strides[axis];
      if (++index[axis] < extents_[axis]) break;
      offset -= extents_[axis] * o.strides[axis];
      index[axis] = 0;
    }
  }
}

RILL_INLINE void bound_program::run_range(void* const* pointers, std::size_t first, std::size_t last,
                                          std::byte* scratch) const {
  auto const slot = [&](std::int32_t i) { return scratch + static_cast<std::size_t>(i) * tile_ * widest_; };
  for (std::size_t r = 0; r < first_result_; ++r) {
    auto const& o = operands_[r];
    if (o.how == access::scalar)
      fill(slot(o.slot),
           r < inputs_ ? static_cast<std::byte const*>(pointers[r]) : immediates_[r - inputs_].bytes.data(), o.size,
           std::min(tile_, last - first));
  }
  for (std::size_t at = first; at < last; at += tile_) {
    auto const n = std::min(tile_, last - at);
    auto const where = [&](std::size_t r) -> std::byte* {
      if (r < first_result_) {
        auto const& o = operands_[r];
        return o.how == access::direct ? static_cast<std::byte*>(pointers[r]) + at * o.size : slot(o.slot);
      }
      if (place_[r] >= 0) return slot(place_[r]);
      return static_cast<std::byte*>(pointers[inputs_ + static_cast<std::size_t>(-1 - place_[r])]) + at * sizes_[r];
    };
    for (std::size_t i = 0; i < inputs_; ++i)
      if (operands_[i].how == access::strided)
        load(operands_[i], static_cast<std::byte const*>(pointers[i]), slot(operands_[i].slot), at, n);
    for (auto const& s : steps_) {
      void const* in[max_operands];
      for (std::size_t k = 0; k < s.arity; ++k) in[k] = where(s.operands[k]);
      s.run(where(s.result), in, n);
    }
    for (auto o : copied_) {
      auto const r = output_registers_[o];
      std::memmove(static_cast<std::byte*>(pointers[inputs_ + o]) + at * sizes_[r], where(r), n * sizes_[r]);
    }
  }
}

RILL_INLINE void bound_program::run_chunk(void* const* pointers, std::size_t first, std::size_t last) const {
  alignas(64) std::byte scratch[scratch_bytes];
  run_range(pointers, first, last, scratch);
}

// A single element is not copied, because every operand begins with it.
RILL_INLINE void bound_program::run_one(void* const* pointers) const {
  constexpr std::size_t widest = 16;
  alignas(64) std::byte scratch[few_registers * widest];
  void* at[few_registers];
  std::copy_n(pointers, inputs_, at);
  for (std::size_t i = 0; i < immediates_.size(); ++i)
    at[inputs_ + i] = const_cast<std::byte*>(immediates_[i].bytes.data());
  for (auto r = first_result_; r < registers_; ++r)
    at[r] = place_[r] >= 0 ? scratch + static_cast<std::size_t>(place_[r]) * widest
                           : pointers[inputs_ + static_cast<std::size_t>(-1 - place_[r])];
  for (auto const& s : steps_) {
    void const* in[max_operands];
    for (std::size_t k = 0; k < s.arity; ++k) in[k] = at[s.operands[k]];
    s.run(at[s.result], in, 1);
  }
  for (auto o : copied_) std::memmove(pointers[inputs_ + o], at[output_registers_[o]], sizes_[output_registers_[o]]);
}

RILL_INLINE void bound_program::operator()(void* const* pointers, parallel const& threads) const {
  if (elements_ == 1 && registers_ <= few_registers) return run_one(pointers);
  if (auto const wanted = wanted_scratch();
      wanted > scratch_bytes) {  // hundreds of registers: only the caller's thread
    std::vector<std::byte> scratch(wanted);
    return run_range(pointers, 0, elements_, scratch.data());
  }
  if (elements_ * std::max<std::size_t>(steps_.size(), 1) <= single_thread_work)
    return run_chunk(pointers, 0, elements_);
  threads((elements_ + chunk_elements - 1) / chunk_elements, [&](std::size_t chunk) {
    run_chunk(pointers, chunk * chunk_elements, std::min(elements_, (chunk + 1) * chunk_elements));
  });
}
#endif

}  // namespace rill
