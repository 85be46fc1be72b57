// The page's data, as leaderboard/page_data.py writes it. The two change in one commit.

export type Verdict = "PASS" | "BREACH" | "INCONCLUSIVE" | "MISSING";
export type Status = "ok" | "empty" | "unparsed" | "truncated" | "error";

export interface EnvironmentEntry {
  group: string;
  name: string;
  value: string;
  differs: boolean;
}

export interface RunCard {
  key: string;
  name: string;
  variant: string | null;
  model: string | null;
  hardware: string;
  started: string | null;
  duration_s: number | null;
  complete: boolean;
  problem: string;
  verdict: Verdict | null;
  counts: Partial<Record<Verdict, number>>;
  environment: EnvironmentEntry[];
}

export interface Cell {
  verdict: Verdict;
  gated: boolean;
  loss: number | null;
  low: number | null;
  high: number | null;
  baseline_quality: number | null;
  candidate_quality: number | null;
  n: number;
  clusters: number;
  broke: number;
  fixed: number;
  flip_rate: number | null;
  inside_noise: boolean | null;
  further_clusters: number | null;
  note: string;
}

/** A slice in a second run of the baseline. */
export interface NoiseFigures {
  loss: number;
  low: number;
  high: number;
  flip_rate: number;
}

export interface MatrixRow {
  task: string;
  attribute: string | null;
  value: string | null;
  budget: number;
  loss_kind: string;
  cells: Cell[];
  noise: NoiseFigures | null;
}

export interface TaskCard {
  name: string;
  metric: string;
  higher_is_better: boolean;
  ability: string;
  modality: string;
  sensitivity: string;
  samples: number;
}

export interface Standing {
  task: string;
  run: string;
  hardware: string;
  quality: number;
  seconds_per_sample: number | null;
  speed_source: "bench" | "run" | null;
  ttft_s: number | null;
  tpot_s: number | null;
  memory_bytes: number | null;
  on_front: boolean;
}

export interface Recommendation {
  hardware: string;
  run: string | null;
  verdict: Verdict;
  undecided: string[];
  seconds_per_sample: number | null;
  speed_up: number | null;
}

/** A table that Python laid out; names of columns are translated where the interface knows them. */
export interface FactTable {
  title: string;
  note: string;
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export interface Overview {
  format: number;
  title: string;
  generated: string;
  generator: string;
  verdict: Verdict;
  confidence: number;
  baseline: RunCard;
  candidates: RunCard[];
  tasks: TaskCard[];
  rows: MatrixRow[];
  standings: Standing[];
  recommendations: Recommendation[];
  noise_run: string;
  canaries: FactTable[];
  parity: FactTable[];
  media_note: string;
  notes: string[];
}

export interface SliceDetail {
  slice: number | null;
  candidate: number;
  both_right: number;
  both_wrong: number;
  metrics: { metric: string; baseline: number | null; candidate: number | null; higher_is_better: boolean }[];
  status_changes: { baseline: Status; candidate: Status; n: number }[];
  confusions: { reference: string; output: string; baseline: number; candidate: number }[];
  concentration: { slice: number; n: number; broke: number; fixed: number; loss: number | null }[];
  choices: { reference: string; output: string; baseline: number; candidate: number }[];
  histograms: Histogram[];
  hotwords: { word: string; said: number; heard: [number, number]; invented: [number, number] }[];
}

export interface Histogram {
  metric: string;
  unit: "rate" | "seconds";
  low: number;
  high: number;
  baseline: number[];
  candidate: number[];
}

export interface MediaItem {
  kind: "image" | "audio" | "video";
  name: string;
  source: string;
  thumbnail: string;
  bytes: number;
  reason: string;
  peaks: number[];
  duration_s: number | null;
}

export interface Drawing {
  boxes: { box: [number, number, number, number]; label: string; score: number | null }[];
  spans: { start: number; end: number }[];
  turns: { speaker: string; matched: string; start: number; end: number; text: string }[];
}

export type Edit = ["=" | "r" | "d" | "i", number, number];

export interface Output {
  text: string;
  status: Status;
  quality: number | null;
  metrics: (number | null)[];
  edits: Edit[];
  drawing: Drawing | null;
  chosen: string | null;
  hotwords: { word: string; said: number; written: number }[];
  detail: Record<string, unknown>;
  tokens: number | null;
  logprobs: [string, number][];
}

export interface Sample {
  id: string;
  cluster: string;
  slices: number[];
  prompt: number;
  reference: string;
  media: number[];
  drawing: Drawing | null;
  options: { letter: string; text: string; right: boolean }[];
  outputs: (Output | null)[];
  changes: (number | null)[];
}

export interface TaskPage {
  task: string;
  metrics: string[];
  slices: { attribute: string; value: string }[];
  prompts: string[];
  media: MediaItem[];
  details: SliceDetail[];
  samples: Sample[];
}

/** How the data reaches the page: inside it, from scripts beside it, or from a server. */
export type Form = { form: "single" } | { form: "folder" } | { form: "server"; api: string };

const PAGE_FORMAT = 3;

function embedded<T>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`This page is damaged: its part “${id}” is missing.`);
  return JSON.parse(element.textContent ?? "") as T;
}

