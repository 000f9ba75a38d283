// npymap.hpp: every class and function.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "npymap.hpp"

static int failures = 0;

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                         \
    }                                                                     \
  } while (0)

// Calls f and returns the status of the error that it throws, or NPYMAP_OK.
template <class F> static npymap_status status_of(F f) {
  try {
    f();
  } catch (const npymap::error &error) {
    CHECK(error.what()[0] != '\0');
    return error.status();
  }
  return NPYMAP_OK;
}

// A type of 16 bits, as a program might have one.
struct half {
  std::uint16_t bits;
};
template <> struct npymap::number<half> { static constexpr std::int32_t value = NPYMAP_FLOAT16; };

static void elements(const std::string &folder) {
  CHECK(npymap::descr<bool>() == "|b1" && npymap::descr<signed char>() == "=i1");
  CHECK(npymap::descr<const unsigned>() == "=u4" && npymap::descr<float>() == "=f4");
  CHECK(npymap::descr<std::complex<float>>() == "=c8" && npymap::descr<half>() == "=f2");
  auto halves = npymap::array::zeros(npymap::descr<half>(), {2});
  halves.set<double>({1}, 1.5);
  CHECK(halves.get<half>({1}).bits == 0x3e00 && halves.view<half>()[1].bits == 0x3e00);

  const std::string path = folder + "/grid.npy";
  auto grid = npymap::array::create(path, ">f4", {3, 4}, NPYMAP_FORTRAN_ORDER);
  CHECK(grid.ndim() == 2 && grid.size() == 12 && grid.nbytes() == 48 && grid.itemsize() == 4);
  CHECK(grid.shape()[1] == 4 && grid.byte_strides()[1] == 12 && grid.order() == 'F');
  CHECK(grid.type() == NPYMAP_FLOAT32 && grid.kind() == 'f' && grid.byte_order() == '>');
  CHECK(grid.descr() == "'>f4'");
  std::size_t count = 0;
  grid.for_each_index([&](const std::vector<std::size_t> &index) {
    grid.set<float>(index, static_cast<float>(count++));
  });
  CHECK(grid.get<float>({2, 3}) == 11.0F && grid.get<double>({0, 1}) == 1.0);
  CHECK(grid.text({1, 0}) == "4.0");
  grid.set_text({1, 0}, "4.5");
  CHECK(grid.to_vector<double>()[4] == 4.5);
  const std::string with_nul("4.5\0006", 5);
  CHECK(status_of([&] { grid.set_text({1, 0}, with_nul); }) == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(status_of([&] { npymap::array::open(path + with_nul); }) == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(grid.take<float>({2, 0}) == std::vector<float>({8, 9, 10, 11, 0, 1, 2, 3}));
  CHECK(status_of([&] { (void)grid.view<float>(); }) == NPYMAP_ERROR_DTYPE_MISMATCH);
  CHECK(status_of([&] { (void)grid.get<float>({3, 0}); }) == NPYMAP_ERROR_OUT_OF_BOUNDS);
  CHECK(status_of([&] { (void)grid.get<int>({0, 0}); }) == NPYMAP_ERROR_DTYPE_MISMATCH);
  grid.flush();
  grid.close();
  CHECK(grid.size() == 0 && npymap_error_status() == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(status_of([&] { (void)grid.descr(); }) == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(status_of([&] { (void)grid.get<float>({0, 0}); }) == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(grid.bytes().empty() && grid.shape().empty());
  CHECK(status_of([&] { npymap::array::create(path, "<f4", {1}); }) == NPYMAP_ERROR_ALREADY_EXISTS);

  const auto again = npymap::array::open(path);
  CHECK(again.get<float>({2, 3}) == 11.0F && again.bytes().size() == 48);
  again.advise(NPYMAP_ADVICE_RANDOM);
  again.populate(0, 2);
  const auto single = npymap::array::zeros("<f8", {});
  single.populate();
  single.advise(NPYMAP_ADVICE_RANDOM);
  auto moved = npymap::array::open(path, npymap::mode::copy_on_write);
  const auto target = std::move(moved);
  CHECK(target.size() == 12);
  CHECK(status_of([&] { npymap::array::open(folder + "/none.npy"); }) == NPYMAP_ERROR_NOT_FOUND);

  auto read_only = npymap::array::open(path);
  CHECK(status_of([&] { read_only.set<float>({0, 0}, 1.0F); }) == NPYMAP_ERROR_INVALID_INPUT);
  CHECK(status_of([&] { (void)read_only.bytes_mut(); }) == NPYMAP_ERROR_INVALID_INPUT);

  auto memory = npymap::array::zeros(npymap::descr<std::complex<double>>(), {2});
  memory.set<std::complex<double>>({1}, {1.5, -2.0});
  CHECK(memory.view<std::complex<double>>()[1] == std::complex<double>(1.5, -2.0));
  memory.view_mut<std::complex<double>>()[0] = {3.0, 0.0};
  CHECK(memory.get<std::complex<float>>({0}).real() == 3.0F);
#if defined(__cpp_lib_mdspan)
  auto matrix = npymap::array::zeros(npymap::descr<long>(), {2, 3}, NPYMAP_FORTRAN_ORDER);
  matrix.mdspan_mut<long, 2>()[1, 2] = 7;
  CHECK((matrix.mdspan<long, 2>()[1, 2] == 7 && matrix.get<long>({1, 2}) == 7));
  CHECK(status_of([&] { (void)matrix.mdspan<long, 3>(); }) == NPYMAP_ERROR_SHAPE_MISMATCH);
  CHECK(status_of([&] { (void)matrix.mdspan<int, 2>(); }) == NPYMAP_ERROR_DTYPE_MISMATCH);
  for (const std::uint32_t flags : {0U, static_cast<std::uint32_t>(NPYMAP_FORTRAN_ORDER)}) {
    const auto empty = npymap::array::zeros("=f4", {2, 0, 3}, flags);
    CHECK((empty.mdspan<float, 3>().empty() && empty.mdspan<float, 3>().extent(2) == 3));
  }
  auto scalar = npymap::array::zeros("=f4", {});
  scalar.mdspan_mut<float, 0>()[std::array<std::size_t, 0>{}] = 2.5F;
  CHECK(scalar.get<float>({}) == 2.5F);
  std::puts("mdspan");
#endif

  auto records = npymap::array::zeros("[('id', '<u2'), ('at', '>f8', (2,))]", {3});
  records.set<double>("at", {2, 1}, 0.25);
  CHECK(records.get<double>("at", {2, 1}) == 0.25 && records.get<int>("id", {0}) == 0);
  std::string columns = "[";
  for (int i = 0; i < 1000; ++i) columns += "('column" + std::to_string(i) + "', '<f8'), ";
  npymap::array::create(folder + "/table.npy", columns + "]", {2}).close();
  CHECK(status_of([&] { npymap::array::open(folder + "/table.npy"); }) == NPYMAP_ERROR_LIMIT_EXCEEDED);
  CHECK(std::string(npymap_error()).find("`max_header_len`") != std::string::npos);
  const auto table = npymap::array::open_max_header_len(folder + "/table.npy", 100000);
  CHECK(table.get<double>("column999", {1}) == 0.0);
  auto flags = npymap::array::zeros("|b1", {2});
  flags.set<bool>({1}, true);
  CHECK(flags.get<bool>({1}) && flags.to_vector<unsigned char>().size() == 2);
}

// Files can have other booleans than 0 and 1, which C and C++ cannot.
static void booleans(const std::string &folder) {
  const unsigned char stored[] = {0, 2, 1}, values[] = {0, 255};
  const std::size_t shape[] = {3}, rows[] = {1, 0, 2, 1};
  const std::string path = folder + "/flags.npy";
  npymap::check(npymap_save(path.c_str(), "|b1", shape, 1, stored, 3, 0));
  for (const auto mode : {npymap::mode::read_only, npymap::mode::read_write}) {
    const auto array = npymap::array::open(path, mode);
    // What the program had there is not looked at.
    for (const unsigned char before : values) {
      std::vector<unsigned char> taken(4, before), all(3, before);
      CHECK(npymap_take(array.c_array(), rows, 4, NPYMAP_BOOL, taken.data(), 4) == NPYMAP_OK);
      CHECK((taken == std::vector<unsigned char>{1, 0, 1, 1}));
      CHECK(npymap_copy(array.c_array(), nullptr, NPYMAP_BOOL, all.data(), 3) == NPYMAP_OK);
      CHECK((all == std::vector<unsigned char>{0, 1, 1}));
    }
    CHECK(npymap_borrow(array.c_array(), NPYMAP_BOOL, nullptr) == NPYMAP_ERROR_DTYPE_MISMATCH);
  }
}

static void files(const std::string &folder) {
  const double numbers[] = {1, 2, 3, 4, 5, 6};
  npymap::save(folder + "/a.npy", numbers, {2, 3});
  npymap::save(folder + "/a.npy", numbers, {3, 2}, NPYMAP_OVERWRITE);
  CHECK(npymap::array::open(folder + "/a.npy").get<double>({2, 0}) == 5);
  const auto raw = npymap::array::open_raw(folder + "/a.npy", "<f8", {6}, 128);
  CHECK(raw.view<double>()[5] == 6);

  const std::string npz = folder + "/a.npz";
  npymap::save_member(npz, "x", numbers, {6});
  npymap::save_member(npz, "y", numbers, {2, 3}, NPYMAP_COMPRESS);
  npymap::save_member(npz, "x", numbers, {1});
  auto x = [&] {
    const auto archive = npymap::archive::open(npz);
    CHECK((archive.names() == std::vector<std::string>{"x", "y"}));
    CHECK(archive.get("y").get<double>({1, 2}) == 6 && archive.get(1).ndim() == 2);
    CHECK(status_of([&] { archive.get("z"); }) == NPYMAP_ERROR_NOT_FOUND);
    CHECK(status_of([&] { archive.name(2); }) == NPYMAP_ERROR_OUT_OF_BOUNDS);
    CHECK(status_of([&] { archive.get(2); }) == NPYMAP_ERROR_OUT_OF_BOUNDS);
    return archive.get("x");
  }();
  CHECK(x.size() == 1 && x.get<double>({0}) == 1); // it outlives the archive

  auto rows = npymap::appender::create(folder + "/rows.npy", "<i4", {2});
  rows.append<int>({1, 2, 3, 4});
  rows.flush();
  CHECK(status_of([&] { rows.append<int>({5}); }) == NPYMAP_ERROR_SHAPE_MISMATCH);
#if !defined(_WIN32) // where a lock would prevent reading, too
  CHECK(status_of([&] { npymap::appender::open(folder + "/rows.npy"); }) == NPYMAP_ERROR_LOCKED);
#endif
  auto seen = npymap::array::open(folder + "/rows.npy");
  rows.append<int>({5, 6});
  CHECK(rows.rows() == 3);
  rows.close();
  CHECK(seen.take<int>({1}) == std::vector<int>({3, 4}));
#if defined(_WIN32)
  CHECK(npymap_reload(seen.c_array()) == NPYMAP_ERROR_INVALID_INPUT);
  seen = npymap::array::open(folder + "/rows.npy");
#else
  CHECK(npymap_reload(seen.c_array()) == NPYMAP_OK);
#endif
  CHECK(seen.take<int>({2}) == std::vector<int>({5, 6}));
#if !defined(_WIN32)
  // The text of the dtype is that of the new header.
  CHECK(std::string(seen.descr()) == "'<i4'");
  std::fstream header(folder + "/rows.npy", std::ios::in | std::ios::out | std::ios::binary);
  std::string start(128, ' ');
  header.read(&start[0], 128);
  header.seekp(static_cast<std::streamoff>(start.find("<i4")));
  header << "<f4" << std::flush;
  CHECK(npymap_reload(seen.c_array()) == NPYMAP_OK);
  CHECK(std::string(seen.descr()) == "'<f4'");
#endif

  // An array in a file that another program truncates: an error, not a signal.
  CHECK(status_of([&] { npymap::check(npymap_check_unchanged(seen.c_array())); }) == NPYMAP_OK);
}

// Rows of different lengths, written, read and, after a writer died, recovered.
static void ragged(const std::string &folder) {
  const std::string data = folder + "/ragged.npy", offsets = folder + "/offsets.npy";
  for (const auto &row : {std::vector<int>{1, 2, 3}, {}, {4}}) {
    auto rows = npymap::appender::open_or_create_ragged(data, offsets, "<i4");
    rows.append(row);
    rows.close();
  }
  for (const auto mode : {npymap::mode::read_only, npymap::mode::read_write, npymap::mode::in_memory}) {
    const auto rows = npymap::ragged::open(data, offsets, mode);
    CHECK(rows.size() == 3 && rows.get<int>(0) == std::vector<int>({1, 2, 3}));
    CHECK(rows.get<double>(1).empty() && rows.get<double>(2) == std::vector<double>{4});
    CHECK(rows.span(2) == std::make_pair(std::size_t{3}, std::size_t{4}));
    CHECK(status_of([&] { (void)rows.span(3); }) == NPYMAP_ERROR_OUT_OF_BOUNDS);
    CHECK(status_of([&] { (void)rows.get<int>(SIZE_MAX); }) == NPYMAP_ERROR_OUT_OF_BOUNDS);
    CHECK(status_of([&] { (void)rows.get<std::uint16_t>(0); }) == NPYMAP_ERROR_DTYPE_MISMATCH);
    int two[2];
    CHECK(npymap_ragged_get(rows.data().c_array(), rows.offsets().c_array(), 0, NPYMAP_INT32, two, sizeof two) ==
          NPYMAP_ERROR_SHAPE_MISMATCH);
  }
  auto refused = [&](const char *descr, std::vector<std::size_t> item) {
    return status_of([&] { npymap::appender::open_or_create_ragged(data, offsets, descr, item); });
  };
  CHECK(refused("<f4", {}) == NPYMAP_ERROR_DTYPE_MISMATCH);
  CHECK(refused("<i4", {2}) == NPYMAP_ERROR_SHAPE_MISMATCH);

  // Elements without an offset, as a writer that dies leaves them.
  auto died = npymap::appender::open(data);
  died.append<int>({5, 6});
  died.close();
  npymap_appender *again = nullptr;
  CHECK(npymap_appender_open_ragged(data.c_str(), offsets.c_str(), &again) == NPYMAP_ERROR_CORRUPT);
  CHECK(std::string(npymap_error()).find("npymap_appender_recover_ragged") != std::string::npos);
  CHECK(npymap_appender_recover_ragged(data.c_str(), offsets.c_str(), &again) == NPYMAP_OK);
  CHECK(npymap_appender_rows(again) == 3 && npymap_appender_close(&again) == NPYMAP_OK);
  CHECK(npymap_appender_open_ragged(data.c_str(), offsets.c_str(), &again) == NPYMAP_OK);
  npymap_appender_free(&again);

  // Items with an axis, and offsets of something else.
  const std::size_t item[] = {2};
  CHECK(npymap_appender_create_ragged(data.c_str(), offsets.c_str(), "<i4", item, 1, 0, &again) ==
        NPYMAP_ERROR_ALREADY_EXISTS);
  CHECK(npymap_appender_create_ragged(data.c_str(), offsets.c_str(), "<i4", item, 1, NPYMAP_OVERWRITE, &again) ==
        NPYMAP_OK);
  npymap::appender pairs(again);
  pairs.append<int>({1, 2, 3, 4});
  CHECK(status_of([&] { pairs.append<int>({5}); }) == NPYMAP_ERROR_SHAPE_MISMATCH);
  CHECK(pairs.rows() == 1);
  pairs.close();
  CHECK(npymap::ragged::open(data, offsets).get<int>(0) == std::vector<int>({1, 2, 3, 4}));
  CHECK(status_of([&] { npymap::ragged::open(offsets, data).span(0); }) == NPYMAP_ERROR_SHAPE_MISMATCH);
  const std::int64_t wrong[] = {0, 2, 1, -1, 9};
  npymap::save(offsets, wrong, {5}, NPYMAP_OVERWRITE);
  const auto rows = npymap::ragged::open(data, offsets);
  CHECK(rows.get<int>(0).size() == 4);
  for (std::size_t row = 1; row < 4; ++row) CHECK(status_of([&] { rows.span(row); }) == NPYMAP_ERROR_CORRUPT);
}

#if !defined(_WIN32)
// Threads that start at once create a file once, and each appends its rows.
static void start_together(const std::string &folder) {
  const std::string path = folder + "/together.npy";
  std::vector<std::thread> all;
  for (int number = 0; number < 8; ++number) {
    all.emplace_back([&path, number] {
      auto rows = npymap::appender::open_or_create(path, "<i4", {2}, NPYMAP_WAIT);
      rows.append<int>({number, number});
      rows.flush();
    });
  }
  for (auto &thread : all) thread.join();
  CHECK(npymap::array::open(path).shape()[0] == 8);
  auto refused = [&](const char *descr, std::vector<std::size_t> row) {
    return status_of([&] { npymap::appender::open_or_create(path, descr, row); });
  };
  CHECK(refused("<f4", {2}) == NPYMAP_ERROR_DTYPE_MISMATCH);
  CHECK(refused("<i4", {3}) == NPYMAP_ERROR_SHAPE_MISMATCH);

  const std::string data = folder + "/parts.npy", offsets = folder + "/ends.npy";
  all.clear();
  for (int number = 0; number < 8; ++number) {
    all.emplace_back([&, number] {
      auto rows = npymap::appender::open_or_create_ragged(data, offsets, "<i4", {}, NPYMAP_WAIT);
      rows.append(std::vector<int>(static_cast<std::size_t>(number), number));
      rows.flush();
    });
  }
  for (auto &thread : all) thread.join();
  const auto rows = npymap::ragged::open(data, offsets);
  CHECK(rows.size() == 8 && rows.data().size() == 28);
}
#endif

// Several arrays in one file, as several calls of numpy.save write them.
static void several(const std::string &folder) {
  const std::string path = folder + "/several.npy";
  const double numbers[] = {1, 2, 3};
  npymap::save(path, numbers, {3}, 0);
  std::ifstream one(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(one), {}};
  std::ofstream(path, std::ios::app | std::ios::binary) << bytes;
  const auto first = npymap::array::open(path);
  const auto offset = npymap_data_offset(first.c_array()) + npymap_nbytes(first.c_array());
  const auto second = npymap::array::open_at(path, offset);
  CHECK(second.get<double>({2}) == 3 && npymap_data_offset(second.c_array()) == offset + 128);
  CHECK(status_of([&] { npymap::array::open_at(path, 8); }) == NPYMAP_ERROR_CORRUPT);
}

// A file with bytes after its elements, as a writer that died leaves it, is not replaced.
static void trailing(const std::string &folder) {
  const std::string path = folder + "/trailing.npy";
  const double numbers[] = {1, 2, 3};
  auto replace = [&](int call, std::uint32_t flags) {
    switch (call) {
    case 0: return npymap::save(path, numbers, {3}, flags);
    case 1: return npymap::array::create(path, "<f8", {3}, flags).close();
    default: return npymap::appender::create(path, "<f8", {}, flags).close();
    }
  };
  for (int call = 0; call < 3; ++call) {
    npymap::save(path, numbers, {3}, NPYMAP_OVERWRITE);
    std::ofstream(path, std::ios::app | std::ios::binary) << "12345678";
    CHECK(status_of([&] { replace(call, NPYMAP_OVERWRITE); }) == NPYMAP_ERROR_CORRUPT);
    CHECK(std::string(npymap_error()).find("8 bytes after its elements, 1 more row") != std::string::npos);
    CHECK(std::ifstream(path, std::ios::ate | std::ios::binary).tellg() == 128 + 4 * 8);
    CHECK(status_of([&] { replace(call, NPYMAP_OVERWRITE | NPYMAP_DISCARD_TRAILING); }) == NPYMAP_OK);
    CHECK(std::ifstream(path, std::ios::ate | std::ios::binary).tellg() <= 128 + 3 * 8);
  }
}

// Errors belong to a thread, and functions that take const arrays run in several.
static void threads(const std::string &folder) {
  const auto array = npymap::array::open(folder + "/a.npy");
  npymap_error_clear();
  std::vector<std::thread> all;
  for (std::size_t id = 0; id < 4; ++id) {
    all.emplace_back([&array, id] {
      const std::string field(id + 1, 'f');
      for (int i = 0; i < 100; ++i) {
        CHECK(array.take<double>({2})[0] == 5);
        CHECK(status_of([&] { (void)array.get<double>(field, {0, 0}); }) == NPYMAP_ERROR_NOT_FOUND);
        CHECK(std::string(npymap_error()).find("`" + field + "`") != std::string::npos);
      }
    });
  }
  for (auto &thread : all) thread.join();
  CHECK(npymap_error_status() == NPYMAP_OK);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  elements(argv[1]);
  booleans(argv[1]);
  files(argv[1]);
  trailing(argv[1]);
  several(argv[1]);
  ragged(argv[1]);
#if !defined(_WIN32) // where appenders do not lock
  start_together(argv[1]);
#endif
  threads(argv[1]);
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
