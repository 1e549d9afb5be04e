// SPDX-License-Identifier: MIT
// What tells draws and passes apart: shaders, textures, triangles, targets. It is asked for rows in view alone.

import {api} from "./api.js";
import {count, number, plain} from "./dom.js";

const AT_ONCE = 50; // draws
const STAGES = ["FRAGMENT", "COMPUTE", "RAYGEN", "MESH", "VERTEX"]; // the stage that names a draw first

export class RowFacts {
  /** `changed()` draws the rows in view anew. */
  constructor(capture, changed) {
    Object.assign(this, {capture, changed, shaders: null, asked: null});
  }

  /** Asks for what rows in view lack: draws, and render passes, by their positions. */
  want(list, positions) {
    if (!list || !positions.length) return;
    if (!this.asked) this.asked = this.ask();
    for (const position of positions) {
      if (list.bound.has(position) || list.begins.has(position) || list.looked.has(position)) continue;
      list.looked.add(position);
      this.find(list, position).catch(() => list.looked.delete(position));
    }
  }

  /** A draw by itself; of a pass the next draw, which is its first one, if it has any. */
  async find(list, position) {
    const upTo = await list.upTo(position), exact = upTo && (await list.get(upTo - 1)).position === position;
    const index = exact ? upTo - 1 : upTo;
    if (index < list.total) await list.boundPart(Math.floor(index / AT_ONCE), AT_ONCE);
    this.changed();
  }

  async ask() {
    const {shaders} = await api.json(api.path("/shaders")).catch(() => ({shaders: []}));
    this.shaders = new Map();
    for (const shader of shaders)
      for (const user of [...shader.pipelines.map(({pipeline}) => pipeline), ...shader.objects]) {
        if (!this.shaders.has(user)) this.shaders.set(user, []);
        this.shaders.get(user).push(shader);
      }
    this.changed();
  }

  /** The name of the pipeline, or of a shader, or the shader's hash. */
  shaderOf({pipeline, names = {}, shaders = []}) {
    if (names[pipeline]) return names[pipeline];
    const users = pipeline ? [pipeline] : shaders.map(({shader}) => shader);
    const all = users.flatMap((user) => this.shaders?.get(user) ?? []);
    const rank = ({stages}) => Math.min(...stages.map(({stage}) => (STAGES.findIndex((one) => stage.includes(`_${one}_`)) + 99) % 99));
    const [first] = all.sort((a, b) => rank(a) - rank(b));
    return first ? first.names[0] ?? first.hash.slice(0, 8) : "";
  }

  /** Of a draw, a dispatch or a ray trace: {shader, amount, texture}; null: it is not here yet. */
  ofDraw(list, position) {
    const bound = list?.bound.get(position);
    if (!bound) return null;
    const [texture] = bound.textures;
    return {
      shader: this.shaderOf(bound),
      amount: triangles(bound),
      texture: texture ? texture.name ?? texture.image.replace("VkImage:", "image ") : ""
    };
  }

  /** Of a render pass that draws: {target, size, formats}. */
  ofPass(list, position) {
    const bound = list?.begins.get(position);
    if (!bound) return null;
    const {attachments, args} = bound.pass, [first] = attachments;
    const {extent} = (args.pRenderPassBegin ?? args.pRenderingInfo)?.renderArea ?? {};
    const drawn = attachments.filter(({role}) => /^(color|depth|stencil|depth-stencil)$/.test(role));
    return {
      target: first ? bound.names[first.image] ?? first.image ?? "" : "",
      size: extent ? `${extent.width} × ${extent.height}` : "",
      formats: [...new Set(drawn.map(({format}) => plain(format ?? "", "VK_FORMAT_")).filter(Boolean))].join(", ")
    };
  }
}

/** How many triangles a draw has, where they can be counted; else null. */
export function triangles({vertices, instances, topology, dynamicState, command}) {
  const set = dynamicState.findLast(({name}) => name.startsWith("vkCmdSetPrimitiveTopology"));
  const kind = set?.args.primitiveTopology ?? topology ?? "";
  const strip = /TRIANGLE_(STRIP|FAN)$/.test(kind) && !/Indexed|Multi/.test(command); // indices may begin a strip anew
  if (vertices === null || !(strip || kind.endsWith("TRIANGLE_LIST"))) return null;
  const one = strip ? Math.max(0, vertices - 2) : Math.floor(vertices / 3);
  return count(one, "triangle") + (instances > 1 ? ` × ${number(instances)}` : "");
}
