const dash = "–";

export function percent(value: number | null, digits = 1): string {
  if (value === null) return dash;
  const text = (value * 100).toFixed(digits);
  return `${text.replace("-", "−").replace(/^−(0\.?0*)$/, "$1")} %`;
}

export function quality(value: number | null): string {
  return value === null ? dash : (value * 100).toFixed(1);
}

export function rate(value: number | null): string {
  return value === null ? dash : value.toFixed(3);
}

export function bytes(size: number): string {
  return size < 1000 ? `${size} B` : size < 1e6 ? `${(size / 1e3).toFixed(0)} kB` : size < 1e9 ? `${(size / 1e6).toFixed(1)} MB` : `${(size / 1e9).toFixed(1)} GB`;
}

export function seconds(value: number | null): string {
  if (value === null) return dash;
  if (value < 90) return `${value.toFixed(1)} s`;
  const minutes = Math.floor(value / 60);
  return `${minutes} min ${Math.round(value - minutes * 60)} s`;
}

/** Marks whitespace that would be invisible inside a marked piece of text. */
export function visible(text: string): string {
  return text.replace(/\n/g, "↵\n").replace(/\t/g, "⇥").replace(/^ +$/g, (run) => "␣".repeat(run.length));
}

/** 75.5 → 1:15.5 */
export function clock(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const minutes = Math.floor(tenths / 600);
  return `${minutes}:${((tenths - 600 * minutes) / 10).toFixed(1).padStart(4, "0")}`;
}
