/* Python functions for kernels that were compiled ahead of time, in the stable ABI of Python 3.10.

   A kernel is called with one pointer to its arguments, written one after the other as int64: an integer by its value,
   a table of arrays by its address, an array by its address and its extents. `entries.h`, which the build generates,
   lists the kernels as ENTRY(name, arguments); `arguments` has a code for each: T for a table, N for an integer, i2 or
   u2 for an array of int64 or uint64 with two dimensions. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include "entries.h"

#define MOST_ARGUMENTS 64 /* of these numbers; object_code.py asserts it */
#define TABLE "multigrid.core.arrays.pack"

typedef int64_t (*kernel)(const int64_t *);

/* What NumPy's `__array_struct__` points to: NumPy's documentation, "The array interface protocol". */
typedef struct {
    int two, nd;
    char typekind;
    int itemsize, flags;
    Py_ssize_t *shape, *strides;
    void *data;
    PyObject *descr;
} array_interface;

#define C_CONTIGUOUS_NATIVE_AND_ALIGNED 0x301

/* Write the address and the extents of an array; return how many numbers that were, or -1 with an error set. */
static int read_array(PyObject *array, char kind, int ndim, int64_t *to)
{
    PyObject *capsule = PyObject_GetAttrString(array, "__array_struct__");
    const array_interface *found = capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
    int written = -1;
    if (found == NULL && !PyErr_ExceptionMatches(PyExc_AttributeError) && !PyErr_ExceptionMatches(PyExc_ValueError)) {
        /* Such as KeyboardInterrupt. */
    } else if (found == NULL || found->nd != ndim || found->typekind != kind || found->itemsize != 8
               || (found->flags & C_CONTIGUOUS_NATIVE_AND_ALIGNED) != C_CONTIGUOUS_NATIVE_AND_ALIGNED) {
        PyErr_Clear();
        PyErr_Format(PyExc_TypeError, "expected a C-contiguous array of %s with %d dimensions, got %R",
                     kind == 'i' ? "int64" : kind == 'u' ? "uint64" : "float64", ndim, array);
    } else {
        to[0] = (int64_t)(intptr_t)found->data;
        for (int axis = 0; axis < ndim; axis++)
            to[1 + axis] = found->shape[axis];
        written = 1 + ndim;
    }
    Py_XDECREF(capsule);
    return written;
}

static inline PyObject *call(kernel function, const char *codes, PyObject *const *arguments, Py_ssize_t given)
{
    int64_t values[MOST_ARGUMENTS];
    int64_t result;
    int written = 0;
    Py_ssize_t k = 0;
    for (; *codes && k < given; codes++, k++) {
        if (*codes == 'T') {
            void *table = PyCapsule_GetPointer(arguments[k], TABLE);
            if (table == NULL)
                return NULL;
            values[written++] = (int64_t)(intptr_t)table;
        } else if (*codes == 'N') {
            long long number = PyLong_AsLongLong(arguments[k]);
            if (number == -1 && PyErr_Occurred())
                return NULL;
            values[written++] = number;
        } else {
            int more = read_array(arguments[k], codes[0], codes[1] - '0', values + written);
            if (more < 0)
                return NULL;
            written += more;
            codes++;
        }
    }
    if (*codes || k != given)
        return PyErr_Format(PyExc_TypeError, "a kernel got %zd arguments, which are too few or too many", given);
    Py_BEGIN_ALLOW_THREADS
    result = function(values);
    Py_END_ALLOW_THREADS
    return PyLong_FromLongLong(result);
}

#define ENTRY(name, arguments)                                                                      \
    int64_t name(const int64_t *);                                                                  \
    static PyObject *call_##name(PyObject *self, PyObject *const *given, Py_ssize_t count)          \
    {                                                                                               \
        (void)self;                                                                                 \
        return call(name, arguments, given, count);                                                 \
    }
ENTRIES
#undef ENTRY

static void forget_table(PyObject *capsule)
{
    Py_DECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* Return a table of arrays, int64 (fields, columns), as kernels get it; it keeps the table's memory. */
static PyObject *pack(PyObject *self, PyObject *table)
{
    int64_t values[3];
    (void)self;
    if (read_array(table, 'i', 2, values) < 0)
        return NULL;
    PyObject *capsule = PyCapsule_New((void *)(intptr_t)values[0], TABLE, forget_table);
    if (capsule != NULL) {
        Py_INCREF(table);
        PyCapsule_SetContext(capsule, table);
    }
    return capsule;
}

/* What Numba's code calls for errors that no kernel raises; without these functions the module could not be loaded. */
#define UNREACHED(name) void name(void) { abort(); }
UNREACHED(NRT_Free)
UNREACHED(numba_do_raise)
UNREACHED(numba_gil_ensure)
UNREACHED(numba_gil_release)
UNREACHED(numba_runtime_build_excinfo_struct)
UNREACHED(numba_unpickle)

#ifdef _WIN32
int __stdcall SwitchToThread(void);
int sched_yield(void) { return SwitchToThread(), 0; } /* of POSIX */
#endif

static int add_sources(PyObject *module) { return PyModule_AddStringConstant(module, "SOURCES", SOURCES); }

static PyMethodDef methods[] = {
#define ENTRY(name, arguments) {#name, (PyCFunction)(void (*)(void))call_##name, METH_FASTCALL, NULL},
    ENTRIES
#undef ENTRY
    {"pack", pack, METH_O, NULL},
    {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_sources}, {0, NULL}};
static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT, .m_name = "multigrid.runtime._kernels", .m_methods = methods, .m_slots = slots};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModuleDef_Init(&definition); }
