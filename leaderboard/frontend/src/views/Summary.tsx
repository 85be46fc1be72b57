// The answer in one sentence and one card a candidate.

import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { MatrixRow, RunCard } from "../data";
import { percent } from "../format";
import { compareLink, sliceLink } from "../route";
import { placeOf, rowName, verdicts } from "./matrixRows";

export function Summary() {
  const { overview, t } = usePage();
  const budget = percent(overview.rows[0]?.budget ?? 0.015);
  const breached = overview.candidates.filter((candidate) => candidate.verdict === "BREACH").map((candidate) => candidate.key);
  const names = breached.length > 1 ? `${breached.slice(0, -1).join(", ")}${t.and}${breached.at(-1)}` : (breached[0] ?? "");
  const n = Math.max(0, ...overview.rows.filter((row) => row.attribute === null).map((row) => row.cells[0]?.n ?? 0));
  const headline =
    breached.length > 0 ? t.headline.BREACH(names, budget) : overview.verdict === "MISSING" ? t.headline.MISSING() : t.headline[overview.verdict](budget, budget);
  return (
    <header class="summary">
      <h1>
        <VerdictMark verdict={breached.length > 0 ? "BREACH" : overview.verdict} size={26} /> {headline}
      </h1>
      <p class="quiet">{t.against(overview.baseline.key, n.toLocaleString("en"), overview.tasks.map((task) => task.name).join(", "))}</p>
      {overview.notes.map((note) => (
        <p key={note} class="note">
          {note}
        </p>
      ))}
      <div class="cards">
        {overview.candidates.map((candidate, index) => (
          <CandidateCard key={candidate.key} candidate={candidate} index={index} />
        ))}
      </div>
    </header>
  );
}

function worstRow(rows: MatrixRow[], index: number): MatrixRow | null {
  const slices = rows.filter((row) => row.cells[index]?.loss != null);
  const certain = (row: MatrixRow) => (row.cells[index]?.verdict === "BREACH" ? 1 : 0);
  return slices.sort((a, b) => certain(b) - certain(a) || (b.cells[index]?.loss ?? 0) - (a.cells[index]?.loss ?? 0))[0] ?? null;
}

function CandidateCard({ candidate, index }: { candidate: RunCard; index: number }) {
  const { overview, t } = usePage();
  const total = verdicts.reduce((sum, verdict) => sum + (candidate.counts[verdict] ?? 0), 0);
  const worst = worstRow(overview.rows, index);
  const cell = worst?.cells[index];
  return (
    <article class={`card ${candidate.verdict?.toLowerCase() ?? ""}`}>
      <h2>
        <a href={compareLink(candidate.key)}>{candidate.key}</a>
        {candidate.verdict && <VerdictMark verdict={candidate.verdict} size={16} label />}
      </h2>
      <div class="strip" aria-hidden="true">
        {verdicts.map((verdict) => {
          const count = candidate.counts[verdict] ?? 0;
          return count > 0 && <span key={verdict} class={verdict.toLowerCase()} style={{ flexGrow: count }} />;
        })}
      </div>
      <p class="counts">
        {verdicts.map((verdict) => {
          const count = candidate.counts[verdict] ?? 0;
          return (
            count > 0 && (
              <span key={verdict}>
                {count} {t.verdict[verdict]}
              </span>
            )
          );
        })}
        {total === 0 && <span>{candidate.problem || t.slicesOf(0)}</span>}
      </p>
      {worst && cell && (
        <p class="worst">
          <span class="quiet">{cell.verdict === "BREACH" ? t.worst : t.noBreach}</span>
          <a href={sliceLink(placeOf(worst, candidate.key))}>{worst.attribute === null ? t.overall : rowName(worst)}</a>
          <strong>{percent(cell.loss)}</strong>
        </p>
      )}
      {total > 0 && candidate.problem && <p class="quiet">{candidate.problem}</p>}
    </article>
  );
}
