// One sample: its media, and what every run answered.

import { useLayoutEffect, useState } from "preact/hooks";
import { Hotwords } from "../components/Hotwords";
import { Options } from "../components/Options";
import { SampleMedia } from "../components/SampleMedia";
import { TextDiff } from "../components/TextDiff";
import { Turns } from "../components/Turns";
import { usePage, useTask } from "../context";
import { mediaOf, type EnvironmentEntry, type Output, type Sample, type TaskPage } from "../data";
import { rate } from "../format";
import { compareLink, sampleLink, sliceLink, type Selection } from "../route";
import { effectiveShow, samplesIn, selectedSamples } from "../selection";
import { Breadcrumb, NotFound } from "./Frame";

export function SampleView({ selection, id }: { selection: Selection; id: string }) {
  const { t } = usePage();
  const loading = useTask(selection.task);
  if (loading.state === "loading") return <p class="quiet">{t.loading}</p>;
  if (loading.state === "failed") return <p class="failure">{loading.message}</p>;
  const sample = loading.page.samples.find((one) => one.id === id);
  return sample ? <Found page={loading.page} sample={sample} selection={selection} /> : <NotFound />;
}

function Found({ page, sample, selection }: { page: TaskPage; sample: Sample; selection: Selection }) {
  const { overview, t } = usePage();
  const candidate = Math.max(0, overview.candidates.findIndex((run) => run.key === selection.candidate));
  const place: Selection = {
    ...selection,
    candidate: overview.candidates[candidate]?.key ?? "",
    show: effectiveShow(samplesIn(page, selection), candidate, selection.show),
  };
  const list = selectedSamples(page, place, candidate);
  const at = list.findIndex((one) => one.id === sample.id);
  const previous = at > 0 ? list[at - 1] : undefined;
  const next = at >= 0 ? list[at + 1] : undefined;
  useKeys(place, previous, next);
  return (
    <>
      <div class="sample-bar">
        <Breadcrumb selection={place}>
          <span aria-hidden="true">/</span>
          <span aria-current="page">{sample.id}</span>
        </Breadcrumb>
        <span class="spring" />
        <nav class="steps" aria-label={t.samples} title={t.keys}>
          <Step to={previous} place={place} label={t.previous} sign="←" />
          <span>{at >= 0 ? t.of(at + 1, list.length) : ""}</span>
          <Step to={next} place={place} label={t.next} sign="→" />
          <CopyLink />
        </nav>
      </div>
      <div class="sample">
        <section class="evidence" aria-label={t.sample}>
          <SampleMedia
            media={mediaOf(page, sample)}
            layers={[
              { name: t.reference, kind: "reference", drawing: sample.drawing },
              { name: overview.baseline.key, kind: "baseline", drawing: sample.outputs[0]?.drawing ?? null },
              { name: place.candidate, kind: "candidate", drawing: sample.outputs[candidate + 1]?.drawing ?? null },
            ]}
          />
          <ul class="tags">
            {sample.slices.map((index) => {
              const slice = page.slices[index];
              return (
                slice && (
                  <li key={index}>
                    <a href={sliceLink({ ...place, ...slice, within: null, show: null })}>
                      <span class="quiet">{slice.attribute}</span> {slice.value}
                    </a>
                  </li>
                )
              );
            })}
          </ul>
          {sample.options.length > 0 && <Options sample={sample} runs={[overview.baseline.key, ...overview.candidates.map((run) => run.key)]} />}
          <h2>{t.prompt}</h2>
          <p class="text prompt">{page.prompts[sample.prompt]}</p>
          <Environments candidate={candidate} />
        </section>
        <section class="answers">
          <h1 class="for-readers">
            {t.sample} {sample.id}
          </h1>
          <article class="answer expected">
            <h2>{t.reference}</h2>
            {sample.drawing && sample.drawing.turns.length > 0 ? (
              <Turns turns={sample.drawing.turns} />
            ) : (
              <p class={`text ${sample.reference.length > 90 ? "long" : ""}`}>{sample.reference}</p>
            )}
          </article>
          <Answer page={page} sample={sample} output={sample.outputs[0] ?? null} name={overview.baseline.key} role={t.baseline} change={null} />
          {overview.candidates.map((run, index) => (
            <Answer
              key={run.key}
              page={page}
              sample={sample}
              output={sample.outputs[index + 1] ?? null}
              name={run.key}
              role={index === candidate ? t.candidate : ""}
              change={sample.changes[index] ?? null}
            />
          ))}
        </section>
      </div>
    </>
  );
}

