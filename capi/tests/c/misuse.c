/* Every misuse that can be checked is an error with a text. Also run with threads by
 * the C++ test. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npymap.h"

static int failures;

/* Checks that a call returns a status, and that the text of its error contains a part. */
static void expect(int line, npymap_status found, npymap_status expected, const char *part) {
  if (found == expected && (expected >= 0 || strstr(npymap_error(), part) != NULL)) return;
  fprintf(stderr, "line %d: status %d, expected %d; text \"%s\", expected \"%s\"\n", line,
          (int)found, (int)expected, npymap_error(), part);
  failures += 1;
}
#define FAILS(call, status, part) expect(__LINE__, (call), (status), (part))
#define WORKS(call) expect(__LINE__, (call), NPYMAP_OK, "")
#define TRUE_(condition) expect(__LINE__, (condition) ? NPYMAP_OK : 99, NPYMAP_OK, #condition)

static void null_objects(void) {
  size_t index[1] = {0};
  double value = 0;
  npymap_error_clear();
  TRUE_(npymap_error_status() == NPYMAP_OK && npymap_error()[0] == '\0');
  TRUE_(npymap_ndim(NULL) == 0 && npymap_len(NULL) == 0 && npymap_nbytes(NULL) == 0);
  TRUE_(npymap_error_status() == NPYMAP_ERROR_INVALID_INPUT);
  TRUE_(strcmp(npymap_error(), "`array` is null") == 0);
  TRUE_(npymap_shape(NULL) == NULL && npymap_byte_strides(NULL) == NULL);
  TRUE_(npymap_descr(NULL) == NULL && npymap_data(NULL) == NULL && npymap_data_mut(NULL) == NULL);
  TRUE_(npymap_kind(NULL) == 0 && npymap_order(NULL) == 0 && npymap_byte_order(NULL) == 0);
  TRUE_(npymap_itemsize(NULL) == 0 && npymap_type_of(NULL) == NPYMAP_OTHER);
  TRUE_(npymap_mode_of(NULL) == -1 && npymap_data_offset(NULL) == UINT64_MAX);
  FAILS(npymap_open(NULL, NPYMAP_READ_ONLY, NULL), NPYMAP_ERROR_INVALID_INPUT, "`array` is null");
  FAILS(npymap_close(NULL), NPYMAP_ERROR_INVALID_INPUT, "`array` is null");
  npymap_array *none = NULL;
  FAILS(npymap_open(NULL, NPYMAP_READ_ONLY, &none), NPYMAP_ERROR_INVALID_INPUT, "the path is null");
  WORKS(npymap_close(&none));
  npymap_free(NULL);
  npymap_free(&none);
  npymap_archive_free(NULL);
  npymap_appender_free(NULL);
  FAILS(npymap_get(NULL, index, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_set(NULL, index, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_get_field(NULL, "x", index, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_set_field(NULL, "x", index, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_get_bytes(NULL, index, 1, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_set_bytes(NULL, index, 1, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_get_text(NULL, NULL, index, 1, NULL, 0, NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_set_text(NULL, NULL, index, 1, "1"), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_copy(NULL, NULL, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_assign(NULL, NULL, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_copy_bytes(NULL, '<', &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_first_index(NULL, index, 1), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_next_index(NULL, 'C', index, 1), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_take(NULL, index, 1, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_take_bytes(NULL, index, 1, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_borrow(NULL, NPYMAP_FLOAT64, NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_borrow_mut(NULL, NPYMAP_FLOAT64, NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_flush(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_flush_async(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_advise(NULL, 0, 1, 0), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_prefetch(NULL, 0, 1), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_populate(NULL, 0, 1), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_check_unchanged(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_reload(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_archive_open(NULL, 0, NULL), NPYMAP_ERROR_INVALID_INPUT, "`archive` is null");
  TRUE_(npymap_archive_len(NULL) == 0 && npymap_archive_name(NULL, 0) == NULL);
  FAILS(npymap_archive_get(NULL, "x", &none), NPYMAP_ERROR_INVALID_INPUT, "`archive` is null");
  FAILS(npymap_archive_get_at(NULL, 0, &none), NPYMAP_ERROR_INVALID_INPUT, "`archive` is null");
  FAILS(npymap_appender_open(NULL, NULL), NPYMAP_ERROR_INVALID_INPUT, "`appender` is null");
  FAILS(npymap_appender_open_or_create(NULL, NULL, NULL, 0, 0, NULL), NPYMAP_ERROR_INVALID_INPUT, "`appender` is null");
  npymap_appender *appender = NULL;
  FAILS(npymap_appender_open_or_create("a.npy", "<f8", NULL, 0, NPYMAP_OVERWRITE, &appender),
        NPYMAP_ERROR_INVALID_INPUT, "flags 0x1");
  TRUE_(appender == NULL);
  FAILS(npymap_appender_open_ragged(NULL, "b.npy", &appender), NPYMAP_ERROR_INVALID_INPUT, "the path is null");
  FAILS(npymap_appender_open_ragged("missing.npy", "b.npy", &appender), NPYMAP_ERROR_NOT_FOUND, "missing.npy");
  FAILS(npymap_appender_create_ragged("a.npy", "a.npy", "<f8", NULL, 0, 0, &appender), NPYMAP_ERROR_INVALID_INPUT, "two files");
  FAILS(npymap_appender_create_ragged("a.npy", "b.npy", "<f8", NULL, 0, NPYMAP_FORTRAN_ORDER, &appender),
        NPYMAP_ERROR_INVALID_INPUT, "flags 0x8");
  FAILS(npymap_appender_open_or_create_ragged("a.npy", "b.npy", "<f8", NULL, 1, 0, &appender),
        NPYMAP_ERROR_INVALID_INPUT, "`item` is null");
  FAILS(npymap_appender_open_or_create_ragged("a.npy", "b.npy", NULL, NULL, 0, NPYMAP_WAIT, &appender),
        NPYMAP_ERROR_INVALID_INPUT, "`descr` is null");
  FAILS(npymap_appender_recover_ragged("a.npy", "b.npy", NULL), NPYMAP_ERROR_INVALID_INPUT, "`appender` is null");
  TRUE_(appender == NULL);
  FAILS(npymap_ragged_span(NULL, NULL, 0, index), NPYMAP_ERROR_INVALID_INPUT, "`data` is null");
  FAILS(npymap_ragged_get(NULL, NULL, 0, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "`data` is null");
  FAILS(npymap_append(NULL, NPYMAP_FLOAT64, &value, 1), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_append_bytes(NULL, &value, 8), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_appender_flush(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_appender_sync(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_appender_close(NULL), NPYMAP_ERROR_INVALID_INPUT, "null");
  TRUE_(npymap_appender_rows(NULL) == 0);
  FAILS(npymap_save(NULL, "<f8", index, 1, &value, 8, 0), NPYMAP_ERROR_SHAPE_MISMATCH, "8 bytes, expected 0");
  FAILS(npymap_save_member("a.npz", NULL, "<f8", NULL, 0, &value, 8, 0), NPYMAP_ERROR_INVALID_INPUT, "`name` is null");
  npymap_perror(NULL);
  npymap_perror("");
  npymap_perror("misuse");
}

static void wrong_arguments(void) {
  const size_t shape[] = {2, 3};
  size_t index[] = {1, 2}, outside[] = {2, 0};
  npymap_array *a = NULL;
  FAILS(npymap_open("missing.npy", NPYMAP_READ_ONLY, &a), NPYMAP_ERROR_NOT_FOUND, "missing.npy");
  TRUE_(a == NULL && npymap_error_os_code() == 2);
  FAILS(npymap_open_max_header_len("missing.npy", NPYMAP_READ_ONLY, 20000, &a), NPYMAP_ERROR_NOT_FOUND, "missing.npy");
  FAILS(npymap_open_max_header_len(NULL, NPYMAP_READ_ONLY, 20000, &a), NPYMAP_ERROR_INVALID_INPUT, "the path is null");
  FAILS(npymap_open_at("missing.npy", NPYMAP_READ_ONLY, 152, &a), NPYMAP_ERROR_NOT_FOUND, "missing.npy");
  FAILS(npymap_open("missing.npy", 17, &a), NPYMAP_ERROR_INVALID_INPUT, "no mode has the value 17");
  FAILS(npymap_create(NULL, "<f3", shape, 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "<f3");
  FAILS(npymap_create(NULL, "\xff", shape, 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "not UTF-8");
  FAILS(npymap_create(NULL, NULL, shape, 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "`descr` is null");
  FAILS(npymap_create(NULL, "<i4", NULL, 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "`shape` is null");
  FAILS(npymap_create(NULL, "<i4", (const size_t *)((const char *)shape + 1), 1, 0, &a),
        NPYMAP_ERROR_INVALID_INPUT, "not aligned");
  FAILS(npymap_create(NULL, "<i4", shape, SIZE_MAX / 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "cannot have");
  FAILS(npymap_create(NULL, "<i4", shape, 2, NPYMAP_COMPRESS, &a), NPYMAP_ERROR_INVALID_INPUT, "flags 0x10");
  FAILS(npymap_create(NULL, "<i4", shape, 2, 64, &a), NPYMAP_ERROR_INVALID_INPUT, "flags 0x40");
  const size_t huge[] = {SIZE_MAX / 2, SIZE_MAX / 2}, large[] = {SIZE_MAX / 16};
  FAILS(npymap_create(NULL, "<i4", huge, 2, 0, &a), NPYMAP_ERROR_INVALID_INPUT, "");
  FAILS(npymap_create(NULL, "<i4", large, 1, 0, &a), NPYMAP_ERROR_IO, "");
  TRUE_(a == NULL);

  WORKS(npymap_create(NULL, ">i4", shape, 2, 0, &a));
  int32_t value = -5;
  int8_t small = 0;
  uint32_t natural = 0;
  double real = 0;
  bool flag = false;
  WORKS(npymap_set(a, index, 2, NPYMAP_INT32, &value));
  WORKS(npymap_get(a, index, 2, NPYMAP_INT8, &small));
  WORKS(npymap_get(a, index, 2, NPYMAP_FLOAT64, &real));
  TRUE_(small == -5 && real == -5.0);
  FAILS(npymap_get(a, index, 2, NPYMAP_UINT32, &natural), NPYMAP_ERROR_DTYPE_MISMATCH, "cannot be converted");
  FAILS(npymap_get(a, index, 2, NPYMAP_BOOL, &flag), NPYMAP_ERROR_DTYPE_MISMATCH, "cannot be converted");
  FAILS(npymap_set(a, index, 2, NPYMAP_FLOAT64, &real), NPYMAP_ERROR_DTYPE_MISMATCH, "cannot be converted");
  const int64_t wide = INT64_C(1) << 40;
  FAILS(npymap_set(a, index, 2, NPYMAP_INT64, &wide), NPYMAP_ERROR_INVALID_VALUE, "does not fit");
  value = 300;
  WORKS(npymap_set(a, index, 2, NPYMAP_INT32, &value));
  FAILS(npymap_get(a, index, 2, NPYMAP_INT8, &small), NPYMAP_ERROR_INVALID_VALUE, "300");
  TRUE_(small == -5);
  FAILS(npymap_get(a, index, 2, NPYMAP_OTHER, &real), NPYMAP_ERROR_INVALID_INPUT, "no type");
  FAILS(npymap_get(a, index, 2, 99, &real), NPYMAP_ERROR_INVALID_INPUT, "no type");
  FAILS(npymap_get(a, index, 2, NPYMAP_INT32, NULL), NPYMAP_ERROR_INVALID_INPUT, "`value` is null");
  FAILS(npymap_get(a, NULL, 2, NPYMAP_INT32, &value), NPYMAP_ERROR_INVALID_INPUT, "`index` is null");
  FAILS(npymap_get(a, index, 1, NPYMAP_INT32, &value), NPYMAP_ERROR_OUT_OF_BOUNDS, "[1]");
  FAILS(npymap_get(a, outside, 2, NPYMAP_INT32, &value), NPYMAP_ERROR_OUT_OF_BOUNDS, "[2, 0]");
  FAILS(npymap_set(a, outside, 2, NPYMAP_INT32, &value), NPYMAP_ERROR_OUT_OF_BOUNDS, "[2, 0]");
  FAILS(npymap_get_bytes(a, index, 2, &value, 3), NPYMAP_ERROR_SHAPE_MISMATCH, "3 bytes, expected 4");
  FAILS(npymap_set_bytes(a, index, 2, &value, 5), NPYMAP_ERROR_SHAPE_MISMATCH, "5 bytes, expected 4");
  FAILS(npymap_get_field(a, "x", index, 2, NPYMAP_INT32, &value), NPYMAP_ERROR_NOT_FOUND, "no fields");
  FAILS(npymap_set_text(a, NULL, index, 2, "many"), NPYMAP_ERROR_INVALID_VALUE, "many");
  int32_t all[6];
  double reals[6];
  int8_t bytes[6];
  WORKS(npymap_copy(a, NULL, NPYMAP_INT32, all, sizeof all));
  WORKS(npymap_copy(a, NULL, NPYMAP_FLOAT64, reals, sizeof reals));
  TRUE_(all[5] == 300 && reals[5] == 300.0);
  FAILS(npymap_copy(a, NULL, NPYMAP_INT8, bytes, sizeof bytes), NPYMAP_ERROR_DTYPE_MISMATCH, "cannot be converted");
  FAILS(npymap_copy(a, NULL, NPYMAP_INT32, all, 20), NPYMAP_ERROR_SHAPE_MISMATCH, "20 bytes, expected 24");
  FAILS(npymap_copy(a, NULL, NPYMAP_INT32, NULL, sizeof all), NPYMAP_ERROR_INVALID_INPUT, "null");
  FAILS(npymap_copy_bytes(a, '!', all, sizeof all), NPYMAP_ERROR_INVALID_INPUT, "expected '<'");
  FAILS(npymap_assign(a, NULL, NPYMAP_FLOAT64, reals, sizeof reals), NPYMAP_ERROR_DTYPE_MISMATCH, "");
  WORKS(npymap_assign(a, NULL, NPYMAP_INT8, memset(bytes, 7, sizeof bytes), sizeof bytes));
  const size_t rows[] = {1, 1, 0}, no_row[] = {2};
  int64_t taken[9];
  WORKS(npymap_take(a, rows, 3, NPYMAP_INT64, taken, sizeof taken));
  TRUE_(taken[8] == 7);
  FAILS(npymap_take(a, no_row, 1, NPYMAP_INT64, taken, 24), NPYMAP_ERROR_OUT_OF_BOUNDS, "[2]");
  FAILS(npymap_take(a, rows, 3, NPYMAP_INT64, taken, 8), NPYMAP_ERROR_SHAPE_MISMATCH, "8 bytes");
  WORKS(npymap_take(a, NULL, 0, NPYMAP_INT64, NULL, 0));
  const void *data = NULL;
  FAILS(npymap_borrow(a, NPYMAP_INT32, &data), NPYMAP_ERROR_DTYPE_MISMATCH, "stored as '>i4'");
  FAILS(npymap_borrow(a, NPYMAP_INT32, NULL), NPYMAP_ERROR_DTYPE_MISMATCH, "stored as '>i4'");
  FAILS(npymap_next_index(a, 'X', index, 2), NPYMAP_ERROR_INVALID_INPUT, "expected 'C' or 'F'");
  FAILS(npymap_next_index(a, 'C', outside, 2), NPYMAP_ERROR_OUT_OF_BOUNDS, "[2, 0]");
  FAILS(npymap_first_index(a, index, 3), NPYMAP_ERROR_OUT_OF_BOUNDS, "");
  FAILS(npymap_advise(a, 0, 9, NPYMAP_ADVICE_RANDOM), NPYMAP_ERROR_OUT_OF_BOUNDS, "");
  FAILS(npymap_advise(a, 0, SIZE_MAX, 9), NPYMAP_ERROR_INVALID_INPUT, "no advice");
  FAILS(npymap_reload(a), NPYMAP_ERROR_INVALID_INPUT, "read-only");
  WORKS(npymap_flush(a));
  WORKS(npymap_check_unchanged(a));
  npymap_array *copy_of_pointer = a;
  WORKS(npymap_close(&a));
  TRUE_(a == NULL && copy_of_pointer != NULL);
  WORKS(npymap_close(&a));
  TRUE_(npymap_len(a) == 0 && npymap_error_status() == NPYMAP_ERROR_INVALID_INPUT);
}

/* Arrays without elements, without axes, and with elements without bytes. */
static void corners(void) {
  npymap_array *a = NULL;
  const size_t empty[] = {3, 0, 2};
  size_t index[3] = {9, 9, 9};
  double value = 2.5;
  WORKS(npymap_create(NULL, "<f8", empty, 3, 0, &a));
  FAILS(npymap_first_index(a, index, 3), NPYMAP_END, "");
  TRUE_(npymap_data(a) != NULL && npymap_data_mut(a) != NULL);
  const void *none = NULL;
  void *none_mut = NULL;
  WORKS(npymap_borrow(a, NPYMAP_FLOAT64, &none));
  WORKS(npymap_borrow_mut(a, NPYMAP_FLOAT64, &none_mut));
  TRUE_(none != NULL && (uintptr_t)none % 16 == 0 && none == none_mut);
  WORKS(npymap_copy(a, NULL, NPYMAP_FLOAT64, NULL, 0));
  WORKS(npymap_copy_bytes(a, '=', NULL, 0));
  WORKS(npymap_take(a, empty, 1, NPYMAP_FLOAT64, NULL, 0) == NPYMAP_ERROR_OUT_OF_BOUNDS ? NPYMAP_OK : 1);
  FAILS(npymap_ragged_span(a, NULL, 0, index), NPYMAP_ERROR_INVALID_INPUT, "`offsets` is null");
  FAILS(npymap_ragged_span(a, a, 0, index), NPYMAP_ERROR_SHAPE_MISMATCH, "offsets of shape [3, 0, 2]");
  npymap_array *ends = NULL;
  WORKS(npymap_create(NULL, "<i8", (const size_t[]){2}, 1, 0, &ends));
  FAILS(npymap_ragged_span(a, ends, 1, index), NPYMAP_ERROR_OUT_OF_BOUNDS, "[1]");
  FAILS(npymap_ragged_span(a, ends, 0, NULL), NPYMAP_ERROR_INVALID_INPUT, "`span` is null");
  WORKS(npymap_ragged_span(a, ends, 0, index));
  TRUE_(index[0] == 0 && index[1] == 0);
  WORKS(npymap_ragged_get(a, ends, 0, NPYMAP_FLOAT64, NULL, 0));
  FAILS(npymap_ragged_get(a, ends, 0, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_SHAPE_MISMATCH, "8 bytes, expected 0");
  WORKS(npymap_close(&ends));
  WORKS(npymap_close(&a));

  WORKS(npymap_create(NULL, ">f8", NULL, 0, 0, &a));
  TRUE_(npymap_len(a) == 1 && npymap_ndim(a) == 0);
  WORKS(npymap_set(a, NULL, 0, NPYMAP_FLOAT64, &value));
  value = 0;
  WORKS(npymap_get(a, NULL, 0, NPYMAP_FLOAT64, &value));
  TRUE_(value == 2.5);
  WORKS(npymap_first_index(a, NULL, 0));
  FAILS(npymap_next_index(a, 'F', NULL, 0), NPYMAP_END, "");
  const size_t row[] = {0};
  FAILS(npymap_take(a, row, 1, NPYMAP_FLOAT64, &value, 8), NPYMAP_ERROR_SHAPE_MISMATCH, "no rows");
  WORKS(npymap_close(&a));

  const size_t many[] = {SIZE_MAX / 4};
  WORKS(npymap_create(NULL, "|V0", many, 1, 0, &a));
  TRUE_(npymap_len(a) == many[0] && npymap_nbytes(a) == 0);
  WORKS(npymap_copy_bytes(a, '<', NULL, 0));
  FAILS(npymap_get(a, row, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_DTYPE_MISMATCH, "not a number");
  WORKS(npymap_get_bytes(a, row, 1, NULL, 0));
  WORKS(npymap_close(&a));

  WORKS(npymap_create(NULL, "[('id', '<u2'), ('pos', '>f4', (3,)), ('name', '|S4')]", (const size_t[]){2}, 1, 0, &a));
  TRUE_(npymap_kind(a) == 'V' && npymap_byte_order(a) == '|' && npymap_itemsize(a) == 18);
  TRUE_(strcmp(npymap_descr(a), "[('id', '<u2'), ('pos', '>f4', (3,)), ('name', '|S4')]") == 0);
  const size_t at[] = {1, 2}, one[] = {1};
  const float z = 1.5f;
  const uint16_t id = 7;
  WORKS(npymap_set_field(a, "pos", at, 2, NPYMAP_FLOAT32, &z));
  WORKS(npymap_set_field(a, "id", one, 1, NPYMAP_UINT16, &id));
  WORKS(npymap_set_text(a, "name", one, 1, "b'abc'"));
  WORKS(npymap_get_field(a, "pos", at, 2, NPYMAP_FLOAT64, &value));
  TRUE_(value == 1.5);
  FAILS(npymap_get_field(a, "pos", one, 1, NPYMAP_FLOAT64, &value), NPYMAP_ERROR_OUT_OF_BOUNDS, "");
  char text[64];
  size_t len = 0;
  WORKS(npymap_get_text(a, "name", one, 1, text, sizeof text, &len));
  TRUE_(strcmp(text, "b'abc'") == 0 && len == 6);
  WORKS(npymap_get_text(a, "name", one, 1, text, 3, &len));
  TRUE_(strcmp(text, "b'") == 0 && len == 6);
  FAILS(npymap_get_text(a, "name", one, 1, NULL, 3, &len), NPYMAP_ERROR_INVALID_INPUT, "`text` is null");
  float column[6];
  WORKS(npymap_copy(a, "pos", NPYMAP_FLOAT32, column, sizeof column));
  TRUE_(column[5] == 1.5f && column[0] == 0.0f);
  WORKS(npymap_close(&a));
}

int main(void) {
  null_objects();
  wrong_arguments();
  corners();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
