// The release matrix: what broke, in ten seconds.

import { useMemo, useRef, useState } from "preact/hooks";
import { AxisScale, IntervalBar, lossAxis, type LossAxis } from "../components/IntervalBar";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { Cell, MatrixRow } from "../data";
import { percent, quality } from "../format";
import { compareLink, sliceLink } from "../route";
import { FilterBar, Legend } from "./MatrixFilters";
import { matches, noFilters, placeOf, rowName, verdicts, type Filters } from "./matrixRows";
import { Summary } from "./Summary";

// Kept while the reader looks at a slice, so that coming back finds the matrix as it was left.
let kept: { filters: Filters; closed: Set<string> } = { filters: noFilters, closed: new Set() };

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
