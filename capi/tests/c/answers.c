/* Prints what the library says about files, for comparison with examples/answers.rs,
 * which asks the Rust library. Files are also opened damaged, in memory.
 *
 *   answers STEP FILE...    every STEP-th truncation and change; none if 0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "npymap.h"

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, npymap_error()); \
      abort();                                                                    \
    }                                                                             \
  } while (0)

/* The lines of one file, hashed or printed. */
static uint64_t lines_hash;
static int lines_printed;

static uint64_t fnv(uint64_t hash, const void *bytes, size_t count) {
  const unsigned char *byte = (const unsigned char *)bytes;
  for (size_t i = 0; i < count; i += 1) hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
  return hash;
}

#define FNV_START UINT64_C(0xcbf29ce484222325)

static void emit_text(const char *text, size_t len) {
  lines_hash = fnv(lines_hash, text, len);
  if (lines_printed) CHECK(fwrite(text, 1, len, stdout) == len);
}

static void emit(const char *text) { emit_text(text, strlen(text)); }

static void emit_number(const char *format, uint64_t number) {
  char text[64];
  snprintf(text, sizeof text, format, number);
  emit(text);
}

/* The hash of all elements, after checking that every way to read them agrees. */
static uint64_t hash_elements(npymap_array *a, int writable) {
  const size_t nbytes = npymap_nbytes(a), itemsize = npymap_itemsize(a), ndim = npymap_ndim(a);
  const npymap_type type = npymap_type_of(a);
  unsigned char *all = (unsigned char *)malloc(nbytes + 1);
  unsigned char *one = (unsigned char *)malloc(itemsize + 1);
  CHECK(all != NULL && one != NULL);
  CHECK(npymap_copy_bytes(a, '<', all, nbytes) == NPYMAP_OK);
  const uint64_t hash = fnv(FNV_START, all, nbytes);

  const unsigned char *data = (const unsigned char *)npymap_data(a);
  CHECK(data != NULL);
  const double *doubles = NULL;
  double *converted = NULL;
  const size_t len = npymap_len(a);
  if (len <= 4096 && type != NPYMAP_OTHER && npymap_kind(a) != 'c') {
    converted = (double *)malloc(len * sizeof *converted + 1);
    CHECK(converted != NULL);
    CHECK(npymap_copy(a, NULL, NPYMAP_FLOAT64, converted, len * sizeof *converted) == NPYMAP_OK);
    if (npymap_borrow(a, NPYMAP_FLOAT64, (const void **)&doubles) != NPYMAP_OK) doubles = NULL;
  }
  size_t index[64], count = 0;
  if (itemsize > 0 && len <= 4096) {
    npymap_status status = npymap_first_index(a, index, ndim);
    for (; status == NPYMAP_OK; status = npymap_next_index(a, 'C', index, ndim)) {
      ptrdiff_t offset = 0;
      for (size_t axis = 0; axis < ndim; axis += 1) {
        offset += (ptrdiff_t)index[axis] * npymap_byte_strides(a)[axis];
      }
      CHECK(npymap_get_bytes(a, index, ndim, one, itemsize) == NPYMAP_OK);
      CHECK(memcmp(one, data + offset, itemsize) == 0);
      if (converted != NULL) {
        double value;
        CHECK(npymap_get(a, index, ndim, NPYMAP_FLOAT64, &value) == NPYMAP_OK);
        CHECK(memcmp(&value, &converted[count], sizeof value) == 0);
        if (doubles != NULL) {
          CHECK(memcmp(&value, (const char *)doubles + offset, sizeof value) == 0);
        }
      }
      if (writable) CHECK(npymap_set_bytes(a, index, ndim, one, itemsize) == NPYMAP_OK);
      count += 1;
    }
    CHECK(status == NPYMAP_END && count == len);
    if (writable) {
      CHECK(npymap_copy_bytes(a, '<', all, nbytes) == NPYMAP_OK);
      CHECK(fnv(FNV_START, all, nbytes) == hash);
    }
  }
  free(converted);
  free(all);
  free(one);
  return hash;
}

