// How the hotwords of one sample fared in one answer: by sign and word, not by colour alone.

import { usePage } from "../context";
import type { Output } from "../data";

export function Hotwords({ hotwords }: { hotwords: Output["hotwords"] }) {
  const { t } = usePage();
  return (
    <ul class="hotwords" aria-label={t.hotwords}>
      {hotwords.map(({ word, said, written }) => {
        const [kind, sign, meaning] =
          written < said ? (["missed", "✗", t.missedWord] as const) : written > said ? (["invented", "+", t.inventedWord] as const) : (["heard", "✓", t.heardWord] as const);
        return (
          <li key={word} class={kind} title={`${meaning}: ${written} / ${said}`}>
            <span aria-hidden="true">{sign}</span> {word} <span class="for-readers">{meaning}</span>
          </li>
        );
      })}
    </ul>
  );
}
