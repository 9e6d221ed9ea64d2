// Numbers that know what they count, and vectors that only their own numbers enter (rustc's IndexVec).
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace rill {

/// The kind of an index: `enum class slot_id : std::uint32_t {};`.
template <class T>
concept index_type = std::is_enum_v<T> && std::is_same_v<std::underlying_type_t<T>, std::uint32_t>;

/// The index that names no element.
template <index_type Id> inline constexpr Id no_index{UINT32_MAX};

/// Returns an index as a plain number.
template <index_type Id> constexpr std::uint32_t as_integer(Id i) { return static_cast<std::uint32_t>(i); }
/// Returns a plain number as an index.
template <index_type Id> constexpr Id as_index(std::size_t i) { return static_cast<Id>(i); }
/// Returns the index after `i`.
template <index_type Id> constexpr Id next(Id i) { return Id{as_integer(i) + 1}; }

/// The indices from `first` to `last`, without `last`, for range-based loops.
template <index_type Id> class index_range {
 public:
  class iterator {
   public:
    constexpr explicit iterator(std::uint32_t at) : at_(at) {}
    constexpr Id operator*() const { return Id{at_}; }
    constexpr iterator& operator++() {
      ++at_;
      return *this;
    }
    constexpr bool operator==(iterator const&) const = default;

   private:
    std::uint32_t at_;
  };
  constexpr index_range(Id first, Id last) : first_(first), last_(last) {}
  constexpr iterator begin() const { return iterator(as_integer(first_)); }
  constexpr iterator end() const { return iterator(as_integer(last_)); }

 private:
  Id first_, last_;
};

/// A vector whose elements are found by indices of one kind. As with std::vector, an index outside is undefined
/// behaviour.
template <index_type Id, class T> class indexed {
 public:
  indexed() = default;
  explicit indexed(std::size_t n, T const& value = T()) : all_(n, value) {}

  decltype(auto) operator[](Id i) { return all_[as_integer(i)]; }
  decltype(auto) operator[](Id i) const { return all_[as_integer(i)]; }

  /// Appends an element and returns its index.
  Id push_back(T value) {
    all_.push_back(std::move(value));
    return as_index<Id>(all_.size() - 1);
  }
  void resize(std::size_t n) { all_.resize(n); }

  std::size_t size() const { return all_.size(); }
  bool empty() const { return all_.empty(); }
  /// Returns the indices of all elements, ascending.
  index_range<Id> indices() const { return {Id{0}, end_index()}; }
  /// Returns the index after that of the last element.
  Id end_index() const { return as_index<Id>(all_.size()); }

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

  /// Returns the elements as a plain vector, for code that does not look them up by index.
  std::vector<T>& all() { return all_; }
  std::vector<T> const& all() const { return all_; }

 private:
  std::vector<T> all_;
};

}  // namespace rill
