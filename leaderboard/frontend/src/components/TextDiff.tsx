// An answer marked against the reference, character by character. All of it is text nodes: nothing from a log is markup.

import { usePage } from "../context";
import type { Output } from "../data";
import { visible } from "../format";

export function TextDiff({ reference, output }: { reference: string; output: Output | null | undefined }) {
  const { t } = usePage();
  if (output == null) return <span class="absent">{t.noOutput}</span>;
  if (output.text === "") return <span class="absent">{t.emptyAnswer}</span>;
  if (output.edits.length === 0) return <span class="text">{output.text}</span>;
  const expected = Array.from(reference);
  const answered = Array.from(output.text);
  let atReference = 0;
  let atOutput = 0;
  return (
    <span class="text">
      {output.edits.map(([tag, inReference, inOutput], index) => {
        const left = expected.slice(atReference, (atReference += inReference)).join("");
        const right = answered.slice(atOutput, (atOutput += inOutput)).join("");
        if (tag === "=") return <span key={index}>{right}</span>;
        return (
          <span key={index}>
            {left && <del>{visible(left)}</del>}
            {right && <ins>{visible(right)}</ins>}
          </span>
        );
      })}
    </span>
  );
}
