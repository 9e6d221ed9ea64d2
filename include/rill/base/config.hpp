// What a translation unit defines: everything (header-only), everything but the run time (header-only, with the run
// time in one file of the program), or only what users write (rill::compiled has the rest).
//
// RILL_COMPILED      set by the target rill::compiled: the library has the operations, their kernels and the run time
// RILL_COMPILED_IO   set by rill::compiled as well if it was built with zlib and nlohmann-json: it reads files, too
// RILL_SEPARATE      set by a program for all of its files; the one file that also sets RILL_RUNTIME has the run time
// RILL_DEFINITIONS   this unit defines operations: header-only programs, and the library's own units
// RILL_KERNELS       this unit defines the raw kernels: as above, and the library's units for each instruction set
// RILL_RUNTIME       this unit defines all functions that are not templates: graphs, gradients, passes, plans, sessions
// RILL_IO_RUNTIME    the same for functions that need zlib or nlohmann-json: most of rill/io.hpp
// RILL_COMPILED_NET  set by rill::compiled as well if it was built with Asio and Cereal: it has servers, too
// RILL_NET_RUNTIME   the same for functions that need Asio: rill/net.hpp
// RILL_CUDA_RUNTIME  the same for functions of rill/cuda.hpp
// RILL_TLS           set where OpenSSL is linked: connections between processes may be encrypted
// RILL_NET_INLINE    marks definitions behind RILL_NET_RUNTIME in the same way as RILL_INLINE does
// RILL_CUDA_INLINE   marks definitions behind RILL_CUDA_RUNTIME in the same way as RILL_INLINE does
// RILL_INLINE        marks definitions behind RILL_RUNTIME: inline if every unit has them, empty if one unit has them
// RILL_IO_INLINE     marks definitions behind RILL_IO_RUNTIME in the same way
// RILL_COMPILER      adds the compiler's name to the symbols that every program needs: g++ and clang lay out a lambda's
//                    captures in different orders, so a program and a run time from two compilers must not be linked.
//                    The same holds if only one of them has the containers of libstdc++'s debug mode, which are
//                    larger, or its strings from before C++11
// RILL_LIFETIMEBOUND marks functions that return a reference into their argument: clang warns if that dangles
#pragma once
#include <version>

// g++ sets __GCC_IEC_559 to 0 for parts of -ffast-math, too; clang tells only of all of it and of -ffinite-math-only.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    (defined(__GCC_IEC_559) && __GCC_IEC_559 == 0)
#error \
    "rill: -ffast-math, -Ofast and their parts (-ffinite-math-only, -funsafe-math-optimizations) change results: round(0.4) would be 0.4, and is_nan always false. Compile files that include rill without them, or put -fno-fast-math after them"
#endif

#if defined(_GLIBCXX_DEBUG)
#define RILL_STANDARD_LIBRARY "_debug"
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define RILL_STANDARD_LIBRARY "_old_strings"
#else
#define RILL_STANDARD_LIBRARY ""
#endif
#if defined(__clang__)
#define RILL_COMPILER [[gnu::abi_tag("clang" RILL_STANDARD_LIBRARY)]]
#else
#define RILL_COMPILER [[gnu::abi_tag("gnu" RILL_STANDARD_LIBRARY)]]
#endif

#if defined(__clang__)
#define RILL_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define RILL_LIFETIMEBOUND
#endif

#if defined(RILL_COMPILED) && defined(RILL_SEPARATE)
#error "RILL_SEPARATE is set in a program that links rill::compiled, which already has the run time: remove one of them"
#endif

#if !defined(RILL_COMPILED)
#define RILL_DEFINITIONS 1
#define RILL_KERNELS 1
#endif

#if defined(RILL_COMPILED) || defined(RILL_SEPARATE)
#define RILL_INLINE
#else
#define RILL_RUNTIME 1
#define RILL_INLINE inline
#endif

#if RILL_COMPILED_IO
#define RILL_IO_INLINE
#elif defined(RILL_SEPARATE)
#define RILL_IO_INLINE
#define RILL_IO_RUNTIME RILL_RUNTIME
#else
#define RILL_IO_INLINE inline
#define RILL_IO_RUNTIME 1
#endif

#if RILL_COMPILED_NET
#define RILL_NET_INLINE
#elif defined(RILL_SEPARATE)
#define RILL_NET_INLINE
#define RILL_NET_RUNTIME RILL_RUNTIME
#else
#define RILL_NET_INLINE inline
#define RILL_NET_RUNTIME 1
#endif

#if RILL_COMPILED
#define RILL_CUDA_INLINE
#elif defined(RILL_SEPARATE)
#define RILL_CUDA_INLINE
#define RILL_CUDA_RUNTIME RILL_RUNTIME
#else
#define RILL_CUDA_INLINE inline
#define RILL_CUDA_RUNTIME 1
#endif

namespace rill::detail {

/// Defined where the run time is. The linker prints this name if the program was compiled differently.
RILL_COMPILER extern char const library_of_the_same_compiler_and_GLIBCXX_DEBUG;

#if defined(RILL_SEPARATE) || (defined(RILL_COMPILED) && !RILL_KERNELS)
[[gnu::used]] static auto const* const needed_library = &library_of_the_same_compiler_and_GLIBCXX_DEBUG;
#endif
#if RILL_RUNTIME && (defined(RILL_SEPARATE) || defined(RILL_COMPILED))
RILL_COMPILER constinit char const library_of_the_same_compiler_and_GLIBCXX_DEBUG = 0;
#endif

}  // namespace rill::detail
