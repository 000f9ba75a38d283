#include "npymap.h"

int main(void) { return npymap_abi_version() == NPYMAP_ABI_VERSION ? 0 : 1; }
