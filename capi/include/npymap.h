/*
 * npymap: arrays in .npy, .npz, .ten, tar and raw binary files, by memory map.
 *
 * Generated from src/: do not edit. See README.md for how to build and link, and
 * npymap.hpp for C++.
 *
 * CONTRACT
 *
 * You guarantee the following. Everything else is checked, and returns an error.
 *
 * 1. Files. Unless you open an array with NPYMAP_IN_MEMORY, it maps its file. Until you
 *    close every array of the file, no process may truncate the file below the end of an
 *    array, because loading from a missing page raises SIGBUS. While a function of this
 *    header reads elements, no process may change them, except through the array itself.
 *    You can always append to the file, rename it, or replace it by another file. If you
 *    open a file more than once with NPYMAP_READ_WRITE, use only one of its arrays at a
 *    time.
 * 2. Objects. A pointer to an array, archive or appender is null, or comes from a
 *    function of this header and you have not closed it. Closing sets it to null. Don't
 *    use other copies of it afterwards, or pointers that you got from it.
 * 3. Threads. Any thread may use an object. While a function that takes it without
 *    `const` runs, no other thread may use it. Functions that take it as `const` may run
 *    concurrently. While such a function runs, no thread may write the elements, through
 *    npymap_data_mut or otherwise.
 * 4. Buffers. A buffer has room for the `nbytes` bytes, `ndim` positions or `count`
 *    values that an argument says, and no other thread or process uses it during the call.
 *    It is not memory of an array that the call uses, from npymap_data or
 *    npymap_data_mut. Texts end with a NUL. A pointer may be null if there is nothing to
 *    read or write.
 *
 * ERRORS
 *
 * Functions return a npymap_status. This is NPYMAP_OK, another value >= 0 that the
 * function documents, or a negative error. npymap_error returns the text of the error.
 * Functions with another return type return 0 or null. For example, you get an error for
 * a null object, a number of the wrong type, a buffer of the wrong size, or an index out
 * of range. After an error, results are not stored, but a pointer to a new object is set
 * to null, and a copy may be partly made. No function throws or calls longjmp. Without
 * memory for elements, functions return NPYMAP_ERROR_IO, unless the kernel overcommits
 * and raises a signal later. Without memory for positions, texts or names, they abort the
 * process. NPYMAP_ERROR_INTERNAL is a bug of the library: please report it.
 *
 * PATHS
 *
 * Paths are bytes on Unix, as for open(2), and UTF-8 on Windows, whatever the code page.
 *
 * Names starting with npymap_ and NPYMAP_ belong to this library.
 */


#ifndef NPYMAP_H
#define NPYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The version of this interface. It changes only if programs have to be compiled again:
 * see README.md. */
#define NPYMAP_ABI_VERSION 1


// Success.
#define NPYMAP_OK 0

// There is no next index. Not an error.
#define NPYMAP_END 1

// The file, member or field does not exist.
#define NPYMAP_ERROR_NOT_FOUND -1

// A file of this name exists, and NPYMAP_OVERWRITE was not given.
#define NPYMAP_ERROR_ALREADY_EXISTS -2

// The operating system failed: see npymap_error_os_code.
#define NPYMAP_ERROR_IO -3

// The file ends before its last element.
#define NPYMAP_ERROR_TRUNCATED -4

// The contents of the file violate its format.
#define NPYMAP_ERROR_CORRUPT -5

// The file may be valid, but is not supported: Python objects, encryption.
#define NPYMAP_ERROR_UNSUPPORTED -6

// A limit on what is read into memory was exceeded.
#define NPYMAP_ERROR_LIMIT_EXCEEDED -7

// Another process or handle changed or replaced the file.
#define NPYMAP_ERROR_CHANGED -8

// Another writer has locked the file.
#define NPYMAP_ERROR_LOCKED -9

// The elements do not have the requested type.
#define NPYMAP_ERROR_DTYPE_MISMATCH -10

// The shape or memory order does not fit, or a buffer has the wrong size.
#define NPYMAP_ERROR_SHAPE_MISMATCH -11

// An index or a row is out of range, or has the wrong number of axes.
#define NPYMAP_ERROR_OUT_OF_BOUNDS -12

