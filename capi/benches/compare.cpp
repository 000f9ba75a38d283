// Measures loading a file, one element, elements by index and the sum of all, with this
// library and with cnpy.h, cnpy and libnpy, if they were given when it was compiled
// (HAVE_CNPY_H, HAVE_CNPY, HAVE_LIBNPY).
//
//   compare FOLDER [ROUNDS [MIB]]      MIB is 8 or more
//
// All libraries take turns in each round, in an order that changes, so that other work
// of the machine meets all of them. A row is the quotient of our time and theirs: the
// median of the rounds, the least and the greatest.
#include "compare.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "npymap.hpp"
#ifdef HAVE_LIBNPY
#include "npy.hpp"
#endif
#ifdef HAVE_CNPY
#include "cnpy.h" // cnpy's, for C++: compare_c.c includes the other one
#endif

namespace {

struct Way {
  const char *name;
  double (*run)(const char *path);
};

/// One use of a file; the first ways are ours, the others are compared with each of them.
struct Task {
  const char *name;
  std::string path;
  std::size_t ours;
  std::vector<Way> ways;
};

struct Times {
  double wall, cpu;
};

double npymap_cpp_element(const char *path) {
  return npymap::array::open(path).get<double>({1000, 3});
}

double npymap_cpp_sum(const char *path) {
  const auto array = npymap::array::open(path);
  const auto all = array.view<double>();
  return sum(all.data(), all.size());
}

double npymap_cpp_npz_element(const char *path) {
  return npymap::archive::open(path).get("x").get<double>({1000, 3});
}

double npymap_cpp_npz_sum(const char *path) {
  const auto array = npymap::archive::open(path).get("x");
  const auto all = array.view<double>();
  return sum(all.data(), all.size());
}

#ifdef HAVE_LIBNPY
double libnpy_open(const char *path) { return static_cast<double>(npy::read_npy<double>(path).data.size()); }

double libnpy_read(const char *path) { return npy::read_npy<double>(path).data[0]; }

double libnpy_element(const char *path) {
  const auto a = npy::read_npy<double>(path);
  return a.data[1000 * a.shape[1] + 3];
}

double libnpy_sum(const char *path) {
  const auto a = npy::read_npy<double>(path);
  return sum(a.data.data(), a.data.size());
}
#endif

#ifdef HAVE_CNPY
double cnpy_open_(const char *path) { return static_cast<double>(cnpy::npy_load(path).num_vals); }

double cnpy_read(const char *path) { return cnpy::npy_load(path).data<double>()[0]; }

double cnpy_element(const char *path) {
  auto a = cnpy::npy_load(path);
  return a.data<double>()[1000 * a.shape[1] + 3];
}

double cnpy_sum(const char *path) {
  auto a = cnpy::npy_load(path);
  return sum(a.data<double>(), a.num_vals);
}

double cnpy_npz_element(const char *path) {
  auto a = cnpy::npz_load(path, "x");
  return a.data<double>()[1000 * a.shape[1] + 3];
}

double cnpy_npz_sum(const char *path) {
  auto a = cnpy::npz_load(path, "x");
  return sum(a.data<double>(), a.num_vals);
}
#endif

std::vector<Task> tasks(const std::string &npy, const std::string &npz) {
  std::vector<Task> all{
      {"load", npy, 1, {{"npymap.h, mapped", npymap_c_open}}},
      {"load into memory", npy, 1, {{"npymap.h, in memory", npymap_c_read}}},
      {"one element", npy, 2, {{"npymap.h", npymap_c_element}, {"npymap.hpp", npymap_cpp_element}}},
      {"100,000 by index", npy, 1, {{"npymap.h", npymap_c_indexed}}},
      {"sum", npy, 2, {{"npymap.h", npymap_c_sum}, {"npymap.hpp", npymap_cpp_sum}}},
      {"one element, npz", npz, 1, {{"npymap.hpp", npymap_cpp_npz_element}}},
      {"sum, npz", npz, 1, {{"npymap.hpp", npymap_cpp_npz_sum}}},
  };
#ifdef HAVE_CNPY_H
  all[0].ways.push_back({"cnpy.h, mapped", cnpy_h_open});
  all[2].ways.push_back({"cnpy.h", cnpy_h_element});
  all[3].ways.push_back({"cnpy.h", cnpy_h_indexed});
  all[4].ways.push_back({"cnpy.h", cnpy_h_sum});
#endif
#ifdef HAVE_LIBNPY
  all[0].ways.push_back({"libnpy", libnpy_open});
  all[1].ways.push_back({"libnpy", libnpy_read});
  all[2].ways.push_back({"libnpy", libnpy_element});
  all[4].ways.push_back({"libnpy", libnpy_sum});
#endif
#ifdef HAVE_CNPY
  all[0].ways.push_back({"cnpy", cnpy_open_});
  all[1].ways.push_back({"cnpy", cnpy_read});
  all[2].ways.push_back({"cnpy", cnpy_element});
  all[4].ways.push_back({"cnpy", cnpy_sum});
  all[5].ways.push_back({"cnpy", cnpy_npz_element});
  all[6].ways.push_back({"cnpy", cnpy_npz_sum});
#endif
  return all;
}

/// The time of one call, from as many calls as take about 5 ms.
Times measure(const Way &way, const std::string &path, std::size_t calls) {
  const auto wall = std::chrono::steady_clock::now();
  const auto cpu = std::clock();
  for (std::size_t i = 0; i < calls; ++i) way.run(path.c_str());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - wall;
  const double used = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  const auto count = static_cast<double>(calls);
  return {passed.count() / count, used / count};
}

/// Sorts `values` and returns the one at a part of them.
double quantile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
}

