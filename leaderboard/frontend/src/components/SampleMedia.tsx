import { useEffect, useRef, useState } from "preact/hooks";
import { usePage } from "../context";
import type { Drawing, MediaItem } from "../data";
import { bytes } from "../format";
import { Boxes, BoxLegend, type BoxLayer } from "./Boxes";
import { Timeline, type TimeLayer } from "./Timeline";

/** What is drawn over or under the media: the reference, the baseline and one candidate. */
export interface Layer {
  name: string;
  kind: "reference" | "baseline" | "candidate";
  drawing: Drawing | null;
}

export function Thumbnail({ media }: { media: MediaItem[] }) {
  const image = media.find((item) => item.kind === "image");
  if (image?.source) return <img class="thumbnail" src={image.thumbnail || image.source} alt="" loading="lazy" />;
  return <span class="thumbnail none" aria-hidden="true" />;
}

export function SampleMedia({ media, layers }: { media: MediaItem[]; layers: Layer[] }) {
  const { t, overview } = usePage();
  if (media.length === 0) return <p class="absent">{t.noMedia}</p>;
  return (
    <div class="media">
      {media.map((item, index) =>
        item.source === "" ? (
          <figure key={index} class="left-out">
            <p>{t.mediaLeftOut}</p>
            <figcaption>
              {item.name} {item.bytes > 0 && <span class="quiet">{bytes(item.bytes)}</span>}
              <br />
              <span class="quiet">{item.reason || overview.media_note}</span>
            </figcaption>
          </figure>
        ) : (
          <figure key={index}>
            {item.kind === "image" && <Picture item={item} layers={layers} />}
            {item.kind !== "image" && <Recording item={item} layers={layers} />}
            <figcaption>
              {item.name} {item.bytes > 0 && <span class="quiet">{bytes(item.bytes)}</span>}
            </figcaption>
          </figure>
        ),
      )}
    </div>
  );
}

function Recording({ item, layers }: { item: MediaItem; layers: Layer[] }) {
  const player = useRef<HTMLMediaElement | null>(null);
  const timed: TimeLayer[] = layers.flatMap(({ name, kind, drawing }) =>
    drawing && (drawing.spans.length > 0 || drawing.turns.length > 0) ? [{ name, kind, drawing }] : [],
  );
  return (
    <>
      {item.kind === "audio" ? (
        <audio ref={(element) => void (player.current = element)} controls preload="metadata" src={item.source} aria-label={item.name} />
      ) : (
        <video ref={(element) => void (player.current = element)} controls preload="metadata" src={item.source} aria-label={item.name} />
      )}
      {(timed.length > 0 || item.peaks.length > 0) && <Timeline layers={timed} item={item} player={player} />}
    </>
  );
}

function Picture({ item, layers }: { item: MediaItem; layers: Layer[] }) {
  const { t } = usePage();
  const [enlarged, setEnlarged] = useState(false);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const boxes: BoxLayer[] = layers.flatMap(({ name, kind, drawing }) =>
    drawing && drawing.boxes.length > 0 ? [{ name, kind, boxes: drawing.boxes }] : [],
  );
  useEffect(() => {
    if (enlarged) dialog.current?.showModal();
    else dialog.current?.close();
  }, [enlarged]);
  const overlay = size && boxes.length > 0 && <Boxes layers={boxes} width={size.width} height={size.height} />;
  const alt = item.name;
  return (
    <>
      <button class="picture" aria-label={t.zoom} onClick={() => setEnlarged(true)}>
        <img
          src={item.source}
          alt={alt}
          onLoad={(event) => setSize({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })}
        />
        {overlay}
      </button>
      {boxes.length > 0 && <BoxLegend layers={boxes} />}
      <dialog ref={dialog} class="lightbox" aria-label={alt} onClose={() => setEnlarged(false)} onClick={() => setEnlarged(false)}>
        {enlarged && (
          <div class="picture">
            <img src={item.source} alt={alt} />
            {overlay}
          </div>
        )}
        <button class="quiet-button">{t.close}</button>
      </dialog>
    </>
  );
}
