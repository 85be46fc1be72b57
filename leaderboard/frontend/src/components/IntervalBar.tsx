// A loss with its interval on one axis shared by the whole page, against the budget line.

import type { Cell, MatrixRow } from "../data";
import { percent } from "../format";

export interface LossAxis {
  low: number;
  high: number;
  bend: number;
}

/** Linear inside the budget and logarithmic beyond, so that 1 % and 60 % are both readable. */
function bent(loss: number, bend: number): number {
  return Math.sign(loss) * Math.log1p(Math.abs(loss) / bend);
}

export function lossAxis(rows: MatrixRow[]): LossAxis {
  const ends = rows.flatMap((row) => row.cells.flatMap((cell) => [cell.low, cell.high, cell.loss])).filter((end) => end !== null);
  const bend = Math.max(1e-4, Math.min(...rows.map((row) => row.budget), 0.015));
  return {
    low: Math.max(-0.25, Math.min(-1.5 * bend, ...ends)),
    high: Math.min(1, Math.max(6 * bend, ...ends)),
    bend,
  };
}

export function axisPosition(loss: number, axis: LossAxis): number {
  const from = bent(axis.low, axis.bend);
  const to = bent(axis.high, axis.bend);
  return Math.min(1, Math.max(0, (bent(loss, axis.bend) - from) / (to - from)));
}

/** Position on the axis as a share of the width, with room for half a point at both ends. */
function along(loss: number, axis: LossAxis): string {
  return `${(2 + axisPosition(loss, axis) * 96).toFixed(2)}%`;
}

export function IntervalBar({ cell, budget, axis, height = 18 }: { cell: Cell; budget: number; axis: LossAxis; height?: number }) {
  const middle = height / 2;
  return (
    <svg class={`interval ${cell.verdict.toLowerCase()}`} height={height} aria-hidden="true">
      <rect class="tolerated" x="0" y="0" width={along(budget, axis)} height={height} />
      <line class="zero" x1={along(0, axis)} x2={along(0, axis)} y1="0" y2={height} />
      <line class="budget" x1={along(budget, axis)} x2={along(budget, axis)} y1="0" y2={height} />
      {cell.low !== null && cell.high !== null && <line class="range" x1={along(cell.low, axis)} x2={along(cell.high, axis)} y1={middle} y2={middle} />}
      {cell.loss !== null && <circle class="point" cx={along(cell.loss, axis)} cy={middle} r={height / 5} />}
    </svg>
  );
}

/** The axis itself, for a column head: zero, the budget and round values beyond, as many as there is room for. */
export function AxisScale({ axis, budget, spacing = 0.2 }: { axis: LossAxis; budget: number; spacing?: number }) {
  const roomForZero = axisPosition(budget, axis) - axisPosition(0, axis) > 0.8 * spacing;
  const ticks: number[] = roomForZero ? [0, budget] : [budget];
  for (const tick of [0.05, 0.1, 0.2, 0.5, 1])
    if (tick <= axis.high && axisPosition(tick, axis) - axisPosition(ticks[ticks.length - 1] ?? 0, axis) > spacing) ticks.push(tick);
  return (
    <svg class="scale" height="14" aria-hidden="true">
      {ticks.map((tick) => {
        const at = axisPosition(tick, axis);
        return (
          <text key={tick} class={tick === budget ? "budget" : ""} x={along(tick, axis)} y="10" text-anchor={at > 0.95 ? "end" : at < 0.05 ? "start" : "middle"}>
            {tick === budget ? percent(tick) : `${Math.round(tick * 100)}`}
          </text>
        );
      })}
    </svg>
  );
}
