import { render } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { PageContext } from "./context";
import { embeddedOverview, pageForm } from "./data";
import { languages, type Language } from "./messages";
import { useRoute } from "./route";
import { applyTheme, initialLanguage, initialTheme, remember, type Theme } from "./settings";
import "./styles/index.css";
import { Compare } from "./views/Compare";
import { Frame, NotFound } from "./views/Frame";
import { HistoryView } from "./views/HistoryView";
import { Matrix } from "./views/Matrix";
import { Noise } from "./views/Noise";
import { Parity } from "./views/Parity";
import { SampleView } from "./views/SampleView";
import { Slice } from "./views/Slice";
import { Standings } from "./views/Standings";

const form = pageForm();
const overview = embeddedOverview();

function App() {
  const route = useRoute();
  const [language, setLanguage] = useState<Language>(initialLanguage);
  const [theme, setTheme] = useState<Theme>(initialTheme);
  const page = useMemo(() => ({ overview, form, t: languages[language] }), [language]);
  useEffect(() => {
    document.documentElement.lang = language;
    document.title = `${overview.title} · ${languages[language].title}`;
  }, [language]);
  useEffect(() => applyTheme(theme), [theme]);
  useEffect(() => scrollTo(0, 0), [route.view, "id" in route ? route.id : ""]);
  const settings = {
    language,
    theme,
    setLanguage: (chosen: Language) => (remember("lang", chosen), setLanguage(chosen)),
    setTheme: (chosen: Theme) => (remember("theme", chosen), setTheme(chosen)),
  };
  return (
    <PageContext.Provider value={page}>
      <Frame route={route} settings={settings}>
        {route.view === "matrix" && <Matrix />}
        {route.view === "slice" && <Slice selection={route.selection} />}
        {route.view === "sample" && <SampleView selection={route.selection} id={route.id} />}
        {route.view === "compare" && <Compare candidate={route.candidate} />}
        {route.view === "standings" && <Standings />}
        {route.view === "noise" && <Noise />}
        {route.view === "parity" && <Parity />}
        {route.view === "history" && (form.form === "server" ? <HistoryView {...route} /> : <NotFound />)}
        {route.view === "unknown" && <NotFound />}
      </Frame>
    </PageContext.Provider>
  );
}

applyTheme(initialTheme());
const root = document.getElementById("page");
if (root) render(<App />, root);