export function pageForm(): Form {
  return embedded<Form>("tlive-form");
}

export function embeddedOverview(): Overview {
  const overview = embedded<Overview>("tlive-overview");
  if (overview.format !== PAGE_FORMAT)
    throw new Error(`This page holds data of format ${overview.format}, its program reads ${PAGE_FORMAT}.`);
  return overview;
}

const loaded = new Map<number, Promise<TaskPage>>();
const waiting = new Map<number, (page: TaskPage) => void>();

// Scripts of the folder form call this with their data: a page on disk may load a script, but may not fetch a file.
(window as unknown as { tliveTask: (index: number, page: TaskPage) => void }).tliveTask = (index, page) =>
  waiting.get(index)?.(page);

export function mediaOf(page: TaskPage, sample: Sample): MediaItem[] {
  return sample.media.flatMap((index) => page.media[index] ?? []);
}

export function taskPage(form: Form, index: number): Promise<TaskPage> {
  let page = loaded.get(index);
  if (!page) {
    page = load(form, index);
    loaded.set(index, page);
    page.catch(() => loaded.delete(index));
  }
  return page;
}

async function load(form: Form, index: number): Promise<TaskPage> {
  if (form.form === "single") return embedded<TaskPage>(`tlive-task-${index}`);
  if (form.form === "server") return answer<TaskPage>(`${form.api}/tasks/${index}`);
  return new Promise((resolve, reject) => {
    waiting.set(index, resolve);
    const script = document.createElement("script");
    script.src = `data/task-${index}.js`;
    script.onerror = () => reject(new Error(`${script.src} cannot be read: keep the folder “data” beside index.html.`));
    document.head.append(script);
  });
}

/** Below: what only the server knows, see leaderboard/server/app.py. */

export interface ListedRun {
  run_id: string;
  name: string;
  variant: string | null;
  started: string;
  samples: number;
  duration_s: number | null;
}

export interface History {
  variant: string;
  points: { run_id: string; name: string; started: string; quality: number; low: number; high: number; n: number; changes: string[] }[];
  step: { index: number; before: number; after: number; p_value: number } | null;
  noise: number | null;
}

export interface RunningEvaluation {
  name: string;
  tasks: string[];
  started: string;
  answered: number | null;
  total: number | null;
  idle_s: number | null;
}

async function answer<T>(address: string): Promise<T> {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The server answered ${response.status} to ${response.url}`);
  return (await response.json()) as T;
}

export function listedRuns(): Promise<ListedRun[]> {
  return answer("api/runs");
}

export function sliceHistory(task: string, attribute: string | null, value: string | null): Promise<History[]> {
  const query = new URLSearchParams({ task });
  if (attribute !== null) {
    query.set("attribute", attribute);
    query.set("value", value ?? "");
  }
  return answer(`api/history?${query}`);
}

export function runningEvaluations(): Promise<RunningEvaluation[]> {
  return answer("api/running");
}
