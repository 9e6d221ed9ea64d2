// Operations that copy elements, on a GPU.
#pragma once
#include <cstddef>
#include <string>

#include "rill/cuda/gpu_device.hpp"
#include "rill/graph/kernel_request.hpp"

namespace rill::cuda {

/// Returns the text of a kernel `copy` that moves elements of so many bytes over so many axes, with numbers of 64 bits
/// if `wide`.
std::string copy_text(std::size_t bytes, std::size_t axes, bool wide);
/// Returns the text of a kernel `zeros` that clears bytes.
std::string clear_text();

/// Returns the kernel of an operation that has a copy_form.
kernel copy_kernel(kernel_request const& r);

}  // namespace rill::cuda

#if RILL_CUDA_RUNTIME
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "rill/cuda/copy_form.hpp"
#include "rill/graph/op_def.hpp"

namespace rill::cuda {

RILL_CUDA_INLINE std::string copy_text(std::size_t bytes, std::size_t axes, bool wide) {
  std::string const word = "std::uint" + std::to_string(8 * bytes) + "_t", count = wide ? "unsigned long" : "unsigned",
                    part = "copied_part<" + count + ", " + std::to_string(axes) + ">";
  return "#include <cstdint>\n"
         "#include \"rill/cuda/text/copy.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void copy(global<" +
         word + " const> from, global<" + word + "> to, " + count + " n, " + part +
         " part) {\n"
         "  copy_part(from, to, n, part);\n"
         "}\n";
}
RILL_CUDA_INLINE std::string clear_text() {
  return "#include \"rill/cuda/text/copy.cuh\"\n"
         "using namespace rill::text;\n"
         "extern \"C\" __global__ void zeros(global<unsigned char> to, unsigned long n) { clear(to, n); }\n";
}

namespace detail {

/// A copied part on a GPU.
class bound_copy {
 public:
  /// `bytes`: of an element.
  bound_copy(gpu_device const& on, copied_part whole, std::size_t bytes, std::int64_t from_size, std::int64_t to_size)
      : on_(on), input_(whole.input), output_(whole.output) {
    if (bytes == 16) {  // two words
      for (auto* each : {&whole.from, &whole.to}) {
        each->start *= 2;
        for (auto& s : each->strides) s *= 2;
        each->strides[whole.extents.size()] = 1;
      }
      whole.extents.push_back(2);
      bytes = 8, from_size *= 2, to_size *= 2;
    }
    auto part = simplified(std::move(whole));
    if (part.extents.empty()) part.extents.push_back(1);
    for (auto e : part.extents) elements_ *= static_cast<std::uint64_t>(e);
    wide_ = std::max(from_size, to_size) > INT32_MAX;
    bind(part);
    auto const rank = part.extents.size();
    run_ = on.find(copy_text(bytes, rank, wide_), "copy");
  }

  void operator()(kernel_call const& call) const { (*this)(call.in(input_), call.out(output_)); }
  void operator()(void const* from, void* to) const {
    if (elements_ == 0) return;
    void* parameters[] = {&from, &to, const_cast<std::uint64_t*>(&elements_), const_cast<std::byte*>(part_.data())};
    on_.launch(*run_, on_.shape_for(elements_), parameters);
  }

 private:
  // The members of copied_part in the text.
  void bind(copied_part const& part) {
    put(part.from.start);
    put(part.to.start);
    for (auto e : part.extents) put(e);
    for (std::size_t i = 0; i < part.extents.size(); ++i) put(part.from.strides[i]);
    for (std::size_t i = 0; i < part.extents.size(); ++i) put(part.to.strides[i]);
  }
  void put(std::int64_t number) {
    auto const bytes = wide_ ? 8u : 4u;  // of a number with 64 bits the lower half comes first
    auto const at = part_.size();
    part_.resize(at + bytes);
    std::memcpy(part_.data() + at, &number, bytes);
  }

  gpu_device const& on_;
  std::shared_ptr<gpu_device::function const> run_;
  std::uint32_t input_, output_;
  std::uint64_t elements_ = 1;
  bool wide_ = false;
  std::vector<std::byte> part_;
};

/// Copies all elements of an array of this type.
inline bound_copy copy_of(gpu_device const& on, type const& t) {
  auto const n = elements(t.shape());
  copied_part all{0, 0, {n}, {}, {}};
  all.from.strides[0] = all.to.strides[0] = 1;
  return bound_copy(on, all, size_of(t.element), n, n);
}

/// Fills arrays with zeros.
class bound_clear {
 public:
  bound_clear(gpu_device const& on, std::size_t bytes) : on_(on), bytes_(bytes), run_(on.find(clear_text(), "zeros")) {}
  void operator()(void* to) const {
    if (bytes_ == 0) return;
    void* parameters[] = {&to, const_cast<std::uint64_t*>(&bytes_)};
    on_.launch(*run_, on_.shape_for(bytes_ / 8), parameters);
  }

 private:
  gpu_device const& on_;
  std::uint64_t bytes_;
  std::shared_ptr<gpu_device::function const> run_;
};

}  // namespace detail

RILL_CUDA_INLINE kernel copy_kernel(kernel_request const& r) {
  auto const& on = static_cast<gpu_device const&>(*r.on);
  auto const form = find_copy_form(*r.at.op)(r);
  std::vector<detail::bound_copy> parts;
  for (auto const& part : form.parts) {
    auto const& x = r.inputs[part.input];
    parts.emplace_back(on, part, size_of(x.element), elements(x.shape()), elements(r.outputs[part.output].shape()));
  }
  if (!form.clears)
    return kernel([parts](kernel_call const& call) {
      for (auto const& part : parts) part(call);
    });
  detail::bound_clear const clear(on, r.outputs[0].bytes());
  return kernel([parts, clear](kernel_call const& call) {
    clear(call.out(0));
    for (auto const& part : parts) part(call);
  });
}

}  // namespace rill::cuda
#endif