// An argument is invalid whatever the file (such as a null pointer), or the
// call is not possible for this array (such as a store to a read-only one).
#define NPYMAP_ERROR_INVALID_INPUT -13

// A value does not fit the element or the variable.
#define NPYMAP_ERROR_INVALID_VALUE -14

// Any other error.
#define NPYMAP_ERROR_OTHER -15

// A bug in the library.
#define NPYMAP_ERROR_INTERNAL -16

// Map the file read-only.
#define NPYMAP_READ_ONLY 0

// Map the file read-write: stores go to the file.
#define NPYMAP_READ_WRITE 1

// Map the file copy-on-write: stores stay in memory.
#define NPYMAP_COPY_ON_WRITE 2

// Read the file into memory. The file may change at any time.
#define NPYMAP_IN_MEMORY 3

// Any dtype without a constant of its own: see npymap_descr.
#define NPYMAP_OTHER 0

// `bool`.
#define NPYMAP_BOOL 1

// `int8_t`.
#define NPYMAP_INT8 2

// `int16_t`.
#define NPYMAP_INT16 3

// `int32_t`.
#define NPYMAP_INT32 4

// `int64_t`.
#define NPYMAP_INT64 5

// `uint8_t`.
#define NPYMAP_UINT8 6

// `uint16_t`.
#define NPYMAP_UINT16 7

// `uint32_t`.
#define NPYMAP_UINT32 8

// `uint64_t`.
#define NPYMAP_UINT64 9

// Half precision: `_Float16`, or its bits as `uint16_t`.
#define NPYMAP_FLOAT16 10

// `float`.
#define NPYMAP_FLOAT32 11

// `double`.
#define NPYMAP_FLOAT64 12

// `float complex`, or `float[2]`: the real part, then the imaginary part.
#define NPYMAP_COMPLEX64 13

// `double complex`, or `double[2]`.
#define NPYMAP_COMPLEX128 14

// Replace an existing file. Programs that have it mapped or open keep it.
#define NPYMAP_OVERWRITE 1

// Reserve no space on the disk. If it is full, a later store raises SIGBUS.
#define NPYMAP_SPARSE 2

// Align the elements to 4096 bytes in the file.
#define NPYMAP_PAGE_ALIGNED 4

// Fortran order: the first axis varies fastest.
#define NPYMAP_FORTRAN_ORDER 8

// Deflate the member of an archive.
#define NPYMAP_COMPRESS 16

// With NPYMAP_OVERWRITE, drop what follows the elements of the previous file: rows of
// a writer that died, which `npymap recover` keeps, or another array. Without this
// flag, replacing such a file returns NPYMAP_ERROR_CORRUPT.
#define NPYMAP_DISCARD_TRAILING 32

// Wait for the lock of another writer, instead of returning NPYMAP_ERROR_LOCKED.
#define NPYMAP_WAIT 64

// No particular pattern of access.
#define NPYMAP_ADVICE_NORMAL 0

// Random access: nothing is read ahead.
#define NPYMAP_ADVICE_RANDOM 1

// From first to last: much is read ahead.
#define NPYMAP_ADVICE_SEQUENTIAL 2

// Soon: reading starts now.
#define NPYMAP_ADVICE_WILL_NEED 3

// A `.npy` file to which rows are appended, or the two files of a ragged array, locked
// against other writers.
typedef struct npymap_appender npymap_appender;

// An open file with any number of arrays.
typedef struct npymap_archive npymap_archive;

// An open array: a mapped file, a member of an archive, or memory.
typedef struct npymap_array npymap_array;

// NPYMAP_OK, NPYMAP_END, or a negative NPYMAP_ERROR_ value.
typedef int32_t npymap_status;

// How a file is opened: NPYMAP_READ_ONLY, NPYMAP_READ_WRITE, NPYMAP_COPY_ON_WRITE or
// NPYMAP_IN_MEMORY.
typedef int32_t npymap_mode;

// A type of numbers in memory: NPYMAP_FLOAT64 or another.
typedef int32_t npymap_type;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Returns the version of the interface of the running library. If this is not
// NPYMAP_ABI_VERSION of the header that you compiled with, you linked the wrong
// library.
uint32_t npymap_abi_version(void);

// Returns the version of the library, such as "0.1.0".
const char *npymap_version(void);

