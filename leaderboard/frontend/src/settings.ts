// Language and theme: from the address (?lang=zh&theme=dark), else from the last choice, else from the system.

import type { Language } from "./messages";

export type Theme = "auto" | "light" | "dark";

function remembered(key: string): string | null {
  const asked = new URLSearchParams(location.search).get(key);
  if (asked !== null) return asked;
  try {
    return localStorage.getItem(`tlive-${key}`);
  } catch {
    return null; // Storage may be refused to a page on disk.
  }
}

export function remember(key: "lang" | "theme", value: string): void {
  try {
    localStorage.setItem(`tlive-${key}`, value);
  } catch {
    // The choice then holds for this page view only.
  }
}

export function initialLanguage(): Language {
  const known = remembered("lang");
  if (known === "en" || known === "zh") return known;
  return navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
}

export function initialTheme(): Theme {
  const known = remembered("theme");
  return known === "light" || known === "dark" ? known : "auto";
}

export function applyTheme(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}
