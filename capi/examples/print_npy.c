/* Prints what an array is and all its elements, whatever their dtype. The argument is a
 * .npy, .npz, .ten or tar file. */
#include <stdio.h>
#include <stdlib.h>

#include "npymap.h"

/* Prints the elements in C order; each line is a run of the last axis. */
static npymap_status print_elements(const npymap_array *a) {
  size_t index[64]; /* NumPy's largest number of axes */
  const size_t ndim = npymap_ndim(a);
  npymap_status status = npymap_first_index(a, index, ndim);
  while (status == NPYMAP_OK) {
    char text[80];
    size_t len = 0;
    status = npymap_get_text(a, NULL, index, ndim, text, sizeof text, &len);
    if (status != NPYMAP_OK) break;
    const char *cut = len < sizeof text ? "" : "...";
    const int last = ndim == 0 || index[ndim - 1] + 1 == npymap_shape(a)[ndim - 1];
    printf("%s%s%s", text, cut, last ? "\n" : ", ");
    status = npymap_next_index(a, 'C', index, ndim);
  }
  return status;
}

static void print_array(const char *name, const npymap_array *a) {
  printf("%s%sdtype %s, order %c, shape (", name, name[0] ? ": " : "", npymap_descr(a),
         npymap_order(a));
  for (size_t axis = 0; axis < npymap_ndim(a); axis += 1) {
    printf("%s%zu", axis ? ", " : "", npymap_shape(a)[axis]);
  }
  printf(")\n");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: print_npy FILE\n");
    return 2;
  }
  npymap_archive *file = NULL;
  if (npymap_archive_open(argv[1], NPYMAP_READ_ONLY, &file) != NPYMAP_OK) {
    npymap_perror(NULL); /* the text names the file */
    return EXIT_FAILURE;
  }
  int result = EXIT_SUCCESS;
  for (size_t i = 0; i < npymap_archive_len(file); i += 1) {
    npymap_array *a = NULL;
    if (npymap_archive_get_at(file, i, &a) == NPYMAP_OK) {
      print_array(npymap_archive_name(file, i), a);
    }
    if (a == NULL || print_elements(a) < 0) {
      npymap_perror(NULL);
      result = EXIT_FAILURE;
    }
    npymap_free(&a);
  }
  npymap_archive_free(&file);
  return result;
}
