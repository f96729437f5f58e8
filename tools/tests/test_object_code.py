"""The kernels' object file of every platform keeps to that platform's rules, which its linker and its calls rely on.

The files are compiled anew, in three minutes, unless MULTIGRID_OBJECT_CODE names a folder that has them.
"""

import re

import pytest
from abi3info import DATAS, FUNCTIONS
from object_files import ARM64, BUILDING, ObjectFile, find_folder

TARGETS = {
    "linux-x86_64": ("ELF", "x86_64"),
    "linux-aarch64": ("ELF", "arm64"),
    "macosx-x86_64": ("Mach-O", "x86_64"),
    "macosx-arm64": ("Mach-O", "arm64"),
    "win-amd64": ("COFF", "x86_64"),
}
C_LIBRARY = {
    "ELF": {"memcpy", "memset", "sched_yield"},
    # LLVM calls bzero, on x86-64 by its other name, to fill with zeros.
    "Mach-O": {"memcpy", "memset", "sched_yield", "bzero", "__bzero"},
    "COFF": {"memcpy", "memset"},
}
# Relocations that need no fixed address, in machine code.
IN_CODE = {
    ("ELF", "x86_64"): {"R_X86_64_PLT32", "R_X86_64_PC32", "R_X86_64_GOTPCRELX", "R_X86_64_REX_GOTPCRELX"},
    ("ELF", "arm64"): {
        *("R_AARCH64_CALL26", "R_AARCH64_JUMP26", "R_AARCH64_ADR_PREL_PG_HI21", "R_AARCH64_ADD_ABS_LO12_NC"),
        *("R_AARCH64_ADR_GOT_PAGE", "R_AARCH64_LD64_GOT_LO12_NC"),
        *(f"R_AARCH64_LDST{bits}_ABS_LO12_NC" for bits in (8, 16, 32, 64, 128)),
    },
    ("Mach-O", "x86_64"): {"BRANCH", "SIGNED", "SIGNED_1", "SIGNED_2", "SIGNED_4", "GOT_LOAD", "GOT"},
    ("Mach-O", "arm64"): {"BRANCH26", "PAGE21", "PAGEOFF12", "GOT_LOAD_PAGE21", "GOT_LOAD_PAGEOFF12"},
    ("COFF", "x86_64"): {"REL32"},
}
# The registers of the first arguments, by the platform's calling convention.
SYSTEM_V, WINDOWS, AAPCS = "rdi rsi rdx rcx r8 r9", "rcx rdx r8 r9", "x0 x1 x2 x3 x4 x5 x6 x7"
# Those that a function gives back as it found them.
KEPT = {
    SYSTEM_V: "rbx rbp r12 r13 r14 r15",
    WINDOWS: "rbx rbp rsi rdi r12 r13 r14 r15 " + " ".join(f"xmm{k}" for k in range(6, 16)),
    AAPCS: " ".join(f"x{k}" for k in range(19, 30)) + " " + " ".join(f"d{k}" for k in range(8, 16)),
}

pytestmark = [pytest.mark.heavy, pytest.mark.long]


@pytest.fixture(scope="module", params=TARGETS)
def name(request):
    """The name of a platform."""
    return request.param


@pytest.fixture(scope="module")
def folder(name, tmp_path_factory):
    """The folder with a platform's object file."""
    return find_folder(name, tmp_path_factory.mktemp("object_code"))


@pytest.fixture(scope="module")
def file(folder):
    """A platform's object file."""
    return ObjectFile(folder / "kernels.o")


@pytest.fixture(scope="module")
def entries(folder):
    """The functions that binding.c calls."""
    found = re.findall(r"ENTRY\((\w+), ", (folder / "entries.h").read_text())
    assert len(found) > 10
    return {f"multigrid_{each}" for each in found}


def get_convention(file):
    """Return the registers of the first arguments."""
    return AAPCS if file.processor == ARM64 else WINDOWS if file.format == "COFF" else SYSTEM_V


