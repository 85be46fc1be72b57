// What to ship on which hardware; runs ranked per task by quality, speed and memory, with the Pareto front.

import * as Plot from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { Overview, Recommendation, Standing, Verdict } from "../data";
import { bytes, quality } from "../format";

/** The gate's verdict over all slices of a task; null for the baseline, which has none. */
function verdictOn(overview: Overview, task: string, run: string): Verdict | null {
  const column = overview.candidates.findIndex((candidate) => candidate.key === run);
  if (column < 0) return null;
  const said = overview.rows.filter((row) => row.task === task).flatMap((row) => (row.cells[column]?.gated ? [row.cells[column].verdict] : []));
  const order: Verdict[] = ["MISSING", "BREACH", "INCONCLUSIVE", "PASS"];
  return order.find((verdict) => said.includes(verdict)) ?? "INCONCLUSIVE";
}

export function Standings() {
  const { overview, t } = usePage();
  return (
    <>
      <h1 class="view-title">{t.standings}</h1>
      <section class="sheet facts" aria-label={t.recommendation}>
        <h2>{t.recommendation}</h2>
        <ul class="plain">
          {overview.recommendations.map((one) => (
            <li key={one.hardware}>
              <VerdictMark verdict={one.verdict} size={12} /> <Advice recommendation={one} />
            </li>
          ))}
        </ul>
      </section>
      <p class="quiet">
        {t.standingsNote} {overview.standings.every((row) => row.ttft_s === null && row.tpot_s === null && row.memory_bytes === null) && t.notMeasuredAtAll}
        {overview.standings.some((row) => row.speed_source === "bench") && (
          <>
            <sup>b</sup> {t.speedSource.bench}
          </>
        )}
      </p>
      {overview.tasks.map((task) => (
        <TaskStandings key={task.name} task={task.name} metric={task.metric} rows={overview.standings.filter((row) => row.task === task.name)} />
      ))}
    </>
  );
}

function Advice({ recommendation }: { recommendation: Recommendation }) {
  const { overview, t } = usePage();
  const { run, undecided, speed_up } = recommendation;
  const hardware = recommendation.hardware || t.unknownHardware;
  if (run !== null) return <>{t.ship(hardware, run, speed_up === null ? null : speed_up.toFixed(2), overview.baseline.key)}</>;
  return <>{undecided.length > 0 ? t.undecided(hardware, undecided.join(", ")) : t.shipNone(hardware, overview.baseline.key)}</>;
}

const measures = [
  { name: "ttft", of: (row: Standing) => row.ttft_s, show: (value: number) => `${(value * 1000).toFixed(0)} ms` },
  { name: "tpot", of: (row: Standing) => row.tpot_s, show: (value: number) => `${(value * 1000).toFixed(1)} ms` },
  { name: "memory", of: (row: Standing) => row.memory_bytes, show: bytes },
] as const;

function TaskStandings({ task, metric, rows }: { task: string; metric: string; rows: Standing[] }) {
  const { overview, t } = usePage();
  const measured = measures.filter((measure) => overview.standings.some((row) => measure.of(row) !== null));
  const severalMachines = new Set(overview.standings.map((row) => row.hardware)).size > 1;
  const fit = rows
    .filter((row) => verdictOn(overview, task, row.run) === "PASS" && row.seconds_per_sample !== null)
    .sort((a, b) => (a.seconds_per_sample ?? 0) - (b.seconds_per_sample ?? 0))[0];
  return (
    <section class="sheet standing" aria-label={task}>
      <div>
        <h2>{task}</h2>
        <p class="advice">{fit ? t.advice(fit.run, task) : t.noAdvice(task)}</p>
        <div class="scroll">
          <table class="metrics">
            <thead>
              <tr>
                <th scope="col">{t.rank}</th>
                <th scope="col">{t.run}</th>
                <th scope="col" class="number">
                  {metric}
                </th>
                <th scope="col" class="number">
                  {t.speed}
                </th>
                {measured.map((measure) => (
                  <th key={measure.name} scope="col" class="number">
                    {t.measures[measure.name]}
                  </th>
                ))}
                {severalMachines && <th scope="col">{t.hardware}</th>}
                <th scope="col">{t.filterVerdict}</th>
                <th scope="col">{t.front}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => {
                const verdict = verdictOn(overview, task, row.run);
                return (
                  <tr key={row.run}>
                    <td>{index + 1}</td>
                    <th scope="row">
                      {row.run} {row.run === overview.baseline.key && <span class="quiet">{t.baseline}</span>}
                    </th>
                    <td class="number">{quality(row.quality)}</td>
                    <td class="number" title={row.speed_source ? t.speedSource[row.speed_source] : ""}>
                      {row.seconds_per_sample === null ? <NotMeasured /> : row.seconds_per_sample.toFixed(3)}
                      {row.speed_source === "bench" && <sup aria-label={t.speedSource.bench}>b</sup>}
                    </td>
                    {measured.map((measure) => {
                      const value = measure.of(row);
                      return (
                        <td key={measure.name} class="number">
                          {value === null ? <NotMeasured /> : measure.show(value)}
                        </td>
                      );
                    })}
                    {severalMachines && <td>{row.hardware || t.unknownHardware}</td>}
                    <td>{verdict && <VerdictMark verdict={verdict} label />}</td>
                    <td title={t.frontNote}>{row.on_front ? "◆" : ""}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      </div>
      <TradeOff rows={rows} />
    </section>
  );
}

function NotMeasured() {
  const { t } = usePage();
  return <span class="quiet small">{t.notMeasured}</span>;
}

function TradeOff({ rows }: { rows: Standing[] }) {
  const { t } = usePage();
  const place = useRef<HTMLDivElement>(null);
  const timed = rows.filter((row) => row.seconds_per_sample !== null);
  useEffect(() => {
    if (timed.length === 0) return;
    const points = timed.map((row) => ({ ...row, speed: row.seconds_per_sample ?? 0, percent: row.quality * 100 }));
    const front = points.filter((point) => point.on_front).sort((a, b) => a.speed - b.speed);
    const plot = Plot.plot({
      width: 520,
      height: 260,
      marginLeft: 44,
      marginRight: 60,
      marginBottom: 36,
      style: { background: "none", fontFamily: "inherit", fontSize: "11px" },
      x: { label: t.speed, nice: true, inset: 16, ticks: 5 },
      y: { label: t.qualityWord, nice: true, inset: 12, ticks: 5, grid: true },
      marks: [
        Plot.lineY(front, { x: "speed", y: "percent", z: (point: Standing) => `${point.hardware}/${point.speed_source}`, curve: "step-after", strokeWidth: 1, strokeDasharray: "3 3" }),
        Plot.dot(points, { x: "speed", y: "percent", r: 5, symbol: (point: Standing) => (point.on_front ? "diamond" : "circle"), fill: "currentColor" }),
        Plot.text(points, { x: "speed", y: "percent", text: "run", dx: 8, dy: -8, textAnchor: "start" }),
      ],
    });
    for (const group of plot.querySelectorAll("[aria-label]")) group.removeAttribute("aria-label");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", points.map((point) => `${point.run}: ${point.percent.toFixed(1)}, ${point.speed.toFixed(3)} ${t.speed}`).join("; "));
    place.current?.replaceChildren(plot);
  });
  return timed.length === 0 ? null : <div class="plot" ref={place} />;
}
