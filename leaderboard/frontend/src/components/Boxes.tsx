// Reference and predicted boxes over an image, from the scorer's detail. Units: pixels of the image.

import type { Output } from "../data";

export type Box = [number, number, number, number];
export interface BoxLayer {
  name: string;
  boxes: Box[];
  kind: "reference" | "baseline" | "candidate";
}

function isBox(value: unknown): value is Box {
  return Array.isArray(value) && value.length >= 4 && value.slice(0, 4).every((side) => typeof side === "number" && Number.isFinite(side));
}

function boxList(value: unknown): Box[] {
  if (isBox(value)) return [value];
  if (!Array.isArray(value)) return [];
  return value
    .map((item: unknown) => (typeof item === "object" && item !== null && "box" in item ? (item as { box: unknown }).box : item))
    .filter(isBox);
}

function boxesIn(output: Output | null | undefined, name: "reference" | "predicted"): Box[] {
  const boxes = output?.detail["boxes"];
  return typeof boxes === "object" && boxes !== null ? boxList((boxes as Record<string, unknown>)[name]) : [];
}

/** Layers to draw: the reference once, then each run's prediction. */
export function boxesOf(outputs: (Output | null)[], names: string[]): BoxLayer[] {
  const withReference = outputs.find((output) => boxesIn(output, "reference").length > 0);
  const layers: BoxLayer[] = [{ name: "reference", boxes: boxesIn(withReference, "reference"), kind: "reference" }];
  outputs.forEach((output, index) =>
    layers.push({ name: names[index] ?? "", boxes: boxesIn(output, "predicted"), kind: index === 0 ? "baseline" : "candidate" }),
  );
  return layers.filter((layer) => layer.boxes.length > 0);
}

export function Boxes({ layers, width, height }: { layers: BoxLayer[]; width: number; height: number }) {
  const unit = Math.max(width, height) / 400;
  return (
    <svg class="boxes" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={layers.map((layer) => `${layer.name}: ${layer.boxes.length}`).join(", ")}>
      {layers.flatMap((layer) =>
        layer.boxes.map(([left, top, right, bottom], index) => (
          <g key={`${layer.kind}-${layer.name}-${index}`} class={layer.kind}>
            <rect x={left} y={top} width={Math.max(0, right - left)} height={Math.max(0, bottom - top)} stroke-width={1.4 * unit} />
            <text x={left + 2 * unit} y={Math.max(9 * unit, top - 2 * unit)} font-size={8 * unit}>
              {layer.name}
            </text>
          </g>
        )),
      )}
    </svg>
  );
}