def get_whole_register(name):
    """Return the 64-bit register that a part of one belongs to; of a vector of AArch64, the half that is kept."""
    if name == "fp":
        return "x29"
    if match := re.fullmatch(r"[wx](\d+)", name):
        return f"x{match[1]}"
    if match := re.fullmatch(r"[bhsdqv](\d+)", name):
        return f"d{match[1]}"
    if match := re.fullmatch(r"(r\d+)[dwb]", name):
        return match[1]
    if match := re.fullmatch(r"[er]?([abcd]x|[sd]i|[sb]p)l?|([abcd])[lh]", name):
        return f"r{match[1] or match[2] + 'x'}"
    return name


def list_registers(instruction):
    """Return the registers that an instruction reads, and those that it writes."""
    return tuple(
        {get_whole_register(instruction.reg_name(each)) for each in part} for part in instruction.regs_access()
    )


def is_saved(instruction, register):
    """Return whether an instruction writes a register to the stack."""
    names = [get_whole_register(each) for each in re.findall(r"\w+", instruction.op_str)]
    if instruction.mnemonic == "push":
        return register == names[0]
    on_stack = re.search(r"\[(rsp|rbp|sp|x29)\b", instruction.op_str) is not None
    is_stored = instruction.mnemonic in {"movaps", "movapd", "movdqa", "movups"} and instruction.op_str.startswith(
        "xmmword ptr"
    )
    return on_stack and register in names and (is_stored or instruction.mnemonic in {"stp", "str"})


def test_it_is_for_its_platform(name, file):
    """The format and the processor are the platform's."""
    assert (file.format, file.processor) == TARGETS[name]


def test_it_defines_the_kernels_alone(file, entries):
    """Other files can refer to the kernels of binding.c, and to nothing else; the library exports none of them."""
    assert file.defined == entries
    assert file.exported == set()


def test_all_that_it_needs_is_there(file):
    """What it refers to is in the C library of the platform, in Python's stable ABI of 3.10 or beside binding.c."""
    beside = set(re.findall(r"UNREACHED\((?!name)(\w+)\)", (BUILDING / "unreached.c").read_text()))
    if file.format == "COFF":
        beside |= set(re.findall(r"^int (\w+)\(", (BUILDING / "windows.c").read_text(), re.MULTILINE))
    stable = {
        symbol.name
        for symbol, found in (FUNCTIONS | DATAS).items()
        if (found.added.major, found.added.minor) <= (3, 10) and found.ifdef is None
    }
    assert len(beside) >= 6
    assert file.undefined - beside - stable - C_LIBRARY[file.format] == set()


def test_code_needs_no_fixed_address(name, file):
    """The linker fills distances into machine code, and no addresses."""
    kinds = {each.kind for each in file.relocations if each.section in {".text", "__text"}}
    assert kinds
    assert kinds <= IN_CODE[TARGETS[name]]


def test_kernels_take_one_pointer(file, entries):
    """Each kernel takes its argument from the register where binding.c's call puts the first one, and no other."""
    assert "typedef int64_t (*kernel)(const int64_t *);" in (BUILDING / "binding.c").read_text()
    first, *others = get_convention(file).split()
    checked = set()
    for function, instructions in file.disassemble():
        if function not in entries:
            continue
        written, taken = set(), set()
        for instruction in instructions:
            reads, writes = list_registers(instruction)
            if not any(is_saved(instruction, register) for register in reads):
                taken |= reads - written
            written |= writes
            if instruction.mnemonic in {"call", "bl", "jmp", "b", "ret"}:
                break
        assert taken & {first, *others} == {first}, function
        checked.add(function)
    assert checked == entries


def test_functions_keep_the_registers_of_their_callers(file):
    """A function that writes a register which its caller relies on saves it first; x18 is Apple's own."""
    kept = KEPT[get_convention(file)].split()
    seen = set()
    for function, instructions in file.disassemble():
        saved = set()
        for instruction in instructions:
            reads, writes = list_registers(instruction)
            assert file.format != "Mach-O" or "x18" not in reads | writes, function
            saved |= {register for register in kept if register in reads and is_saved(instruction, register)}
            assert writes & set(kept) <= saved, (function, instruction)
        seen |= saved
    assert len(seen) > 5
