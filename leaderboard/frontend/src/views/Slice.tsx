// One slice of one candidate: how much, what kind of damage, where it sits, and the samples.

import { Fragment } from "preact";
import { useMemo, useState } from "preact/hooks";
import { Distribution } from "../components/Distribution";
import { AxisScale, IntervalBar, lossAxis } from "../components/IntervalBar";
import { Thumbnail } from "../components/SampleMedia";
import { TextDiff } from "../components/TextDiff";
import { VerdictMark } from "../components/VerdictMark";
import { usePage, useTask } from "../context";
import { mediaOf, type Cell, type Drawing, type MatrixRow, type Output, type Sample, type SliceDetail, type TaskPage } from "../data";
import { percent, quality, rate } from "../format";
import { historyLink, sampleLink, sliceLink, type Selection, type Show } from "../route";
import { effectiveShow, isShown, samplesIn, selectedSamples, sliceIndex } from "../selection";
import { Breadcrumb, NotFound } from "./Frame";

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

function Panels({ page, selection, candidate, cell }: { page: TaskPage; selection: Selection; candidate: number; cell: Cell }) {
  const { overview, t } = usePage();
  const index = sliceIndex(page, selection.attribute, selection.value);
  const detail = page.details.find((one) => one.slice === index && one.candidate === candidate);
  if (!detail) return null;
  const rates = detail.histograms.filter((histogram) => histogram.unit === "rate");
  const offsets = detail.histograms.filter((histogram) => histogram.unit === "seconds");
  return (
    <div class="panels">
      <section class="panel">
        <h2>{t.outcome}</h2>
        <Outcome detail={detail} cell={cell} />
        <h3>{t.statusChanges}</h3>
        {detail.status_changes.length === 0 ? (
          <p class="quiet">{t.noStatusChanges}</p>
        ) : (
          <ul class="plain">
            {detail.status_changes.map((change) => (
              <li key={`${change.baseline}-${change.candidate}`}>
                {t.status[change.baseline]} → <strong>{t.status[change.candidate]}</strong> <span class="count">{change.n}</span>
              </li>
            ))}
          </ul>
        )}
      </section>
      {detail.concentration.length > 0 && (
        <section class="panel">
          <h2>{t.where}</h2>
          <p class="quiet small">{t.whereNote}</p>
          <table class="bars">
            <tbody>
              {detail.concentration.map((part) => {
                const slice = page.slices[part.slice];
                if (!slice) return null;
                const share = part.n > 0 ? part.broke / part.n : 0;
                const chosen = selection.within?.attribute === slice.attribute && selection.within.value === slice.value;
                return (
                  <tr key={part.slice} class={chosen ? "chosen" : ""}>
                    <th scope="row">
                      <a href={sliceLink({ ...selection, within: chosen ? null : slice, show: null })} aria-current={chosen ? "true" : undefined}>
                        {slice.attribute}={slice.value}
                      </a>
                    </th>
                    <td class="bar">
                      <span style={{ width: `${share * 100}%` }} />
                    </td>
                    <td class="number">
                      {part.broke}
                      <span class="quiet"> / {part.n}</span>
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      )}
      {detail.confusions.length > 0 && (
        <section class="panel">
          <h2>{t.confusions}</h2>
          <p class="quiet small">{t.confusionsNote}</p>
          <Confusions pairs={detail.confusions} nothing={t.nothingChar} />
        </section>
      )}
      {detail.choices.length > 0 && (
        <section class="panel choices">
          <h2>{t.choices}</h2>
          <p class="quiet small">{t.confusionsNote}</p>
          <Confusions pairs={detail.choices} nothing={t.noChoice} />
        </section>
      )}
      <section class="panel">
        <h2>{t.metrics}</h2>
        <table class="metrics">
          <thead>
            <tr>
              <th scope="col">{t.metric}</th>
              <th scope="col" class="number">
                {overview.baseline.key}
              </th>
              <th scope="col" class="number">
                {selection.candidate}
              </th>
              <th scope="col" class="number">
                {t.difference}
              </th>
            </tr>
          </thead>
          <tbody>
            {detail.metrics.map((metric) => {
              const difference = metric.baseline !== null && metric.candidate !== null ? metric.candidate - metric.baseline : null;
              const worse = difference !== null && (metric.higher_is_better ? difference < -0.0005 : difference > 0.0005);
              return (
                <tr key={metric.metric}>
                  <th scope="row">{metric.metric}</th>
                  <td class="number">{rate(metric.baseline)}</td>
                  <td class="number">{rate(metric.candidate)}</td>
                  <td class={`number ${worse ? "worse" : ""}`}>{difference === null ? "–" : `${difference > 0 ? "+" : ""}${rate(difference).replace("-", "−")}`}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        {rates.map((histogram) => (
          <Fragment key={histogram.metric}>
            <h3>
              {t.distribution}: {histogram.metric}
            </h3>
            <Distribution histogram={histogram} baseline={overview.baseline.key} candidate={selection.candidate} />
          </Fragment>
        ))}
      </section>
      {offsets.length > 0 && (
        <section class="panel offsets">
          <h2>{t.offsets}</h2>
          <p class="quiet small">{t.offsetsNote}</p>
          {offsets.map((histogram) => (
            <Fragment key={histogram.metric}>
              <h3>{histogram.metric === "start" ? t.startOffset : t.endOffset}</h3>
              <Distribution histogram={histogram} baseline={overview.baseline.key} candidate={selection.candidate} />
            </Fragment>
          ))}
        </section>
      )}
      {detail.hotwords.length > 0 && <Hotwords detail={detail} baseline={overview.baseline.key} candidate={selection.candidate} />}
    </div>
  );
}

function Outcome({ detail, cell }: { detail: SliceDetail; cell: Cell }) {
  const { t } = usePage();
  const parts = [
    { name: t.broke, n: cell.broke, kind: "broke" },
    { name: t.fixed, n: cell.fixed, kind: "fixed" },
    { name: t.bothWrong, n: detail.both_wrong, kind: "both-wrong" },
    { name: t.bothRight, n: detail.both_right, kind: "both-right" },
  ];
  return (
    <>
      <div class="outcome" aria-hidden="true">
        {parts.map((part) => part.n > 0 && <span key={part.kind} class={part.kind} style={{ flexGrow: part.n }} />)}
      </div>
      <dl class="outcome-names">
        {parts.map((part) => (
          <div key={part.kind} class={part.kind}>
            <dt>{part.name}</dt>
            <dd>{part.n}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Hotwords({ detail, baseline, candidate }: { detail: SliceDetail; baseline: string; candidate: string }) {
  const { t } = usePage();
  return (
    <section class="panel hotword-table">
      <h2>{t.hotwords}</h2>
      <p class="quiet small">{t.hotwordsNote}</p>
      <table class="metrics">
        <thead>
          <tr>
            <th scope="col">{t.hotword}</th>
            <th scope="col" class="number">
              {t.said}
            </th>
            <th scope="col" class="number">
              {baseline}
            </th>
            <th scope="col" class="number">
              {candidate}
            </th>
          </tr>
        </thead>
        <tbody>
          {detail.hotwords.map((row) => (
            <tr key={row.word}>
              <th scope="row">{row.word}</th>
              <td class="number">{row.said}</td>
              <Heard heard={row.heard[0]} invented={row.invented[0]} worse={false} />
              <Heard heard={row.heard[1]} invented={row.invented[1]} worse={row.heard[1] < row.heard[0] || row.invented[1] > row.invented[0]} />
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Heard({ heard, invented, worse }: { heard: number; invented: number; worse: boolean }) {
  const { t } = usePage();
  return (
    <td class={`number ${worse ? "worse" : ""}`}>
      {heard}
      {invented > 0 && <span title={t.inventedTimes(invented)}> +{invented}</span>}
    </td>
  );
}

function Confusions({ pairs, nothing }: { pairs: SliceDetail["confusions"]; nothing: string }) {
  const most = Math.max(...pairs.map((one) => Math.max(one.candidate, one.baseline)), 1);
  const glyph = (text: string) => (text === "" ? <span class="quiet small">{nothing}</span> : <kbd>{text === " " ? "␣" : text === "\n" ? "↵" : text}</kbd>);
  return (
    <table class="bars confusions">
      <tbody>
        {pairs.slice(0, 8).map((one) => (
          <tr key={`${one.reference}\u0000${one.output}`}>
            <th scope="row">
              {glyph(one.reference)} → {glyph(one.output)}
            </th>
            <td class="bar">
              <span style={{ width: `${(one.candidate / most) * 100}%` }} />
              <i style={{ left: `${(one.baseline / most) * 100}%` }} />
            </td>
            <td class="number">
              {one.candidate}
              <span class="quiet"> · {one.baseline}</span>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
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
