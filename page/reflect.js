// SPDX-License-Identifier: MIT
// What the text of SPIR-V says about bindings and push constants: their names, and where members lie in their blocks.

import {half} from "./formats.js";

const LEAVES = 1024; // members of a block that are named
const ITEMS = 64;    // elements of an array
const DEPTH = 8;
const COLUMNS = 64; // of an element of an array

/**
 * Reads a text as lapilli shaders has it into {push, bindings}: blocks, and for "SET.BINDING" {name, block, array}: of a block that ends
 *  with an array without length {offset, stride, as, instances}. `as` are the types of an element as `lapilli memory --as` has
 *  them, or null; `instances`: the code takes the element that gl_InstanceIndex names.
 */
export function reflect(text) {
  const names = new Map(), types = new Map(), marks = new Map(), constants = new Map(), variables = [];
  const chains = [], indices = new Set(); // ids whose value is gl_InstanceIndex
  const mark = (id, name, value) => {
    if (!marks.has(id)) marks.set(id, {});
    marks.get(id)[name] = value ?? true;
  };
  for (const line of text.split("\n")) {
    const words = line.trim().split(/\s+/);
    if (words[0] === "OpName")
      names.set(words[1], textOf(line));
    else if (words[0] === "OpMemberName")
      names.set(`${words[1]} ${words[2]}`, textOf(line));
    else if (words[0] === "OpDecorate")
      mark(words[1], words[2], words[3]);
    else if (words[0] === "OpMemberDecorate")
      mark(`${words[1]} ${words[2]}`, words[3], words[4]);
    else if (words[1] === "=" && words[2].startsWith("OpType"))
      types.set(words[0], [words[2], ...words.slice(3)]);
    else if (words[1] === "=" && words[2] === "OpConstant")
      constants.set(words[0], Number(words[4]));
    else if (words[1] === "=" && words[2] === "OpVariable")
      variables.push({id: words[0], pointer: words[3], storage: words[4]});
    else if (words[1] === "=" && /^Op(Load|Bitcast|CopyObject)$/.test(words[2])) {
      if (indices.has(words[4]) || marks.get(words[4])?.BuiltIn === "InstanceIndex") indices.add(words[0]);
    } else if (words[1] === "=" && /^Op(InBounds)?AccessChain$/.test(words[2]) && indices.has(words[6]))
      chains.push(words[4]);
  }
  const module = {names, types, marks, constants};
  const found = {push: null, bindings: new Map()};
  for (const {id, pointer, storage} of variables) {
    let type = types.get(pointer)?.[2];
    while (/Array$/.test(types.get(type)?.[0] ?? "") && !marks.get(type)?.ArrayStride) type = types.get(type)[1];
    const block =
        types.get(type)?.[0] === "OpTypeStruct" ? {name: names.get(type) ?? "", members: members(module, type)} : null;
    const {DescriptorSet: set, Binding: binding} = marks.get(id) ?? {};
    if (storage === "PushConstant")
      found.push = block;
    else if (binding !== undefined)
      found.bindings.set(`${set ?? 0}.${binding}`,
          {name: names.get(id) || block?.name || "", block, array: block && endless(module, type, chains.includes(id))});
  }
  return found;
}

const textOf = (line) => /"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? "";

/** The array without length at the end of a structure, or null. */
function endless({types, marks, ...more}, struct, instances) {
  const kinds = types.get(struct).slice(1), last = kinds.at(-1), [kind, element] = types.get(last) ?? [];
  const stride = Number(marks.get(last)?.ArrayStride ?? 0);
  if (kind !== "OpTypeRuntimeArray" || !stride) return null;
  const leaves = [];
  leaf({types, marks, ...more}, element, "", 0, {step: 0}, 0, leaves);
  return {offset: Number(marks.get(`${struct} ${kinds.length - 1}`)?.Offset ?? 0), stride, instances, as: typesOf(leaves)};
}

/** Columns of a buffer for leaves, as `lapilli memory --as` takes them; null: they can't be said so. */
function typesOf(leaves) {
  const out = [];
  let end = 0;
  for (const {offset, scalar, rows, columns, step, rowMajor} of leaves.sort((a, b) => a.offset - b.offset))
    for (let i = 0; i < columns; i++) {
      const at = offset + i * step;
      if (at < end || rowMajor || out.length >= COLUMNS) return null;
      if (at > end) out.push(`x8x${at - end}`);
      out.push(rows > 1 ? `${scalar}x${rows}` : scalar);
      end = at + rows * Number(scalar.slice(1)) / 8;
    }
  return out.join(",") || null;
}

