// What narrows the release matrix, and what its signs mean.

import { IntervalBar, type LossAxis } from "../components/IntervalBar";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { Cell, Overview } from "../data";
import { percent } from "../format";
import { verdicts, type Filters } from "./matrixRows";

export function FilterBar(props: {
  filters: Filters;
  change: (filters: Filters) => void;
  groups: string[];
  closed: Set<string>;
  close: (closed: Set<string>) => void;
}) {
  const { overview, t } = usePage();
  const { filters, change } = props;
  const counts = new Map(verdicts.map((verdict) => [verdict, overview.rows.filter((row) => row.cells.some((cell) => cell.verdict === verdict)).length]));
  const attributes = new Set(overview.rows.filter((row) => row.attribute !== null).map((row) => `${row.task}/${row.attribute}`));
  const choices = (["ability", "modality", "sensitivity"] as const)
    .map((field) => ({ field, values: [...new Set(overview.tasks.map((task) => task[field]).filter(Boolean))].sort() }))
    .filter(({ values }) => values.length > 1);
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label class="search">
        <span class="for-readers">{t.search}</span>
        <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
          <circle cx="6" cy="6" r="4.2" />
          <path d="M9.2 9.2 12.5 12.5" />
        </svg>
        <input
          type="search"
          value={filters.text}
          placeholder={`${t.search}, ${t.searchPlaceholder}`}
          onInput={(event) => change({ ...filters, text: event.currentTarget.value })}
        />
      </label>
      <fieldset class="chips">
        <legend class="for-readers">{t.filterVerdict}</legend>
        {verdicts.map((verdict) => (
          <button
            key={verdict}
            type="button"
            aria-pressed={filters.verdicts.has(verdict)}
            disabled={counts.get(verdict) === 0}
            onClick={() => {
              const chosen = new Set(filters.verdicts);
              if (!chosen.delete(verdict)) chosen.add(verdict);
              change({ ...filters, verdicts: chosen });
            }}
          >
            <VerdictMark verdict={verdict} size={12} label />
            <span class="count">{counts.get(verdict)}</span>
          </button>
        ))}
      </fieldset>
      {choices.map(({ field, values }) => (
        <label key={field} class="choice">
          {t[field]}
          <select value={filters[field]} onChange={(event) => change({ ...filters, [field]: event.currentTarget.value })}>
            <option value="">{t.any}</option>
            {values.map((value) => (
              <option key={value}>{value}</option>
            ))}
          </select>
        </label>
      ))}
      <span class="spring" />
      <label class="choice">
        {t.order}
        <select
          value={filters.order === "tree" ? "tree" : "worst"}
          onChange={(event) => change({ ...filters, order: event.currentTarget.value === "tree" ? "tree" : "worst" })}
        >
          <option value="tree">{t.byTree}</option>
          <option value="worst">{t.byLoss}</option>
        </select>
      </label>
      {filters.order === "tree" && (
        <button type="button" class="quiet-button" onClick={() => props.close(props.closed.size > 0 ? new Set() : attributes)}>
          {props.closed.size > 0 ? t.expandAll : t.collapseAll}
        </button>
      )}
    </form>
  );
}

export function Legend({ axis, overview }: { axis: LossAxis; overview: Overview }) {
  const { t } = usePage();
  const budget = overview.rows[0]?.budget ?? 0.015;
  const example: Cell = {
    verdict: "INCONCLUSIVE", gated: true, loss: budget * 1.2, low: -budget * 0.4, high: budget * 4, baseline_quality: null,
    candidate_quality: null, n: 0, clusters: 0, broke: 0, fixed: 0, flip_rate: null, inside_noise: null, further_clusters: null, note: "",
  };
  return (
    <section class="legend" aria-label={t.legend}>
      {verdicts.map((verdict) => (
        <span key={verdict}>
          <VerdictMark verdict={verdict} label /> <span class="quiet">{t.verdictMeaning[verdict]}</span>
        </span>
      ))}
      <span>
        <IntervalBar cell={example} budget={budget} axis={axis} />
        <span class="quiet">
          {t.loss} · {t.interval.replace("95", String(Math.round(overview.confidence * 100)))} · {t.budget} {percent(budget)}; {t.axisNote}
        </span>
      </span>
    </section>
  );
}
