"""Read the object files of every platform in one way: what they define, what they need, and their machine code.

COFF and Mach-O are read here, as Microsoft's "PE Format" and Apple's <mach-o/loader.h> describe them.
"""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import capstone
from elftools.elf.elffile import ELFFile
from elftools.elf.enums import ENUM_RELOC_TYPE_AARCH64, ENUM_RELOC_TYPE_x64

BUILDING = Path(__file__).parents[1] / "building"
ARM64, X86_64 = "arm64", "x86_64"
_COFF_RELOCATIONS = {1: "ADDR64", 2: "ADDR32", 3: "ADDR32NB", 4: "REL32"}
_MACH_O_RELOCATIONS = {
    X86_64: ("UNSIGNED", "SIGNED", "BRANCH", "GOT_LOAD", "GOT", "SUBTRACTOR", "SIGNED_1", "SIGNED_2", "SIGNED_4"),
    ARM64: (
        *("UNSIGNED", "SUBTRACTOR", "BRANCH26", "PAGE21", "PAGEOFF12", "GOT_LOAD_PAGE21", "GOT_LOAD_PAGEOFF12"),
        "POINTER_TO_GOT",
    ),
}


def find_folder(platform: str, temporary: Path) -> Path:
    """Return the folder with a platform's object file: of MULTIGRID_OBJECT_CODE, or compiled anew in another folder."""
    parent = os.environ.get("MULTIGRID_OBJECT_CODE")
    if parent is None:
        subprocess.run([sys.executable, BUILDING / "targets.py", temporary, platform], check=True)
    return Path(parent or temporary).resolve() / platform


class Relocation(NamedTuple):
    """A place that the linker fills in."""

    section: str
    kind: str
    symbol: str  # "" for a place in the file itself