// Returns the text of the last error of this thread: the file, what was found, and
// what you requested. This is never null, and valid until the next error of the
// thread, or npymap_error_clear. A successful call does not change it.
const char *npymap_error(void);

// Returns the status of the last error of this thread, or NPYMAP_OK if there was none.
npymap_status npymap_error_status(void);

// Returns the code of the operating system for the last error of this thread. This is
// `errno`, or GetLastError() on Windows, or 0 if the operating system was not the
// reason.
int32_t npymap_error_os_code(void);

// Forgets the last error of this thread.
void npymap_error_clear(void);

// Prints the last error of this thread on standard error, after `prefix` and a
// colon unless `prefix` is null or empty, like perror(3).
void npymap_perror(const char *prefix);

// Opens a `.npy` file.
//
// `mode` is NPYMAP_READ_ONLY, NPYMAP_READ_WRITE, NPYMAP_COPY_ON_WRITE or
// NPYMAP_IN_MEMORY. Opening reads the header. Elements are read when you use them. To
// open a member of an archive, use npymap_archive_open.
npymap_status npymap_open(const char *path, npymap_mode mode, npymap_array **array);

// Opens a `.npy` file with a header of up to `max_header_len` characters, like NumPy's
// max_header_size.
//
// npymap_open allows 10,000, which is not enough for tables with hundreds of columns.
// The time and memory to read a header are proportional to its length.
npymap_status npymap_open_max_header_len(const char *path,
                                         npymap_mode mode,
                                         size_t max_header_len,
                                         npymap_array **array);

// Opens one of several arrays that numpy.save wrote to one file, with a header at byte
// `offset`.
//
// The next array starts where the elements of this array end. To find this place, add
// npymap_data_offset and npymap_nbytes.
npymap_status npymap_open_at(const char *path,
                             npymap_mode mode,
                             uint64_t offset,
                             npymap_array **array);

// Opens a file without a header, like numpy.memmap.
//
// The array has `ndim` axes of lengths `shape`, and elements of the dtype `descr`,
// such as "<f4", from byte `offset` on. If `shape` is null, there is one axis that
// reaches to the end of the file. `flags` is 0 or NPYMAP_FORTRAN_ORDER. With
// NPYMAP_READ_WRITE, a file that is too short is extended with zeros.
npymap_status npymap_open_raw(const char *path,
                              npymap_mode mode,
                              const char *descr,
                              const size_t *shape,
                              size_t ndim,
                              uint64_t offset,
                              uint32_t flags,
                              npymap_array **array);

// Opens a copy of the `nbytes` bytes of a `.npy` file in memory.
npymap_status npymap_open_bytes(const void *bytes, size_t nbytes, npymap_array **array);

// Creates a `.npy` file of zeros and maps it read-write. If `path` is null, this makes
// an array in memory.
//
// `descr` is the dtype like numpy.dtype.descr or numpy.dtype.str: ">f8", "<i4", "|b1",
// "[('t', '<i8'), ('pos', '<f4', (3,))]". `flags` combines NPYMAP_OVERWRITE,
// NPYMAP_DISCARD_TRAILING, NPYMAP_SPARSE, NPYMAP_PAGE_ALIGNED and
// NPYMAP_FORTRAN_ORDER. The file gets its name once it is complete, with all its space
// reserved. After an error, there is no file.
npymap_status npymap_create(const char *path,
                            const char *descr,
                            const size_t *shape,
                            size_t ndim,
                            uint32_t flags,
                            npymap_array **array);

// Closes an array and sets the pointer to null. If its stores go to a file, this waits
// until they are on the disk and returns write errors. Does nothing if the pointer is
// null already.
npymap_status npymap_close(npymap_array **array);

// Closes an array without waiting for the disk, and sets the pointer to null. Your
// stores are not lost, but you will not see write errors. Does nothing if the pointer,
// or the pointer to it, is null.
void npymap_free(npymap_array **array);

// Returns the number of axes, which is 0 for a single element. For a null pointer,
// this sets an error and returns 0, like the functions that follow.
size_t npymap_ndim(const npymap_array *array);

// Returns the length of each axis, or null for a null pointer. This is valid until you
// close or reload the array.
const size_t *npymap_shape(const npymap_array *array);

