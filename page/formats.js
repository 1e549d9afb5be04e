// SPDX-License-Identifier: MIT
// Reads texels: a decoder is made from the name of a VkFormat. Blocks and formats with several planes have none.

const KINDS = {
  UNORM: "norm",
  SRGB: "norm",
  SNORM: "signed",
  UINT: "int",
  SINT: "int",
  USCALED: "int",
  SSCALED: "int",
  SFLOAT: "float",
  UFLOAT: "float"
};
const PLACE = {
  R: 0,
  G: 1,
  B: 2,
  A: 3,
  D: 0,
  S: 0
};

/**
 * How texels of a format lie in memory, or null. `target` is "depth" or "stencil" where the bytes are of that aspect
 * alone. bytes: of a texel; kind: norm, signed, int, float, depth; channels: their letters; parts: {place, bits, shift,
 * word, offset}.
 */
export function layoutOf(format, target = "") {
  let name = format.replace(/^VK_FORMAT_/, "");
  if (/BLOCK|PLANE|_422_/.test(name)) return null;
  // A copy of one aspect has that alone: depth of 24 bits in words of 32.
  if (target.startsWith("stencil") && name.includes("S8"))
    name = "S8_UINT";
  else if (name.startsWith("D24"))
    name = "X8_D24_UNORM_PACK32";
  else
    name = name.replace(/^(D\d+_[US]\w+?)_S8_UINT$/, "$1");
  const match = /^((?:[RGBAXDSE]\d+)+(?:_D24)?)_([A-Z]+)(?:_(\d?)PACK(\d+))?$/.exec(name) ??
      /^((?:[RGBA]\d+X\d+)+)_([A-Z]+)(?:_(\d?)PACK(\d+))?$/.exec(name);
  if (!match || !KINDS[match[2]]) return null;
  const [, letters, suffix, words, pack] = match;
  const named = [...letters.matchAll(/([RGBAXDSE])(\d+)/g)].map(([, letter, bits]) => ({letter, bits: Number(bits)}));
  let kind = /D\d/.test(letters) ? "depth" : KINDS[suffix];
  const total = named.reduce((sum, {bits}) => sum + bits, 0);
  const parts = [];
  let offset = 0;
  for (const {letter, bits} of named) {
    const packed = pack && !words;
    const word = packed || words ? Number(pack) : bits;
    // A packed word names its components from the highest bit on. Several words have one each, in its highest bits.
    const shift = packed ? total - offset - bits : 0;
    if (!(words && letter === "X")) {
      if (letter !== "X" && letter !== "E")
        parts.push({
          letter,
          place: PLACE[letter],
          bits,
          word,
          shift: words ? word - bits : shift,
          offset: packed ? 0 : offset / 8
        });
      offset += words ? word : bits;
    }
    if (!packed && ![8, 16, 32, 64].includes(word)) return null;
  }
  return {
    bytes: offset / 8,
    kind,
    parts,
    channels: parts.map(({letter}) => letter).sort((a, b) => PLACE[a] - PLACE[b]).join(""),
    suffix,
    shared: letters.startsWith("E5B9G9R9"),
    wide: parts.some(({bits}) => bits > 16) && suffix !== "SFLOAT" || parts.some(({bits}) => bits > 32)
  };
}

export const half = (bits) => small(bits & 0x7fff, 10) * (bits & 0x8000 ? -1 : 1);
/** A float without a sign, of five bits of exponent and `mantissa` bits below them. */
function small(bits, mantissa) {
  const exponent = bits >> mantissa, fraction = (bits & ((1 << mantissa) - 1)) / (1 << mantissa);
  return exponent === 31 ? (fraction ? NaN : Infinity)
      : exponent         ? (1 + fraction) * 2 ** (exponent - 15)
                         : fraction * 2 ** -14;
}

