#include "compiler.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <string_view>

#include "cache.hpp"
#include "embedded.hpp"
#include "environment.hpp"
#include "image.hpp"
#include "process.hpp"
#include "text.hpp"

namespace rill::emulated {
namespace {

namespace fs = std::filesystem;

std::atomic<unsigned long long> compiled{0}, programs{0};

// What NVRTC takes and what has no meaning for the host's compiler: with values, and without.
constexpr std::string_view with_value[] = {"--fmad",
                                           "-fmad",
                                           "--prec-div",
                                           "-prec-div",
                                           "--prec-sqrt",
                                           "-prec-sqrt",
                                           "--ftz",
                                           "-ftz",
                                           "--std",
                                           "-std",
                                           "--maxrregcount",
                                           "-maxrregcount",
                                           "--diag-suppress",
                                           "-diag-suppress",
                                           "--diag-warn",
                                           "-diag-warn",
                                           "--diag-error",
                                           "-diag-error",
                                           "--ptxas-options",
                                           "-Xptxas",
                                           "--split-compile",
                                           "-split-compile",
                                           "--time",
                                           "-time",
                                           "--pch-dir",
                                           "-pch-dir",
                                           "--create-pch",
                                           "--use-pch",
                                           "--optimization-info",
                                           "--include-path",
                                           "--frandom-seed",
                                           "--relocatable-device-code",
                                           "-rdc",
                                           "--builtin-initializer-list",
                                           "--builtin-move-forward",
                                           "--dopt",
                                           "-dopt",
                                           "--Ofast-compile",
                                           "-Ofc",
                                           "--fdevice-time-trace",
                                           "--pch-messages",
                                           "--jump-table-density"};
constexpr std::string_view alone[] = {"--device-as-default-execution-space",
                                      "-default-device",
                                      "--device-int128",
                                      "-device-int128",
                                      "--no-cache",
                                      "-no-cache",
                                      "--use_fast_math",
                                      "-use_fast_math",
                                      "--restrict",
                                      "-restrict",
                                      "--generate-line-info",
                                      "-lineinfo",
                                      "--device-debug",
                                      "-G",
                                      "--disable-warnings",
                                      "-w",
                                      "--extra-device-vectorization",
                                      "-extra-device-vectorization",
                                      "--pch",
                                      "-pch",
                                      "--pch-verbose",
                                      "--minimal",
                                      "-minimal",
                                      "--device-float128",
                                      "-device-float128",
                                      "--dlto",
                                      "--display-error-number",
                                      "--no-display-error-number",
                                      "--no-source-include",
                                      "--version-ident"};
constexpr std::string_view architecture_options[] = {"--gpu-architecture", "-arch", "--gpu_architecture"};

template <std::size_t N> bool contains(std::string_view const (&all)[N], std::string_view what) {
  return std::find(std::begin(all), std::end(all), what) != std::end(all);
}

void read_architecture(std::string const& value, compile_options& to) {
  to.real = value.starts_with("sm_");
  if (!to.real && !value.starts_with("compute_"))
    throw bad_option{"--gpu-architecture has the value '" + value + "' and should have one such as sm_90"};
  std::string number = value.substr(value.find('_') + 1);
  if (number == "90a" || number == "100a") number.pop_back();
  if (number != "80" && number != "90" && number != "100")
    throw bad_option{"--gpu-architecture has the value '" + value + "', which this compiler does not know"};
  to.architecture = std::stoi(number);
}

/// The headers of a program as files. NVRTC brings no standard headers: those that a program has under names without a
/// folder stand for them, and the host's compiler has its own.
fs::path header_folder(program_text const& program) {
  std::string all = embedded::prelude + embedded::interface + embedded::global;
  for (auto const& [name, text] : program.headers)
    if (name.find('/') != std::string::npos) all += name + '\0' + text + '\0';
  return made_once("headers_" + hash_of(all), [&](fs::path const& folder) {
    for (auto const& [name, text] : program.headers)
      if (name.find('/') != std::string::npos) write_file(folder / name, text);
    write_file(folder / "rill/emulated/prelude.hpp", embedded::prelude);
    write_file(folder / "rill/emulated/interface.hpp", embedded::interface);
    write_file(folder / "rill/cuda/text/global.cuh", embedded::global);
    return true;
  });
}

/// Whether threads of a block may wait for each other: whether the text, or a header that it includes, says so.
bool threads_wait(program_text const& program) {
  std::set<std::string> seen;
  std::vector<std::string const*> texts{&program.text};
  while (!texts.empty()) {
    std::string const& text = *texts.back();
    texts.pop_back();
    if (has_word_of_blocks(text)) return true;
    for (auto const& included : included_names(text))
      for (auto const& [name, header] : program.headers)
        if (name == included && seen.insert(name).second) texts.push_back(&header);
  }
  return false;
}

/// Makes the compiler name what follows as a line of the program.
std::string line_of(program_text const& program, int number) {
  return "#line " + std::to_string(number) + " \"" + program.name + "\"\n";
}

/// What is compiled once for all texts that begin with the same includes.
std::string prelude_of(program_text const& program, std::string const& includes) {
  std::string text = "#pragma once\n";
  for (auto const& [name, unused] : program.headers)
    if (name.find('/') == std::string::npos)
      text += "#if __has_include(<" + name + ">)\n#include <" + name + ">\n#endif\n";
  return text + "#include \"rill/emulated/prelude.hpp\"\n" + line_of(program, 1) + includes;
}

std::string compiler() { return text_of_environment("RILL_EMULATED_COMPILER", RILL_EMULATED_DEFAULT_COMPILER); }

std::vector<std::string> command_of(fs::path const& headers, compile_options const& options, bool waits) {
  std::vector<std::string> command{compiler(),
                                   "-std=c++20",
                                   waits ? "-O2" : "-O1",  // loops over shared memory are worth it
                                   "-ffp-contract=off",
                                   "-fPIC",
                                   "-fvisibility=hidden",
                                   "-fwrapv",
                                   "-fno-strict-aliasing",
                                   "-fno-gnu-unique",
                                   "-pipe",
                                   "-w"};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("fma")) command.push_back("-mfma");  // which the C library's fma would ask each time
#endif
  if (!text_of_environment("RILL_EMULATED_SANITIZE", "").empty())
    command.insert(command.end(), {"-fsanitize=undefined", "-fno-sanitize-recover=undefined"});
  command.insert(command.end(), options.defines.begin(), options.defines.end());
  command.push_back("-I" + headers.string());
  return command;
}
std::string joined(std::vector<std::string> const& words) {
  std::string text;
  for (auto const& each : words) text += each + '\n';
  return text;
}

/// Returns the prelude's path, beside which its precompiled form lies if it compiles.
fs::path precompiled(std::string const& prelude, std::vector<std::string> command) {
  static std::mutex one_at_a_time;
  std::lock_guard const lock(one_at_a_time);
  auto const folder = made_once("prelude_" + hash_of(prelude + joined(command)), [&](fs::path const& made) {
    auto const header = made / "prelude.hpp";
    write_file(header, prelude);
    command.insert(command.end(), {"-x", "c++-header", header.string(), "-o", header.string() + ".gch"});
    if (!run_program(command, made / "log")) fs::remove(header.string() + ".gch");  // the text's errors say why
    return true;
  });
  return folder / "prelude.hpp";
}

/// Compiles what is one part of a program, or the whole.
void compile_part(program_text const& program, compile_options const& options, compiled_text& to) {
  auto const headers = header_folder(program);
  bool const waits = threads_wait(program);
  auto command = command_of(headers, options, waits);
  auto const [includes, rest, line] = divide(program.text);
  std::string const prelude = prelude_of(program, includes);
  std::string const text =
      line_of(program, line) + rest + table_of(kernels_of(program.text), namespace_of(program.text), waits);
  auto const object = made_once("text_" + hash_of(prelude + text + joined(command)) + ".so", [&](fs::path const& made) {
    auto const source = made.string() + ".cpp", log = made.string() + ".log";
    write_file(source, text);
    auto const common = precompiled(prelude, command);
    command.insert(command.end(),
                   {"-shared", "-nostartfiles", "-include", common.string(), source, "-o", made.string()});
    ++compiled;
    bool const good = run_program(command, log);
    to.log += read_file(log);
    fs::remove(source);
    fs::remove(log);
    return good;
  });
  to.good = to.good && !object.empty();
  to.objects.push_back(object.string());
}

}  // namespace

