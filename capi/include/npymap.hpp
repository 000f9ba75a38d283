// npymap for C++17: npymap.h with objects that close themselves, exceptions and
// spans. Errors are thrown as npymap::error. The contract at the top of npymap.h
// applies here too.
#ifndef NPYMAP_HPP
#define NPYMAP_HPP

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<version>)
#include <version>
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif
#if defined(__cpp_lib_mdspan)
#include <mdspan>
#endif

#include "npymap.h"

namespace npymap {

/// An error: npymap_error as what(), and its status.
class error : public std::runtime_error {
public:
  error(npymap_status status, int os_code, const char *text)
      : std::runtime_error(text), status_(status), os_code_(os_code) {}

  /// NPYMAP_ERROR_NOT_FOUND or another.
  npymap_status status() const noexcept { return status_; }
  /// npymap_error_os_code.
  int os_code() const noexcept { return os_code_; }

private:
  npymap_status status_;
  int os_code_;
};

/// Throws the last error of this thread if `status` is one.
inline npymap_status check(npymap_status status) {
  if (status < 0) throw error(status, npymap_error_os_code(), npymap_error());
  return status;
}

/// The constant for a type of numbers, such as NPYMAP_FLOAT64 for double. May be
/// specialized for a type with 16 bits, whose constant is NPYMAP_FLOAT16.
template <class T> struct number {
  static_assert(sizeof(T) == 0, "use bool, an integer, float, double, or std::complex of these");
  static constexpr std::int32_t value = NPYMAP_OTHER;
};
template <> struct number<bool> { static constexpr std::int32_t value = NPYMAP_BOOL; };
template <> struct number<float> { static constexpr std::int32_t value = NPYMAP_FLOAT32; };
template <> struct number<double> { static constexpr std::int32_t value = NPYMAP_FLOAT64; };
template <> struct number<std::complex<float>> {
  static constexpr std::int32_t value = NPYMAP_COMPLEX64;
};
template <> struct number<std::complex<double>> {
  static constexpr std::int32_t value = NPYMAP_COMPLEX128;
};

namespace detail {
template <class T> constexpr std::int32_t number_of() {
  // long, long long and char have the size of one of the types with a fixed size.
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    static_assert(sizeof(T) <= 8, "no integers of more than 64 bits");
    constexpr bool sign = std::is_signed_v<T>;
    switch (sizeof(T)) {
    case 1: return sign ? NPYMAP_INT8 : NPYMAP_UINT8;
    case 2: return sign ? NPYMAP_INT16 : NPYMAP_UINT16;
    case 4: return sign ? NPYMAP_INT32 : NPYMAP_UINT32;
    default: return sign ? NPYMAP_INT64 : NPYMAP_UINT64;
    }
  } else {
    return number<T>::value;
  }
}

/// The text as C reads it, to the first NUL. One inside is an error: the rest would be lost.
inline const char *c_text(const std::string &text) {
  if (text.find('\0') != std::string::npos) {
    throw error(NPYMAP_ERROR_INVALID_INPUT, 0, "a string contains a NUL");
  }
  return text.c_str();
}

struct free_array {
  void operator()(npymap_array *array) const noexcept { npymap_free(&array); }
};
struct free_archive {
  void operator()(npymap_archive *archive) const noexcept { npymap_archive_free(&archive); }
};
struct free_appender {
  void operator()(npymap_appender *appender) const noexcept { npymap_appender_free(&appender); }
};
} // namespace detail

/// The constant for T.
template <class T>
inline constexpr std::int32_t number_v = detail::number_of<std::remove_cv_t<T>>();

/// The dtype of T as numpy.dtype.str, in this machine's byte order: "=f8".
template <class T> std::string descr() {
  constexpr std::int32_t type = number_v<T>;
  const char *kind = type == NPYMAP_BOOL       ? "|b"
                     : type <= NPYMAP_INT64    ? "=i"
                     : type <= NPYMAP_UINT64   ? "=u"
                     : type <= NPYMAP_FLOAT64  ? "=f"
                                               : "=c";
  return kind + std::to_string(sizeof(T));
}

/// How a file is opened.
enum class mode : std::int32_t {
  read_only = NPYMAP_READ_ONLY,
  read_write = NPYMAP_READ_WRITE,
  copy_on_write = NPYMAP_COPY_ON_WRITE,
  in_memory = NPYMAP_IN_MEMORY,
};

