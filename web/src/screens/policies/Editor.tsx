import { autocompletion, closeBrackets, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml, yamlLanguage } from "@codemirror/lang-yaml";
import { bracketMatching, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { stateExtensions } from "codemirror-json-schema";
import { yamlCompletion } from "codemirror-json-schema/yaml";
import { getNonce } from "get-nonce";
import { useEffect, useRef } from "react";
import { highlight, theme } from "./editorTheme";
import type { Problem } from "./queries";

type Schema = Record<string, unknown> | undefined;

/** A text of YAML: completion by its schema, and the server's problems at their lines. */
export function Editor({
  label,
  text,
  change,
  problems,
  schema,
}: {
  label: string;
  text: string;
  change: (text: string) => void;
  problems: Problem[];
  schema: Schema;
}) {
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const changed = useRef(change);
  const first = useRef(text);
  useEffect(() => {
    changed.current = change;
  }, [change]);
  useEffect(() => {
    const made = new EditorView({
      parent: parent.current as HTMLElement,
      state: EditorState.create({ doc: view.current?.state.doc ?? first.current, extensions: extensions(label, schema, (now) => changed.current(now)) }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, schema]);
  useEffect(() => {
    const now = view.current;
    // What came from elsewhere, as when the changes are put away; what was typed here is the same already.
    if (now && now.state.doc.toString() !== text && !now.hasFocus) {
      now.dispatch({ changes: { from: 0, to: now.state.doc.length, insert: text } });
    }
  }, [text]);
  useEffect(() => {
    const now = view.current;
    if (now) now.dispatch(setDiagnostics(now.state, problems.map((problem) => diagnostic(now.state, problem))));
  }, [problems, schema]);
  return <div ref={parent} className="editor" />;
}

function extensions(label: string, schema: Schema, change: (text: string) => void): Extension {
  const nonce = getNonce();
  return [
    lineNumbers(),
    history(),
    search(),
    lintGutter(),
    bracketMatching(),
    closeBrackets(),
    indentOnInput(),
    highlightActiveLine(),
    autocompletion(),
    yaml(),
    ...(schema ? [yamlLanguage.data.of({ autocomplete: yamlCompletion() }), stateExtensions(schema as never)] : []),
    syntaxHighlighting(highlight),
    theme,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) change(update.state.doc.toString());
    }),
    keymap.of([...completionKeymap, ...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
    ...(nonce ? [EditorView.cspNonce.of(nonce)] : []),
  ];
}

function diagnostic(state: EditorState, problem: Problem): Diagnostic {
  const line = state.doc.line(Math.min(Math.max(problem.line, 1), state.doc.lines));
  const indent = line.text.length - line.text.trimStart().length;
  return { from: line.from + indent, to: line.to, severity: "error", message: problem.text };
}
