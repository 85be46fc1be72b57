// Reference and predicted boxes over an image. Units: pixels of the image.

import { usePage } from "../context";
import type { Drawing } from "../data";

export interface BoxLayer {
  name: string;
  kind: "reference" | "baseline" | "candidate";
  boxes: Drawing["boxes"];
}

export function Boxes({ layers, width, height }: { layers: BoxLayer[]; width: number; height: number }) {
  const unit = Math.max(width, height) / 400;
  return (
    <svg class="boxes" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={layers.map((layer) => `${layer.name}: ${layer.boxes.length}`).join(", ")}>
      {layers.flatMap((layer) =>
        layer.boxes.map(({ box: [left, top, right, bottom], label, score }, index) => (
          <g key={`${layer.kind}-${index}`} class={layer.kind}>
            <rect x={left} y={top} width={Math.max(0, right - left)} height={Math.max(0, bottom - top)} stroke-width={1.6 * unit} />
            {layer.kind !== "reference" && label && (
              <text x={left + 2 * unit} y={Math.max(9 * unit, top - 2 * unit)} font-size={8 * unit}>
                {label} {score !== null && score.toFixed(2)}
              </text>
            )}
          </g>
        )),
      )}
    </svg>
  );
}

export function BoxLegend({ layers }: { layers: BoxLayer[] }) {
  const { t } = usePage();
  return (
    <p class="box-legend small">
      {layers.map((layer) => (
        <span key={layer.kind} class={layer.kind}>
          <svg width="18" height="10" aria-hidden="true">
            <rect x="1" y="1" width="16" height="8" />
          </svg>
          {layer.kind === "reference" ? t.reference : layer.name} <span class="count">{layer.boxes.length}</span>
        </span>
      ))}
    </p>
  );
}
