// A verdict by shape and colour: disc with tick, triangle, half disc, broken ring. Never by colour alone.

import type { Verdict } from "../data";
import { usePage } from "../context";

const shapes: Record<Verdict, preact.JSX.Element> = {
  PASS: (
    <>
      <circle cx="8" cy="8" r="6.5" class="fill" />
      <path d="M5 8.2 7.2 10.4 11.2 5.9" class="cut" />
    </>
  ),
  BREACH: (
    <>
      <path d="M8 1.2 15 14H1Z" class="fill" stroke-linejoin="round" />
      <path d="M8 5.8V9.6M8 11.6V12" class="cut" />
    </>
  ),
  INCONCLUSIVE: (
    <>
      <circle cx="8" cy="8" r="6" class="line" />
      <path d="M8 2A6 6 0 0 1 8 14Z" class="fill" />
    </>
  ),
  MISSING: (
    <>
      <circle cx="8" cy="8" r="6" class="line" stroke-dasharray="2.6 2.1" />
      <path d="M5.6 5.6 10.4 10.4M10.4 5.6 5.6 10.4" class="line" />
    </>
  ),
};

export function VerdictMark({ verdict, size = 14, label = false }: { verdict: Verdict; size?: number; label?: boolean }) {
  const { t } = usePage();
  return (
    <span class={`mark ${verdict.toLowerCase()}`}>
      <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
        {shapes[verdict]}
      </svg>
      <span class={label ? "mark-label" : "for-readers"}>{t.verdict[verdict]}</span>
    </span>
  );
}