// Returns the number of bytes from one element to the next along each axis, or null
// for a null pointer. This is valid until you close or reload the array.
const ptrdiff_t *npymap_byte_strides(const npymap_array *array);

// Returns the number of elements.
size_t npymap_len(const npymap_array *array);

// Returns the size of one element in bytes.
size_t npymap_itemsize(const npymap_array *array);

// Returns the size of all elements in bytes.
size_t npymap_nbytes(const npymap_array *array);

// Returns the type of the elements in either byte order, such as NPYMAP_FLOAT64. This
// is NPYMAP_OTHER if they are not numbers of up to 8 bytes (16 if complex).
npymap_type npymap_type_of(const npymap_array *array);

// Returns NumPy's dtype.kind: 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'S', 'U' or 'V',
// which includes structs and subarrays. This is 0 for a null pointer.
char npymap_kind(const npymap_array *array);

// Returns the byte order of the elements: '<', '>', or '|' if they have none, like
// bytes and structs. This is 0 for a null pointer.
char npymap_byte_order(const npymap_array *array);

// Returns the dtype as in the header of a file: "'<f8'", with quotes, or
// "[('t', '<i8'), ('pos', '<f4', (3,))]". This is null for a null pointer. It is
// valid until you close or reload the array.
const char *npymap_descr(const npymap_array *array);

// Returns the memory order: 'C', or 'F' if the first axis varies fastest, or 0 for a
// null pointer. If both are true, for example with one axis, this is the order in the
// header.
char npymap_order(const npymap_array *array);

// Returns the mode that you opened the array in. This is NPYMAP_IN_MEMORY for inflated
// members, NPYMAP_READ_WRITE for created files, and -1 for a null pointer.
npymap_mode npymap_mode_of(const npymap_array *array);

// Returns the offset of the first element in the file, or UINT64_MAX if there is none.
uint64_t npymap_data_offset(const npymap_array *array);

// Returns the first element, as stored. To use numbers in place, see npymap_borrow.
// The address belongs to the map, and is valid until you close or reload the array.
// This is null for a null pointer, but not for an array without elements.
const void *npymap_data(const npymap_array *array);

// Returns the first element for writing, at the address of npymap_data, which is valid
// for as long. For a read-only array, this sets an error and returns null.
void *npymap_data_mut(npymap_array *array);

// Borrows the elements in place, as numbers of this machine.
//
// This returns an error unless they have exactly this type and this machine's byte
// order, and are aligned. Members of a `.npz` may not be aligned, but npymap_copy
// reads them. Booleans are checked, because files can have bytes other than 0 and 1,
// which return an error. Along each axis, elements are npymap_byte_strides apart.
npymap_status npymap_borrow(const npymap_array *array,
                            npymap_type number,
                            const void **data);

// Borrows the elements in place for writing. This has the same conditions as
// npymap_borrow.
npymap_status npymap_borrow_mut(npymap_array *array, npymap_type number, void **data);

// Copies an element to the variable `value` of type `number`, converted from either
// byte order and any alignment.
//
// `index` has one position for each of the `ndim` axes. The type can differ from the
// stored type if NumPy's casting 'same_kind' allows it. Floats are rounded, and
// integers must fit.
npymap_status npymap_get(const npymap_array *array,
                         const size_t *index,
                         size_t ndim,
                         npymap_type number,
                         void *value);

// Stores the variable `value` of type `number` to an element. It is converted like in
// npymap_get.
npymap_status npymap_set(npymap_array *array,
                         const size_t *index,
                         size_t ndim,
                         npymap_type number,
                         const void *value);

// Copies the field `field` of an element, such as "x" or "pos.z", to a variable, like
// npymap_get. The axes of a subarray follow the axes of the array in `index`.
npymap_status npymap_get_field(const npymap_array *array,
                               const char *field,
                               const size_t *index,
                               size_t ndim,
                               npymap_type number,
                               void *value);

// Stores a variable to the field `field` of an element, like npymap_set.
npymap_status npymap_set_field(npymap_array *array,
                               const char *field,
                               const size_t *index,
                               size_t ndim,
                               npymap_type number,
                               const void *value);

