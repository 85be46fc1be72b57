// Addresses of the views: everything a view needs is in the hash, so every view has a permanent link.

import { useEffect, useState } from "preact/hooks";

export type Show = "broke" | "fixed" | "status" | "wrong" | "all";

/** A list of samples: a slice (or a whole task) of one candidate, narrowed by a second slice and by what happened. */
export interface Selection {
  task: string;
  attribute: string | null;
  value: string | null;
  candidate: string;
  within: { attribute: string; value: string } | null;
  show: Show | null;
}

export type Route =
  | { view: "matrix" }
  | { view: "slice"; selection: Selection }
  | { view: "sample"; selection: Selection; id: string }
  | { view: "compare"; candidate: string | null }
  | { view: "standings" | "noise" | "parity" }
  | { view: "history"; task: string | null; attribute: string | null; value: string | null }
  | { view: "unknown"; hash: string };

const part = encodeURIComponent;
const shows: readonly string[] = ["broke", "fixed", "status", "wrong", "all"];

function queryOf(selection: Selection, withPlace: boolean): string {
  const query = new URLSearchParams();
  if (withPlace) {
    if (selection.attribute !== null) query.set("slice", `${part(selection.attribute)}=${part(selection.value ?? "")}`);
    query.set("candidate", selection.candidate);
  }
  if (selection.within) query.set("within", `${part(selection.within.attribute)}=${part(selection.within.value)}`);
  if (selection.show) query.set("show", selection.show);
  const text = query.toString();
  return text && `?${text}`;
}

export function sliceLink(selection: Selection): string {
  const place =
    selection.attribute === null
      ? `#/task/${part(selection.task)}/${part(selection.candidate)}`
      : `#/slice/${part(selection.task)}/${part(selection.attribute)}/${part(selection.value ?? "")}/${part(selection.candidate)}`;
  return place + queryOf(selection, false);
}

export function sampleLink(selection: Selection, id: string): string {
  return `#/sample/${part(selection.task)}/${part(id)}${queryOf(selection, true)}`;
}

export function compareLink(candidate: string): string {
  return `#/compare/${part(candidate)}`;
}

export function historyLink(task: string, attribute: string | null, value: string | null): string {
  return `#/history/${part(task)}${attribute === null ? "" : `/${part(attribute)}/${part(value ?? "")}`}`;
}

function pair(text: string | null): { attribute: string; value: string } | null {
  if (text === null) return null;
  const at = text.indexOf("=");
  return at < 0 ? null : { attribute: decodeURIComponent(text.slice(0, at)), value: decodeURIComponent(text.slice(at + 1)) };
}

export function parseRoute(hash: string): Route {
  try {
    const [path = "", query = ""] = splitOnce(hash.replace(/^#\/?/, ""), "?");
    const parts = path.split("/").map(decodeURIComponent);
    const parameters = new URLSearchParams(query);
    const show = parameters.get("show");
    const narrowed = {
      within: pair(parameters.get("within")),
      show: show !== null && shows.includes(show) ? (show as Show) : null,
    };
    const [view, first, second, third, fourth] = parts;
    if (path === "") return { view: "matrix" };
    if (view === "task" && first !== undefined && second !== undefined)
      return { view: "slice", selection: { task: first, attribute: null, value: null, candidate: second, ...narrowed } };
    if (view === "slice" && first !== undefined && second !== undefined && third !== undefined && fourth !== undefined)
      return { view: "slice", selection: { task: first, attribute: second, value: third, candidate: fourth, ...narrowed } };
    if (view === "sample" && first !== undefined && second !== undefined) {
      const slice = pair(parameters.get("slice"));
      const place = { attribute: slice?.attribute ?? null, value: slice?.value ?? null };
      return { view: "sample", id: second, selection: { task: first, ...place, candidate: parameters.get("candidate") ?? "", ...narrowed } };
    }
    if (view === "standings" || view === "noise" || view === "parity") return { view };
    if (view === "history")
      return { view: "history", task: first ?? null, attribute: second ?? null, value: second === undefined ? null : (third ?? "") };
    if (view === "compare") return { view: "compare", candidate: first ?? null };
  } catch {
    // A damaged link is an unknown view, like a link to nowhere.
  }
  return { view: "unknown", hash };
}

function splitOnce(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const changed = () => setHash(location.hash);
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return parseRoute(hash);
}