/// A contiguous sequence of elements: std::span where there is one.
#if defined(__cpp_lib_span)
template <class T> using span = std::span<T>;
#else
template <class T> class span {
public:
  using element_type = T;
  span() = default;
  span(T *data, std::size_t size) : data_(data), size_(size) {}
  T *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T &operator[](std::size_t i) const { return data_[i]; }
  T *begin() const noexcept { return data_; }
  T *end() const noexcept { return data_ + size_; }

private:
  T *data_ = nullptr;
  std::size_t size_ = 0;
};
#endif

#if defined(__cpp_lib_mdspan)
/// All elements in place, with N axes of any strides.
template <class T, std::size_t N>
using mdspan = std::mdspan<T, std::dextents<std::size_t, N>, std::layout_stride>;
#endif

/// The position of an element: {i, j}, or a vector. It is a parameter and refers to the
/// argument, which lives until the call returns.
class index_list {
public:
  index_list(std::initializer_list<std::size_t> list) : data_(begin(list)), size_(list.size()) {}
  index_list(const std::vector<std::size_t> &list) : data_(list.data()), size_(list.size()) {}
  template <std::size_t N>
  index_list(const std::array<std::size_t, N> &list) : data_(list.data()), size_(N) {}
  const std::size_t *data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }

private:
  static const std::size_t *begin(std::initializer_list<std::size_t> list) { return list.begin(); }

  const std::size_t *data_;
  std::size_t size_;
};

/// An array: a mapped file, a member of an archive, or memory. Const member functions
/// may run in several threads at the same time.
class array {
public:
  /// Opens a `.npy` file.
  static array open(const std::string &path, mode how = mode::read_only) {
    return make([&](npymap_array **made) {
      return npymap_open(detail::c_text(path), static_cast<npymap_mode>(how), made);
    });
  }

  /// As open, for a header of up to `max_header_len` characters instead of 10,000.
  static array open_max_header_len(const std::string &path, std::size_t max_header_len,
                                   mode how = mode::read_only) {
    return make([&](npymap_array **made) {
      return npymap_open_max_header_len(detail::c_text(path), static_cast<npymap_mode>(how),
          max_header_len, made);
    });
  }

  /// Opens an array whose header starts at byte `offset`: one of several in a file.
  static array open_at(const std::string &path, std::uint64_t offset, mode how = mode::read_only) {
    return make([&](npymap_array **made) {
      return npymap_open_at(detail::c_text(path), static_cast<npymap_mode>(how), offset, made);
    });
  }

  /// Opens a file without a header, with elements that start at byte `offset`.
  static array open_raw(const std::string &path, const std::string &descr,
                        const std::vector<std::size_t> &shape, std::uint64_t offset = 0,
                        mode how = mode::read_only, std::uint32_t flags = 0) {
    return make([&](npymap_array **made) {
      return npymap_open_raw(detail::c_text(path), static_cast<npymap_mode>(how), detail::c_text(descr),
          some(shape), shape.size(), offset, flags, made);
    });
  }

  /// Opens a copy of the bytes of a `.npy` file.
  static array open_bytes(const void *bytes, std::size_t nbytes) {
    return make([&](npymap_array **made) {
      return npymap_open_bytes(bytes, nbytes, made);
    });
  }

  /// Creates a `.npy` file of zeros.
  static array create(const std::string &path, const std::string &descr,
                      const std::vector<std::size_t> &shape, std::uint32_t flags = 0) {
    return make([&](npymap_array **made) {
      return npymap_create(detail::c_text(path), detail::c_text(descr), some(shape), shape.size(), flags,
          made);
    });
  }

  /// Makes an array of zeros in memory.
  static array zeros(const std::string &descr, const std::vector<std::size_t> &shape,
                     std::uint32_t flags = 0) {
    return make([&](npymap_array **made) {
      return npymap_create(nullptr, detail::c_text(descr), some(shape), shape.size(), flags, made);
    });
  }

  /// Takes an array of C. Its destructor closes it.
  explicit array(npymap_array *owned) noexcept : owned_{owned} {}

  /// The array of C, which this one keeps.
  const npymap_array *c_array() const noexcept { return owned_.get(); }
  npymap_array *c_array() noexcept { return owned_.get(); }

  /// Waits until stores are on the disk, closes and reports errors, where the
  /// destructor does not wait and ignores errors.
  void close() {
    npymap_array *array = owned_.release();
    check(npymap_close(&array));
  }

