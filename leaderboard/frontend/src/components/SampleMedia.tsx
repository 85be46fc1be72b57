import { useEffect, useRef, useState } from "preact/hooks";
import { usePage } from "../context";
import type { MediaItem, Output } from "../data";
import { bytes } from "../format";
import { Boxes, boxesOf } from "./Boxes";

export function Thumbnail({ media }: { media: MediaItem[] }) {
  const image = media.find((item) => item.kind === "image");
  if (image?.source) return <img class="thumbnail" src={image.source} alt="" loading="lazy" />;
  return <span class="thumbnail none" aria-hidden="true" />;
}

export function SampleMedia({ media, outputs, names }: { media: MediaItem[]; outputs: (Output | null)[]; names: string[] }) {
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
            {item.kind === "image" && <Picture item={item} outputs={outputs} names={names} />}
            {item.kind === "audio" && <audio controls preload="metadata" src={item.source} aria-label={item.name} />}
            {item.kind === "video" && <video controls preload="metadata" src={item.source} aria-label={item.name} />}
            <figcaption>
              {item.name} {item.bytes > 0 && <span class="quiet">{bytes(item.bytes)}</span>}
            </figcaption>
          </figure>
        ),
      )}
    </div>
  );
}

function Picture({ item, outputs, names }: { item: MediaItem; outputs: (Output | null)[]; names: string[] }) {
  const { t } = usePage();
  const [enlarged, setEnlarged] = useState(false);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const dialog = useRef<HTMLDialogElement>(null);
  const boxes = boxesOf(outputs, names);
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
