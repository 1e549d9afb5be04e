# SPDX-License-Identifier: MIT
"""Replay programs by hand: random ones, and an interpreter that tells what they do, from docs/vm.md alone."""

from __future__ import annotations

import random
import struct

CODES = ("CALL", "PUSH_I", "LOAD_C", "LOAD_V", "LOAD", "POP", "STORE_V", "STORE", "RESOURCE", "POST", "COPY", "CLONE", "STRCPY", "EXTEND", "ADD", "LABEL")
WIDTHS = {"Bool": 1, "Int8": 1, "Int16": 2, "Int32": 4, "Int64": 8, "Uint8": 1, "Uint16": 2, "Uint32": 4, "Uint64": 8, "Float": 4, "Double": 8,
          "AbsolutePointer": 8, "ConstantPointer": 8, "VolatilePointer": 8}
TYPES = tuple(WIDTHS)
POINTERS = TYPES[-3:]
# name, result, arguments; all of api 0
FUNCTIONS = (("none", "Nothing", ()), ("sum", "Uint64", ("Uint32", "Uint8")), ("show", "Nothing", ("Pointer",)), ("host", "AbsolutePointer", ()),
             ("float", "Nothing", ("Float", "Double")), ("many", "Int16", ("Bool", "Int8", "Int16", "Int32", "Int64", "Pointer")))
BASES = 1 << 33, 1 << 32, 1 << 40  # where constants, volatile memory and the host's lie


class Fault(Exception):
    pass


