// What surrounds every view: the bar on top, the path to the current view, the line at the bottom.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { usePage } from "../context";
import { runningEvaluations, type RunningEvaluation } from "../data";
import { seconds } from "../format";
import { languages, type Language } from "../messages";
import { sliceLink, type Route, type Selection } from "../route";
import type { Theme } from "../settings";
import { hasNoise } from "./Noise";

interface Settings {
  language: Language;
  theme: Theme;
  setLanguage: (language: Language) => void;
  setTheme: (theme: Theme) => void;
}

export function Frame({ route, settings, children }: { route: Route; settings: Settings; children: ComponentChildren }) {
  const { overview, form, t } = usePage();
  const here = (view: string) => (route.view === view ? "page" : undefined);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        {t.skip}
      </a>
      <div class="topbar" role="banner">
        <a class="wordmark" href="#/">
          <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
            <path d="M2 4.5H16M2 9H16M2 13.5H16" class="rule" />
            <circle cx="6" cy="4.5" r="2.4" />
            <circle cx="8" cy="9" r="2.4" />
            <circle cx="13.5" cy="13.5" r="2.4" class="off" />
          </svg>
          TLiveOmni-Eval
        </a>
        <nav aria-label={t.title}>
          <a href="#/" aria-current={here("matrix")}>
            {t.matrix}
          </a>
          <a href="#/compare" aria-current={here("compare")}>
            {t.compare}
          </a>
          <a href="#/standings" aria-current={here("standings")}>
            {t.standings}
          </a>
          {hasNoise(overview) && (
            <a href="#/noise" aria-current={here("noise")}>
              {t.noise}
            </a>
          )}
          {overview.parity.length > 0 && (
            <a href="#/parity" aria-current={here("parity")}>
              {t.parity}
            </a>
          )}
          {form.form === "server" && (
            <a href="#/history" aria-current={here("history")}>
              {t.history}
            </a>
          )}
        </nav>
        <span class="spring" />
        <div class="switches">
          <button lang={settings.language === "en" ? "zh" : "en"} onClick={() => settings.setLanguage(settings.language === "en" ? "zh" : "en")}>
            {settings.language === "en" ? languages.zh.language : languages.en.language}
          </button>
          <label>
            <span class="for-readers">{t.theme}</span>
            <select value={settings.theme} onChange={(event) => settings.setTheme(event.currentTarget.value as Theme)}>
              {(["auto", "light", "dark"] as const).map((theme) => (
                <option key={theme} value={theme}>
                  {t.themes[theme]}
                </option>
              ))}
            </select>
          </label>
        </div>
      </div>
      {form.form === "server" && <Running />}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <footer>
        {t.generatedBy(overview.generator, overview.generated.replace("T", " ").slice(0, 16))}
        {overview.media_note && <> · {overview.media_note}</>}
      </footer>
    </>
  );
}

/** After this many seconds without an answer a run may have been killed. */
const LONG_SILENCE_S = 120;

/** Evaluations that run now, asked for every few seconds while the page is seen. */
function Running() {
  const { t } = usePage();
  const [runs, setRuns] = useState<RunningEvaluation[]>([]);
  useEffect(() => {
    const ask = () => {
      if (!document.hidden) runningEvaluations().then(setRuns, () => setRuns([]));
    };
    ask();
    const timer = setInterval(ask, 3000);
    return () => clearInterval(timer);
  }, []);
  return runs.length === 0 ? null : (
    <ul class="running" aria-live="polite">
      {runs.map((run) => (
        <li key={`${run.name}/${run.started}`}>
          {t.running(run.name, run.answered === null ? "–" : run.total === null ? String(run.answered) : `${run.answered} / ${run.total}`)}
          {run.answered !== null && run.total !== null && <progress max={run.total} value={run.answered} aria-label={run.name} />}
          {run.idle_s !== null && run.idle_s > LONG_SILENCE_S && <span class="quiet"> {t.silentFor(seconds(run.idle_s))}</span>}
        </li>
      ))}
    </ul>
  );
}

export function Breadcrumb({ selection, children }: { selection: Selection; children?: ComponentChildren }) {
  const { t } = usePage();
  const whole = { ...selection, attribute: null, value: null, within: null, show: null };
  return (
    <nav class="breadcrumb" aria-label={t.slice}>
      <a href="#/">{t.matrix}</a>
      <span aria-hidden="true">/</span>
      <a href={sliceLink(whole)} aria-current={selection.attribute === null && !children ? "page" : undefined}>
        {selection.task}
      </a>
      {selection.attribute !== null && (
        <>
          <span aria-hidden="true">/</span>
          <a href={sliceLink(selection)} aria-current={children ? undefined : "page"}>
            {selection.attribute}={selection.value}
          </a>
        </>
      )}
      <span aria-hidden="true">/</span>
      <span>{selection.candidate}</span>
      {children}
    </nav>
  );
}

export function NotFound() {
  const { t } = usePage();
  return (
    <div class="not-found">
      <h1>{t.notFound}</h1>
      <p>
        <a href="#/">{t.toMatrix}</a>
      </p>
    </div>
  );
}
