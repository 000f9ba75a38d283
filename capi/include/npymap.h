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
 *    values that an argument says, and no other thread uses it during the call. It is not
 *    memory of an array that the call uses, from npymap_data or npymap_data_mut. Texts end
 *    with a NUL. A pointer may be null if there is nothing to read or write.
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

// A limit on what is read into memory was reached.
#define NPYMAP_ERROR_LIMIT_EXCEEDED -7

// Something else changed or replaced the file.
#define NPYMAP_ERROR_CHANGED -8

// The file is locked by another writer.
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

// `float complex`, or `float[2]`: the real part, then the imaginary one.
#define NPYMAP_COMPLEX64 13

// `double complex`, or `double[2]`.
#define NPYMAP_COMPLEX128 14

// Replace an existing file. Programs that have it mapped or open keep it.
#define NPYMAP_OVERWRITE 1

// Reserve no space on the disk. If it is full, a later store is a signal.
#define NPYMAP_SPARSE 2

// Align the elements to 4096 bytes in the file.
#define NPYMAP_PAGE_ALIGNED 4

// Fortran order: the first axis varies fastest.
#define NPYMAP_FORTRAN_ORDER 8

// Deflate the member of an archive.
#define NPYMAP_COMPRESS 16

// With NPYMAP_OVERWRITE, drop what follows the elements of the old file: rows of a writer
// that died, which `npymap recover` keeps, or another array. Without this flag, such a
// file is not replaced: NPYMAP_ERROR_CORRUPT.
#define NPYMAP_DISCARD_TRAILING 32

// Wait for the lock of another writer, instead of NPYMAP_ERROR_LOCKED.
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

// The version of the interface of the library that is running. It is
// NPYMAP_ABI_VERSION of the header that the program was compiled with, or the
// program was linked with the wrong library.
uint32_t npymap_abi_version(void);

// The version of the library, such as "0.1.0".
const char *npymap_version(void);

// The text of the last error of this thread: the file, what was found, what was
// asked for. It is never null, and valid until the next error of the thread, or
// npymap_error_clear. A call that succeeds does not change it.
const char *npymap_error(void);

// The status of the last error of this thread, NPYMAP_OK if there was none.
npymap_status npymap_error_status(void);

// The code of the operating system for the last error of this thread: `errno`, or
// GetLastError() on Windows; 0 if the system was not the reason.
int32_t npymap_error_os_code(void);

// Forgets the last error of this thread.
void npymap_error_clear(void);

// Prints the last error of this thread on standard error, after `prefix` and a
// colon unless `prefix` is null or empty, like perror(3).
void npymap_perror(const char *prefix);

// Opens a `.npy` file.
//
// `mode` is NPYMAP_READ_ONLY, NPYMAP_READ_WRITE, NPYMAP_COPY_ON_WRITE or
// NPYMAP_IN_MEMORY. Opening reads the header; elements are read when they are
// used. For a member of an archive, see npymap_archive_open.
npymap_status npymap_open(const char *path, npymap_mode mode, npymap_array **array);

// As npymap_open, for a header of up to `max_header_len` characters: NumPy's
// max_header_size. npymap_open allows 10,000, which is not enough for tables with
// hundreds of columns. Time and memory to read a header are proportional to its length.
npymap_status npymap_open_max_header_len(const char *path,
                                         npymap_mode mode,
                                         size_t max_header_len,
                                         npymap_array **array);

// As npymap_open, for an array whose header starts at byte `offset` of the file: one of
// several that numpy.save wrote to one file. The next one starts where its elements end:
// npymap_data_offset and npymap_nbytes say where.
npymap_status npymap_open_at(const char *path,
                             npymap_mode mode,
                             uint64_t offset,
                             npymap_array **array);

// Opens a file without a header, as numpy.memmap does: `ndim` axes of lengths
// `shape` of elements `descr`, such as "<f4", that start at byte `offset`. If
// `shape` is null, there is one axis that reaches to the end of the file. `flags` is
// 0 or NPYMAP_FORTRAN_ORDER. With NPYMAP_READ_WRITE, a file that is too short is
// extended with zeros.
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

// Creates a `.npy` file of zeros and maps it read-write; an array in memory if
// `path` is null.
//
// `descr` is the dtype as numpy.dtype.descr or numpy.dtype.str: ">f8", "<i4",
// "|b1", "[('t', '<i8'), ('pos', '<f4', (3,))]". `flags` combines NPYMAP_OVERWRITE,
// NPYMAP_DISCARD_TRAILING, NPYMAP_SPARSE, NPYMAP_PAGE_ALIGNED and NPYMAP_FORTRAN_ORDER.
// The file gets its name when it is complete, with all its space reserved; after an error
// there is none.
npymap_status npymap_create(const char *path,
                            const char *descr,
                            const size_t *shape,
                            size_t ndim,
                            uint32_t flags,
                            npymap_array **array);

