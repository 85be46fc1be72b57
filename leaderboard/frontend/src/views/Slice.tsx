// One slice of one candidate: how much, what kind of damage, where it sits, and the samples.

import { useMemo, useState } from "preact/hooks";
import { AxisScale, IntervalBar, lossAxis } from "../components/IntervalBar";
import { Thumbnail } from "../components/SampleMedia";
import { TextDiff } from "../components/TextDiff";
import { VerdictMark } from "../components/VerdictMark";
import { usePage, useTask } from "../context";
import { mediaOf, type Cell, type Drawing, type MatrixRow, type Output, type Sample, type TaskPage } from "../data";
import { percent, quality } from "../format";
import { historyLink, sampleLink, sliceLink, type Selection, type Show } from "../route";
import { effectiveShow, isShown, samplesIn, selectedSamples } from "../selection";
import { Breadcrumb, NotFound } from "./Frame";
import { Panels } from "./SlicePanels";

export function Slice({ selection }: { selection: Selection }) {
  const { overview, t } = usePage();
  const loading = useTask(selection.task);
  const candidate = overview.candidates.findIndex((run) => run.key === selection.candidate);
  const row = overview.rows.find((one) => one.task === selection.task && one.attribute === selection.attribute && one.value === selection.value);
  const cell = row?.cells[candidate];
  if (!row || !cell) return <NotFound />;
  return (
    <>
      <Breadcrumb selection={selection} />
      <Headline row={row} cell={cell} selection={selection} candidate={candidate} />
      {loading.state === "loading" && <p class="quiet">{t.loading}</p>}
      {loading.state === "failed" && <p class="failure">{loading.message}</p>}
      {loading.state === "ready" && (
        <>
          <Panels page={loading.page} selection={selection} candidate={candidate} cell={cell} />
          <SampleList page={loading.page} selection={selection} candidate={candidate} />
        </>
      )}
    </>
  );
}

function Headline(props: { row: MatrixRow; cell: Cell; selection: Selection; candidate: number }) {
  const { overview, form, t } = usePage();
  const { row, cell, selection } = props;
  const axis = useMemo(() => lossAxis([row]), [row]);
  const baseline = overview.baseline.key;
  const sentence =
    cell.loss === null
      ? t.undefinedLoss
      : cell.loss > 0.00005
        ? t.losesBy(selection.candidate, percent(cell.loss), baseline)
        : cell.loss < -0.00005
          ? t.gainsBy(selection.candidate, percent(-cell.loss), baseline)
          : t.equalTo(selection.candidate, baseline);
  const remarks = [
    cell.low !== null && `${percent(overview.confidence, 0)} ${t.interval.replace(/^.*% ?/, "")} ${percent(cell.low)} … ${percent(cell.high)}`,
    `${t.budget} ${percent(row.budget)}`,
    `n ${cell.n}`,
    cell.clusters !== cell.n && `${cell.clusters} ${t.clusters}`,
    !cell.gated && t.notGated,
    row.noise !== null && cell.flip_rate !== null && t.flipsBeside(percent(cell.flip_rate), percent(row.noise.flip_rate)),
    cell.inside_noise === true && (cell.loss ?? 0) > 0 && t.insideNoise,
    cell.verdict === "INCONCLUSIVE" && cell.further_clusters !== null && cell.further_clusters > 0 && t.further(cell.further_clusters.toLocaleString("en")),
  ].filter((remark): remark is string => Boolean(remark));
  return (
    <header class="slice-head">
      <div>
        <h1>{row.attribute === null ? row.task : <><span class="quiet">{row.attribute} =</span> {row.value === "" ? "∅" : row.value}</>}</h1>
        <p class="statement">
          <VerdictMark verdict={cell.verdict} size={18} label /> <span>{sentence}</span>
        </p>
        <p class="quiet remarks">{remarks.map((remark) => <span key={remark}>{remark}</span>)}</p>
        {cell.note && <p class="quiet">{cell.note}</p>}
        {form.form === "server" && (
          <p>
            <a class="more" href={historyLink(row.task, row.attribute, row.value)}>
              {t.history} →
            </a>
          </p>
        )}
      </div>
      <div class="big-interval">
        <AxisScale axis={axis} budget={row.budget} spacing={0.12} />
        <IntervalBar cell={cell} budget={row.budget} axis={axis} height={36} />
        <dl class="pair">
          <div>
            <dt>{baseline}</dt>
            <dd>{quality(cell.baseline_quality)}</dd>
          </div>
          <div>
            <dt>{selection.candidate}</dt>
            <dd>{quality(cell.candidate_quality)}</dd>
          </div>
        </dl>
      </div>
      <nav class="tabs" aria-label={t.candidate}>
        {overview.candidates.map((run, index) => (
          <a key={run.key} href={sliceLink({ ...selection, candidate: run.key })} aria-current={index === props.candidate ? "page" : undefined}>
            <VerdictMark verdict={row.cells[index]?.verdict ?? "MISSING"} size={12} /> {run.key} <span class="quiet">{percent(row.cells[index]?.loss ?? null)}</span>
          </a>
        ))}
      </nav>
    </header>
  );
}

