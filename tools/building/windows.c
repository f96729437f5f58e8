/* What the kernels call of POSIX, for Windows. */

#include <windows.h>

int sched_yield(void)
{
    SwitchToThread();
    return 0;
}
