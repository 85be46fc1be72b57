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

export function IntervalBar({ cell, budget, axis, width, height = 18 }: { cell: Cell; budget: number; axis: LossAxis; width: number; height?: number }) {
  const inset = 4;
  const x = (loss: number) => inset + axisPosition(loss, axis) * (width - 2 * inset);
  const middle = height / 2;
  return (
    <svg class={`interval ${cell.verdict.toLowerCase()}`} width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <rect class="tolerated" x={0} y={0} width={x(budget)} height={height} />
      <line class="zero" x1={x(0)} x2={x(0)} y1={0} y2={height} />
      <line class="budget" x1={x(budget)} x2={x(budget)} y1={0} y2={height} />
      {cell.low !== null && cell.high !== null && (
        <line class="range" x1={x(cell.low)} x2={Math.max(x(cell.high), x(cell.low) + 1)} y1={middle} y2={middle} />
      )}
      {cell.loss !== null && <circle class="point" cx={x(cell.loss)} cy={middle} r={height / 5} />}
    </svg>
  );
}

/** The axis itself, for a column head: zero, the budget and round values beyond. */
export function AxisScale({ axis, budget, width }: { axis: LossAxis; budget: number; width: number }) {
  const inset = 4;
  const x = (loss: number) => inset + axisPosition(loss, axis) * (width - 2 * inset);
  const ticks: number[] = [0, budget];
  for (const tick of [0.05, 0.1, 0.2, 0.5, 1])
    if (tick <= axis.high && x(tick) - x(ticks[ticks.length - 1] ?? 0) > 30) ticks.push(tick);
  return (
    <svg class="scale" width={width} height={14} viewBox={`0 0 ${width} 14`} aria-hidden="true">
      {ticks.map((tick) => (
        <text key={tick} class={tick === budget ? "budget" : ""} x={x(tick)} y={10} text-anchor={x(tick) > width - 16 ? "end" : x(tick) < 10 ? "start" : "middle"}>
          {percent(tick, tick === budget ? 1 : 0).replace(" %", tick === budget ? " %" : "")}
        </text>
      ))}
    </svg>
  );
}