// Closes an array and sets the pointer to null. If stores to it go to a file, waits
// until they are on the disk and reports errors of writing them. Does nothing if
// the pointer is null already.
npymap_status npymap_close(npymap_array **array);

// Closes an array without waiting for the disk, and sets the pointer to null. What
// was stored is not lost, but errors of writing it are not reported. Does nothing if
// the pointer, or the pointer to it, is null.
void npymap_free(npymap_array **array);

// The number of axes; 0 for a single element, and for a null pointer, which is an
// error as in the functions that follow.
size_t npymap_ndim(const npymap_array *array);

// The length of each axis; null for a null pointer. It is valid until the array is
// closed or reloaded.
const size_t *npymap_shape(const npymap_array *array);

// Bytes from one element to the next along each axis; null for a null pointer. It is
// valid until the array is closed or reloaded.
const ptrdiff_t *npymap_byte_strides(const npymap_array *array);

// The number of elements.
size_t npymap_len(const npymap_array *array);

// The size of one element in bytes.
size_t npymap_itemsize(const npymap_array *array);

// The size of all elements in bytes.
size_t npymap_nbytes(const npymap_array *array);

// The type of the elements in either byte order: NPYMAP_FLOAT64 or another;
// NPYMAP_OTHER if they are not numbers of up to 8 bytes (16 if complex).
npymap_type npymap_type_of(const npymap_array *array);

// NumPy's dtype.kind: 'b', 'i', 'u', 'f', 'c', 'm', 'M', 'S', 'U' or 'V', which
// includes structs and subarrays; 0 for a null pointer.
char npymap_kind(const npymap_array *array);

// The byte order of the elements: '<', '>', or '|' if they have none, as bytes and
// structs; 0 for a null pointer.
char npymap_byte_order(const npymap_array *array);

// The dtype as in the header of a file: "'<f8'", with quotes, or
// "[('t', '<i8'), ('pos', '<f4', (3,))]"; null for a null pointer. It is valid until
// the array is closed or reloaded.
const char *npymap_descr(const npymap_array *array);

// The memory order: 'C', or 'F' if the first axis varies fastest; 0 for a null
// pointer. If it would be both, as with one axis, it is that of the header.
char npymap_order(const npymap_array *array);

// The mode that the array was opened in. It is NPYMAP_IN_MEMORY for members that
// were inflated, NPYMAP_READ_WRITE for files that were created; -1 for a null
// pointer.
npymap_mode npymap_mode_of(const npymap_array *array);

// The offset of the first element in the file; UINT64_MAX if there is none.
uint64_t npymap_data_offset(const npymap_array *array);

// The first element, as it is stored: see npymap_borrow for numbers. The address is
// that of the map, and is valid until the array is closed or reloaded. Null for a null
// pointer; not null for an array without elements.
const void *npymap_data(const npymap_array *array);

// As npymap_data, for writing; null for a read-only array, which is an error.
void *npymap_data_mut(npymap_array *array);

// The elements in place, as numbers of this machine: an error unless they have
// exactly this type and this machine's byte order, and are aligned, which members of
// a `.npz` need not be: npymap_copy reads those. Booleans are read, because other bytes
// than 0 and 1, which files can have, are an error. Along each axis, elements are
// npymap_byte_strides apart.
npymap_status npymap_borrow(const npymap_array *array,
                            npymap_type number,
                            const void **data);

// As npymap_borrow, for writing.
npymap_status npymap_borrow_mut(npymap_array *array, npymap_type number, void **data);

// Copies an element to the variable `value` of type `number`, converted from either
// byte order and any alignment.
//
// `index` has one position for each of the `ndim` axes. The type may be another than
// that of the elements if NumPy's casting 'same_kind' allows it; floats are rounded,
// integers must fit.
npymap_status npymap_get(const npymap_array *array,
                         const size_t *index,
                         size_t ndim,
                         npymap_type number,
                         void *value);

// Stores the variable `value` of type `number` to an element, as npymap_get.
npymap_status npymap_set(npymap_array *array,
                         const size_t *index,
                         size_t ndim,
                         npymap_type number,
                         const void *value);

// As npymap_get, for the field `field` of an element: "x", or "pos.z". The axes of a
// subarray follow those of the array in `index`.
npymap_status npymap_get_field(const npymap_array *array,
                               const char *field,
                               const size_t *index,
                               size_t ndim,
                               npymap_type number,
                               void *value);

// As npymap_set, for a field.
npymap_status npymap_set_field(npymap_array *array,
                               const char *field,
                               const size_t *index,
                               size_t ndim,
                               npymap_type number,
                               const void *value);

