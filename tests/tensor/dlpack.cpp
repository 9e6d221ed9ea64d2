#include "rill/tensor/dlpack.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace rill {
namespace {

/// A structure as another library would hand it over, counting how often its deleter runs.
struct foreign {
  std::vector<std::int64_t> shape, strides;
  int deleted = 0;
  dlpack::managed_versioned face;

  foreign(void* data, dlpack::data_type type, std::vector<std::int64_t> s, std::vector<std::int64_t> steps = {})
      : shape(std::move(s)), strides(std::move(steps)) {
    face.array.data = data;
    face.array.type = type;
    face.array.rank = static_cast<std::int32_t>(shape.size());
    face.array.shape = shape.data();
    face.array.strides = strides.empty() ? nullptr : strides.data();
    face.context = this;
    face.deleter = [](dlpack::managed_versioned* m) { ++static_cast<foreign*>(m->context)->deleted; };
  }
  foreign(foreign const&) = delete;

  code refusal() {
    try {
      from_dlpack(&face);
    } catch (error const& e) {
      EXPECT_EQ(deleted, 0) << "a refused structure still belongs to the caller";
      return e.code();
    }
    return code::internal;
  }
};

constexpr dlpack::data_type f32{2, 32, 1}, boolean{6, 8, 1};

template <class T> std::vector<T> values(tensor const& t) { return {t.span<T>().begin(), t.span<T>().end()}; }

TEST(dlpack, lends_elements_without_a_copy_until_the_deleter_is_called) {
  auto const before = host_allocator().usage().count;
  dlpack::managed_versioned* m = nullptr;
  {
    tensor t = matrix<float>({{1, 2, 3}, {4, 5, 6}});
    m = to_dlpack(t);
    EXPECT_EQ(m->array.data, t.raw());
  }
  EXPECT_EQ(m->version.major, 1u);
  EXPECT_EQ(m->flags, 0u);
  EXPECT_EQ(m->array.device.kind, 1);
  EXPECT_EQ(m->array.rank, 2);
  EXPECT_EQ(m->array.type, f32);
  EXPECT_EQ(m->array.shape[1], 3);
  EXPECT_EQ(m->array.strides[0], 3);
  EXPECT_EQ(m->array.strides[1], 1);
  EXPECT_EQ(static_cast<float const*>(m->array.data)[5], 6.f);
  EXPECT_EQ(host_allocator().usage().count, before + 1);
  m->deleter(m);
  EXPECT_EQ(host_allocator().usage().count, before);
}

TEST(dlpack, returns_every_element_type_by_both_forms) {
  for (std::size_t i = 0; i + 1 < dtype_count; ++i) {
    tensor t(static_cast<dtype>(i), {2, 3});
    std::memset(t.mutable_raw(), 1, t.bytes());
    auto const back = from_dlpack(to_dlpack(t));
    EXPECT_EQ(back.raw(), t.raw());
    EXPECT_TRUE(same_bits(back, t));
    EXPECT_TRUE(same_bits(from_dlpack(to_dlpack_unversioned(t)), t));
  }
}

TEST(dlpack, returns_scalars_empty_tensors_and_shares_that_start_late) {
  tensor const rows = matrix<float>({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_EQ(values<float>(from_dlpack(to_dlpack(rows.rows(1, 3)))), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(from_dlpack(to_dlpack(tensor(7.f))).item<float>(), 7.f);
  EXPECT_EQ(from_dlpack(to_dlpack(tensor(dtype::float32, {0, 3}))).shape(), (shape{0, 3}));
}

TEST(dlpack, calls_the_foreign_deleter_with_the_last_share) {
  float data[] = {1, 2, 3, 4};
  foreign f(data, f32, {2, 2}, {2, 1});
  tensor t = from_dlpack(&f.face), share = t.rows(1, 2);
  EXPECT_EQ(t.raw(), data);
  t = {};
  EXPECT_EQ(f.deleted, 0);
  share = {};
  EXPECT_EQ(f.deleted, 1);
}

TEST(dlpack, respects_the_byte_offset) {
  float data[] = {1, 2, 3, 4};
  foreign f(data, f32, {2});
  f.face.array.byte_offset = 8;
  EXPECT_EQ(values<float>(from_dlpack(&f.face)), (std::vector<float>{3, 4}));
}

TEST(dlpack, copies_what_is_not_row_after_row_and_lets_it_go_at_once) {
  float data[] = {1, 2, 3, 4, 5, 6};
  foreign transposed(data, f32, {3, 2}, {1, 3}), reversed(data + 5, f32, {6}, {-1}),
      repeated(data, f32, {2, 3}, {0, 2});
  EXPECT_EQ(values<float>(from_dlpack(&transposed.face)), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values<float>(from_dlpack(&reversed.face)), (std::vector<float>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(values<float>(from_dlpack(&repeated.face)), (std::vector<float>{1, 3, 5, 1, 3, 5}));
  EXPECT_EQ(transposed.deleted + reversed.deleted + repeated.deleted, 3);
}

TEST(dlpack, ignores_the_strides_of_axes_of_extent_one) {
  float data[] = {1, 2, 3};
  foreign f(data, f32, {1, 3, 1}, {77, 1, -5});
  EXPECT_EQ(from_dlpack(&f.face).raw(), data);
  // Those of what is copied as well.
  for (std::int64_t huge : {INT64_MAX, INT64_MIN, -INT64_MAX / 2}) {
    foreign frozen(data, f32, {1, 3, 1}, {huge, 1, huge}), reversed(data + 2, f32, {3, 1}, {-1, huge});
    frozen.face.flags = dlpack::read_only;
    EXPECT_EQ(values<float>(from_dlpack(&frozen.face)), (std::vector<float>{1, 2, 3})) << huge;
    EXPECT_EQ(values<float>(from_dlpack(&reversed.face)), (std::vector<float>{3, 2, 1})) << huge;
  }
}

TEST(dlpack, copies_misaligned_and_read_only_elements) {
  alignas(8) unsigned char bytes[12] = {};
  foreign misaligned(bytes + 1, f32, {2}), frozen(bytes, f32, {2});
  frozen.face.flags = dlpack::read_only;
  EXPECT_EQ(values<float>(from_dlpack(&misaligned.face)), (std::vector<float>{0, 0}));
  EXPECT_NE(from_dlpack(&frozen.face).raw(), bytes);
  EXPECT_EQ(misaligned.deleted + frozen.deleted, 2);
}

TEST(dlpack, reads_any_nonzero_byte_as_true) {
  unsigned char bytes[] = {0, 1, 7, 255};
  foreign f(bytes, boolean, {4});
  auto const t = from_dlpack(&f.face);
  EXPECT_EQ(std::vector<bool>(t.data<bool>(), t.data<bool>() + 4), (std::vector<bool>{false, true, true, true}));
  EXPECT_EQ(bytes[2], 7);
}

TEST(dlpack, refuses_devices_types_ranks_versions_and_extents_that_it_does_not_know) {
  float data[4] = {};
  foreign gpu(data, f32, {4}), lanes(data, {2, 32, 4}, {1}), float8(data, {10, 8, 1}, {4}),
      strange(data, {2, 24, 1}, {1}), newer(data, f32, {4}), deep(data, f32, std::vector<std::int64_t>(9, 1)),
      negative(data, f32, {-4}), huge(data, f32, {INT64_MAX, 2}), absent(nullptr, f32, {4}), shapeless(data, f32, {4}),
      below(data, f32, {});
  gpu.face.array.device = {2, 1};
  newer.face.version.major = 2;
  shapeless.face.array.shape = nullptr;
  below.face.array.rank = -1;
  for (auto* each : {&gpu, &lanes, &float8, &strange, &newer}) EXPECT_EQ(each->refusal(), code::unimplemented);
  for (auto* each : {&deep, &negative, &huge, &absent, &shapeless, &below})
    EXPECT_EQ(each->refusal(), code::invalid_argument);
  EXPECT_THROW(from_dlpack(static_cast<dlpack::managed*>(nullptr)), error);
  try {
    from_dlpack(&gpu.face);
  } catch (error const& e) {
    EXPECT_NE(e.message().find("device type 2, number 1"), std::string::npos);
  }
}

TEST(dlpack, refuses_strides_that_lead_out_of_the_address_space) {
  float data[4] = {};
  foreign far(data, f32, {3, 2}, {INT64_MAX / 2, 1}), least(data, f32, {2, 2}, {INT64_MIN, 1});
  EXPECT_EQ(far.refusal(), code::invalid_argument);
  EXPECT_EQ(least.refusal(), code::invalid_argument);
}

TEST(dlpack, does_not_lend_strings_or_empty_handles) {
  EXPECT_THROW(to_dlpack(tensor(std::string("a"))), error);
  EXPECT_THROW(to_dlpack(tensor()), error);
}

}  // namespace
}  // namespace rill
