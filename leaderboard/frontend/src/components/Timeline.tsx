// Spans and speaker turns of the reference and the runs on one time axis, under the outline of the recording.

import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../context";
import type { Drawing, MediaItem } from "../data";
import { clock } from "../format";

export interface TimeLayer {
  name: string;
  kind: "reference" | "baseline" | "candidate";
  drawing: Drawing;
}

function roundStep(duration: number): number {
  return [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300].find((step) => duration / step <= 8) ?? 600;
}

export function Timeline({ layers, item, player }: { layers: TimeLayer[]; item: MediaItem; player: RefObject<HTMLMediaElement | null> }) {
  const { t } = usePage();
  const [time, setTime] = useState(0);
  const [length, setLength] = useState(item.duration_s ?? 0);
  useEffect(() => {
    const media = player.current;
    if (!media) return;
    const moved = () => setTime(media.currentTime);
    const known = () => Number.isFinite(media.duration) && setLength(media.duration);
    media.addEventListener("timeupdate", moved);
    media.addEventListener("seeking", moved);
    media.addEventListener("loadedmetadata", known);
    known();
    return () => {
      media.removeEventListener("timeupdate", moved);
      media.removeEventListener("seeking", moved);
      media.removeEventListener("loadedmetadata", known);
    };
  }, [item.source]);
  const ends = layers.flatMap(({ drawing }) => [...drawing.spans, ...drawing.turns].map((part) => part.end));
  const duration = length > 0 ? length : Math.max(1, ...ends);
  const at = (seconds: number) => `${Math.min(100, Math.max(0, (seconds / duration) * 100)).toFixed(3)}%`;
  const seek = (seconds: number) => {
    if (!player.current) return;
    player.current.currentTime = seconds;
    setTime(seconds);
  };
  const speakers = [...new Set(layers.flatMap(({ drawing }) => drawing.turns.map((turn) => turn.matched || turn.speaker)))];
  const step = roundStep(duration);
  const ticks = Array.from({ length: Math.floor(duration / step) + 1 }, (_, index) => index * step);
  return (
    <div class="timeline">
      {item.peaks.length > 0 && (
        <Row name="">
          <svg
            class="wave"
            viewBox={`0 0 ${item.peaks.length} 200`}
            preserveAspectRatio="none"
            aria-hidden="true"
            onClick={(event) => {
              const box = event.currentTarget.getBoundingClientRect();
              seek(((event.clientX - box.left) / box.width) * duration);
            }}
          >
            <path d={item.peaks.map((peak, index) => `M${index + 0.5} ${100 - Math.max(1, peak)}V${100 + Math.max(1, peak)}`).join("")} />
          </svg>
        </Row>
      )}
      {layers.map(({ name, kind, drawing }) =>
        speakersOf(drawing, speakers).map((speaker, line) => (
          <Row key={`${kind}/${speaker}`} name={line > 0 ? "" : kind === "reference" ? t.reference : name} detail={speaker}>
            {drawing.turns
              .filter((turn) => (turn.matched || turn.speaker) === speaker)
              .map((turn, index) => (
                <Part key={index} kind={kind} hue={speakers.indexOf(speaker)} from={turn.start} to={turn.end} text={turn.text} name={turn.speaker} at={at} seek={seek} />
              ))}
            {line === 0 && drawing.spans.map((span, index) => <Part key={`span-${index}`} kind={kind} hue={-1} from={span.start} to={span.end} text="" name="" at={at} seek={seek} />)}
          </Row>
        )),
      )}
      <Row name="">
        <div class="ticks" aria-hidden="true">
          {ticks.map((tick) => (
            <span key={tick} style={{ left: at(tick) }}>
              {clock(tick).replace(/\.0$/, "")}
            </span>
          ))}
        </div>
      </Row>
      <div class="playhead" aria-hidden="true">
        <i style={{ left: at(time) }} />
      </div>
    </div>
  );
}

/** Lanes of one layer, in the order all layers share; one without a name where there are only spans. */
function speakersOf(drawing: Drawing, order: string[]): string[] {
  const mine = new Set(drawing.turns.map((turn) => turn.matched || turn.speaker));
  return mine.size === 0 ? [""] : order.filter((speaker) => mine.has(speaker));
}

function Row({ name, detail = "", children }: { name: string; detail?: string; children: preact.ComponentChildren }) {
  return (
    <div class="lane">
      <span class="lane-name">
        {name} <span class="quiet">{detail}</span>
      </span>
      <div class="lane-track">{children}</div>
    </div>
  );
}

interface PartProps {
  kind: TimeLayer["kind"];
  hue: number;
  from: number;
  to: number;
  text: string;
  name: string;
  at: (seconds: number) => string;
  seek: (seconds: number) => void;
}

function Part({ kind, hue, from, to, text, name, at, seek }: PartProps) {
  const { t } = usePage();
  const label = [`${t.seek} ${clock(from)} – ${clock(to)}`, name, text].filter(Boolean).join(" · ");
  return (
    <button
      class={`part ${kind} ${hue >= 0 ? `voice-${hue % 6}` : ""}`}
      style={{ left: at(from), width: `calc(${at(to)} - ${at(from)})` }}
      title={label}
      aria-label={label}
      onClick={() => seek(from)}
    >
      {text}
    </button>
  );
}
