// How the runs were made, and what differs beside what was meant to differ.

import { useEffect, useState } from "preact/hooks";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import { listedRuns, type ListedRun, type MatrixRow, type RunCard } from "../data";
import { percent, quality, seconds } from "../format";
import { sliceLink } from "../route";
import { placeOf, rowName } from "./matrixRows";

export function Compare({ candidate }: { candidate: string | null }) {
  const { overview, form, t } = usePage();
  const [onlyDifferences, setOnly] = useState(true);
  const candidates = overview.candidates.filter((run) => candidate === null || run.key === candidate);
  const runs = [overview.baseline, ...candidates];
  const names = new Map<string, { group: string; name: string }>();
  for (const run of runs) for (const entry of run.environment) names.set(`${entry.group}\u0000${entry.name}`, entry);
  const rows = [...names.values()].map(({ group, name }) => {
    const entries = runs.map((run) => run.environment.find((entry) => entry.group === group && entry.name === name));
    return { group, name, entries, differs: entries.some((entry) => entry?.value !== entries[0]?.value) };
  });
  const shown = rows.filter((row) => !onlyDifferences || row.differs);
  return (
    <>
      <h1 class="view-title">{t.environment}</h1>
      <section class="sheet">
        <div class="filters">
          <label class="choice">
            <input type="checkbox" checked={onlyDifferences} onChange={(event) => setOnly(event.currentTarget.checked)} /> {t.onlyDifferences}
          </label>
          {candidate !== null && (
            <a class="quiet-button" href="#/compare">
              {t.any}
            </a>
          )}
        </div>
        <div class="scroll">
          <table class="environment">
            <thead>
              <tr>
                <td />
                {runs.map((run) => (
                  <th scope="col" key={run.key}>
                    {run.verdict && <VerdictMark verdict={run.verdict} size={12} />} {run.key}
                    {run.problem && <p class="failure small">{run.problem}</p>}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              <Fact name={t.run} values={runs.map((run) => run.name)} />
              <Fact name={t.started} values={runs.map((run) => run.started?.replace("T", " ").slice(0, 19) ?? "–")} />
              <Fact name={t.duration} values={runs.map((run) => (run.complete ? seconds(run.duration_s) : t.incomplete))} />
              {shown.map((row, index) => (
                <Fact
                  key={`${row.group}/${row.name}`}
                  group={shown[index - 1]?.group === row.group ? "" : row.group}
                  name={row.name}
                  values={row.entries.map((entry) => entry?.value ?? "–")}
                  differs={row.differs}
                />
              ))}
            </tbody>
          </table>
        </div>
        {rows.length === 0 ? <p class="nothing">{t.noEnvironment}</p> : shown.length === 0 && <p class="nothing">{t.noDifferences}</p>}
      </section>
      <Results candidates={candidates} />
      {form.form === "server" && <RunChoice />}
    </>
  );
}

const MOST_ROWS = 14;

/** What differs in the results: every task, and the slices that moved most. */
function Results({ candidates }: { candidates: RunCard[] }) {
  const { overview, t } = usePage();
  const columns = candidates.map((run) => overview.candidates.indexOf(run));
  const moved = (row: MatrixRow) => Math.max(0, ...columns.map((column) => Math.abs(row.cells[column]?.loss ?? 0)));
  const slices = overview.rows.filter((row) => row.attribute !== null && moved(row) > 0).sort((a, b) => moved(b) - moved(a));
  const rows = [...overview.rows.filter((row) => row.attribute === null), ...slices.slice(0, MOST_ROWS)];
  return (
    <section class="sheet results" aria-label={t.resultsDiffer}>
      <div class="filters">
        <h2>{t.resultsDiffer}</h2>
        <span class="quiet">{t.resultsNote}</span>
      </div>
      <div class="scroll">
        <table class="metrics">
          <thead>
            <tr>
              <th scope="col">{t.slice}</th>
              <th scope="col" class="number">
                {overview.baseline.key}
              </th>
              {candidates.map((run) => (
                <th key={run.key} scope="col" class="number">
                  {run.key}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row) => (
              <tr key={`${row.task}/${rowName(row)}`}>
                <th scope="row">{row.attribute === null ? row.task : `${row.task} ${rowName(row)}`}</th>
                <td class="number">{quality(row.cells[columns[0] ?? 0]?.baseline_quality ?? null)}</td>
                {candidates.map((run, index) => {
                  const cell = row.cells[columns[index] ?? 0];
                  return (
                    <td key={run.key} class={`number ${cell?.verdict === "BREACH" ? "differs" : ""}`}>
                      {cell && cell.n > 0 ? (
                        <a href={sliceLink(placeOf(row, run.key))}>
                          <VerdictMark verdict={cell.verdict} size={10} /> {quality(cell.candidate_quality)} <span class="quiet">{percent(cell.loss === null ? null : -cell.loss)}</span>
                        </a>
                      ) : (
                        "–"
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function address(choice: FormData): string {
  const query = new URLSearchParams(location.search);
  for (const name of ["baseline", "candidate"]) {
    query.delete(name);
    for (const value of choice.getAll(name)) query.append(name, String(value));
  }
  return `./?${query}#/`;
}

/** Any two or more runs of the store, to be compared. */
function RunChoice() {
  const { t } = usePage();
  const [runs, setRuns] = useState<ListedRun[]>([]);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    listedRuns().then(setRuns, (error: unknown) => setFailure(String(error)));
  }, []);
  return (
    <section class="sheet" aria-label={t.chooseRuns}>
      <form method="get" action="./" onSubmit={(event) => { event.preventDefault(); location.href = address(new FormData(event.currentTarget)); }}>
        <div class="filters">
          <h2>{t.chooseRuns}</h2>
          <span class="spring" />
          <button class="action">{t.compareRuns}</button>
        </div>
        {failure && <p class="failure">{failure}</p>}
        <div class="scroll">
          <table class="environment">
            <thead>
              <tr>
                <th scope="col">{t.baseline}</th>
                <th scope="col">{t.candidate}</th>
                <th scope="col">{t.run}</th>
                <th scope="col">{t.started}</th>
                <th scope="col" class="number">{t.samples}</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.run_id}>
                  <td>
                    <input type="radio" name="baseline" value={run.run_id} required aria-label={`${t.baseline}: ${run.name}`} />
                  </td>
                  <td>
                    <input type="checkbox" name="candidate" value={run.run_id} aria-label={`${t.candidate}: ${run.name}`} />
                  </td>
                  <td>{run.variant && run.variant !== run.name ? `${run.variant} · ${run.name}` : run.name}</td>
                  <td>{run.started.replace("T", " ").slice(0, 16)}</td>
                  <td class="number">{run.samples}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </form>
    </section>
  );
}

function Fact({ group = "", name, values, differs = false }: { group?: string; name: string; values: string[]; differs?: boolean }) {
  return (
    <>
      {group && (
        <tr class="group">
          <th scope="rowgroup" colSpan={values.length + 1}>
            {group}
          </th>
        </tr>
      )}
      <tr>
        <th scope="row">{name}</th>
        {values.map((value, index) => (
          <td key={index} class={differs && index > 0 && value !== values[0] ? "differs" : ""}>
            {value}
          </td>
        ))}
      </tr>
    </>
  );
}
