// Tables that Python laid out: parity and canaries.

import { usePage } from "../context";
import type { FactTable } from "../data";

export function FactTables({ tables }: { tables: FactTable[] }) {
  return (
    <>
      {tables.map((table) => (
        <section key={table.title} class="sheet facts" aria-label={table.title}>
          <h2>{table.title}</h2>
          {table.note && <p class="quiet">{table.note}</p>}
          <Rows table={table} />
        </section>
      ))}
    </>
  );
}

function Rows({ table }: { table: FactTable }) {
  const { t } = usePage();
  const names: Partial<Record<string, string>> = t.factColumns;
  const numeric = table.columns.map((_, column) => table.rows.some((row) => typeof row[column] === "number"));
  return (
    <div class="scroll">
      <table class="metrics">
        <thead>
          <tr>
            {table.columns.map((column, index) => (
              <th key={column} scope="col" class={numeric[index] ? "number" : ""}>
                {names[column] ?? column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, line) => (
            <tr key={line}>
              {row.map((value, index) =>
                index === 0 ? (
                  <th key={index} scope="row">
                    {String(value ?? "–")}
                  </th>
                ) : (
                  <td key={index} class={`${numeric[index] ? "number" : ""} ${value === false ? "worse" : ""}`}>
                    <Value value={value} />
                  </td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Value({ value }: { value: string | number | boolean | null }) {
  const { t } = usePage();
  if (typeof value === "boolean") return <>{value ? `✓ ${t.held}` : `▲ ${t.failed}`}</>;
  if (typeof value === "number") return <>{Number.isInteger(value) ? value.toLocaleString("en") : value.toPrecision(3).replace("-", "−")}</>;
  return <>{value ?? "–"}</>;
}
