"""The second half of the C function of all entries, as LLVM assembly: it compares the memory of
arrays, calls the code, and makes the result or raises an exception."""

__all__ = ["CALL"]

CALL = """
; -- whether a result shares memory with an array before it

apart:
  %first = call i64 @field(ptr %table, i64 5)
  %arrays = call i64 @field(ptr %table, i64 6)
  br label %results_loop

results_loop:
  %j = phi i64 [ %first, %apart ], [ %j.next, %others_loop ]
  %j.done = icmp uge i64 %j, %arrays
  br i1 %j.done, label %call, label %result

result:
  %j.start = call i64 @field(ptr %words, i64 %j)
  %j.bytes = call i64 @field(ptr %bytes, i64 %j)
  %j.end = add i64 %j.start, %j.bytes
  %j.next = add i64 %j, 1
  br label %others_loop

others_loop:
  %m = phi i64 [ 0, %result ], [ %m.next, %other ]
  %m.done = icmp eq i64 %m, %j
  br i1 %m.done, label %results_loop, label %other

other:
  %m.next = add i64 %m, 1
  %m.start = call i64 @field(ptr %words, i64 %m)
  %m.bytes = call i64 @field(ptr %bytes, i64 %m)
  %m.end = add i64 %m.start, %m.bytes
  %before = icmp ult i64 %m.start, %j.end
  %after = icmp ult i64 %j.start, %m.end
  %overlap = and i1 %before, %after
  br i1 %overlap, label %overlapping, label %others_loop

; -- the call

call:
  %run = call ptr @word(ptr %table, i64 0)
  %frees = call i64 @field(ptr %table, i64 2)
  %is_brief = icmp eq i64 %frees, 0
  br i1 %is_brief, label %held, label %free

held:
  %held.status = call i32 %run(ptr %words, ptr %numbers)
  br label %called

free:
  %state = call ptr @PyEval_SaveThread()
  %free.status = call i32 %run(ptr %words, ptr %numbers)
  call void @PyEval_RestoreThread(ptr %state)
  br label %called

called:
  %status = phi i32 [ %held.status, %held ], [ %free.status, %free ]
  %good = icmp eq i32 %status, 0
  br i1 %good, label %build, label %checked

; -- the result, on a stack of objects

build:
  %program.offset = call i64 @field(ptr %table, i64 8)
  %program = getelementptr i8, ptr %table, i64 %program.offset
  %steps = call i64 @field(ptr %table, i64 9)
  %stack = alloca ptr, i64 %steps
  br label %steps_loop

steps_loop:
  %p = phi i64 [ 0, %build ], [ %p.next, %push ]
  %top = phi i64 [ 0, %build ], [ %top.next, %push ]
  %p.done = icmp eq i64 %p, %steps
  br i1 %p.done, label %built, label %step

step:
  %p.next = add i64 %p, 1
  %operation = call i64 @field(ptr %program, i64 %p)
  %is_tuple = icmp slt i64 %operation, 0
  br i1 %is_tuple, label %tuple, label %number

number:
  %position = lshr i64 %operation, 3
  %box = and i64 %operation, 7
  %number.at = getelementptr i64, ptr %numbers, i64 %position
  switch i64 %box, label %none [
    i64 0, label %box.double
    i64 1, label %box.signed
    i64 2, label %box.unsigned
    i64 3, label %box.bool
    i64 5, label %same
  ]

box.double:
  %double = load double, ptr %number.at
  %double.object = call ptr @PyFloat_FromDouble(double %double)
  br label %push

box.signed:
  %signed = load i64, ptr %number.at
  %signed.object = call ptr @PyLong_FromLongLong(i64 %signed)
  br label %push

box.unsigned:
  %unsigned = load i64, ptr %number.at
  %unsigned.object = call ptr @PyLong_FromUnsignedLongLong(i64 %unsigned)
  br label %push

box.bool:
  %flag = load i64, ptr %number.at
  %bool.object = call ptr @PyBool_FromLong(i64 %flag)
  br label %push

same:
  %same.at = getelementptr ptr, ptr %args, i64 %position
  %same.object = load ptr, ptr %same.at
  call void @Py_IncRef(ptr %same.object)
  br label %push

none:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  br label %push

tuple:
  %items = xor i64 %operation, -1
  %base = sub i64 %top, %items
  %tuple.object = call ptr @PyTuple_New(i64 %items)
  %no_tuple = icmp eq ptr %tuple.object, null
  br i1 %no_tuple, label %unwind, label %items_loop

items_loop:
  %q = phi i64 [ 0, %tuple ], [ %q.next, %item ]
  %q.done = icmp eq i64 %q, %items
  br i1 %q.done, label %push, label %item

item:
  %q.next = add i64 %q, 1
  %from = add i64 %base, %q
  %from.at = getelementptr ptr, ptr %stack, i64 %from
  %item.object = load ptr, ptr %from.at
  %items.at = getelementptr i8, ptr %tuple.object, i64 <ITEMS>
  %to.at = getelementptr ptr, ptr %items.at, i64 %q
  store ptr %item.object, ptr %to.at
  br label %items_loop

push:
  %object = phi ptr [ %double.object, %box.double ], [ %signed.object, %box.signed ],
                    [ %unsigned.object, %box.unsigned ], [ %bool.object, %box.bool ],
                    [ %same.object, %same ],
                    [ @_Py_NoneStruct, %none ], [ %tuple.object, %items_loop ]
  %under = phi i64 [ %top, %box.double ], [ %top, %box.signed ], [ %top, %box.unsigned ],
                   [ %top, %box.bool ], [ %top, %same ], [ %top, %none ], [ %base, %items_loop ]
  %no_object = icmp eq ptr %object, null
  %top.at = getelementptr ptr, ptr %stack, i64 %under
  store ptr %object, ptr %top.at
  %top.next = add i64 %under, 1
  br i1 %no_object, label %unwind, label %steps_loop

built:
  %result.object = load ptr, ptr %stack
  ret ptr %result.object

; No memory for an object: those below it are released.
unwind:
  %held.count = phi i64 [ %top, %tuple ], [ %under, %push ]
  br label %unwind_loop

unwind_loop:
  %u = phi i64 [ 0, %unwind ], [ %u.next, %release ]
  %u.done = icmp eq i64 %u, %held.count
  br i1 %u.done, label %failed, label %release

release:
  %u.next = add i64 %u, 1
  %u.at = getelementptr ptr, ptr %stack, i64 %u
  %u.object = load ptr, ptr %u.at
  call void @Py_DecRef(ptr %u.object)
  br label %unwind_loop

; -- exceptions

unfit:
  br label %raise
misshaped:
  br label %raise
overlapping:
  br label %raise
checked:
  %status.word = zext i32 %status to i64
  %status.which = add i64 %status.word, 2
  br label %raise

raise:
  %which = phi i64 [ 0, %unfit ], [ 1, %misshaped ], [ 2, %overlapping ],
                   [ %status.which, %checked ]
  %raised = call ptr @word(ptr %own, i64 <SECOND>)
  %which.bytes = shl i64 %which, 3
  %which.offset = add i64 %which.bytes, <ITEMS>
  %pair = call ptr @word(ptr %raised, i64 %which.offset)
  %class = call ptr @word(ptr %pair, i64 <ITEMS>)
  %class.args = call ptr @word(ptr %pair, i64 <SECOND>)
  call void @PyErr_SetObject(ptr %class, ptr %class.args)
  br label %failed

failed:
  ret ptr null
}
"""