/** Speaker turns as lines; null where there are none. */
function spoken(drawing: Drawing | null | undefined): string | null {
  return drawing && drawing.turns.length > 0 ? drawing.turns.map((turn) => `${turn.matched || turn.speaker}: ${turn.text}`).join("\n") : null;
}

function Answered({ sample, output }: { sample: Sample; output: Output | null | undefined }) {
  const turns = spoken(output?.drawing);
  return turns === null ? <TextDiff reference={sample.reference} output={output} /> : <span class="text">{turns}</span>;
}

const pageSize = 40;

function SampleList({ page, selection, candidate }: { page: TaskPage; selection: Selection; candidate: number }) {
  const { t, overview } = usePage();
  const [limit, setLimit] = useState(pageSize);
  const inside = samplesIn(page, selection);
  const show = effectiveShow(inside, candidate, selection.show);
  const samples = selectedSamples(page, selection, candidate);
  const shows: Show[] = ["broke", "fixed", "status", "wrong", "all"];
  return (
    <section class="sheet samples" aria-label={t.samples}>
      <div class="filters">
        <nav class="chips" aria-label={t.samples}>
          {shows.map((one) => {
            const n = inside.filter((sample) => isShown(sample, candidate, one)).length;
            return (
              <a key={one} href={sliceLink({ ...selection, show: one })} aria-current={one === show ? "true" : undefined} class={n === 0 ? "empty" : ""}>
                {t.show[one]} <span class="count">{n}</span>
              </a>
            );
          })}
        </nav>
        {selection.within && (
          <p class="narrowed">
            {t.narrowed}{" "}
            <a href={sliceLink({ ...selection, within: null })} aria-label={`${t.clear}: ${selection.within.attribute}=${selection.within.value}`}>
              {selection.within.attribute}={selection.within.value} <span aria-hidden="true">×</span>
            </a>
          </p>
        )}
      </div>
      {samples.length === 0 ? (
        <p class="nothing">{t.noSamples}</p>
      ) : (
        <table class="sample-list">
          <thead>
            <tr>
              <th scope="col">{t.sample}</th>
              <th scope="col">{t.reference}</th>
              <th scope="col">{overview.baseline.key}</th>
              <th scope="col">{selection.candidate}</th>
              <th scope="col" class="number">
                {t.change}
              </th>
            </tr>
          </thead>
          <tbody>
            {samples.slice(0, limit).map((sample) => (
              <SampleRow key={sample.id} page={page} sample={sample} selection={{ ...selection, show }} candidate={candidate} />
            ))}
          </tbody>
        </table>
      )}
      {samples.length > limit && (
        <p class="nothing">
          <button class="quiet-button" onClick={() => setLimit(limit + 4 * pageSize)}>
            {t.more(Math.min(4 * pageSize, samples.length - limit))}
          </button>
        </p>
      )}
    </section>
  );
}

function SampleRow({ page, sample, selection, candidate }: { page: TaskPage; sample: Sample; selection: Selection; candidate: number }) {
  const { t } = usePage();
  const change = sample.changes[candidate] ?? null;
  const after = sample.outputs[candidate + 1];
  const kind = change === null ? "" : change < 0 ? "broke" : change > 0 ? "fixed" : "";
  return (
    <tr>
      <th scope="row">
        <a href={sampleLink(selection, sample.id)}>
          <Thumbnail media={mediaOf(page, sample)} />
          <span class="id">{sample.id}</span>
        </a>
      </th>
      <td>
        <span class="text">{spoken(sample.drawing) ?? sample.reference}</span>
      </td>
      <td>
        <Answered sample={sample} output={sample.outputs[0]} />
      </td>
      <td>
        <Answered sample={sample} output={after} />
        {after && after.status !== "ok" && <span class="status">{t.status[after.status]}</span>}
      </td>
      <td class={`number change ${kind}`}>
        {change === null ? "–" : change === 0 ? "0" : `${change > 0 ? "+" : "−"}${Math.abs(change * 100).toFixed(Math.abs(change) === 1 ? 0 : 1)}`}
      </td>
    </tr>
  );
}
