/* Prints a matrix of complex numbers, and changes it in memory only. */
#include <stdio.h>
#include <stdlib.h>

#include "npymap.h"

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "data_complex_2d.npy";
  npymap_array *a = NULL;
  /* With NPYMAP_READ_WRITE, stores would change the file. */
  if (npymap_open(path, NPYMAP_COPY_ON_WRITE, &a) != NPYMAP_OK) {
    npymap_perror("unable to load the file");
    return EXIT_FAILURE;
  }
  if (npymap_type_of(a) != NPYMAP_COMPLEX128 || npymap_ndim(a) != 2) {
    fprintf(stderr, "expected a matrix of complex numbers, not %s\n", npymap_descr(a));
    npymap_free(&a);
    return EXIT_FAILURE;
  }
  const size_t *shape = npymap_shape(a);
  size_t index[2];
  for (index[0] = 0; index[0] < shape[0]; index[0] += 1) {
    for (index[1] = 0; index[1] < shape[1]; index[1] += 1) {
      double z[2]; /* also works with double complex, and std::complex<double> */
      if (npymap_get(a, index, 2, NPYMAP_COMPLEX128, z) != NPYMAP_OK) goto failed;
      printf("%.5f + %.5f * I  ", z[0], z[1]);
      z[0] = (double)index[0];
      z[1] = (double)index[1];
      if (npymap_set(a, index, 2, NPYMAP_COMPLEX128, z) != NPYMAP_OK) goto failed;
    }
    printf("\n");
  }
  if (npymap_close(&a) == NPYMAP_OK) return EXIT_SUCCESS;

failed:
  npymap_perror(path);
  npymap_free(&a);
  return EXIT_FAILURE;
}