// Copies the npymap_itemsize bytes of an element of any dtype, as stored.
npymap_status npymap_get_bytes(const npymap_array *array,
                               const size_t *index,
                               size_t ndim,
                               void *bytes,
                               size_t nbytes);

// Stores the npymap_itemsize bytes of an element of any dtype.
npymap_status npymap_set_bytes(npymap_array *array,
                               const size_t *index,
                               size_t ndim,
                               const void *bytes,
                               size_t nbytes);

// Formats an element of any dtype, such as "1.5", "b'abc'" or "2026-08-21T12:00". If
// `field` is not null, this formats this field of the element. Text of dtype 'U' is
// UTF-8 without quotes, and may contain NUL characters.
//
// This stores at most `capacity` bytes in `text`, including a NUL at the end. If `len`
// is not null, it gets the length without the NUL. If the length is `capacity` or
// more, the text was cut. `text` may be null if `capacity` is 0.
npymap_status npymap_get_text(const npymap_array *array,
                              const char *field,
                              const size_t *index,
                              size_t ndim,
                              void *text,
                              size_t capacity,
                              size_t *len);

// Parses `text` in the form of npymap_get_text, and stores the value to an element or
// its field.
npymap_status npymap_set_text(npymap_array *array,
                              const char *field,
                              const size_t *index,
                              size_t ndim,
                              const char *text);

// Copies all elements to a buffer of numbers in C order, `nbytes` long. If `field` is
// not null, this copies this field of each element. The buffer has room for npymap_len
// numbers, or more if the field is a subarray.
//
// The type can differ from the stored type if every value fits, like in NumPy's
// casting 'safe'. Floats may also be rounded.
npymap_status npymap_copy(const npymap_array *array,
                          const char *field,
                          npymap_type number,
                          void *numbers,
                          size_t nbytes);

// Stores a buffer of numbers in C order to all elements. They are converted like in
// npymap_copy.
npymap_status npymap_assign(npymap_array *array,
                            const char *field,
                            npymap_type number,
                            const void *numbers,
                            size_t nbytes);

// Copies the bytes of all elements of any dtype, in C order, with padding set to
// zero. `byte_order` is '<' or '>' to convert every number, '=' for the order of this
// machine, '|' to convert none. `nbytes` must be npymap_nbytes.
npymap_status npymap_copy_bytes(const npymap_array *array,
                                char byte_order,
                                void *bytes,
                                size_t nbytes);

// Sets all `ndim` positions of `index` to 0. NPYMAP_END if the array has no elements.
//
//     for (npymap_status s = npymap_first_index(array, index, ndim); s == NPYMAP_OK;
//          s = npymap_next_index(array, 'C', index, ndim)) { ... }
npymap_status npymap_first_index(const npymap_array *array, size_t *index, size_t ndim);

// Sets `index` to the next element. In the order 'C', the last position changes
// fastest, in 'F' the first. After the last element, this returns NPYMAP_END, and does
// not change `index`. If `order` is npymap_order, you visit elements in the order of
// the memory.
npymap_status npymap_next_index(const npymap_array *array,
                                char order,
                                size_t *index,
                                size_t ndim);

// Copies rows of the first axis to a buffer of numbers, `nbytes` long, in the order of
// the `count` indices `rows`.
//
// Indices may repeat. Types are converted like in npymap_copy. Rows of a read-only
// array that are not in memory are requested from the disk before they are copied.
npymap_status npymap_take(const npymap_array *array,
                          const size_t *rows,
                          size_t count,
                          npymap_type number,
                          void *numbers,
                          size_t nbytes);

// Copies the bytes of rows of any dtype, as stored, like npymap_take.
npymap_status npymap_take_bytes(const npymap_array *array,
                                const size_t *rows,
                                size_t count,
                                void *bytes,
                                size_t nbytes);

// Waits until all stores are on the disk. Does nothing unless stores go to a file.
npymap_status npymap_flush(const npymap_array *array);

// Starts writing stores to the disk, without waiting.
npymap_status npymap_flush_async(const npymap_array *array);

// Tells the kernel how you will use the rows from `start` to before `stop`, so that it
// reads ahead accordingly. For example, pass NPYMAP_ADVICE_RANDOM. SIZE_MAX for `stop`
// is the end.
npymap_status npymap_advise(const npymap_array *array,
                            size_t start,
                            size_t stop,
                            int32_t advice);

