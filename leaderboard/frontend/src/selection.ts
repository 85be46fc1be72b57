// Which samples a list shows and in which order.

import type { Sample, TaskPage } from "./data";
import type { Selection, Show } from "./route";

export function sliceIndex(page: TaskPage, attribute: string | null, value: string | null): number | null {
  if (attribute === null) return null;
  const found = page.slices.findIndex((slice) => slice.attribute === attribute && slice.value === value);
  return found < 0 ? -1 : found;
}

export function isShown(sample: Sample, candidate: number, show: Show): boolean {
  const change = sample.changes[candidate] ?? null;
  const before = sample.outputs[0];
  const after = sample.outputs[candidate + 1];
  switch (show) {
    case "broke":
      return change !== null && change < 0;
    case "fixed":
      return change !== null && change > 0;
    case "status":
      return before?.status !== after?.status;
    case "wrong":
      return after == null || (after.quality !== null && after.quality < 1);
    case "all":
      return true;
  }
}

export function samplesIn(page: TaskPage, selection: Selection): Sample[] {
  const wanted = [sliceIndex(page, selection.attribute, selection.value)];
  if (selection.within) wanted.push(sliceIndex(page, selection.within.attribute, selection.within.value));
  const indices = wanted.filter((index) => index !== null);
  return page.samples.filter((sample) => indices.every((index) => sample.slices.includes(index)));
}

/** Without a choice the list opens on what broke; where nothing broke, on all. */
export function effectiveShow(samples: Sample[], candidate: number, show: Show | null): Show {
  return show ?? (samples.some((sample) => isShown(sample, candidate, "broke")) ? "broke" : "all");
}

/** Samples of a selection, largest loss first; samples that cannot be compared come before unchanged ones. */
export function selectedSamples(page: TaskPage, selection: Selection, candidate: number): Sample[] {
  const inside = samplesIn(page, selection);
  const show = effectiveShow(inside, candidate, selection.show);
  const order = (sample: Sample) => sample.changes[candidate] ?? -0.5;
  const shown = inside.filter((sample) => isShown(sample, candidate, show));
  return shown.sort((a, b) => (show === "fixed" ? order(b) - order(a) : order(a) - order(b)));
}
