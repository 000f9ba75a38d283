/* The functions that compare.cpp measures. Each opens a file, uses it and closes it;
 * it returns a number that all libraries must agree on, or NaN after an error. */
#ifndef COMPARE_H
#define COMPARE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How many elements are read by index. */
#define INDEXED 100000

/* compare_c.c, which is compiled as C. */
double npymap_c_open(const char *path);
double npymap_c_element(const char *path);
double npymap_c_indexed(const char *path);
double npymap_c_sum(const char *path);
double npymap_c_read(const char *path);
double cnpy_h_open(const char *path);
double cnpy_h_element(const char *path);
double cnpy_h_indexed(const char *path);
double cnpy_h_sum(const char *path);

/* The plain loop that every library gets. */
static inline double sum(const double *x, size_t count) {
  double total = 0;
  for (size_t i = 0; i < count; i += 1) total += x[i];
  return total;
}

#ifdef __cplusplus
}
#endif

#endif