unsigned long long compiled_texts() { return compiled; }
unsigned long long compiled_programs() { return programs; }

compile_options read_options(std::vector<std::string> const& options) {
  compile_options read;
  read_architecture("compute_80", read);
  for (std::size_t i = 0; i < options.size(); ++i) {
    std::string const& option = options[i];
    auto const equals = option.find('=');
    std::string const name = option.substr(0, equals);
    // The value may stand behind the name, too.
    auto const value = [&] {
      if (equals != std::string::npos) return option.substr(equals + 1);
      if (i + 1 == options.size()) throw bad_option{"option " + name + " has no value"};
      return options[++i];
    };
    auto const define = [&](char const* how, std::string const& what) {
      if (!what.starts_with("__extension__")) read.defines.push_back(how + what);  // which g++'s own headers need
    };
    if (contains(architecture_options, name)) read_architecture(value(), read);
    else if (name == "--define-macro") define("-D", value());
    else if (name == "--undefine-macro") define("-U", value());
    else if (option.starts_with("-D") && option.size() > 2) define("-D", option.substr(2));
    else if (option.starts_with("-U") && option.size() > 2) define("-U", option.substr(2));
    else if (option.starts_with("-I") && option.size() > 2) continue;
    else if (contains(with_value, name)) value();
    else if (equals != std::string::npos || !contains(alone, name))
      throw bad_option{"unrecognized option " + option + " found"};
  }
  return read;
}

compiled_text compile(program_text const& program, compile_options const& options) {
  ++programs;
  compiled_text result{true, {}, {}};
  for (auto& part : parts_of(program.text))
    compile_part({std::move(part), program.name, program.headers}, options, result);
  return result;
}

}  // namespace rill::emulated