  std::size_t ndim() const { return npymap_ndim(c_array()); }
  span<const std::size_t> shape() const { return {npymap_shape(c_array()), ndim()}; }
  span<const std::ptrdiff_t> byte_strides() const { return {npymap_byte_strides(c_array()), ndim()}; }
  std::size_t size() const { return npymap_len(c_array()); }
  std::size_t itemsize() const { return npymap_itemsize(c_array()); }
  std::size_t nbytes() const { return npymap_nbytes(c_array()); }
  std::int32_t type() const { return npymap_type_of(c_array()); }
  char kind() const { return npymap_kind(c_array()); }
  char byte_order() const { return npymap_byte_order(c_array()); }
  char order() const { return npymap_order(c_array()); }
  std::string_view descr() const {
    const char *text = npymap_descr(c_array());
    if (text == nullptr) throw last_error();
    return text;
  }

  /// The bytes of all elements, in memory order.
  span<const std::byte> bytes() const {
    return {static_cast<const std::byte *>(npymap_data(c_array())), nbytes()};
  }
  span<std::byte> bytes_mut() {
    void *data = npymap_data_mut(c_array());
    if (data == nullptr) throw last_error();
    return {static_cast<std::byte *>(data), nbytes()};
  }

  /// All elements in place, in memory order.
  template <class T> span<const T> view() const { return {borrow<T>(), size()}; }
  template <class T> span<T> view_mut() { return {borrow_mut<T>(), size()}; }

#if defined(__cpp_lib_mdspan)
  /// All elements in place, with N axes.
  template <class T, std::size_t N> npymap::mdspan<const T, N> mdspan() const {
    return {borrow<T>(), mapping<T, N>()};
  }
  template <class T, std::size_t N> npymap::mdspan<T, N> mdspan_mut() {
    return {borrow_mut<T>(), mapping<T, N>()};
  }
#endif

  /// An element, converted from either byte order and any alignment.
  template <class T> T get(index_list index) const {
    T value{};
    check(npymap_get(c_array(), index.data(), index.size(), number_v<T>, &value));
    return value;
  }
  template <class T> void set(index_list index, T value) {
    check(npymap_set(c_array(), index.data(), index.size(), number_v<T>, &value));
  }
  /// A field of an element: "x", or "pos.z".
  template <class T> T get(const std::string &field, index_list index) const {
    T value{};
    check(npymap_get_field(c_array(), detail::c_text(field), index.data(), index.size(), number_v<T>, &value));
    return value;
  }
  template <class T> void set(const std::string &field, index_list index, T value) {
    check(npymap_set_field(c_array(), detail::c_text(field), index.data(), index.size(), number_v<T>, &value));
  }

  /// An element as text.
  std::string text(index_list index) const {
    std::size_t len = 0;
    check(npymap_get_text(c_array(), nullptr, index.data(), index.size(), nullptr, 0, &len));
    std::string text(len, '\0');
    // A std::string has room for the NUL.
    check(npymap_get_text(c_array(), nullptr, index.data(), index.size(), text.data(), len + 1, &len));
    return text;
  }
  void set_text(index_list index, const std::string &text) {
    check(npymap_set_text(c_array(), nullptr, index.data(), index.size(), detail::c_text(text)));
  }

  /// All elements in C order, converted to T.
  template <class T> std::vector<T> to_vector() const {
    static_assert(!std::is_same_v<T, bool>, "std::vector<bool> is not an array: use unsigned char");
    std::vector<T> values(size());
    check(npymap_copy(c_array(), nullptr, number_v<T>, values.data(), values.size() * sizeof(T)));
    return values;
  }
  /// Stores numbers in C order to all elements.
  template <class T> void assign(const std::vector<T> &values) {
    check(npymap_assign(c_array(), nullptr, number_v<T>, values.data(), values.size() * sizeof(T)));
  }

  /// Rows of the first axis, converted to T.
  template <class T> std::vector<T> take(const std::vector<std::size_t> &rows) const {
    std::size_t len = rows.size();
    for (std::size_t axis = 1; axis < ndim(); ++axis) len *= shape()[axis];
    std::vector<T> values(len);
    check(npymap_take(c_array(), rows.data(), rows.size(), number_v<T>, values.data(),
                      values.size() * sizeof(T)));
    return values;
  }