class Interpreter:
    def __init__(self, constants: bytes, volatile: int, resources: list[int], labels: int, bases: tuple[int, int, int] = BASES) -> None:
        self.constant, self.volatile, self.host = bases
        self.resources, self.labels, self.label, self.at = resources, labels, 0xffffffff, 0
        self.memory = {self.constant: bytearray(constants), self.volatile: bytearray(volatile), self.host: bytearray(64)}
        self.stack: list[tuple[str, int]] = []
        self.said: list[str] = []

    def step(self, word: int) -> None:
        """Fault, with the number of the instruction, where it may not go on."""
        self.need(word >> 26 < len(CODES))
        getattr(self, "do_" + CODES[word >> 26].lower())(word & 0x3ffffff)
        self.at += 1

    def need(self, condition: bool) -> None:
        if not condition:
            raise Fault(self.at)

    # ---- the stack, and memory

    def push(self, kind: str, value: int) -> None:
        self.need(len(self.stack) < 256)
        self.stack.append((kind, value & (1 << 8 * WIDTHS[kind]) - 1))

    def pop_one(self) -> tuple[str, int]:
        self.need(bool(self.stack))
        return self.stack.pop()

    def typed(self, data: int) -> tuple[str, int]:
        self.need(data >> 20 < len(TYPES))
        return TYPES[data >> 20], data & 0xfffff

    def address(self, kind: str, value: int) -> int:
        return value + {"ConstantPointer": self.constant, "VolatilePointer": self.volatile}.get(kind, 0)

    def bytes_at(self, kind: str, value: int, count: int, writes: bool = False) -> tuple[bytearray, int]:
        """A memory, and where in it."""
        self.need(kind in POINTERS)
        address = self.address(kind, value)
        for base, memory in self.memory.items():
            if base <= address <= base + len(memory) and address + count <= base + len(memory) and not (writes and base == self.constant) and \
                    (kind == "AbsolutePointer" or base == self.address(kind, 0)):
                return memory, address - base
        raise Fault(self.at)

    def read(self, kind: str, value: int, count: int) -> bytes:
        memory, at = self.bytes_at(kind, value, count)
        return bytes(memory[at:at + count])

    def write(self, kind: str, value: int, data: bytes) -> None:
        memory, at = self.bytes_at(kind, value, len(data), True)
        memory[at:at + len(data)] = data

    def loaded(self, kind: str, data: bytes, constant: bool) -> None:
        value = int.from_bytes(data, "little")
        if kind == "Bool":
            value = value != 0
        if not constant and kind in POINTERS[1:]:
            value -= self.address(kind, 0)
            self.need(0 <= value <= len(self.memory[self.address(kind, 0)]))
        self.push(kind, value)

    def stored(self, kind: str, value: int) -> bytes:
        return (self.address(kind, value) if kind in POINTERS else value).to_bytes(WIDTHS[kind], "little")

    # ---- instructions

    def do_call(self, data: int) -> None:
        push, api, number = data >> 24 & 1, data >> 16 & 15, data & 0xffff
        self.need(not data & 0x2f00000 and api == 0 and number < len(FUNCTIONS))
        name, result, wanted = FUNCTIONS[number]
        self.need(len(self.stack) >= len(wanted))
        arguments = [self.stack.pop() for _ in wanted][::-1]
        self.need(all(kind in POINTERS if want == "Pointer" else kind == want for (kind, _), want in zip(arguments, wanted)))
        self.need(not push or result != "Nothing")
        shown, total = [], number
        for kind, value in arguments:
            if kind in POINTERS:
                shown.append("null" if kind == "AbsolutePointer" and value == 0 else self.read("AbsolutePointer", self.address(kind, value), 4).hex())
            else:
                shown.append(str(value))
                total += value
        self.said.append(" ".join(["call", name, *shown]))
        if push:
            self.push(result, self.host if result in POINTERS else total)

    def do_push_i(self, data: int) -> None:
        kind, value = self.typed(data)
        signed = value - (value >> 19 << 20)
        if kind in ("Float", "Double"):
            self.need(value < (1 << 9 if kind == "Float" else 1 << 12))
            self.push(kind, value << (23 if kind == "Float" else 52))
        elif kind.startswith("Int"):
            half = 1 << 8 * WIDTHS[kind] - 1
            self.need(-half <= signed < half)
            self.push(kind, signed)
        else:
            self.need(value < 2 if kind == "Bool" else value < 1 << 8 * WIDTHS[kind])
            self.push(kind, value)

    def do_load_c(self, data: int) -> None:
        kind, at = self.typed(data)
        self.loaded(kind, self.read("ConstantPointer", at, WIDTHS[kind]), True)

    def do_load_v(self, data: int) -> None:
        kind, at = self.typed(data)
        self.loaded(kind, self.read("VolatilePointer", at, WIDTHS[kind]), False)

    def do_load(self, data: int) -> None:
        kind, rest = self.typed(data)
        self.need(rest == 0)
        pointer, value = self.pop_one()
        self.loaded(kind, self.read(pointer, value, WIDTHS[kind]), pointer == "ConstantPointer")

    def do_pop(self, data: int) -> None:
        self.need(data <= len(self.stack))
        del self.stack[len(self.stack) - data:]

    def do_store_v(self, data: int) -> None:
        kind, value = self.pop_one()
        self.write("VolatilePointer", data, self.stored(kind, value))

    def do_store(self, data: int) -> None:
        self.need(data == 0 and len(self.stack) >= 2)
        pointer, to = self.pop_one()
        kind, value = self.pop_one()
        self.write(pointer, to, self.stored(kind, value))

    def do_resource(self, data: int) -> None:
        self.need(data < len(self.resources))
        pointer, to = self.pop_one()
        self.need(pointer == "VolatilePointer")
        self.write(pointer, to, bytes((data + 1 + i) & 255 for i in range(self.resources[data])))

    def do_post(self, data: int) -> None:
        self.need(data == 0 and len(self.stack) >= 2)
        kind, size = self.pop_one()
        pointer, at = self.pop_one()
        self.need(kind == "Uint32")
        if size:
            self.said.append(f"post {self.label} {self.read(pointer, at, size).hex()}")

    def do_copy(self, data: int) -> None:
        self.need(len(self.stack) >= 2)
        target, source = self.pop_one(), self.pop_one()
        self.write(*target, self.read(*source, data))

    def do_clone(self, data: int) -> None:
        self.need(data < len(self.stack))
        self.push(*self.stack[-1 - data])

    def do_strcpy(self, data: int) -> None:
        self.need(data > 0 and len(self.stack) >= 2)
        target, (kind, source) = self.pop_one(), self.pop_one()
        self.bytes_at(*target, data, True)
        self.bytes_at(kind, source, 0)
        for i in range(data):
            byte = self.read(kind, source + i, 1) if i + 1 < data else b"\0"
            self.write(target[0], target[1] + i, byte)
            if byte == b"\0":
                return self.write(target[0], target[1] + i, bytes(data - i))

    def do_extend(self, data: int) -> None:
        kind, value = self.pop_one()
        self.need(kind != "Bool")
        fraction = {"Float": (1 << 23) - 1, "Double": (1 << 52) - 1}.get(kind)
        self.push(kind, value << 26 | data if fraction is None else value & ~fraction | ((value & fraction) << 26 | data) & fraction)

    def do_add(self, data: int) -> None:
        self.need(0 < data <= len(self.stack))
        kind, total = self.stack.pop()
        self.need(kind != "Bool")
        form = {"Float": "<f", "Double": "<d"}.get(kind)
        for _ in range(data - 1):
            other, value = self.stack.pop()
            self.need(other == kind)
            if form:
                raw = [struct.unpack(form, one.to_bytes(WIDTHS[kind], "little"))[0] for one in (value, total)]
                total = int.from_bytes(packed(form, raw[0] + raw[1]), "little")
            else:
                total += value
        self.push(kind, total)

    def do_label(self, data: int) -> None:
        self.need(data < self.labels)
        self.label = data


def packed(form: str, value: float) -> bytes:
    try:
        return struct.pack(form, value)
    except OverflowError:
        return struct.pack(form, float("inf") if value > 0 else float("-inf"))