void report(const Task &task, const std::vector<std::vector<Times>> &rounds) {
  const auto column = [&](std::size_t way, std::size_t other, double Times::*field) {
    std::vector<double> values;
    for (const auto &round : rounds) {
      values.push_back(round[way].*field / (way == other ? 1e-6 : round[other].*field));
    }
    return values;
  };
  for (std::size_t way = 0; way < task.ways.size(); ++way) {
    std::printf("%-17s %-20s %12.1f us CPU %12.1f us wall\n", task.name, task.ways[way].name,
                quantile(column(way, way, &Times::cpu), 0.5), quantile(column(way, way, &Times::wall), 0.5));
  }
  for (std::size_t our = 0; our < task.ours; ++our) {
    for (std::size_t their = task.ours; their < task.ways.size(); ++their) {
      const auto cpu = column(our, their, &Times::cpu), wall = column(our, their, &Times::wall);
      std::printf("%-17s %s / %s: CPU %.4g (%.4g to %.4g), wall %.4g (%.4g to %.4g)\n", task.name,
                  task.ways[our].name, task.ways[their].name, quantile(cpu, 0.5), quantile(cpu, 0),
                  quantile(cpu, 1), quantile(wall, 0.5), quantile(wall, 0), quantile(wall, 1));
    }
  }
}

void compare(const Task &task, std::size_t rounds) {
  std::vector<std::size_t> calls;
  const double answer = task.ways[0].run(task.path.c_str());
  for (const auto &way : task.ways) {
    const double found = way.run(task.path.c_str());
    if (!(found == answer)) {
      std::fprintf(stderr, "%s: %s says %g, expected %g\n", task.name, way.name, found, answer);
      std::exit(EXIT_FAILURE);
    }
    calls.push_back(1 + static_cast<std::size_t>(0.005 / (measure(way, task.path, 1).wall + 1e-9)));
  }
  std::vector<std::vector<Times>> all(rounds, std::vector<Times>(task.ways.size()));
  for (std::size_t round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < task.ways.size(); ++i) {
      const std::size_t way = (i + round) % task.ways.size();
      all[round][way] = measure(task.ways[way], task.path, calls[way]);
    }
  }
  report(task, all);
}

} // namespace

int main(int argc, char **argv) try {
  const std::size_t rounds = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 15;
  const std::size_t rows = (argc > 3 ? std::strtoul(argv[3], nullptr, 10) : 256) * (1024 * 1024 / 64);
  if (argc < 2 || argc > 4 || rounds == 0 || rows < INDEXED) {
    std::fprintf(stderr, "usage: compare FOLDER [ROUNDS [MIB]], with 8 MiB or more\n");
    return 2;
  }
  const std::string npy = std::string(argv[1]) + "/compare.npy", npz = std::string(argv[1]) + "/compare.npz";
  {
    auto array = npymap::array::create(npy, "<f8", {rows, 8}, NPYMAP_OVERWRITE);
    const auto all = array.view_mut<double>();
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<double>(i % 1000);
    npymap::save_member(npz, "x", all.data(), {rows, 8});
  }
  for (const auto &task : tasks(npy, npz)) {
    compare(task, rounds);
    std::fflush(stdout);
  }
  std::remove(npy.c_str());
  std::remove(npz.c_str());
  return EXIT_SUCCESS;
} catch (const std::exception &error) {
  std::fprintf(stderr, "%s\n", error.what());
  return EXIT_FAILURE;
}
