#include "rill/graph/codec_words.hpp"

#include <gtest/gtest.h>

#include <random>

namespace rill {
namespace {

template <class T> std::string bytes_of(T const& v) {
  wire::writer to;
  wire::save(to, v);
  return to.take();
}
template <class T> T value_of(std::string const& bytes) {
  wire::reader from(bytes);
  T v{};
  wire::load(from, v);
  EXPECT_EQ(from.remaining(), 0u);
  return v;
}
// Bytes cut at any place are refused: nothing is read beyond, nothing is made of what is not there.
template <class T> void is_refused_when_cut(std::string const& bytes) {
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    std::string const sub = bytes.substr(0, n);
    wire::reader from(sub);
    T v{};
    try {
      wire::load(from, v);
      ADD_FAILURE() << "cut at " << n << " of " << bytes.size();
    } catch (error const& e) {
      EXPECT_EQ(e.code(), code::data_loss);
    }
  }
}
template <class T> std::string why_refused(std::string const& bytes) {
  wire::reader from(bytes);
  T v{};
  try {
    wire::load(from, v);
  } catch (error const& e) {
    EXPECT_EQ(e.code(), code::data_loss);
    return e.message();
  }
  return "taken";
}

TEST(codec_words, types_come_back) {
  for (auto const& t : {of<float>, of<std::string, 3>, of<std::int8_t, "batch", 7, unknown>,
                        of<std::complex<double>, 1, 2, 3, 4, 5, 6, 7, 8>, type::of_unknown_rank(dtype::boolean)}) {
    auto const bytes = bytes_of(t);
    EXPECT_EQ(value_of<type>(bytes), t);
    is_refused_when_cut<type>(bytes);
  }
}

TEST(codec_words, tensors_come_back) {
  for (auto const& t :
       {tensor(std::int64_t{-5}), tensor(vector<float>({1, -2, 3})), tensor(vector<bool>({true, false})),
        tensor(vector<std::string>({"", "a string that needs memory of its own", "c"})),
        tensor(dtype::float64, shape{0, 3})}) {
    auto const bytes = bytes_of(t);
    auto const back = value_of<tensor>(bytes);
    EXPECT_EQ(back.type(), t.type());
    EXPECT_EQ(bytes_of(back), bytes);
    is_refused_when_cut<tensor>(bytes);
  }
}

TEST(codec_words, that_can_not_be_are_refused) {
  EXPECT_EQ(why_refused<dtype>("\x7f"), "unknown element type");
  auto axis = bytes_of(dim("batch"));
  EXPECT_EQ(why_refused<dim>(std::string(8, '\xfe') + axis.substr(8)),
            "an extent is less than -1, or has a name and a number");
  EXPECT_EQ(why_refused<dim>(axis.substr(0, 8) + std::string(axis.size() - 8, 'x')),
            "an axis has a name without a terminating zero");
  axis.back() = 'x';  // behind the end of its name
  EXPECT_EQ(why_refused<dim>(axis), "an axis has a name without a terminating zero");
  auto both = bytes_of(dim(4));
  both[8] = 'n';
  EXPECT_EQ(why_refused<dim>(both), "an extent is less than -1, or has a name and a number");
  auto high = bytes_of(of<std::int8_t>);
  high[1] = static_cast<char>(max_rank + 1);
  EXPECT_EQ(why_refused<type>(high), "a type's rank is higher than 8");
  EXPECT_EQ(why_refused<extents>("\x09"), "a list of extents is longer than 8");
  auto truth = bytes_of(tensor(vector<bool>({true})));
  truth.back() = 2;
  EXPECT_EQ(why_refused<tensor>(truth), "a bool is neither 0 nor 1");
}

// What is announced is compared with what is there before memory is asked for.
TEST(codec_words, believes_no_size) {
  wire::writer to;
  wire::save(to, dtype::float64);
  wire::save(to, extents{std::int64_t{1} << 40, 1 << 10});
  EXPECT_EQ(why_refused<tensor>(to.take()).substr(0, 20), "the bytes end early:");
  for (extents const& each : {extents{std::int64_t{1} << 62, 4}, extents{-1}, extents{0, -7}}) {
    wire::writer hostile;
    wire::save(hostile, dtype::int8);
    wire::save(hostile, each);
    EXPECT_EQ(why_refused<tensor>(hostile.take()).substr(0, 36), "a tensor's extents are out of range:");
  }
}

TEST(codec_words, any_bytes_are_taken_or_refused) {
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (auto& c : bytes) c = static_cast<char>(random() % 4 != 0 ? random() % 9 : random());
    why_refused<type>(bytes);
    why_refused<tensor>(bytes);
  }
}

TEST(codec_words, an_empty_handle_has_no_bytes) { EXPECT_THROW(bytes_of(tensor()), error); }

}  // namespace
}  // namespace rill
