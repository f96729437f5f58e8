/* Call kernels on the memory of some worlds, which was written on another platform.

   Usage: run_kernels INPUT OUTPUT

   INPUT: the sizes in bytes of the memory and of the table, how many numbers a line of the table has, how many calls
   follow, where in the memory the actions are and their size; the table, whose addresses count from the beginning of
   the memory; the memory; and each call: the kernel's place in entries.h, the first world, the last, a map, and the
   actions. All numbers are int64. OUTPUT: what each call returned, then the memory. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "entries.h"

#define ENTRY(name, module, arguments) int64_t multigrid_##name(const int64_t *);
ENTRIES
#undef ENTRY

static int64_t (*const kernels[])(const int64_t *) = {
#define ENTRY(name, module, arguments) multigrid_##name,
    ENTRIES
#undef ENTRY
};

static void get(void *to, int64_t size, FILE *file)
{
    if (fread(to, 1, (size_t)size, file) != (size_t)size)
        exit(2);
}

int main(int count, char **arguments)
{
    FILE *input = count == 3 ? fopen(arguments[1], "rb") : NULL, *output = count == 3 ? fopen(arguments[2], "wb") : NULL;
    int64_t sizes[6], call[4];
    if (input == NULL || output == NULL)
        return 2;
    get(sizes, sizeof sizes, input);
    char *memory = malloc((size_t)sizes[0] + 64);
    int64_t *table = malloc((size_t)sizes[1]);
    if (memory == NULL || table == NULL)
        return 2;
    memory += 64 - (uintptr_t)memory % 64;
    get(table, sizes[1], input);
    get(memory, sizes[0], input);
    for (int64_t k = 0; k < sizes[1] / 8; k += sizes[2])
        table[k] += (int64_t)(intptr_t)memory;
    for (int64_t k = 0; k < sizes[3]; k++) {
        get(call, sizeof call, input);
        get(memory + sizes[4], sizes[5], input);
        int64_t values[] = {(int64_t)(intptr_t)table, call[1], call[2], call[3]};
        int64_t result = kernels[call[0]](values);
        fwrite(&result, sizeof result, 1, output);
    }
    fwrite(memory, 1, (size_t)sizes[0], output);
    return fclose(output) != 0;
}
