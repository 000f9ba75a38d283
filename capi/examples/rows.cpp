// Appends rows to a file, reads it in place and at random, in C++.
#include <cstdio>
#include <exception>
#include <iostream>
#include <numeric>

#include "npymap.hpp"

int main(int argc, char **argv) try {
  const std::string path = argc > 1 ? argv[1] : "rows.npy";

  auto rows = npymap::appender::create(path, "<f4", {3}, NPYMAP_OVERWRITE);
  rows.append<float>({0.5F, 1.0F, 1.5F});
  rows.append<float>({2.0F, 2.5F, 3.0F, 3.5F, 4.0F, 4.5F});
  rows.close();

  const auto array = npymap::array::open(path);
  const auto all = array.view<float>(); // in place, without a copy
  std::cout << array.shape()[0] << " rows, sum " << std::accumulate(all.begin(), all.end(), 0.0F) << '\n';
  for (const double value : array.take<double>({2, 0})) std::cout << value << ' ';
  std::cout << '\n';

#if defined(__cpp_lib_mdspan)
  const auto table = array.mdspan<float, 2>();
  std::cout << "last element " << table[2, 2] << '\n';
#else
  std::cout << "last element " << array.get<float>({2, 2}) << '\n';
#endif

  try {
    (void)array.view<double>();
  } catch (const npymap::error &error) {
    std::cout << error.what() << '\n';
  }
  return 0;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