  /// Calls f with the index of each element, in C order or 'F'.
  template <class F> void for_each_index(F f, char order = 'C') const {
    std::vector<std::size_t> index(ndim());
    npymap_status status = check(npymap_first_index(c_array(), index.data(), index.size()));
    while (status == NPYMAP_OK) {
      f(static_cast<const std::vector<std::size_t> &>(index));
      status = check(npymap_next_index(c_array(), order, index.data(), index.size()));
    }
  }

  void flush() const { check(npymap_flush(c_array())); }
  void advise(std::int32_t advice, std::size_t start = 0, std::size_t stop = SIZE_MAX) const {
    check(npymap_advise(c_array(), start, stop, advice));
  }
  void populate(std::size_t start = 0, std::size_t stop = SIZE_MAX) const {
    check(npymap_populate(c_array(), start, stop));
  }

private:
  /// Makes an array with a function of C.
  template <class F> static array make(F f) {
    npymap_array *made = nullptr;
    check(f(&made));
    return array(made);
  }

  static error last_error() {
    return error(npymap_error_status(), npymap_error_os_code(), npymap_error());
  }
  template <class T> const T *borrow() const {
    const void *data = nullptr;
    check(npymap_borrow(c_array(), number_v<T>, &data));
    return static_cast<const T *>(data);
  }
  template <class T> T *borrow_mut() {
    void *data = nullptr;
    check(npymap_borrow_mut(c_array(), number_v<T>, &data));
    return static_cast<T *>(data);
  }

#if defined(__cpp_lib_mdspan)
  template <class T, std::size_t N> auto mapping() const {
    if (ndim() != N) {
      throw error(NPYMAP_ERROR_SHAPE_MISMATCH, 0, "the array has another number of axes");
    }
    std::array<std::size_t, N> extents{}, strides{};
    for (std::size_t axis = 0; axis < N; ++axis) {
      extents[axis] = shape()[axis];
      strides[axis] = static_cast<std::size_t>(byte_strides()[axis]) / sizeof(T);
    }
    using extents_type = std::dextents<std::size_t, N>;
    return std::layout_stride::mapping<extents_type>(extents_type(extents), strides);
  }
#endif

  /// A pointer that is not null, even for no axes.
  static const std::size_t *some(const std::vector<std::size_t> &shape) {
    static const std::size_t none = 0;
    return shape.empty() ? &none : shape.data();
  }

  std::unique_ptr<npymap_array, detail::free_array> owned_;
};

/// A `.npz`, `.ten` or tar file. Its arrays outlive it.
class archive {
public:
  static archive open(const std::string &path, mode how = mode::read_only) {
    npymap_archive *made = nullptr;
    check(npymap_archive_open(detail::c_text(path), static_cast<npymap_mode>(how), &made));
    return archive(made);
  }
  /// Opens a copy of the bytes of a file.
  static archive open_bytes(const void *bytes, std::size_t nbytes) {
    npymap_archive *made = nullptr;
    check(npymap_archive_open_bytes(bytes, nbytes, &made));
    return archive(made);
  }
  explicit archive(npymap_archive *owned) noexcept : owned_{owned} {}

  std::size_t size() const { return npymap_archive_len(owned_.get()); }
  std::string name(std::size_t position) const {
    const char *name = npymap_archive_name(owned_.get(), position);
    if (name == nullptr) check(npymap_error_status());
    return name;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < size(); ++i) names.push_back(name(i));
    return names;
  }
  /// The member called `name`.
  array get(const std::string &name) const {
    npymap_array *made = nullptr;
    check(npymap_archive_get(owned_.get(), detail::c_text(name), &made));
    return array(made);
  }
  array get(std::size_t position) const {
    npymap_array *made = nullptr;
    check(npymap_archive_get_at(owned_.get(), position, &made));
    return array(made);
  }

private:
  std::unique_ptr<npymap_archive, detail::free_archive> owned_;
};