/** The leaves of a structure: {name, type, offset, scalar, rows, columns, step}; `step` from one column to the next. */
function members(module, struct, prefix = "", base = 0, depth = 0, out = []) {
  const {names, types, marks} = module;
  const [, ...kinds] = types.get(struct);
  kinds.forEach((kind, i) => {
    const {Offset, MatrixStride, RowMajor} = marks.get(`${struct} ${i}`) ?? {};
    const name = prefix + (names.get(`${struct} ${i}`) || `[${i}]`);
    leaf(module, kind, name, base + Number(Offset ?? 0), {step: Number(MatrixStride ?? 0), rowMajor: Boolean(RowMajor)},
        depth, out);
  });
  return out;
}

function leaf(module, type, name, offset, matrix, depth, out) {
  if (out.length >= LEAVES || depth > DEPTH) return;
  const {types, marks, constants} = module;
  const [kind, ...operands] = types.get(type) ?? [];
  if (kind === "OpTypeStruct")
    members(module, type, name + ".", offset, depth + 1, out);
  else if (kind === "OpTypeArray" || kind === "OpTypeRuntimeArray") {
    const step = Number(marks.get(type)?.ArrayStride ?? 0);
    const count = kind === "OpTypeArray" ? constants.get(operands[1]) ?? 0 : step ? ITEMS : 0;
    for (let i = 0; i < Math.min(count, ITEMS); i++)
      leaf(module, operands[0], `${name}[${i}]`, offset + i * step, matrix, depth + 1, out);
  } else {
    const shape = shapeOf(types, type);
    if (shape) out.push({name, offset, ...shape, ...matrix});
  }
}

/** A scalar, a vector or a matrix: {type, scalar, rows, columns}. */
function shapeOf(types, type) {
  const [kind, first, second] = types.get(type) ?? [];
  if (kind === "OpTypeFloat")
    return {type: {16: "half", 64: "double"}[first] ?? "float", scalar: "f" + first, rows: 1, columns: 1};
  if (kind === "OpTypeInt")
    return {type: second === "1" ? "int" : "uint", scalar: (second === "1" ? "i" : "u") + first, rows: 1, columns: 1};
  if (kind === "OpTypeVector") {
    const shape = shapeOf(types, first);
    return shape && {
      ...shape,
      type: `${{float: "", int: "i", uint: "u", half: "h", double: "d"}[shape.type]}vec${second}`,
      rows: Number(second)
    };
  }
  if (kind === "OpTypeMatrix") {
    const shape = shapeOf(types, first);
    return shape && {
      ...shape,
      type: `mat${second}${Number(second) === shape.rows ? "" : "x" + shape.rows}`,
      columns: Number(second)
    };
  }
  return null;
}

const READ = {
  f16: (view, at) => half(view.getUint16(at, true)),
  f32: (view, at) => view.getFloat32(at, true),
  f64: (view, at) => view.getFloat64(at, true),
  i8: (view, at) => view.getInt8(at),
  u8: (view, at) => view.getUint8(at),
  i16: (view, at) => view.getInt16(at, true),
  u16: (view, at) => view.getUint16(at, true),
  i32: (view, at) => view.getInt32(at, true),
  u32: (view, at) => view.getUint32(at, true),
  i64: (view, at) => view.getBigInt64(at, true),
  u64: (view, at) => view.getBigUint64(at, true),
};

/**
 * The values of a member in rows, as one writes a matrix; a value that lies beyond the bytes or is not `known` is
 * null.
 */
export function valuesOf({offset, scalar, rows, columns, step, rowMajor}, view, known = () => true) {
  const bytes = Number(scalar.slice(1)) / 8;
  const read = (at) => (at + bytes <= view.byteLength && known(at) ? READ[scalar](view, at) : null);
  if (columns === 1) return [Array.from({length: rows}, (_, i) => read(offset + i * bytes))];
  return Array.from({length: rows},
      (_, r) => Array.from(
          {length: columns}, (_, c) => read(offset + (rowMajor ? r * step + c * bytes : c * step + r * bytes))));
}

/** Where a member ends. */
export const endOf = ({offset, scalar, rows, columns, step, rowMajor}) => offset +
    (columns === 1
            ? rows * Number(scalar.slice(1)) / 8
            : (rowMajor ? rows - 1 : columns - 1) * step + (rowMajor ? columns : rows) * Number(scalar.slice(1)) / 8);

export const bytesOf = (hex) =>
    new DataView(new Uint8Array((hex.match(/../g) ?? []).map((pair) => parseInt(pair, 16))).buffer);