/** How the two runs were made: what differs first, the rest where the runs are compared. */
function Environments({ candidate }: { candidate: number }) {
  const { overview, t } = usePage();
  const run = overview.candidates[candidate];
  if (!run || run.environment.length === 0) return null;
  const before = (entry: EnvironmentEntry) => overview.baseline.environment.find((one) => one.group === entry.group && one.name === entry.name);
  return (
    <details class="environments">
      <summary>{t.environment}</summary>
      <table class="metrics">
        <thead>
          <tr>
            <td />
            <th scope="col">{overview.baseline.key}</th>
            <th scope="col">{run.key}</th>
          </tr>
        </thead>
        <tbody>
          {run.environment
            .filter((entry) => entry.differs)
            .map((entry) => (
              <tr key={`${entry.group}/${entry.name}`}>
                <th scope="row">
                  {entry.group} {entry.name}
                </th>
                <td>{before(entry)?.value ?? "–"}</td>
                <td>{entry.value}</td>
              </tr>
            ))}
        </tbody>
      </table>
      <p>
        <a class="more" href={compareLink(run.key)}>
          {t.allOfEnvironment} →
        </a>
      </p>
    </details>
  );
}

function Answer(props: { page: TaskPage; sample: Sample; output: Output | null; name: string; role: string; change: number | null }) {
  const { t } = usePage();
  const { output, change } = props;
  const right = output?.quality === 1;
  const turns = output?.drawing?.turns ?? [];
  const kind = change === null || change === 0 ? "" : change < 0 ? "broke" : "fixed";
  return (
    <article class={`answer ${props.role ? "" : "other"} ${kind}`}>
      <h2>
        {props.name} {props.role && <span class="quiet">{props.role}</span>}
        <span class="spring" />
        {kind && <span class={`badge ${kind}`}>{kind === "broke" ? t.broke : t.fixed}</span>}
        {output && output.status !== "ok" && <span class="status">{t.status[output.status]}</span>}
        {right && <span class="badge right">✓ {t.correct}</span>}
      </h2>
      {turns.length > 0 && <Turns turns={turns} />}
      {turns.length > 0 ? (
        <details>
          <summary>{t.asWritten}</summary>
          <p class="text long">{output?.text}</p>
        </details>
      ) : (
        <p class={(output?.text.length ?? 0) > 90 ? "long" : ""}>
          <TextDiff reference={props.sample.reference} output={output} />
        </p>
      )}
      {output && (
        <p class="scores">
          {props.page.metrics.map((metric, index) => {
            const value = output.metrics[index] ?? null;
            return (
              value !== null && (
                <span key={metric}>
                  {metric} <b>{rate(value)}</b>
                </span>
              )
            );
          })}
          {output.tokens !== null && (
            <span>
              {t.tokens} <b>{output.tokens}</b>
            </span>
          )}
        </p>
      )}
      {output && output.hotwords.length > 0 && <Hotwords hotwords={output.hotwords} />}
      {output && output.logprobs.length > 0 && <LogProbabilities pairs={output.logprobs} />}
      {output && Object.keys(output.detail).length > 0 && (
        <details>
          <summary>{t.detail}</summary>
          <pre>{JSON.stringify(output.detail, null, 1)}</pre>
        </details>
      )}
    </article>
  );
}

/** Tokens shaded by how unsure the model was of them. */
function LogProbabilities({ pairs }: { pairs: [string, number][] }) {
  const { t } = usePage();
  return (
    <details>
      <summary>{t.logprobs}</summary>
      <p class="tokens text">
        {pairs.map(([token, logprob], index) => (
          <span key={index} title={`${logprob.toFixed(3)} · ${(Math.exp(logprob) * 100).toFixed(1)} %`} style={{ "--doubt": `${Math.min(100, (1 - Math.exp(logprob)) * 100).toFixed(0)}%` }}>
            {token}
          </span>
        ))}
      </p>
    </details>
  );
}

function Step({ to, place, label, sign }: { to: Sample | undefined; place: Selection; label: string; sign: string }) {
  return to ? (
    <a class="step" href={sampleLink(place, to.id)} aria-label={label}>
      {sign}
    </a>
  ) : (
    <span class="step off" aria-hidden="true">
      {sign}
    </span>
  );
}

function CopyLink() {
  const { t } = usePage();
  const [copied, setCopied] = useState(false);
  return (
    <button
      class="quiet-button"
      onClick={() =>
        navigator.clipboard?.writeText(location.href).then(
          () => setCopied(true),
          () => setCopied(false),
        )
      }
    >
      {copied ? t.copied : t.copyLink}
    </button>
  );
}

function useKeys(place: Selection, previous: Sample | undefined, next: Sample | undefined): void {
  // Before the next paint, so that a key pressed on what is shown never meets the neighbours of the sample before.
  useLayoutEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      if (event.altKey || event.ctrlKey || event.metaKey || target.closest("input, select, textarea, audio, video, dialog")) return;
      const to =
        event.key === "ArrowLeft" && previous
          ? sampleLink(place, previous.id)
          : event.key === "ArrowRight" && next
            ? sampleLink(place, next.id)
            : event.key === "Escape" && !document.querySelector("dialog[open]")
              ? sliceLink(place)
              : null;
      if (to === null) return;
      event.preventDefault();
      location.hash = to;
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
}
