// The options of a multiple-choice question, with the right one and what each run chose.

import { usePage } from "../context";
import type { Sample } from "../data";

export function Options({ sample, runs }: { sample: Sample; runs: string[] }) {
  const { t } = usePage();
  return (
    <>
      <h2>{t.options}</h2>
      <ol class="options">
        {sample.options.map(({ letter, text, right }) => (
          <li key={letter} class={right ? "right" : ""}>
            <kbd>{letter}</kbd>
            <span class="text">{text}</span>
            <span class="spring" />
            {right && <span class="badge right">✓ {t.rightOption}</span>}
            {runs.map(
              (run, index) =>
                sample.outputs[index]?.chosen === letter && (
                  <span key={run} class={`chooser ${right ? "right" : "wrong"}`}>
                    {run}
                  </span>
                ),
            )}
          </li>
        ))}
      </ol>
    </>
  );
}