static void emit_array(npymap_array *a, int writable) {
  emit(npymap_descr(a));
  emit(" (");
  for (size_t axis = 0; axis < npymap_ndim(a); axis += 1) {
    emit_number("%" PRIu64 ",", npymap_shape(a)[axis]);
  }
  const char order[] = {')', ' ', npymap_order(a), ' ', npymap_byte_order(a), '\0'};
  emit(order);
  emit_number(" %" PRIu64, npymap_itemsize(a));
  emit_number(" %" PRIu64, npymap_len(a));
  emit_number(" %" PRIu64, npymap_data_offset(a));
  emit_number(" %016" PRIx64, hash_elements(a, writable));
  if (npymap_len(a) > 0) {
    size_t index[64] = {0}, len = 0;
    CHECK(npymap_get_text(a, NULL, index, npymap_ndim(a), NULL, 0, &len) == NPYMAP_OK);
    char *text = (char *)malloc(len + 1);
    CHECK(text != NULL);
    CHECK(npymap_get_text(a, NULL, index, npymap_ndim(a), text, len + 1, NULL) == NPYMAP_OK);
    CHECK(text[len] == '\0');
    emit(" ");
    emit_text(text, len);
    free(text);
  }
  emit("\n");
}

static void emit_error(npymap_status status) {
  CHECK(status < 0 && status == npymap_error_status());
  emit_number("error %" PRIu64, (uint64_t)-status);
  emit(" ");
  emit(npymap_error());
  emit("\n");
}

/* All arrays of a file, or the error. */
static void emit_file(npymap_status status, npymap_archive *file, int writable) {
  if (status != NPYMAP_OK) {
    CHECK(file == NULL);
    emit_error(status);
    return;
  }
  for (size_t i = 0; i < npymap_archive_len(file); i += 1) {
    npymap_array *a = NULL;
    emit(npymap_archive_name(file, i));
    emit(": ");
    status = npymap_archive_get_at(file, i, &a);
    if (status == NPYMAP_OK) {
      emit_array(a, writable);
    } else {
      CHECK(a == NULL);
      emit_error(status);
    }
    CHECK(npymap_close(&a) == NPYMAP_OK && a == NULL);
  }
  npymap_archive_free(&file);
  CHECK(file == NULL);
}

static void emit_bytes(const unsigned char *bytes, size_t count) {
  npymap_archive *file = NULL;
  /* A buffer of its own, so that a sanitizer sees each byte after it. */
  unsigned char *copy = (unsigned char *)malloc(count + (count == 0));
  CHECK(copy != NULL);
  memcpy(copy, bytes, count);
  const npymap_status status = npymap_archive_open_bytes(copy, count, &file);
  free(copy);
  emit_file(status, file, 1);
}

/* The file at every STEP-th length, and with every STEP-th byte changed. */
static void emit_damaged(unsigned char *bytes, size_t count, size_t step) {
  lines_printed = 0;
  lines_hash = FNV_START;
  for (size_t at = 0; at < count; at += step) {
    emit_bytes(bytes, at);
    const unsigned char old = bytes[at];
    bytes[at] = (unsigned char)(old ^ (1u << (at % 8)));
    emit_bytes(bytes, count);
    bytes[at] = old;
  }
  lines_printed = 1;
  printf("damaged: %016" PRIx64 "\n", lines_hash);
}

static unsigned char *read_file(const char *path, size_t *count) {
  FILE *file = fopen(path, "rb");
  CHECK(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  *count = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = (unsigned char *)malloc(*count + 1);
  CHECK(bytes != NULL && fread(bytes, 1, *count, file) == *count);
  fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  CHECK(argc > 2 && npymap_abi_version() == NPYMAP_ABI_VERSION);
  const size_t step = strtoul(argv[1], NULL, 10);
  for (int i = 2; i < argc; i += 1) {
    lines_printed = 1;
    printf("%s\n", argv[i]);
    const npymap_mode modes[] = {NPYMAP_READ_ONLY, NPYMAP_COPY_ON_WRITE, NPYMAP_IN_MEMORY};
    for (size_t m = 0; m < 3; m += 1) {
      npymap_archive *file = NULL;
      const npymap_status status = npymap_archive_open(argv[i], modes[m], &file);
      emit_file(status, file, m > 0);
    }
    size_t count = 0;
    unsigned char *bytes = read_file(argv[i], &count);
    emit_bytes(bytes, count);
    if (step > 0) emit_damaged(bytes, count, step);
    free(bytes);
  }
  return 0;
}
