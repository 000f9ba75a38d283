/* Opens a file of doubles many times and reads an element of each. */
#include <stdio.h>
#include <stdlib.h>

#include "npymap.h"

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  const size_t index[] = {7, 2};
  double sum = 0;
  for (long i = strtol(argv[1], NULL, 10); i > 0; i -= 1) {
    npymap_array *a = NULL;
    double x = 0;
    if (npymap_open(argv[2], NPYMAP_READ_ONLY, &a) != NPYMAP_OK ||
        npymap_get(a, index, 2, NPYMAP_FLOAT64, &x) != NPYMAP_OK) {
      npymap_perror(NULL);
      return 1;
    }
    sum += x;
    npymap_free(&a);
  }
  printf("%g\n", sum);
  return 0;
}