function reader({bits, word, shift, offset}, suffix) {
  const raw = word === 8 ? (view, at) => view.getUint8(at + offset)
      : word === 16      ? (view, at) => view.getUint16(at + offset, true)
      : word === 32      ? (view, at) => view.getUint32(at + offset, true)
                         : (view, at) => Number(view.getBigUint64(at + offset, true));
  const size = 2 ** bits, top = size - 1;
  const unsigned = word === bits ? raw : (view, at) => Math.floor(raw(view, at) / 2 ** shift) % size;
  const signed = (view, at) => {
    const value = unsigned(view, at);
    return value >= size / 2 ? value - size : value;
  };
  switch (suffix) {
    case "UNORM":
    case "SRGB":
      return (view, at) => unsigned(view, at) / top;
    case "SNORM":
      return (view, at) => Math.max(-1, signed(view, at) / (size / 2 - 1));
    case "UINT":
    case "USCALED":
      return unsigned;
    case "SINT":
    case "SSCALED":
      return bits === 64 ? (view, at) => Number(view.getBigInt64(at + offset, true)) : signed;
    case "UFLOAT":
      return (view, at) => small(unsigned(view, at), bits - 5);
    default:
      return bits === 16 ? (view, at) => half(raw(view, at))
          : bits === 64  ? (view, at) => view.getFloat64(at + offset, true)
                         : (view, at) => view.getFloat32(at + offset, true);
  }
}

/** Texels in rows without padding as numbers, four a texel in the order RGBA; what a format lacks is 0, and alpha 1. */
export function decode(layout, buffer, count) {
  if (buffer.byteLength < count * layout.bytes) return null;
  const values = new (layout.wide ? Float64Array : Float32Array)(count * 4);
  const view = new DataView(buffer);
  for (let i = 0; i < count; i++) values[i * 4 + 3] = 1;
  if (layout.shared)
    for (let i = 0; i < count; i++) {
      const word = view.getUint32(i * 4, true), scale = 2 ** ((word >>> 27) - 24);
      for (let c = 0; c < 3; c++) values[i * 4 + c] = ((word >>> (9 * c)) & 511) * scale;
    }
  else
    for (const part of layout.parts) {
      const read = reader(part, layout.suffix);
      for (let i = 0, at = 0; i < count; i++, at += layout.bytes) values[i * 4 + part.place] = read(view, at);
    }
  return values;
}

/** The values that are black and white unless the user says otherwise, as lapilli image has them. */
export function rangeOf(layout, values) {
  if (layout.kind === "norm") return [0, 1];
  if (layout.kind === "signed") return [-1, 1];
  let low = Infinity, high = -Infinity;
  const colors = layout.channels.replace("A", "") || "A";
  for (const letter of colors)
    for (let i = PLACE[letter]; i < values.length; i += 4) {
      const value = values[i];
      if (value < low && value > -Infinity) low = value;
      if (value > high && value < Infinity) high = value;
    }
  if (low > high) return [0, 1];
  return layout.kind === "float" && low >= 0 && high <= 1 ? [0, 1] : [low, high];
}

export const toLinear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
const fromLinear = (value) => (value <= 0.0031308 ? value * 12.92 : 1.055 * value ** (1 / 2.4) - 0.055);

/** Paints values as they are seen: `shown` are the letters of the channels; one alone is grey. */
export function paint(layout, values, [low, high], shown, pixels) {
  const steps = new Uint8ClampedArray(4097);
  for (let i = 0; i <= 4096; i++) steps[i] = 255 * (layout.kind === "float" ? fromLinear(i / 4096) : i / 4096);
  const span = high - low || 1;
  const step = (value) => {
    const t = (value - low) / span;
    return t >= 1 ? steps[4096] : t > 0 ? steps[(t * 4096 + 0.5) | 0] : 0;
  };
  const single = layout.channels.length === 1 ? layout.channels : shown.length === 1 ? shown : "";
  if (single) {
    const at = PLACE[single];
    for (let i = 0; i < values.length; i += 4) {
      pixels[i] = pixels[i + 1] = pixels[i + 2] = step(values[i + at]);
      pixels[i + 3] = 255;
    }
    return;
  }
  const has = [..."RGB"].map((letter) => shown.includes(letter) && layout.channels.includes(letter));
  const alpha = shown.includes("A") && layout.channels.includes("A");
  for (let i = 0; i < values.length; i += 4) {
    for (let c = 0; c < 3; c++) pixels[i + c] = has[c] ? step(values[i + c]) : 0;
    pixels[i + 3] = alpha ? 255 * values[i + 3] : 255;
  }
}

/** The bits of a normalized or small value as an integer, for what is read below the picture. */
export function stored(layout, values, index) {
  if (!["norm", "depth", "signed"].includes(layout.kind) || layout.suffix === "SFLOAT") return "";
  return layout.parts.slice()
      .sort((a, b) => a.place - b.place)
      .map(({place, bits}) =>
               Math.round(values[index * 4 + place] * (layout.kind === "signed" ? 2 ** (bits - 1) - 1 : 2 ** bits - 1)))
      .join(" ");
}
