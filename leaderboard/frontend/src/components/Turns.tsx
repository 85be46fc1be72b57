// Speaker turns as a reader takes them in: who, when, what. The timeline shows the same turns as bars.

import type { Drawing } from "../data";
import { clock } from "../format";

export function Turns({ turns }: { turns: Drawing["turns"] }) {
  return (
    <table class="turns">
      <tbody>
        {turns.map((turn, index) => (
          <tr key={index}>
            <td class="quiet">
              {clock(turn.start)}–{clock(turn.end)}
            </td>
            <th scope="row" title={turn.matched && turn.matched !== turn.speaker ? turn.speaker : undefined}>
              {turn.matched || turn.speaker}
            </th>
            <td class="text">{turn.text}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
