/* What Numba's code refers to for errors that no kernel raises; without these functions the module could not be loaded. */

#include <stdlib.h>

#ifdef _WIN32
#define HIDDEN /* nothing is exported there without a declaration */
#else
#define HIDDEN __attribute__((visibility("hidden")))
#endif
#define UNREACHED(name) \
    HIDDEN void name(void) { abort(); }
UNREACHED(NRT_Free)
UNREACHED(numba_do_raise)
UNREACHED(numba_gil_ensure)
UNREACHED(numba_gil_release)
UNREACHED(numba_runtime_build_excinfo_struct)
UNREACHED(numba_unpickle)
