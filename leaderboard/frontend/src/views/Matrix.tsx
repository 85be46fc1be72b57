// The release matrix: what broke, in ten seconds.

import { useMemo, useRef, useState } from "preact/hooks";
import { AxisScale, IntervalBar, lossAxis, type LossAxis } from "../components/IntervalBar";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { Cell, MatrixRow, Overview, TaskCard, Verdict } from "../data";
import { percent, quality } from "../format";
import { compareLink, sliceLink, type Selection } from "../route";
import { Summary } from "./Summary";

export const verdicts: readonly Verdict[] = ["BREACH", "INCONCLUSIVE", "MISSING", "PASS"];

interface Filters {
  text: string;
  verdicts: Set<Verdict>;
  ability: string;
  modality: string;
  sensitivity: string;
  order: "tree" | number | "worst";
}

const noFilters: Filters = { text: "", verdicts: new Set(), ability: "", modality: "", sensitivity: "", order: "tree" };
// Kept while the reader looks at a slice, so that coming back finds the matrix as it was left.
let kept: { filters: Filters; closed: Set<string> } = { filters: noFilters, closed: new Set() };

export function placeOf(row: MatrixRow, candidate: string): Selection {
  return { task: row.task, attribute: row.attribute, value: row.value, candidate, within: null, show: null };
}

export function rowName(row: MatrixRow): string {
  return row.attribute === null ? row.task : `${row.attribute}=${row.value}`;
}

function matches(row: MatrixRow, filters: Filters, task: TaskCard | undefined): boolean {
  const words = filters.text.toLowerCase().split(/\s+/).filter(Boolean);
  const name = `${row.task} ${rowName(row)} ${task?.ability ?? ""}`.toLowerCase();
  return (
    words.every((word) => name.includes(word)) &&
    (filters.verdicts.size === 0 || row.cells.some((cell) => filters.verdicts.has(cell.verdict))) &&
    (!filters.ability || task?.ability === filters.ability) &&
    (!filters.modality || task?.modality === filters.modality) &&
    (!filters.sensitivity || task?.sensitivity === filters.sensitivity)
  );
}

function worstLoss(row: MatrixRow, candidate: number | "worst"): number {
  const cells = candidate === "worst" ? row.cells : row.cells.slice(candidate, candidate + 1);
  return Math.max(...cells.map((cell) => cell.loss ?? (cell.verdict === "MISSING" ? -0.5 : -1)));
}

