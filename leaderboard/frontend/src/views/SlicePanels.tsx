// What kind of damage a slice took and where it sits: one panel a question.

import { Fragment } from "preact";
import { Distribution } from "../components/Distribution";
import { usePage } from "../context";
import type { Cell, SliceDetail, TaskPage } from "../data";
import { rate } from "../format";
import { sliceLink, type Selection } from "../route";
import { sliceIndex } from "../selection";

export function Panels({ page, selection, candidate, cell }: { page: TaskPage; selection: Selection; candidate: number; cell: Cell }) {
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
