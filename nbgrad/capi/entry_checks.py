"""The first half of the C function of all entries, as LLVM assembly: it checks the arguments.

`entry.py` says what stands in its table. Numbers of the memory layout are written <NAME>, as in
`runtime/layout.py`.
"""

__all__ = ["CHECKS"]

CHECKS = """
%Table = type { ptr, ptr, i64, i64, i64, i64, i64, i64, i64, i64 }
%Row = type { i64, ptr, i64, i64, i64, i64 }

@PyFloat_Type = external global i8
@PyLong_Type = external global i8
@PyBool_Type = external global i8
@_Py_NoneStruct = external global i8

declare i32 @PyType_IsSubtype(ptr, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare i32 @PyObject_IsTrue(ptr)
declare i32 @PyObject_RichCompareBool(ptr, ptr, i32)
declare ptr @PyErr_Occurred()
declare void @PyErr_SetObject(ptr, ptr)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyLong_FromUnsignedLongLong(i64)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyTuple_New(i64)
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

; A field of an object.
define internal ptr @word(ptr %x, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %x, i64 %offset
  %value = load ptr, ptr %at
  ret ptr %value
}

define internal i32 @int(ptr %x, i64 %offset) alwaysinline {
  %at = getelementptr i8, ptr %x, i64 %offset
  %value = load i32, ptr %at
  ret i32 %value
}

define internal i64 @field(ptr %x, i64 %i) alwaysinline {
  %at = getelementptr i64, ptr %x, i64 %i
  %value = load i64, ptr %at
  ret i64 %value
}

define ptr @entry(ptr %own, ptr %args, i64 %given, ptr %names) {
  %array = call ptr @word(ptr %own, i64 <ITEMS>)
  %table = call ptr @word(ptr %array, i64 <DATA>)
  %ndarray = call ptr @word(ptr %table, i64 8)
  %count = call i64 @field(ptr %table, i64 3)
  %slots = call i64 @field(ptr %table, i64 4)
  %numbers_count = call i64 @field(ptr %table, i64 7)
  %words = alloca i64, i64 %slots
  %bytes = alloca i64, i64 %slots
  %numbers = alloca i64, i64 %numbers_count
  %rows = getelementptr %Table, ptr %table, i64 1
  %as_many = icmp eq i64 %given, %count
  %unnamed = icmp eq ptr %names, null
  %well = and i1 %as_many, %unnamed
  br i1 %well, label %arguments, label %unfit

arguments:
  %i = phi i64 [ 0, %0 ], [ %i.next, %accepted ]
  %all = icmp eq i64 %i, %count
  br i1 %all, label %apart, label %argument

argument:
  %x.at = getelementptr ptr, ptr %args, i64 %i
  %x = load ptr, ptr %x.at
  %type = call ptr @word(ptr %x, i64 <TYPE>)
  %row = getelementptr %Row, ptr %rows, i64 %i
  %kind = call i64 @field(ptr %row, i64 0)
  %expected = call ptr @word(ptr %row, i64 8)
  %slot = call i64 @field(ptr %row, i64 2)
  switch i64 %kind, label %may_be_array [
    i64 <FLOAT>, label %float
    i64 <INTEGER>, label %integer
    i64 <BOOL>, label %bool
    i64 <SCALAR>, label %scalar
  ]

accepted:
  %value = phi i64 [ %float.bits, %bits ], [ %integer.value, %integer.taken ],
                   [ %integer.value, %integer.minus_one ], [ %truth, %bool.taken ],
                   [ %data, %shaped ]
  %slot.at = getelementptr i64, ptr %words, i64 %slot
  store i64 %value, ptr %slot.at
  %i.next = add i64 %i, 1
  br label %arguments

; -- arrays

may_be_array:
  %is_array = icmp eq ptr %type, %ndarray
  br i1 %is_array, label %array_of_kind, label %unfit

array_of_kind:
  %dtype = call ptr @word(ptr %x, i64 <DTYPE>)
  %flags = call i32 @int(ptr %x, i64 <FLAGS>)
  %mask = trunc i64 %kind to i32
  %set = and i32 %flags, %mask
  %is_laid_out = icmp eq i32 %set, %mask
  %is_of_dtype = icmp eq ptr %dtype, %expected
  br i1 %is_laid_out, label %dtype_known, label %unfit

dtype_known:
  br i1 %is_of_dtype, label %axes, label %dtype_other

dtype_other: ; another object may be an equal dtype: np.longlong, or what newbyteorder made
  %dtype.equal = call i32 @PyObject_RichCompareBool(ptr %dtype, ptr %expected, i32 2)
  switch i32 %dtype.equal, label %failed [
    i32 0, label %unfit
    i32 1, label %axes
  ]

axes:
  %axes.found = call i32 @int(ptr %x, i64 <NDIM>)
  %axes.count = call i64 @field(ptr %row, i64 3)
  %axes.expected = trunc i64 %axes.count to i32
  %dims.offset = call i64 @field(ptr %row, i64 4)
  %dims = getelementptr i8, ptr %table, i64 %dims.offset
  %itemsize = call i64 @field(ptr %row, i64 5)
  %lengths = call ptr @word(ptr %x, i64 <LENGTHS>)
  %same_axes = icmp eq i32 %axes.found, %axes.expected
  br i1 %same_axes, label %lengths_loop, label %misshaped

lengths_loop:
  %k = phi i64 [ 0, %axes ], [ %k.next, %length.accepted ]
  %size = phi i64 [ %itemsize, %axes ], [ %size.next, %length.accepted ]
  %k.done = icmp eq i64 %k, %axes.count
  br i1 %k.done, label %shaped, label %length

length:
  %n = call i64 @field(ptr %lengths, i64 %k)
  %n.expected = call i64 @field(ptr %dims, i64 %k)
  %n.same = icmp eq i64 %n, %n.expected
  br i1 %n.same, label %length.accepted, label %length.any

length.any:
  %n.slot = xor i64 %n.expected, -1
  %n.free = icmp slt i64 %n.expected, 0
  br i1 %n.free, label %length.noted, label %misshaped

length.noted:
  %n.at = getelementptr i64, ptr %words, i64 %n.slot
  store i64 %n, ptr %n.at
  br label %length.accepted

length.accepted:
  %k.next = add i64 %k, 1
  %size.next = mul i64 %size, %n
  br label %lengths_loop

shaped:
  %bytes.at = getelementptr i64, ptr %bytes, i64 %slot
  store i64 %size, ptr %bytes.at
  %data.word = call ptr @word(ptr %x, i64 <DATA>)
  %data = ptrtoint ptr %data.word to i64
  br label %accepted

; -- numbers

float:
  %is_float = icmp eq ptr %type, @PyFloat_Type
  %is_numpy_float = icmp eq ptr %type, %expected
  %is_known_float = or i1 %is_float, %is_numpy_float
  br i1 %is_known_float, label %bits, label %float.other

float.other:
  %float.below = call i32 @PyType_IsSubtype(ptr %type, ptr @PyFloat_Type)
  %float.is = icmp ne i32 %float.below, 0
  br i1 %float.is, label %bits, label %unfit

scalar:
  %is_scalar = icmp eq ptr %type, %expected
  br i1 %is_scalar, label %bits, label %unfit

bits:
  %float.word = call ptr @word(ptr %x, i64 <HEAD>)
  %float.bits = ptrtoint ptr %float.word to i64
  br label %accepted

integer:
  %is_integer = icmp eq ptr %type, @PyLong_Type
  %is_numpy_integer = icmp eq ptr %type, %expected
  %is_known_integer = or i1 %is_integer, %is_numpy_integer
  br i1 %is_known_integer, label %integer.taken, label %integer.other

integer.other:
  %integer.below = call i32 @PyType_IsSubtype(ptr %type, ptr @PyLong_Type)
  %integer.is = icmp ne i32 %integer.below, 0
  %integer.no_bool = icmp ne ptr %type, @PyBool_Type
  %integer.fits = and i1 %integer.is, %integer.no_bool
  br i1 %integer.fits, label %integer.taken, label %unfit

integer.taken:
  %integer.value = call i64 @PyLong_AsLongLong(ptr %x)
  %integer.odd = icmp eq i64 %integer.value, -1
  br i1 %integer.odd, label %integer.minus_one, label %accepted

integer.minus_one:
  %error = call ptr @PyErr_Occurred()
  %no_error = icmp eq ptr %error, null
  br i1 %no_error, label %accepted, label %failed

bool:
  %is_bool = icmp eq ptr %type, @PyBool_Type
  %is_numpy_bool = icmp eq ptr %type, %expected
  %is_known_bool = or i1 %is_bool, %is_numpy_bool
  br i1 %is_known_bool, label %bool.taken, label %unfit

bool.taken:
  %truth.int = call i32 @PyObject_IsTrue(ptr %x)
  %truth = zext i32 %truth.int to i64
  br label %accepted
"""