// Starts reading rows into memory, in a thread if they are large.
npymap_status npymap_prefetch(const npymap_array *array, size_t start, size_t stop);

// Reads rows into memory and waits for them. If the file is truncated or the disk
// fails, this returns an error, where a load would raise SIGBUS.
npymap_status npymap_populate(const npymap_array *array, size_t start, size_t stop);

// Checks that the path still leads to the opened file, and that the file still has all
// elements.
npymap_status npymap_check_unchanged(const npymap_array *array);

// Maps the rows that another program appended to the file since you opened a read-only
// array. This makes pointers into the array invalid, and can change its shape. On
// Windows, this returns an error, because files are not identified there.
npymap_status npymap_reload(npymap_array *array);

// Opens a `.npz`, `.ten`, tar or `.npy` file, recognized by its contents. `mode` is
// like in npymap_open, but a `.npz` cannot be opened with NPYMAP_READ_WRITE. Arrays
// outlive the archive.
npymap_status npymap_archive_open(const char *path,
                                  npymap_mode mode,
                                  npymap_archive **archive);

// Opens a copy of the `nbytes` bytes of an archive in memory.
npymap_status npymap_archive_open_bytes(const void *bytes,
                                        size_t nbytes,
                                        npymap_archive **archive);

// Closes an archive and sets the pointer to null. Does nothing if the pointer, or the
// pointer to it, is null.
void npymap_archive_free(npymap_archive **archive);

// Returns the number of members. For a null pointer, this sets an error and returns 0.
size_t npymap_archive_len(const npymap_archive *archive);

// Returns the name of the member at a position. This is the name without `.npy` in a
// `.npz`, "0", "1" and so on in a `.ten`, "name.ten[0]" for arrays of a `.ten` in a
// tar file, and empty for a `.npy`. If there is no such position, this is null. It is
// valid until you close the archive.
const char *npymap_archive_name(const npymap_archive *archive, size_t position);

// Opens the member called `name`, or the only array if `name` is null. Stored members
// are mapped in place, and deflated members are inflated into memory. In a `.ten`,
// `name` can also be the info of an array.
npymap_status npymap_archive_get(const npymap_archive *archive,
                                 const char *name,
                                 npymap_array **array);

// Opens the member at a position.
npymap_status npymap_archive_get_at(const npymap_archive *archive,
                                    size_t position,
                                    npymap_array **array);

// Writes a `.npy` file from the `nbytes` bytes of elements with the dtype `descr` and
// `ndim` axes of lengths `shape`.
//
// `flags` combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING and NPYMAP_FORTRAN_ORDER,
// which is the order of the elements in memory. The file gets its name once it is
// complete.
npymap_status npymap_save(const char *path,
                          const char *descr,
                          const size_t *shape,
                          size_t ndim,
                          const void *elements,
                          size_t nbytes,
                          uint32_t flags);

// Adds a member to a `.npz` file, or replaces it. If there is no file, this creates
// it. `flags` combines NPYMAP_COMPRESS and NPYMAP_FORTRAN_ORDER. The changed archive
// replaces the file once it is complete, under a lock.
npymap_status npymap_save_member(const char *path,
                                 const char *name,
                                 const char *descr,
                                 const size_t *shape,
                                 size_t ndim,
                                 const void *elements,
                                 size_t nbytes,
                                 uint32_t flags);

// Opens a `.npy` file to append rows, and locks it. On Windows, it is not locked.
npymap_status npymap_appender_open(const char *path, npymap_appender **appender);

// Creates a `.npy` file without rows, to append some.
//
// `row` has the lengths of the `ndim` axes of a row, so the array has one more axis.
// `flags` combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING, NPYMAP_PAGE_ALIGNED and
// NPYMAP_FORTRAN_ORDER. With NPYMAP_FORTRAN_ORDER, the last axis grows.
npymap_status npymap_appender_create(const char *path,
                                     const char *descr,
                                     const size_t *row,
                                     size_t ndim,
                                     uint32_t flags,
                                     npymap_appender **appender);