class Made:
    """A random program, with what it does: valid, or with a fault in its last instruction."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.constants, self.volatile, self.labels = rng.randbytes(rng.randrange(1, 200)), rng.randrange(1, 400), rng.randrange(1, 5)
        self.resources = [rng.randrange(1, 64) for _ in range(rng.randrange(1, 4))]
        self.machine, self.words, self.fault = Interpreter(self.constants, self.volatile, self.resources, self.labels), [], False
        for _ in range(rng.randrange(5, 120)):
            self.add_one(rng.random() < 0.004)
            if self.fault:
                return
        if self.machine.stack:
            self.words.append(5 << 26 | len(self.machine.stack))
            self.machine.step(self.words[-1])

    def add_one(self, may_fail: bool) -> None:
        machine = self.machine
        for _ in range(30):
            before = list(machine.stack), {base: bytes(memory) for base, memory in machine.memory.items()}, len(machine.said), machine.at, machine.label
            words = self.idiom() if self.rng.random() < 0.3 else [self.candidate()]
            for done, word in enumerate(words):
                try:
                    machine.step(word)
                except Fault:
                    self.fault = may_fail
                    break
            else:
                return self.words.extend(words)
            if may_fail:
                return self.words.extend(words[:done + 1])
            machine.stack, machine.at, machine.label = before[0], before[3], before[4]
            for base, memory in before[1].items():
                machine.memory[base][:] = memory
            del machine.said[before[2]:]

    def idiom(self) -> list[int]:
        """Instructions that belong together."""
        rng = self.rng
        host = [1 << 24 | 3, 1 << 26 | 11 << 20 | rng.randrange(40), 14 << 26 | 2]  # an address in the host's memory

        def pointer(kinds: str) -> list[int]:
            kind = rng.choice(kinds)
            return host if kind == "h" else [1 << 26 | (12 if kind == "c" else 13) << 20 | rng.randrange(150)]

        return rng.choice((
            lambda: [*pointer("cvh"), *pointer("vh"), 10 << 26 | rng.randrange(30)],  # COPY
            lambda: [*pointer("cvh"), *pointer("vh"), 12 << 26 | rng.randrange(1, 30)],  # STRCPY
            lambda: [*pointer("cvh"), 1 << 26 | 7 << 20 | rng.randrange(30), 9 << 26],  # POST
            lambda: [*pointer("v"), 8 << 26 | rng.randrange(len(self.resources))],  # RESOURCE
            lambda: [1 << 26 | rng.choice((4, 5, 7, 8, 11, 12, 13)) << 20 | rng.randrange(150), *pointer("vh"), 7 << 26],  # STORE
            lambda: [*pointer("cvh"), 4 << 26 | rng.choice((0, 2, 4, 6, 8, 12, 13)) << 20],  # LOAD
            lambda: [*pointer("cvh"), 2]))()  # CALL show

    def candidate(self) -> int:
        rng, kind = self.rng, self.rng.randrange(len(TYPES))
        code = rng.choice(range(16)) if rng.random() < 0.6 else 1
        if code == 0:
            return rng.getrandbits(1) << 24 | rng.randrange(len(FUNCTIONS))
        if code == 1:
            most = {"Float": 255, "Double": 2047}.get(TYPES[kind], 0xfffff)  # finite
            small = rng.randrange(min(most, 300)) if rng.random() < 0.7 or TYPES[kind] in POINTERS else rng.randrange(most)
            return code << 26 | kind << 20 | small
        if code in (2, 3, 4):
            kind = rng.choice([i for i in range(len(TYPES)) if TYPES[i] not in ("Float", "Double")])
            return code << 26 | kind << 20 | (0 if code == 4 else rng.randrange(400))
        if code in (7, 9):
            return code << 26 | (rng.random() < 0.02)
        return code << 26 | rng.choice((rng.randrange(4), rng.randrange(40), rng.getrandbits(26)) if code != 6 else (rng.randrange(400),))

    def run(self, bases: tuple[int, int, int]) -> tuple[list[str], int | None]:
        """What it does with its memories there, and the instruction that fails."""
        machine = Interpreter(self.constants, self.volatile, self.resources, self.labels, bases)
        try:
            for word in self.words:
                machine.step(word)
        except Fault as fault:
            return machine.said, fault.args[0]
        return machine.said, None

    def text(self) -> str:
        lines = ["info {}", f"volatile {self.volatile}", *(f"function 0 {name} {result} {' '.join(arguments)}" for name, result, arguments in FUNCTIONS),
                 *(f"resource {'0' * 31}{i} {size}" for i, size in enumerate(self.resources)), *(f"label #{i + 1} 0 0" for i in range(self.labels)),
                 f"constants {len(self.constants)}", f"  0 {self.constants.hex()}", "code", *(f"  word {word}" for word in self.words)]
        return "\n".join(lines) + "\n"
