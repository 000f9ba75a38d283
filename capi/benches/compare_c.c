/* What compare.cpp measures in C: this library, and cnpy.h if HAVE_CNPY_H is defined. */
#include "compare.h"

#include <math.h>
#include <stdio.h>

#include "npymap.h"

static const size_t first[] = {0, 0}, other[] = {1000, 3};

static npymap_array *opened(const char *path, npymap_mode mode) {
  npymap_array *a = NULL;
  if (npymap_open(path, mode, &a) != NPYMAP_OK) npymap_perror(NULL);
  return a;
}

double npymap_c_open(const char *path) {
  npymap_array *a = opened(path, NPYMAP_READ_ONLY);
  const double result = (double)npymap_len(a);
  npymap_free(&a);
  return result;
}

double npymap_c_element(const char *path) {
  npymap_array *a = opened(path, NPYMAP_READ_ONLY);
  double x = NAN;
  npymap_get(a, other, 2, NPYMAP_FLOAT64, &x);
  npymap_free(&a);
  return x;
}

double npymap_c_indexed(const char *path) {
  npymap_array *a = opened(path, NPYMAP_READ_ONLY);
  size_t index[] = {0, 0};
  double total = 0;
  for (index[0] = 0; index[0] < INDEXED; index[0] += 1) {
    double x = NAN;
    npymap_get(a, index, 2, NPYMAP_FLOAT64, &x);
    total += x;
  }
  npymap_free(&a);
  return total;
}

double npymap_c_sum(const char *path) {
  npymap_array *a = opened(path, NPYMAP_READ_ONLY);
  const void *data = NULL;
  double total = NAN;
  if (npymap_borrow(a, NPYMAP_FLOAT64, &data) == NPYMAP_OK) {
    total = sum((const double *)data, npymap_len(a));
  }
  npymap_free(&a);
  return total;
}

double npymap_c_read(const char *path) {
  npymap_array *a = opened(path, NPYMAP_IN_MEMORY);
  double x = NAN;
  npymap_get(a, first, 2, NPYMAP_FLOAT64, &x);
  npymap_free(&a);
  return x;
}

#ifdef HAVE_CNPY_H
#include "cnpy.h"

static size_t cnpy_len(const cnpy_array *a) {
  size_t len = 1;
  for (size_t axis = 0; axis < a->n_dim; axis += 1) len *= a->dims[axis];
  return len;
}

double cnpy_h_open(const char *path) {
  cnpy_array a;
  if (cnpy_open(path, false, &a) != CNPY_SUCCESS) return NAN;
  const double result = (double)cnpy_len(&a);
  cnpy_close(&a);
  return result;
}

double cnpy_h_element(const char *path) {
  cnpy_array a;
  if (cnpy_open(path, false, &a) != CNPY_SUCCESS) return NAN;
  const double x = cnpy_get_f8(a, other);
  cnpy_close(&a);
  return x;
}

double cnpy_h_indexed(const char *path) {
  cnpy_array a;
  if (cnpy_open(path, false, &a) != CNPY_SUCCESS) return NAN;
  size_t index[] = {0, 0};
  double total = 0;
  for (index[0] = 0; index[0] < INDEXED; index[0] += 1) total += cnpy_get_f8(a, index);
  cnpy_close(&a);
  return total;
}

double cnpy_h_sum(const char *path) {
  cnpy_array a;
  if (cnpy_open(path, false, &a) != CNPY_SUCCESS) return NAN;
  const double total = sum((const double *)(a.raw_data + a.data_begin), cnpy_len(&a));
  cnpy_close(&a);
  return total;
}
#endif