/// A `.npy` file to which rows are appended, or the two files of a ragged array.
class appender {
public:
  static appender open(const std::string &path) {
    npymap_appender *made = nullptr;
    check(npymap_appender_open(detail::c_text(path), &made));
    return appender(made);
  }
  /// Creates a file whose rows have the shape `row`.
  static appender create(const std::string &path, const std::string &descr,
                         const std::vector<std::size_t> &row, std::uint32_t flags = 0) {
    npymap_appender *made = nullptr;
    check(npymap_appender_create(detail::c_text(path), detail::c_text(descr), row.data(), row.size(), flags, &made));
    return appender(made);
  }
  /// Opens a file whose rows have the shape `row`, or creates it if it does not exist. With
  /// NPYMAP_WAIT, waits while another program appends.
  static appender open_or_create(const std::string &path, const std::string &descr,
                                 const std::vector<std::size_t> &row, std::uint32_t flags = 0) {
    npymap_appender *made = nullptr;
    check(npymap_appender_open_or_create(detail::c_text(path), detail::c_text(descr), row.data(), row.size(), flags,
                                         &made));
    return appender(made);
  }
  /// As open_or_create, for rows of different lengths of items of the shape `item`: the
  /// elements are in `data`, the starts and ends of the rows in `offsets`.
  static appender open_or_create_ragged(const std::string &data, const std::string &offsets,
                                        const std::string &descr, const std::vector<std::size_t> &item = {},
                                        std::uint32_t flags = 0) {
    npymap_appender *made = nullptr;
    check(npymap_appender_open_or_create_ragged(detail::c_text(data), detail::c_text(offsets), detail::c_text(descr),
                                                item.data(), item.size(), flags, &made));
    return appender(made);
  }
  explicit appender(npymap_appender *owned) noexcept : owned_{owned} {}

  std::size_t rows() const { return npymap_appender_rows(owned_.get()); }
  /// Appends complete rows; to a ragged array, one row.
  template <class T> void append(const T *numbers, std::size_t count) {
    check(npymap_append(owned_.get(), number_v<T>, numbers, count));
  }
  template <class T> void append(const std::vector<T> &numbers) {
    append(numbers.data(), numbers.size());
  }
  void flush() { check(npymap_appender_flush(owned_.get())); }
  void sync() { check(npymap_appender_sync(owned_.get())); }
  /// Waits until the rows are on the disk, closes and reports errors.
  void close() {
    npymap_appender *appender = owned_.release();
    check(npymap_appender_close(&appender));
  }

private:
  std::unique_ptr<npymap_appender, detail::free_appender> owned_;
};

/// Rows of different lengths, in an array of all elements and one of the rows' offsets.
class ragged {
public:
  ragged(array data, array offsets) : data_{std::move(data)}, offsets_{std::move(offsets)} {}
  static ragged open(const std::string &data, const std::string &offsets, mode how = mode::read_only) {
    // While rows are appended, no offset is written before its elements.
    auto ends = array::open(offsets, how);
    return ragged(array::open(data, how), std::move(ends));
  }
  const array &data() const noexcept { return data_; }
  const array &offsets() const noexcept { return offsets_; }
  /// The number of rows.
  std::size_t size() const { return offsets_.size() == 0 ? 0 : offsets_.size() - 1; }
  /// The positions of a row along the first axis of the data: its start, and its end.
  std::pair<std::size_t, std::size_t> span(std::size_t row) const {
    std::size_t found[2];
    check(npymap_ragged_span(data_.c_array(), offsets_.c_array(), row, found));
    return {found[0], found[1]};
  }
  /// A row, converted to T.
  template <class T> std::vector<T> get(std::size_t row) const {
    const auto found = span(row);
    std::size_t len = found.second - found.first;
    for (std::size_t axis = 1; axis < data_.ndim(); ++axis) len *= data_.shape()[axis];
    std::vector<T> values(len);
    check(npymap_ragged_get(data_.c_array(), offsets_.c_array(), row, number_v<T>, values.data(),
                            values.size() * sizeof(T)));
    return values;
  }

private:
  array data_, offsets_;
};

/// Writes numbers in C order to a `.npy` file.
template <class T>
void save(const std::string &path, const T *numbers, const std::vector<std::size_t> &shape,
          std::uint32_t flags = 0) {
  std::size_t nbytes = sizeof(T);
  for (std::size_t dim : shape) nbytes *= dim;
  check(npymap_save(detail::c_text(path), descr<T>().c_str(), shape.data(), shape.size(), numbers, nbytes,
                    flags));
}

/// Adds a member to a `.npz` file, or replaces it.
template <class T>
void save_member(const std::string &path, const std::string &name, const T *numbers,
                 const std::vector<std::size_t> &shape, std::uint32_t flags = 0) {
  std::size_t nbytes = sizeof(T);
  for (std::size_t dim : shape) nbytes *= dim;
  check(npymap_save_member(detail::c_text(path), detail::c_text(name), descr<T>().c_str(), shape.data(),
                           shape.size(), numbers, nbytes, flags));
}

} // namespace npymap

#endif