export function Matrix() {
  const { overview, t } = usePage();
  const [filters, setFilters] = useState(kept.filters);
  const [closed, setClosed] = useState(kept.closed);
  kept = { filters, closed };
  const table = useRef<HTMLTableElement>(null);
  const axis = useMemo(() => lossAxis(overview.rows), [overview]);
  const cards = new Map(overview.tasks.map((task) => [task.name, task]));
  const rows = overview.rows.filter((row) => matches(row, filters, cards.get(row.task)));
  const filtered = filters !== noFilters && rows.length !== overview.rows.length;
  const toggle = (key: string) => {
    const next = new Set(closed);
    if (!next.delete(key)) next.add(key);
    setClosed(next);
  };
  const groups = overview.tasks.map((task) => task.name).filter((task) => overview.rows.some((row) => row.task === task && row.attribute !== null));
  const budget = overview.rows[0]?.budget ?? 0.015;
  return (
    <>
      <Summary />
      <section class="sheet" aria-label={t.matrix}>
        <FilterBar filters={filters} change={setFilters} groups={groups} closed={closed} close={setClosed} />
        <div class="scroll">
          <table class="matrix" ref={table} onKeyDown={(event) => moveBetweenCells(event, table.current)}>
            <thead>
              <tr>
                <th scope="col" class="name">
                  {t.slice}
                </th>
                <th scope="col" class="number">
                  {t.samples}
                </th>
                <th scope="col" class="number">
                  {overview.baseline.key}
                </th>
                {overview.candidates.map((candidate, index) => (
                  <th scope="col" key={candidate.key} class="candidate" aria-sort={filters.order === index ? "descending" : "none"}>
                    <button
                      class="sort"
                      onClick={() => setFilters({ ...filters, order: filters.order === index ? "tree" : index })}
                      title={t.byLoss}
                    >
                      {candidate.key}
                      <span class="arrow" aria-hidden="true">
                        {filters.order === index ? "↓" : ""}
                      </span>
                    </button>
                    <AxisScale axis={axis} budget={budget} spacing={overview.candidates.length > 3 ? 0.25 : 0.15} />
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {filters.order === "tree" ? (
                <Tree rows={rows} axis={axis} closed={filters.text ? new Set() : closed} toggle={toggle} />
              ) : (
                [...rows]
                  .sort((a, b) => worstLoss(b, filters.order as number | "worst") - worstLoss(a, filters.order as number | "worst"))
                  .map((row) => <Row key={`${row.task}/${rowName(row)}`} row={row} axis={axis} depth={0} withTask />)
              )}
            </tbody>
          </table>
        </div>
        {rows.length === 0 && <p class="nothing">{t.nothing}</p>}
        {filtered && (
          <p class="nothing">
            <button class="quiet-button" onClick={() => setFilters({ ...noFilters, order: filters.order })}>
              {t.clear}
            </button>
          </p>
        )}
      </section>
      <Legend axis={axis} overview={overview} />
    </>
  );
}

function Tree(props: { rows: MatrixRow[]; axis: LossAxis; closed: Set<string>; toggle: (key: string) => void }) {
  const { overview } = usePage();
  const lines: preact.JSX.Element[] = [];
  for (const task of overview.tasks) {
    const mine = props.rows.filter((row) => row.task === task.name);
    if (mine.length === 0) continue;
    const whole = mine.find((row) => row.attribute === null);
    const open = !props.closed.has(task.name);
    const heading = { open, toggle: () => props.toggle(task.name), foldable: mine.some((row) => row.attribute !== null) };
    lines.push(
      whole ? (
        <Row key={task.name} row={whole} axis={props.axis} depth={0} heading={heading} />
      ) : (
        <Group key={task.name} name={task.name} depth={0} rows={mine} {...heading} />
      ),
    );
    if (!open) continue;
    for (const attribute of new Set(mine.map((row) => row.attribute))) {
      if (attribute === null) continue;
      const key = `${task.name}/${attribute}`;
      const values = mine.filter((row) => row.attribute === attribute);
      const shown = !props.closed.has(key);
      lines.push(<Group key={key} name={attribute} depth={1} rows={values} open={shown} toggle={() => props.toggle(key)} foldable />);
      if (shown)
        for (const row of values) lines.push(<Row key={`${key}=${row.value}`} row={row} axis={props.axis} depth={2} />);
    }
  }
  return <>{lines}</>;
}

interface Fold {
  open: boolean;
  toggle: () => void;
  foldable: boolean;
}

function FoldButton({ name, fold }: { name: string; fold: Fold }) {
  return (
    <button class="fold" aria-expanded={fold.open} onClick={fold.toggle}>
      <svg width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
        <path d="M3 1.5 7 5 3 8.5" />
      </svg>
      {name}
    </button>
  );
}

/** A heading that holds no result of its own: the count of each verdict below it. */
function Group({ name, depth, rows, ...fold }: { name: string; depth: number; rows: MatrixRow[] } & Fold) {
  const { overview, t } = usePage();
  return (
    <tr class={`group depth-${depth}`}>
      <th scope="rowgroup" class="name">
        <FoldButton name={name} fold={fold} />
      </th>
      <td class="number" />
      <td class="number" />
      {overview.candidates.map((candidate, index) => (
        <td key={candidate.key} class="tally">
          {verdicts.map((verdict) => {
            const count = rows.filter((row) => row.cells[index]?.verdict === verdict).length;
            return (
              count > 0 &&
              (verdict !== "PASS" || count === rows.length) && (
                <span key={verdict} title={t.verdict[verdict]}>
                  <VerdictMark verdict={verdict} size={10} />
                  {count}
                </span>
              )
            );
          })}
        </td>
      ))}
    </tr>
  );
}

function Row(props: { row: MatrixRow; axis: LossAxis; depth: number; heading?: Fold; withTask?: boolean }) {
  const { overview, t } = usePage();
  const { row } = props;
  const first = row.cells.find((cell) => cell.baseline_quality !== null);
  const n = Math.max(0, ...row.cells.map((cell) => cell.n));
  return (
    <tr class={`depth-${props.depth}`}>
      <th scope="row" class="name">
        {props.heading?.foldable ? (
          <FoldButton name={row.task} fold={props.heading} />
        ) : row.attribute === null ? (
          row.task
        ) : (
          <>
            {props.withTask && (
              <span class="quiet">
                {row.task} · {row.attribute}{" "}
              </span>
            )}
            {row.value === "" ? "∅" : row.value}
          </>
        )}
        {row.attribute === null && props.withTask && <span class="quiet"> {t.wholeTask}</span>}
      </th>
      <td class="number">{n}</td>
      <td class="number">{quality(first?.baseline_quality ?? null)}</td>
      {overview.candidates.map((candidate, index) => {
        const cell = row.cells[index];
        return (
          <td key={candidate.key} class={`cell ${cell?.verdict.toLowerCase() ?? ""} ${cell && !cell.gated ? "not-gated" : ""}`}>
            {cell && <CellLink cell={cell} row={row} candidate={candidate.key} axis={props.axis} />}
          </td>
        );
      })}
    </tr>
  );
}

function CellLink(props: { cell: Cell; row: MatrixRow; candidate: string; axis: LossAxis }) {
  const { t, overview } = usePage();
  const { cell, row } = props;
  const run = overview.candidates.find((candidate) => candidate.key === props.candidate);
  const href = cell.n === 0 ? compareLink(props.candidate) : sliceLink(placeOf(row, props.candidate));
  const interval = cell.low === null ? "" : `${percent(cell.low)} … ${percent(cell.high)}`;
  const spoken = `${props.candidate}, ${row.task} ${row.attribute === null ? "" : rowName(row)}: ${t.verdict[cell.verdict]}, ${t.loss} ${percent(cell.loss)}, ${interval}, n ${cell.n}`;
  const lines = [`${t.loss} ${percent(cell.loss)}   ${interval}`, `n ${cell.n} · ${t.broke} ${cell.broke} · ${t.fixed} ${cell.fixed}`, cell.note || run?.problem || ""];
  return (
    <a href={href} aria-label={spoken} title={lines.filter(Boolean).join("\n")}>
      <VerdictMark verdict={cell.verdict} />
      <span class="loss">{cell.loss === null ? (cell.verdict === "MISSING" ? t.verdict.MISSING : "–") : percent(cell.loss)}</span>
      <IntervalBar cell={cell} budget={row.budget} axis={props.axis} />
    </a>
  );
}

/** Arrow keys move between the cells, as in a spreadsheet. */
function moveBetweenCells(event: KeyboardEvent, table: HTMLTableElement | null): void {
  const steps: Record<string, [number, number]> = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const step = steps[event.key];
  const here = (event.target as HTMLElement).closest("td, th");
  if (!step || !here || !table || (event.target as HTMLElement).closest("thead")) return;
  let line = here.closest("tr");
  let column = [...(line?.children ?? [])].indexOf(here);
  event.preventDefault();
  for (let tries = 0; tries < 400 && line; tries++) {
    column += step[1];
    if (step[0] !== 0) line = (step[0] > 0 ? line.nextElementSibling : line.previousElementSibling) as HTMLTableRowElement | null;
    if (column < 0 || column >= (line?.children.length ?? 0)) return;
    const target = line?.children[column]?.querySelector<HTMLElement>("a, button");
    if (target) return target.focus();
  }
}

function FilterBar(props: {
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

function Legend({ axis, overview }: { axis: LossAxis; overview: Overview }) {
  const { t } = usePage();
  const budget = overview.rows[0]?.budget ?? 0.015;
  const example: Cell = {
    verdict: "INCONCLUSIVE", gated: true, loss: budget * 1.2, low: -budget * 0.4, high: budget * 4, baseline_quality: null,
    candidate_quality: null, n: 0, clusters: 0, broke: 0, fixed: 0, further_clusters: null, note: "",
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
