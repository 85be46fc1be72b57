// What differs though nothing changed: a second run of the baseline beside the candidates, and the canaries of the runs.

import { FactTables } from "../components/FactTables";
import { VerdictMark } from "../components/VerdictMark";
import { usePage } from "../context";
import type { Overview } from "../data";
import { percent } from "../format";
import { sliceLink } from "../route";
import { placeOf, rowName } from "./matrixRows";

export function hasNoise(overview: Overview): boolean {
  return overview.noise_run !== "" || overview.canaries.length > 0;
}

export function Noise() {
  const { overview, t } = usePage();
  const rows = overview.rows.filter((row) => row.noise !== null);
  return (
    <>
      <h1 class="view-title">{t.noise}</h1>
      <p class="quiet">{overview.noise_run ? t.noiseNote(overview.noise_run, overview.baseline.key) : t.noNoise}</p>
      {rows.length > 0 && (
        <section class="sheet facts" aria-label={t.noise}>
          <div class="scroll">
            <table class="metrics noise">
              <thead>
                <tr>
                  <td />
                  <th scope="colgroup" colSpan={2}>
                    A/A
                  </th>
                  {overview.candidates.map((run) => (
                    <th key={run.key} scope="colgroup" colSpan={2}>
                      {run.key}
                    </th>
                  ))}
                </tr>
                <tr>
                  <th scope="col">{t.slice}</th>
                  <Heads />
                  {overview.candidates.map((run) => (
                    <Heads key={run.key} />
                  ))}
                </tr>
              </thead>
              <tbody>
                {rows.map((row) => (
                  <tr key={`${row.task}/${rowName(row)}`} class={row.attribute === null ? "depth-0" : ""}>
                    <th scope="row">
                      {row.attribute !== null && <span class="quiet">{row.task} </span>}
                      {rowName(row)}
                    </th>
                    <td class="number">{percent(row.noise?.flip_rate ?? null)}</td>
                    <td class="number">
                      {percent(row.noise?.loss ?? null)}{" "}
                      <span class="quiet">
                        {percent(row.noise?.low ?? null)} … {percent(row.noise?.high ?? null)}
                      </span>
                    </td>
                    {overview.candidates.map((run, index) => {
                      const cell = row.cells[index];
                      return [
                        <td key={`${run.key}-flips`} class="number">
                          {percent(cell?.flip_rate ?? null)}
                        </td>,
                        <td key={`${run.key}-loss`} class={`number ${cell?.inside_noise === false ? "worse" : ""}`}>
                          {cell && (
                            <a href={sliceLink(placeOf(row, run.key))} title={cell.inside_noise ? t.insideNoise : t.outsideNoise}>
                              <VerdictMark verdict={cell.verdict} size={10} /> {percent(cell.loss)} {cell.inside_noise ? "≈" : ""}
                            </a>
                          )}
                        </td>,
                      ];
                    })}
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <p class="quiet small">≈ {t.insideNoise}</p>
        </section>
      )}
      {overview.canaries.length > 0 && (
        <>
          <h2>{t.canaries}</h2>
          <p class="quiet">{t.canariesNote}</p>
          <FactTables tables={overview.canaries} />
        </>
      )}
    </>
  );
}

function Heads() {
  const { t } = usePage();
  return (
    <>
      <th scope="col" class="number">
        {t.flips}
      </th>
      <th scope="col" class="number">
        {t.loss}
      </th>
    </>
  );
}
