// How far the backend's probabilities are from the reference implementation's, as `tlive parity` measured it.

import { FactTables } from "../components/FactTables";
import { usePage } from "../context";

export function Parity() {
  const { overview, t } = usePage();
  return (
    <>
      <h1 class="view-title">{t.parity}</h1>
      <p class="quiet">{overview.parity.length > 0 ? t.parityNote : t.noParity}</p>
      <FactTables tables={overview.parity} />
    </>
  );
}
