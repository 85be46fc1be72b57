// A slice over releases: quality with its interval, the noise of repeated runs, what changed, where a regression began.

import * as Plot from "@observablehq/plot";
import { useEffect, useRef, useState } from "preact/hooks";
import { usePage } from "../context";
import { sliceHistory, type History } from "../data";
import { percent, quality } from "../format";
import { historyLink } from "../route";

export function HistoryView(props: { task: string | null; attribute: string | null; value: string | null }) {
  const { overview, t } = usePage();
  const task = props.task ?? overview.tasks[0]?.name ?? "";
  const [histories, setHistories] = useState<History[] | null>(null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    let current = true;
    setHistories(null);
    sliceHistory(task, props.attribute, props.value).then(
      (found) => current && setHistories(found),
      (error: unknown) => current && setFailure(String(error)),
    );
    return () => {
      current = false;
    };
  }, [task, props.attribute, props.value]);
  const name = props.attribute === null ? task : `${props.attribute}=${props.value}`;
  return (
    <>
      <header class="history-head">
        <h1>
          <span class="quiet">{t.historyOf}</span> {name}
        </h1>
        <label class="choice">
          {t.slice}
          <select
            value={historyLink(task, props.attribute, props.value)}
            onChange={(event) => {
              location.hash = event.currentTarget.value;
            }}
          >
            {overview.rows.map((row) => {
              const link = historyLink(row.task, row.attribute, row.value);
              return (
                <option key={link} value={link}>
                  {row.task} {row.attribute === null ? "" : `${row.attribute}=${row.value}`}
                </option>
              );
            })}
          </select>
        </label>
      </header>
      {failure && <p class="failure">{failure}</p>}
      {histories === null && !failure && <p class="quiet">{t.loading}</p>}
      {histories?.length === 0 && <p class="nothing">{t.noHistory}</p>}
      {[...(histories ?? [])].sort((a, b) => Number(b.step !== null) - Number(a.step !== null)).map((history) => (
        <Variant key={history.variant} history={history} />
      ))}
    </>
  );
}

function Variant({ history }: { history: History }) {
  const { t } = usePage();
  const { points, step } = history;
  const began = step && points[step.index];
  const changed = points.filter((point) => point.changes.length > 0);
  return (
    <section class={`sheet history ${step ? "fell" : ""}`} aria-label={history.variant}>
      <h2>{history.variant}</h2>
      <p class={began ? "failure" : "quiet"}>
        {step && began ? t.regressionBegan(`${began.name} (${began.started.slice(0, 10)})`, quality(step.before), quality(step.after)) 
          : points.length > 1
            ? t.noStep
            : points.map((point) => `${point.started.slice(0, 10)} · ${quality(point.quality)} (${quality(point.low)} … ${quality(point.high)}) · n ${point.n}`)}
        {history.noise !== null && <span class="quiet"> · {t.noiseBand(percent(history.noise))}</span>}
      </p>
      {points.length > 1 && <Chart history={history} />}
      {changed.length > 0 && (
        <details>
          <summary>
            {t.changed} <span class="count">{changed.length}</span>
          </summary>
          <dl class="changes">
            {changed.map((point) => (
              <div key={point.run_id}>
                <dt>
                  {point.name} <span class="quiet">{point.started.slice(0, 10)}</span>
                </dt>
                <dd>{point.changes.join("; ")}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
    </section>
  );
}

function Chart({ history }: { history: History }) {
  const { t } = usePage();
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const points = history.points.map((point, index) => ({
      ...point,
      index,
      q: point.quality * 100,
      from: point.low * 100,
      to: point.high * 100,
      label: point.started.slice(5, 10),
    }));
    const { step, noise } = history;
    const level = (index: number) => (step ? (index < step.index ? step.before : step.after) : points.reduce((sum, point) => sum + point.quality, 0) / points.length) * 100;
    const every = Math.ceil(points.length / 16);
    const plot = Plot.plot({
      width: place.current?.clientWidth ?? 900,
      height: 220,
      marginLeft: 40,
      marginBottom: 28,
      style: { background: "none", fontFamily: "inherit", fontSize: "11px" },
      x: { type: "linear", domain: [-0.5, points.length - 0.5], label: null, ticks: points.filter((point) => point.index % every === 0).map((point) => point.index), tickFormat: (index: number) => points[index]?.label ?? "" },
      y: { label: t.qualityWord, nice: true, ticks: 5, grid: true },
      marks: [
        noise !== null ? Plot.areaY(points, { x: "index", y1: (point) => level(point.index) - noise * 100, y2: (point) => level(point.index) + noise * 100, fillOpacity: 0.12, curve: "step" }) : null,
        Plot.areaY(points, { x: "index", y1: "from", y2: "to", fillOpacity: 0.1 }),
        Plot.ruleX(points.filter((point) => point.changes.length > 0), { x: "index", strokeDasharray: "2 3", strokeOpacity: 0.55 }),
        step ? Plot.ruleX([step.index - 0.5], { className: "step-mark", strokeWidth: 2 }) : null,
        Plot.lineY(points, { x: "index", y: "q", strokeWidth: 1.6 }),
        Plot.dot(points, { x: "index", y: "q", r: 3.2, fill: "currentColor" }),
        Plot.tip(points, Plot.pointerX({ x: "index", y: "q", title: (point: (typeof points)[number]) => `${point.name}\n${point.started.slice(0, 10)}\n${point.q.toFixed(1)} (${point.from.toFixed(1)} … ${point.to.toFixed(1)}), n ${point.n}\n${point.changes.join("\n")}` })),
      ],
    });
    for (const group of plot.querySelectorAll("[aria-label]")) group.removeAttribute("aria-label");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", points.map((point) => `${point.name} ${point.q.toFixed(1)}`).join(", "));
    place.current?.replaceChildren(plot);
  }, [history, t]);
  return <div class="plot" ref={place} />;
}
