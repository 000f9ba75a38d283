/* Multiplies every element of a file of doubles by a factor, in the file. */
#include <stdio.h>
#include <stdlib.h>

#include "npymap.h"

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: scale FILE FACTOR\n");
    return 2;
  }
  npymap_array *a = NULL;
  if (npymap_open(argv[1], NPYMAP_READ_WRITE, &a) != NPYMAP_OK) {
    npymap_perror("unable to open");
    return EXIT_FAILURE;
  }
  if (npymap_type_of(a) != NPYMAP_FLOAT64) {
    fprintf(stderr, "expected doubles\n");
    npymap_free(&a);
    return EXIT_FAILURE;
  }
  const double factor = strtod(argv[2], NULL);
  size_t index[64]; /* the most axes in NumPy */
  const size_t ndim = npymap_ndim(a);
  npymap_status status = npymap_first_index(a, index, ndim);
  while (status == NPYMAP_OK) {
    double x;
    npymap_get(a, index, ndim, NPYMAP_FLOAT64, &x);
    x *= factor;
    npymap_set(a, index, ndim, NPYMAP_FLOAT64, &x);
    status = npymap_next_index(a, npymap_order(a), index, ndim);
  }
  if (npymap_close(&a) != NPYMAP_OK) {
    npymap_perror("unable to close");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
