// Rows of the release matrix: their names, their places, and which of them a reader wants to see.

import type { MatrixRow, TaskCard, Verdict } from "../data";
import type { Selection } from "../route";

export const verdicts: readonly Verdict[] = ["BREACH", "INCONCLUSIVE", "MISSING", "PASS"];

export function placeOf(row: MatrixRow, candidate: string): Selection {
  return { task: row.task, attribute: row.attribute, value: row.value, candidate, within: null, show: null };
}

export function rowName(row: MatrixRow): string {
  return row.attribute === null ? row.task : `${row.attribute}=${row.value}`;
}

export interface Filters {
  text: string;
  verdicts: Set<Verdict>;
  ability: string;
  modality: string;
  sensitivity: string;
  order: "tree" | number | "worst";
}

export const noFilters: Filters = { text: "", verdicts: new Set(), ability: "", modality: "", sensitivity: "", order: "tree" };

export function matches(row: MatrixRow, filters: Filters, task: TaskCard | undefined): boolean {
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
