// The main function of every test program, compiled once.
//
// With RINGLET_TEST_DEVICE=cuda the tests make their tensors on GPU 0. Where there is none the program says why, and ends with 77: skipped.
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "test/support/test_device.h"

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (ringlet::test::wants_gpu() && !ringlet::why_no_gpu().empty()) {
    std::printf("skipped: %s\n", ringlet::why_no_gpu().c_str());
    return kSkipped;
  }
  const auto scope = ringlet::test::on_test_device();
  return Catch::Session().run(argc, argv);
}
