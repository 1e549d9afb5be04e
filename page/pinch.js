// SPDX-License-Identifier: MIT
// Two fingers on an element.

/** `act` learns by which factor they went apart, their middle in the element, and how far that went. What one finger began ends. */
export function pinch(box, act) {
  const fingers = new Map();
  const at = ({clientX, clientY}) => {
    const {left, top} = box.getBoundingClientRect();
    return [clientX - left, clientY - top];
  };
  const both = () => {
    const [[a, b], [c, d]] = fingers.values();
    return {x: (a + c) / 2, y: (b + d) / 2, wide: Math.max(1, Math.hypot(a - c, b - d))};
  };
  const on = (name, act) => box.addEventListener(name, (event) => {
    if (event.pointerType === "touch") act(event);
  }, true);
  on("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    if (fingers.size < 2) return;
    event.stopImmediatePropagation();
    box.dispatchEvent(new PointerEvent("pointercancel"));
  });
  on("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = fingers.size > 1 ? both() : null;
    fingers.set(event.pointerId, at(event));
    if (!before) return;
    event.stopImmediatePropagation();
    const {x, y, wide} = both();
    act(wide / before.wide, x, y, x - before.x, y - before.y);
  });
  for (const name of ["pointerup", "pointercancel"]) on(name, ({pointerId}) => fingers.delete(pointerId));
}
