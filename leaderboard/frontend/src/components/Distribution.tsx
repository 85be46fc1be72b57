import * as Plot from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";
import type { Histogram } from "../data";

export function Distribution({ histogram, baseline, candidate }: { histogram: Histogram; baseline: string; candidate: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const seconds = histogram.unit === "seconds";
    const step = (histogram.high - histogram.low) / histogram.baseline.length;
    const bins = histogram.baseline.map((n, index) => ({
      from: histogram.low + index * step,
      to: histogram.low + (index + 1) * step,
      baseline: n,
      candidate: histogram.candidate[index] ?? 0,
    }));
    const plot = Plot.plot({
      width: 380,
      height: 130,
      marginLeft: 36,
      marginBottom: 24,
      marginTop: 8,
      style: { background: "none", fontFamily: "inherit" },
      x: { domain: [histogram.low, histogram.high], label: null, ticks: 5, tickFormat: (value: number) => (seconds ? `${value > 0 ? "+" : ""}${value} s`.replace("-", "−") : `${Math.round(value * 100)}`) },
      y: { label: null, ticks: 3, grid: true },
      marks: [
        Plot.rectY(bins, { x1: "from", x2: "to", y: "candidate", insetLeft: 1, className: "candidate-bars" }),
        Plot.ruleY(bins, { x1: "from", x2: "to", y: "baseline", className: "baseline-steps" }),
      ],
    });
    for (const group of plot.querySelectorAll("[aria-label]")) group.removeAttribute("aria-label");
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", `${baseline}: ${histogram.baseline.join(", ")}; ${candidate}: ${histogram.candidate.join(", ")}`);
    place.current?.replaceChildren(plot);
  }, [histogram, baseline, candidate]);
  return (
    <figure class="distribution">
      <div ref={place} />
      <figcaption class="quiet small">
        <i class="step" /> {baseline} <i class="block" /> {candidate}
      </figcaption>
    </figure>
  );
}