// Copies the npymap_itemsize bytes of an element of any dtype, as they are stored.
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

// Formats an element of any dtype, or its field `field` unless that is null: "1.5",
// "b'abc'", "2026-08-21T12:00". Text of dtype 'U' is UTF-8 without quotes, and may
// contain NUL characters.
//
// Stores at most `capacity` bytes in `text`, the last of which is NUL. `len`, unless
// it is null, gets the length without the NUL; if it is `capacity` or more, the text
// was cut. `text` may be null if `capacity` is 0.
npymap_status npymap_get_text(const npymap_array *array,
                              const char *field,
                              const size_t *index,
                              size_t ndim,
                              void *text,
                              size_t capacity,
                              size_t *len);

// Parses `text` as npymap_get_text formats it, and stores the value to an element or
// its field.
npymap_status npymap_set_text(npymap_array *array,
                              const char *field,
                              const size_t *index,
                              size_t ndim,
                              const char *text);

// Copies all elements, or their field `field` unless that is null, to a buffer of
// numbers in C order, `nbytes` long: npymap_len numbers, or more if the field is a
// subarray.
//
// The type may be another than that of the elements if every value fits, as in
// NumPy's casting 'safe'; floats may also be rounded.
npymap_status npymap_copy(const npymap_array *array,
                          const char *field,
                          npymap_type number,
                          void *numbers,
                          size_t nbytes);

// Stores a buffer of numbers in C order to all elements, as npymap_copy.
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

// Sets `index` to the next element: in the order 'C', the last position changes
// fastest, in 'F' the first. NPYMAP_END after the last element, and `index` is not
// changed. Elements are in order in memory if `order` is npymap_order.
npymap_status npymap_next_index(const npymap_array *array,
                                char order,
                                size_t *index,
                                size_t ndim);

// Copies rows of the first axis, in the order of the `count` indices `rows`, to a
// buffer of numbers, `nbytes` long. Indices may repeat. Types are converted as by
// npymap_copy.
//
// From the disk, rows of a read-only array are requested ahead of the copy.
npymap_status npymap_take(const npymap_array *array,
                          const size_t *rows,
                          size_t count,
                          npymap_type number,
                          void *numbers,
                          size_t nbytes);

// As npymap_take, for the bytes of any dtype as they are stored.
npymap_status npymap_take_bytes(const npymap_array *array,
                                const size_t *rows,
                                size_t count,
                                void *bytes,
                                size_t nbytes);

// Waits until everything stored is on the disk. Does nothing unless stores go to a
// file.
npymap_status npymap_flush(const npymap_array *array);

// Starts writing what was stored to the disk, without waiting.
npymap_status npymap_flush_async(const npymap_array *array);

// Tells the system how the rows from `start` to before `stop` will be used, so that
// it reads ahead accordingly: NPYMAP_ADVICE_RANDOM or another. SIZE_MAX for `stop`
// is the end.
npymap_status npymap_advise(const npymap_array *array,
                            size_t start,
                            size_t stop,
                            int32_t advice);

// Starts reading rows into memory, in a thread if they are large.
npymap_status npymap_prefetch(const npymap_array *array, size_t start, size_t stop);

// Reads rows into memory and waits for them. A truncated file or a failing disk is an
// error here, where a load would cause a signal.
npymap_status npymap_populate(const npymap_array *array, size_t start, size_t stop);

// Checks that the path still leads to the file that was opened, and that the file
// still has all elements.
npymap_status npymap_check_unchanged(const npymap_array *array);

// Maps the rows that another program appended to the file since a read-only array was
// opened. Pointers into the array are invalid afterwards; its shape may be another. An
// error on Windows, where files are not identified.
npymap_status npymap_reload(npymap_array *array);

// Opens a `.npz`, `.ten`, tar or `.npy` file, recognised by its contents. Modes are
// those of npymap_open, for a `.npz` without NPYMAP_READ_WRITE. Arrays outlive the
// archive.
npymap_status npymap_archive_open(const char *path,
                                  npymap_mode mode,
                                  npymap_archive **archive);

// Opens a copy of the `nbytes` bytes of such a file in memory.
npymap_status npymap_archive_open_bytes(const void *bytes,
                                        size_t nbytes,
                                        npymap_archive **archive);

// Closes an archive and sets the pointer to null. Does nothing if the pointer, or the
// pointer to it, is null.
void npymap_archive_free(npymap_archive **archive);

// The number of members; 0 for a null pointer, which is an error.
size_t npymap_archive_len(const npymap_archive *archive);

// The name of the member at a position: without `.npy` in a `.npz`; "0", "1" and so on
// in a `.ten`; "name.ten[0]" for arrays of a `.ten` in a tar file; empty for a `.npy`.
// Null if there is no such position. It is valid until the archive is closed.
const char *npymap_archive_name(const npymap_archive *archive, size_t position);