// Opens a `.npy` file to append rows, or creates it if it does not exist, and locks it,
// except on Windows.
//
// `row` has the lengths of the `ndim` axes of a row, so the array has one more axis.
// Several processes can do this at once, and one of them creates the file. `flags`
// combines NPYMAP_PAGE_ALIGNED, NPYMAP_FORTRAN_ORDER and NPYMAP_WAIT. With
// NPYMAP_WAIT, each process waits for its turn. If the file has rows of a different
// dtype, this returns NPYMAP_ERROR_DTYPE_MISMATCH. If they have a different shape or
// order, it returns NPYMAP_ERROR_SHAPE_MISMATCH.
npymap_status npymap_appender_open_or_create(const char *path,
                                             const char *descr,
                                             const size_t *row,
                                             size_t ndim,
                                             uint32_t flags,
                                             npymap_appender **appender);

// Returns the number of rows, including rows in the buffer.
size_t npymap_appender_rows(const npymap_appender *appender);

// Appends complete rows from `nbytes` bytes of elements, as stored. A ragged array
// gets one row.
npymap_status npymap_append_bytes(npymap_appender *appender,
                                  const void *bytes,
                                  size_t nbytes);

// Appends complete rows from `count` numbers of the array's element type, in either
// byte order. A ragged array gets one row. In Fortran order, the first axis of a row
// varies fastest.
npymap_status npymap_append(npymap_appender *appender,
                            npymap_type number,
                            const void *numbers,
                            size_t count);

// Writes the appended rows, so that other programs see them.
npymap_status npymap_appender_flush(npymap_appender *appender);

// Writes the rows and waits until they are on the disk.
npymap_status npymap_appender_sync(npymap_appender *appender);

// Writes the rows, waits until they are on the disk, closes the file and sets the
// pointer to null. Does nothing if the pointer is null already.
npymap_status npymap_appender_close(npymap_appender **appender);

// Writes the rows without waiting or reporting errors, closes the file and sets the
// pointer to null. Does nothing if the pointer, or the pointer to it, is null.
void npymap_appender_free(npymap_appender **appender);

// Opens a ragged array to append rows, and locks it, like npymap_appender_open. `data`
// is the file of all elements, and `offsets` is the file with the starts and ends of
// rows. After a writer died, this can return NPYMAP_ERROR_CORRUPT. In that case, use
// npymap_appender_recover_ragged.
npymap_status npymap_appender_open_ragged(const char *data,
                                          const char *offsets,
                                          npymap_appender **appender);

// Creates the two files of a ragged array without rows, to append some. `item` has the
// lengths of the `ndim` axes of each item in a row. Plain numbers have none. `flags`
// combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING and NPYMAP_PAGE_ALIGNED.
npymap_status npymap_appender_create_ragged(const char *data,
                                            const char *offsets,
                                            const char *descr,
                                            const size_t *item,
                                            size_t ndim,
                                            uint32_t flags,
                                            npymap_appender **appender);

// Opens a ragged array to append rows, or creates it if it does not exist. Several
// processes can do this at once, as with npymap_appender_open_or_create, and with the same
// errors. `flags` combines NPYMAP_PAGE_ALIGNED and NPYMAP_WAIT.
npymap_status npymap_appender_open_or_create_ragged(const char *data,
                                                    const char *offsets,
                                                    const char *descr,
                                                    const size_t *item,
                                                    size_t ndim,
                                                    uint32_t flags,
                                                    npymap_appender **appender);

// Opens a ragged array to append rows after its writer died. This removes elements
// that belong to no row, and offsets of elements that do not exist.
npymap_status npymap_appender_recover_ragged(const char *data,
                                             const char *offsets,
                                             npymap_appender **appender);

// Stores in `span[0]` where a row starts along the first axis of `data`, and in `span[1]`
// where it ends. The array has one row less than `offsets` has elements. While rows are
// appended, open the offsets before the data.
npymap_status npymap_ragged_span(const npymap_array *data,
                                 const npymap_array *offsets,
                                 size_t row,
                                 size_t *span);

// Copies a row to a buffer of numbers, `nbytes` long, which must be the size of the
// row (see npymap_ragged_span). Types are converted like in npymap_copy.
npymap_status npymap_ragged_get(const npymap_array *data,
                                const npymap_array *offsets,
                                size_t row,
                                npymap_type number,
                                void *numbers,
                                size_t nbytes);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* NPYMAP_H */
