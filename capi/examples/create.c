/* Creates a file of big-endian doubles in Fortran order: t and sin(t). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "npymap.h"

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "data_double.npy";
  const size_t shape[] = {2, 101};
  npymap_array *a = NULL;
  if (npymap_create(path, ">f8", shape, 2, NPYMAP_FORTRAN_ORDER | NPYMAP_OVERWRITE, &a) !=
      NPYMAP_OK) {
    npymap_perror("unable to create the file");
    return EXIT_FAILURE;
  }
  for (size_t i = 0; i < shape[1]; i += 1) {
    const size_t time[] = {0, i}, value[] = {1, i};
    const double t = 2 * 3.14159265358979323846 * (double)i / (double)(shape[1] - 1);
    const double y = sin(t);
    if (npymap_set(a, time, 2, NPYMAP_FLOAT64, &t) != NPYMAP_OK ||
        npymap_set(a, value, 2, NPYMAP_FLOAT64, &y) != NPYMAP_OK) {
      npymap_perror("unable to store");
      npymap_free(&a);
      return EXIT_FAILURE;
    }
  }
  /* Waits until the data is on the disk; npymap_free would not. */
  if (npymap_close(&a) != NPYMAP_OK) {
    npymap_perror("unable to write the file");
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