// Opens the member called `name`; the only array if `name` is null. Stored members
// are mapped where they are in the file, deflated ones are inflated into memory. In a
// `.ten`, `name` may also be the info of an array.
npymap_status npymap_archive_get(const npymap_archive *archive,
                                 const char *name,
                                 npymap_array **array);

// Opens the member at a position.
npymap_status npymap_archive_get_at(const npymap_archive *archive,
                                    size_t position,
                                    npymap_array **array);

// Writes a `.npy` file: the `nbytes` bytes of elements `descr`, with `ndim` axes of
// lengths `shape`. `flags` combines NPYMAP_OVERWRITE, NPYMAP_DISCARD_TRAILING and
// NPYMAP_FORTRAN_ORDER, which says how the elements are in memory. The file gets its name
// when it is complete.
npymap_status npymap_save(const char *path,
                          const char *descr,
                          const size_t *shape,
                          size_t ndim,
                          const void *elements,
                          size_t nbytes,
                          uint32_t flags);

// Adds a member to a `.npz` file, or replaces it; creates the file if there is none.
// `flags` combines NPYMAP_COMPRESS and NPYMAP_FORTRAN_ORDER. The changed archive
// replaces the file when it is complete, under a lock.
npymap_status npymap_save_member(const char *path,
                                 const char *name,
                                 const char *descr,
                                 const size_t *shape,
                                 size_t ndim,
                                 const void *elements,
                                 size_t nbytes,
                                 uint32_t flags);

// Opens a `.npy` file to append rows, and locks it; on Windows, it is not locked.
npymap_status npymap_appender_open(const char *path, npymap_appender **appender);

// Creates a `.npy` file without rows, to append some. `row` has the lengths of the
// `ndim` axes of a row, so the array has one more. `flags` combines NPYMAP_OVERWRITE,
// NPYMAP_DISCARD_TRAILING, NPYMAP_PAGE_ALIGNED and NPYMAP_FORTRAN_ORDER, with which the
// last axis grows.
npymap_status npymap_appender_create(const char *path,
                                     const char *descr,
                                     const size_t *row,
                                     size_t ndim,
                                     uint32_t flags,
                                     npymap_appender **appender);

// Opens a `.npy` file to append rows, as npymap_appender_open, or creates it if it does
// not exist, as npymap_appender_create. Several processes can do this at once: one of them
// creates the file. `flags` combines NPYMAP_PAGE_ALIGNED, NPYMAP_FORTRAN_ORDER and
// NPYMAP_WAIT, with which each waits for its turn. A file with rows of another dtype is
// NPYMAP_ERROR_DTYPE_MISMATCH, and of another shape or order NPYMAP_ERROR_SHAPE_MISMATCH.
npymap_status npymap_appender_open_or_create(const char *path,
                                             const char *descr,
                                             const size_t *row,
                                             size_t ndim,
                                             uint32_t flags,
                                             npymap_appender **appender);

// The number of rows, including those that are not written yet.
size_t npymap_appender_rows(const npymap_appender *appender);

// Appends complete rows from `nbytes` bytes of elements as they are stored. A ragged
// array gets one row.
npymap_status npymap_append_bytes(npymap_appender *appender,
                                  const void *bytes,
                                  size_t nbytes);

// Appends complete rows from `count` numbers, whose type must be that of the elements,
// in either byte order. A ragged array gets one row. In Fortran order, the first axis of a
// row varies fastest.
npymap_status npymap_append(npymap_appender *appender,
                            npymap_type number,
                            const void *numbers,
                            size_t count);

// Writes the rows that were appended, so that other programs see them.
npymap_status npymap_appender_flush(npymap_appender *appender);

// Writes the rows and waits until they are on the disk.
npymap_status npymap_appender_sync(npymap_appender *appender);

// Writes the rows, waits until they are on the disk, closes the file and sets the
// pointer to null. Does nothing if the pointer is null already.
npymap_status npymap_appender_close(npymap_appender **appender);

// Writes the rows without waiting or reporting errors, closes the file and sets the
// pointer to null. Does nothing if the pointer, or the pointer to it, is null.
void npymap_appender_free(npymap_appender **appender);

// Opens a ragged array to append rows, and locks it, as npymap_appender_open: `data` is the
// file of all elements, and `offsets` that of the starts and ends of its rows. After a
// writer died, its files may be NPYMAP_ERROR_CORRUPT: see npymap_appender_recover_ragged.
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

// Opens a ragged array to append rows after its writer died: elements that belong to no
// row, and offsets of elements that do not exist, are removed.
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

// Copies a row to a buffer of numbers, `nbytes` long, which has to be the size of the row:
// see npymap_ragged_span. Types are converted as by npymap_copy.
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
