"""Machine code from LLVM assembly: the target, the disk cache, other processes and forks."""

import ctypes
import os
from typing import Any

import pytest
from helpers.caches import cached, only_warning
from llvmlite import binding

from nbgrad.compiler import machine
from nbgrad.compiler.kernel import DISABLED
from nbgrad.compiler.numba_api import cpu_target

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

SUM = """
define double @{name}(ptr %x, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %j, %loop ]
  %s = phi double [ {start}, %entry ], [ %t, %loop ]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %t = fadd reassoc double %s, %v
  %j = add i64 %i, 1
  %c = icmp slt i64 %j, %n
  br i1 %c, label %loop, label %out
out:
  ret double %t
}}
"""
CALL = f'''
import ctypes
from nbgrad.compiler.machine import machine_code
TEXT = """{SUM.format(name="total", start="1.0")}"""
kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_int64)
x = np.arange(50.0)
def total(text=TEXT):
    functions, _ = machine_code("total", text, lambda: (text, tuple, None))
    return kind(functions["total"])(x.ctypes.data, 50)
'''


def code_of(name, text, link_in: Any = tuple):
    return machine.machine_code(name, text, lambda: (text, link_in, None))[0]


def called(address, *numbers):
    kind: Any = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * len(numbers))
    return kind(address)(*numbers)


def test_a_text_is_compiled_once(monkeypatch):
    text = SUM.format(name="once", start="77.0")
    first = code_of("once", text)
    monkeypatch.setattr(machine, "_load_or_compile", None)
    assert code_of("once", text) == first
    assert list(first) == ["once"]


def test_functions_of_one_name_are_apart():
    text = "define double @f() {{ ret double {} }}"
    codes = [code_of("f", text.format(x))["f"] for x in ("1.0", "2.0")]
    assert [called(code) for code in codes] == [1.0, 2.0]


def test_the_machine_code_is_that_of_numbas_target():
    text = SUM.format(name="total", start="0.0")
    codegen = cpu_target.target_context.codegen()  # pyright: ignore[reportAttributeAccessIssue]
    found = []
    for target in (codegen._tm, machine._machine()):
        module: Any = binding.parse_assembly(text)
        module.triple, module.data_layout = codegen._llvm_module.triple, codegen._data_layout
        machine.optimize(module, target)
        found.append(target.emit_assembly(module))
    assert found[0] == found[1]
    assert machine._target() == codegen.magic_tuple()


def test_functions_that_are_declared_are_linked_in_on_a_miss_alone(monkeypatch, tmp_path):
    text = "declare double @twice(double)\n"
    text += "define double @f(double %x) { %y = call double @twice(double %x) ret double %y }"
    other = "define double @twice(double %x) { %y = fadd double %x, %x ret double %y }"
    asked = []

    def link_in():
        asked.append(1)
        yield binding.parse_assembly(other)

    for _ in range(3):
        assert called(code_of("linked", text, link_in)["f"], 1.5) == 3.0
    assert len(asked) <= 1  # none where the cache has it


def test_symbols_that_are_missing_are_named():
    text = "declare void @nowhere()\ndefine void @f() { call void @nowhere() ret void }"
    with pytest.raises(ImportError, match="nowhere"):
        code_of("missing", text)
    with pytest.raises(RuntimeError):
        code_of("wrong", "define void @f() { ret i32 }")


def test_another_process_loads_it(fork, tmp_path):
    code = CALL + "result = total()"
    for counts in ((1, 0), (0, 1)):
        session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
        assert session.result == 1226.0 and not session.warnings
        assert (session.compiled, session.loaded) == counts
    assert len(cached(tmp_path)) == 1


def test_processes_at_once_compile_it_once(fork, tmp_path):
    sessions = fork.many(8, CALL + "result = total()", NBGRAD_CACHE_DIR=tmp_path)
    assert [session.result for session in sessions] == [1226.0] * 8
    assert sum(session.compiled for session in sessions) == 1
    assert len(cached(tmp_path)) == 1


@pytest.mark.parametrize("fault", ["flipped", "cut", "empty", "renamed"])
def test_a_file_that_is_damaged_is_compiled_again(fork, tmp_path, fault):
    code = CALL + "result = total()"
    fork(code, NBGRAD_CACHE_DIR=tmp_path)
    (file,) = cached(tmp_path)
    held = bytearray(file.read_bytes())
    if fault == "renamed":  # a good file of another text
        other = CALL + 'result = total(TEXT.replace("1.0", "2.0"))'
        fork(other, NBGRAD_CACHE_DIR=tmp_path)
        (second,) = set(cached(tmp_path)) - {file}
        held = second.read_bytes()
        second.unlink()
    elif fault == "flipped":
        held[-9] ^= 1
    else:
        del held[len(held) // 2 if fault == "cut" else 0 :]
    file.write_bytes(held)
    session = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert session.result == 1226.0 and session.compiled == 1
    assert "compiled again" in only_warning(session)
    again = fork(code, NBGRAD_CACHE_DIR=tmp_path)
    assert (again.result, again.loaded, again.warnings) == (1226.0, 1, [])


def test_without_a_folder_it_is_compiled(fork, tmp_path):
    (tmp_path / "file").touch()
    session = fork(CALL + "result = total()", NBGRAD_CACHE_DIR=tmp_path / "file")
    assert session.result == 1226.0 and session.compiled == 1
    assert "not used" in only_warning(session)


@pytest.mark.full
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")
def test_a_fork_while_another_thread_compiles(fork, tmp_path):
    code = (
        CALL
        + """
import os, threading
def work():
    for i in range(20):
        total(TEXT.replace("1.0", f"{i}.0"))
thread = threading.Thread(target=work)
thread.start()
children = []
for i in range(5):
    child = os.fork()
    if not child:
        os._exit(0 if total(TEXT.replace("1.0", f"{100 + i}.0")) == 1325.0 + i else 1)
    children.append(child)
result = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
thread.join()
"""
    )
    assert fork(code, NBGRAD_CACHE_DIR=tmp_path).result == [0] * 5


@pytest.mark.full
def test_programs_share_the_functions_that_they_call(fork, tmp_path):
    code = """
x = np.linspace(0.1, 1.0, 5)
result = [nbgrad.compile(lambda x: np.{} + {})(x).tolist()]
from nbgrad.compiler import bitcode
result.append(list(bitcode._known))
"""
    first = fork(code.format("tanh(x)", "1.0"), NBGRAD_CACHE_DIR=tmp_path)
    files = [file for file in cached(tmp_path) if file.name.startswith("nbgrad.")]
    assert len(files) == len(first.result[1]) > 0
    second = fork(code.format("tanh(x)", "2.0"), NBGRAD_CACHE_DIR=tmp_path)
    assert [file for file in cached(tmp_path) if file.name.startswith("nbgrad.")] == files
    assert (second.compiled, second.loaded) == (1, 0)
    assert [y - 1.0 for y in second.result[0]] == pytest.approx(first.result[0], rel=1e-15)
