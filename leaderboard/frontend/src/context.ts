import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import { taskPage, type Overview, type TaskPage, type pageForm } from "./data";
import { languages, type Messages } from "./messages";

export interface Page {
  overview: Overview;
  form: ReturnType<typeof pageForm>;
  t: Messages;
}

export const PageContext = createContext<Page>({ overview: null as unknown as Overview, form: { form: "single" }, t: languages.en });

export function usePage(): Page {
  return useContext(PageContext);
}

export type Loading = { state: "loading" } | { state: "ready"; page: TaskPage } | { state: "failed"; message: string };

export function useTask(name: string): Loading {
  const { overview, form } = usePage();
  const index = overview.tasks.findIndex((task) => task.name === name);
  const [loading, setLoading] = useState<Loading>({ state: "loading" });
  useEffect(() => {
    let current = true;
    setLoading({ state: "loading" });
    if (index >= 0)
      taskPage(form, index).then(
        (page) => current && setLoading({ state: "ready", page }),
        (error: unknown) => current && setLoading({ state: "failed", message: error instanceof Error ? error.message : String(error) }),
      );
    return () => {
      current = false;
    };
  }, [form, index]);
  return index < 0 ? { state: "failed", message: name } : loading;
}