class ObjectFile:
    """An object file; its symbols are named as in C, without the underscore before those of Mach-O."""

    def __init__(self, path: Path) -> None:
        self._content = path.read_bytes()
        self.format = ""
        self.processor = X86_64
        self.defined = set[str]()  # what other files can refer to
        self.exported = set[str]()  # what the library would export
        self.undefined = set[str]()
        self.functions: list[tuple[str, int]] = []  # with their places in `text`
        self.text = b""
        self.relocations: list[Relocation] = []
        if self._content[:4] == b"\x7fELF":
            self._read_elf(path)
        elif self._content[:4] == b"\xcf\xfa\xed\xfe":
            self._read_mach_o()
        else:
            self._read_coff()

    def _unpack(self, layout: str, place: int) -> tuple[Any, ...]:
        return struct.unpack_from(f"<{layout}", self._content, place)

    def _read_string(self, place: int) -> str:
        return self._content[place : self._content.index(b"\0", place)].decode()

    def _read_elf(self, path: Path) -> None:
        self.format = "ELF"
        with path.open("rb") as file:
            read = ELFFile(file)
            self.processor = {"EM_X86_64": X86_64, "EM_AARCH64": ARM64}[read["e_machine"]]
            kinds = ENUM_RELOC_TYPE_x64 if self.processor == X86_64 else ENUM_RELOC_TYPE_AARCH64
            kinds = {number: name for name, number in kinds.items() if isinstance(number, int)}
            kinds.setdefault(299, "R_AARCH64_LDST128_ABS_LO12_NC")  # which pyelftools has no name for
            text = read.get_section_index(".text")
            self.text = read.get_section(text).data()
            symbols = list(read.get_section_by_name(".symtab").iter_symbols())
            for symbol in symbols[1:]:
                is_global, section = symbol["st_info"]["bind"] != "STB_LOCAL", symbol["st_shndx"]
                if is_global:
                    (self.undefined if section == "SHN_UNDEF" else self.defined).add(symbol.name)
                    if section != "SHN_UNDEF" and symbol["st_other"]["visibility"] == "STV_DEFAULT":
                        self.exported.add(symbol.name)
                if section == text and symbol["st_info"]["type"] == "STT_FUNC":
                    self.functions.append((symbol.name, symbol["st_value"]))
            for section in read.iter_sections(type="SHT_RELA"):
                for each in section.iter_relocations():
                    symbol = symbols[each["r_info_sym"]]
                    name = "" if symbol["st_info"]["type"] == "STT_SECTION" else symbol.name
                    kind = kinds[each["r_info_type"]]
                    self.relocations.append(Relocation(section.name.removeprefix(".rela"), kind, name))

    def _read_coff(self) -> None:
        self.format = "COFF"
        machine, num_sections, _, symbols_at, num_symbols = self._unpack("HHIII", 0)
        assert machine == 0x8664, machine
        strings_at = symbols_at + 18 * num_symbols
        sections = []
        for k in range(num_sections):
            name, _, _, size, at, relocations_at, _, num_relocations, _, _ = self._unpack("8sIIIIIIHHI", 20 + 40 * k)
            name = name.rstrip(b"\0").decode()
            name = self._read_string(strings_at + int(name[1:])) if name.startswith("/") else name
            sections.append((name, self._content[at : at + size], relocations_at, num_relocations))
        names, k = {}, 0
        while k < num_symbols:
            raw, value, section, kind, storage, others = self._unpack("8sIhHBB", symbols_at + 18 * k)
            is_long = raw[:4] == b"\0\0\0\0"
            name = self._read_string(strings_at + self._unpack("4xI", symbols_at + 18 * k)[0]) if is_long else ""
            names[k] = name = name or raw.rstrip(b"\0").decode()
            if storage == 2 and section == 0:
                self.undefined.add(name)
            elif storage == 2 and not name.startswith(".refptr."):  # a pointer, of which the linker keeps one
                self.defined.add(name)
            if kind == 0x20 and section > 0 and sections[section - 1][0] == ".text":
                self.functions.append((name, value))
            k += 1 + others
        for name, content, relocations_at, num_relocations in sections:
            if name == ".text":
                self.text = content
            if name == ".drectve":
                self.exported |= set(re.findall(r"-export:([^ ,]+)", content.decode()))
            for k in range(num_relocations):
                _, symbol, kind = self._unpack("IIH", relocations_at + 10 * k)
                self.relocations.append(Relocation(name, _COFF_RELOCATIONS[kind], names[symbol]))

    def _read_mach_o(self) -> None:
        self.format = "Mach-O"
        _, processor, _, _, num_commands = self._unpack("IIIII", 0)
        self.processor = {0x01000007: X86_64, 0x0100000C: ARM64}[processor]
        sections, symbols, at = [], [], 32
        for _ in range(num_commands):
            command, size = self._unpack("II", at)
            if command == 0x19:  # LC_SEGMENT_64
                places = range(at + 72, at + 72 + 80 * self._unpack("I", at + 64)[0], 80)
                sections += [self._unpack("16s16sQQIIII", place) for place in places]
            elif command == 0x2:  # LC_SYMTAB
                symbols_at, count, strings_at, _ = self._unpack("IIII", at + 8)
                symbols = [self._unpack("IBBHQ", symbols_at + 16 * k) for k in range(count)]
            at += size
        names = [section[0].rstrip(b"\0").decode() for section in sections]
        text = names.index("__text")
        self.text = self._content[sections[text][4] :][: sections[text][3]]
        labels = [self._read_string(strings_at + symbol[0]) for symbol in symbols]
        for label, (_, kind, section, _, value) in zip(labels, symbols, strict=True):
            name, is_external = label.removeprefix("_"), kind & 0x01
            if is_external:
                assert label.startswith("_"), label
                (self.defined if kind & 0x0E else self.undefined).add(name)
                if kind & 0x0E and not kind & 0x10:  # N_PEXT
                    self.exported.add(name)
            if kind & 0x0E and section == text + 1 and label.startswith("_"):
                self.functions.append((name, value - sections[text][2]))
        for name, section in zip(names, sections, strict=True):
            for k in range(section[7]):
                word = self._unpack("iI", section[6] + 8 * k)[1]
                symbol = labels[word & 0xFFFFFF].removeprefix("_") if word >> 27 & 1 else ""
                self.relocations.append(Relocation(name, _MACH_O_RELOCATIONS[self.processor][word >> 28], symbol))

    def disassemble(self) -> Iterator[tuple[str, list[Any]]]:
        """Yield each function's name and its instructions, as capstone's."""
        kind = capstone.CS_ARCH_X86 if self.processor == X86_64 else capstone.CS_ARCH_ARM64
        mode = capstone.CS_MODE_64 if self.processor == X86_64 else capstone.CS_MODE_ARM
        decoder = capstone.Cs(kind, mode)
        decoder.detail = True
        places = sorted(self.functions, key=lambda each: each[1])
        ends = [place for _, place in places[1:]] + [len(self.text)]
        for (name, begin), end in zip(places, ends, strict=True):
            yield name, list(decoder.disasm(self.text[begin:end], begin))
