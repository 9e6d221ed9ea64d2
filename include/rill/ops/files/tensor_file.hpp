// Nodes that write tensors to files and read them, as checkpoints do. Needs nlohmann-json; rill/io.hpp includes it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "rill/dsl/expr.hpp"
#include "rill/io/safetensors.hpp"

namespace rill::ops {

struct save_op {
  static constexpr std::string_view name = "save",
                                    doc = "writes all inputs but the first, the path, to a safetensors file";
  static constexpr std::int8_t arity = -1;
  static constexpr std::size_t outputs = 0;
  static constexpr rill::effect effect = rill::effect::writes;
  struct attributes {
    std::vector<std::string> names;
    static constexpr auto fields(auto const& take) { return take(field{"names", &attributes::names}); }
  };
  static std::array<type, 0> infer(attributes const& a, std::span<type const> x);
  static kernel cpu(kernel_request const& r);
};

struct restore_op {
  static constexpr std::string_view name = "restore", doc = "a tensor of the safetensors file at a path";
  static constexpr std::string_view declared_type = "type";
  static constexpr std::int8_t arity = 1;
  static constexpr rill::effect effect = rill::effect::reads;
  struct attributes {
    std::string tensor;
    type of;
    static constexpr auto fields(auto const& take) {
      return take(field{"tensor", &attributes::tensor}, field{"type", &attributes::of});
    }
  };
  static type infer(attributes const& a, type const& path);
  static kernel cpu(kernel_request const& r);
};

}  // namespace rill::ops

namespace rill {

/// Writes values to a safetensors file under the given names. The file appears complete or not at all.
operation save(value path, std::vector<std::string> names, std::vector<value> const& values);
/// Returns a tensor of a safetensors file. The step fails with error(not_found) if the file has no tensor of that name,
/// and with error(invalid_argument) if it has another type.
value restore(value path, std::string_view tensor, type const& of);
/// Returns the same with a static type: `restore<float, 784, 10>(path, "w")`.
template <element T, dim... Extents> expr<of<T, Extents...>> restore(value path, std::string_view tensor) {
  return {restore(path, tensor, of<T, Extents...>)};
}

#if RILL_IO_RUNTIME

namespace ops {

RILL_IO_INLINE std::array<type, 0> save_op::infer(attributes const& a, std::span<type const> x) {
  expects(accepts(type(dtype::string), x[0]), "save: the path is not a string");
  expects(a.names.size() + 1 == x.size(), "save: there is not one name for each value");
  for (std::size_t i = 0; i < a.names.size(); ++i) safetensors::check_entry(a.names[i], x[i + 1].element);
  return {};
}

RILL_IO_INLINE kernel save_op::cpu(kernel_request const& r) {
  auto const a = decode<attributes>(r.at.attributes);
  return kernel(
      [names = a.names, types = std::vector<type>(r.inputs.begin() + 1, r.inputs.end())](kernel_call const& call) {
        std::vector<named_tensor> all;
        for (std::size_t i = 0; i < names.size(); ++i)
          all.push_back({names[i], tensor::borrow(types[i], call.in(i + 1))});
        write_safetensors(*call.in<std::string>(0), all);
      });
}

RILL_IO_INLINE type restore_op::infer(attributes const& a, type const& path) {
  expects(accepts(type(dtype::string), path), "restore: the path is not a string");
  return a.of;
}

RILL_IO_INLINE kernel restore_op::cpu(kernel_request const& r) {
  kernel k([a = decode<attributes>(r.at.attributes), to = r.outputs[0]](kernel_call const& call) {
    auto const& path = *call.in<std::string>(0);
    auto read = safetensors_file(path).read(a.tensor);
    if (read.type() != to)
      throw error(code::invalid_argument, "tensor '" + a.tensor + "' of '" + path + "' is " +
                                              with_article(read.type()) + ", not " + with_article(to));
    call.give(0, std::move(read));
  });
  k.allocates_outputs = true;
  return k;
}

}  // namespace ops

RILL_IO_INLINE operation save(value path, std::vector<std::string> names, std::vector<value> const& values) try {
  std::vector<value> inputs{path};
  inputs.insert(inputs.end(), values.begin(), values.end());
  return record_erased<ops::save_op>(detail::graph_of(path), {std::move(names)}, inputs);
} catch (...) {
  rethrow_as_error();
}

RILL_IO_INLINE value restore(value path, std::string_view tensor, type const& of) try {
  return record_erased<ops::restore_op>(detail::graph_of(path), {std::string(tensor), of}, {path});
} catch (...) {
  rethrow_as_error();
}

#endif

}  // namespace rill
